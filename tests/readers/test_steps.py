"""Long tables: rows that are times of series, channels of a time, or steps of sequences of states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softecm import ReadingWarning, SoftECM, read_table
from softecm.readers import Loaded, ReadError, ReadOptions, read


def tidy() -> pd.DataFrame:
    """Five machines, six hours, two sensors; the number says which of each."""
    rows = [
        (f"m{i}", t, c, 100.0 * i + 10 * k + t) for i in range(5) for t in range(6) for k, c in enumerate(("w", "a"))
    ]
    return pd.DataFrame(rows, columns=["machine", "hour", "sensor", "reading"])


def paths() -> pd.DataFrame:
    """Twelve patients, ten months, and in which of three places each was."""
    rng = np.random.default_rng(0)
    rows = [(f"P{i:02d}", t + 1, ("home", "ward", "rehab")[int(rng.integers(3))]) for i in range(12) for t in range(10)]
    return pd.DataFrame(rows, columns=["patient", "month", "place"])


def hints(tmp_path: Path, frame: pd.DataFrame) -> list[str]:
    """What is asked about the rows of a file."""
    frame.to_csv(tmp_path / "long.csv", index=False)
    return [note for note in read(tmp_path / "long.csv", ReadOptions()).notes if "rows with the same" in note]


CHANNELS = "add --id-column machine --time hour --channel sensor --value reading."
STATES = "add --id-column patient --time month --value place --metric states."


@pytest.mark.usefixtures("as_typed")
@pytest.mark.parametrize(
    ("frame", "added"),
    [
        (tidy(), CHANNELS),
        (tidy().sample(frac=1, random_state=0), CHANNELS),
        (tidy().sort_values("hour")[["hour", "sensor", "machine", "reading"]], CHANNELS),
        (tidy().drop(index=[3, 17, 40]), CHANNELS),
        (tidy().assign(site=tidy()["machine"].eq("m1").map({True: "N", False: "S"}), built=2001), CHANNELS),
        (tidy().assign(machine=tidy()["machine"].str[1:].astype(int) + 7), CHANNELS),
        (tidy().reset_index(names=""), CHANNELS),
        (paths(), STATES),
        (paths().sample(frac=1, random_state=0), STATES),
        (paths().assign(sex=paths()["patient"].lt("P05").map({True: "f", False: "m"})), STATES),
        (paths().assign(until=paths()["month"] + 1), STATES),
    ],
)
def test_a_long_table_is_asked_about_with_the_options_that_read_it(
    tmp_path: Path, frame: pd.DataFrame, added: str
) -> None:
    (hint,) = hints(tmp_path, frame)
    assert hint.endswith(f", {added}")


def test_tables_with_repeated_names_and_times_are_no_long_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 120
    sales = pd.DataFrame(
        {
            "store": rng.choice(list("ABCDEF"), n),
            "year": rng.integers(2020, 2024, n),
            "product": rng.choice(["x", "y"], n),
            "revenue": rng.lognormal(3, 1, n),
        }
    )
    assert not hints(tmp_path, sales)
    assert not hints(tmp_path, tidy().assign(row=[f"r{i}" for i in range(60)])), "every row has a name of its own"
    twice = tidy()
    twice.loc[2, "hour"] = 0
    assert not hints(tmp_path, twice), "two values at one time"
    ratings = [(f"dish {i}", (5 * i + 7 * k) % 15, i * k + 0.5) for i in range(6) for k in range(4)]
    shuffled = pd.DataFrame(ratings, columns=["dish", "age", "price"]).sample(frac=1, random_state=0)
    assert not hints(tmp_path, shuffled), "few of all pairs"


@pytest.mark.usefixtures("as_typed")
def test_there_are_fewer_channels_than_series(tmp_path: Path) -> None:
    rows = [(c, t, f"m{i}", i + t * k + 0.5) for i in range(5) for t in range(6) for k, c in enumerate("abcd")]
    frame = pd.DataFrame(rows, columns=["sensor", "hour", "machine", "reading"])
    (hint,) = hints(tmp_path, frame)
    assert hint.endswith(f", {CHANNELS}")


def test_the_options_are_those_of_python() -> None:
    frame = paths()
    added = r"pass id_column='patient', time='month', value=\['place'\], states=True to read_table\."
    with pytest.warns(ReadingWarning, match=added):
        read_table(frame)
    sequences = read_table(frame, id_column="patient", time="month", value=["place"], states=True)
    SoftECM(2, metric="states", max_cardinality=1, n_init=1, random_state=0).fit(sequences.data)


def channels(frame: pd.DataFrame, **more: object) -> Loaded:
    """The series of the tidy table."""
    return read_table(frame, id_column="machine", time="hour", channel="sensor", value=["reading"], **more)


def test_channels_become_columns_of_each_time() -> None:
    loaded = channels(tidy().sample(frac=1, random_state=1))
    assert [c.name for c in loaded.columns] == ["a", "w"]
    series = dict(zip(loaded.names, loaded.data, strict=True))
    for i in range(5):
        np.testing.assert_array_equal(series[f"m{i}"], 100.0 * i + np.arange(6)[:, None] + [10.0, 0.0])
    loaded = channels(tidy().drop(index=[0]))
    assert np.isnan(loaded.data[0][0, 1])
    assert loaded.gaps == 1


def test_new_files_have_the_channels_of_the_first() -> None:
    first, new = channels(tidy()), tidy()
    assert (read_table(new.sort_values("sensor", kind="stable"), like=first).data == first.data).all()
    more = pd.concat([new, new.iloc[::2].assign(sensor="0 spare", reading=0.0)])
    with pytest.warns(ReadingWarning, match="not used, since the fit did not have them: channels 0 spare"):
        assert (read_table(more, like=first).data == first.data).all()
    with pytest.raises(ReadError, match="must have the channels of the fit in sensor; w not found"):
        read_table(new.replace({"sensor": {"w": "v"}}), like=first)


def test_channels_are_refused_where_they_make_no_series(tmp_path: Path) -> None:
    twice = pd.concat([tidy(), tidy().head(1)])
    with pytest.raises(ReadError, match="two values for series m0 at time 0 in channel w: keep one row"):
        channels(twice)
    with pytest.raises(ReadError, match="channel needs a channel in every row"):
        channels(tidy().assign(sensor=[None, *tidy()["sensor"][1:]]))
    with pytest.raises(ReadError, match="needs all of"):
        read_table(tidy(), channel="sensor")


@pytest.mark.parametrize(
    "times",
    [
        [f"{1 + 5 * k % 28:02d}.{1 + k:02d}.2024" for k in range(11)],
        [f"{k}" for k in range(11)],
        [f"{k},5" for k in range(11)],
        [f"week {k}" for k in range(11)],
        [f"{k} h" for k in range(11)],
    ],
)
def test_times_that_are_text_are_put_in_order(tmp_path: Path, times: list[str]) -> None:
    rows = [f"s{i};{time};{k},25" for i in range(3) for k, time in enumerate(times)]
    path = tmp_path / "long.csv"
    path.write_text("\n".join(["who;when;value", *np.random.default_rng(0).permutation(rows)]) + "\n")
    loaded = read(path, ReadOptions(id_column="who", time="when", value=("value",)))
    assert not loaded.notes
    for one in loaded.data:
        np.testing.assert_array_equal(one[:, 0], np.arange(11) + 0.25)


def test_times_in_words_are_asked_about() -> None:
    frame = pd.DataFrame({"who": ["a", "a", "b", "b"], "day": ["Mon", "Tue"] * 2, "v": [1.0, 2, 3, 4]})
    with pytest.warns(
        ReadingWarning, match=r"column day is in alphabetical order \(Mon, Tue\); if that is wrong, number"
    ):
        read_table(frame, id_column="who", time="day", value=["v"])
