"""Notebook displays: words first, and data never as markup."""

import warnings

import numpy as np
import pandas as pd

from softecm import SoftECM, read_table, report
from softecm.selection import Choice, choose_n_clusters

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "who": [f"<b>{i:02d}" for i in range(40)],
        "u": np.r_[RNG.normal(0, 1, 20), RNG.normal(9, 1, 20)].round(2),
        "v": RNG.normal(size=40).round(2),
    }
)


def test_every_result_says_it_in_words_first() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_table(TABLE, id="who")
        chosen = choose_n_clusters(TABLE[["u", "v"]], candidates=[2, 3], estimator=SoftECM(n_init=1, random_state=0))
    model = SoftECM(2, n_init=1, random_state=0).fit(TABLE)
    assert table.names[3] == "<b>03"
    assert "<td>who</td><td>id</td>" in table._repr_html_()
    assert chosen._repr_html_().startswith("<p><b>2 groups</b>, chosen by valleys.")
    words = "<p>Of 40 objects in 2 groups, "
    assert words in chosen._repr_html_()
    assert model._repr_mimebundle_()["text/html"].startswith(words)
    assert model._repr_html_().startswith(words)
    found = report.compare(model.partition_, model.partition_)
    assert found._repr_html_().startswith("<p>Of 40 objects, 0 (0%) are in another set in B.</p>")
    changes = report.compare(model, model, data=(TABLE, TABLE))
    assert changes._repr_html_().startswith("<p>A has 40 objects and B 40; ")


def test_columns_without_entries_are_left_out_of_a_table_that_was_read() -> None:
    html = read_table(pd.DataFrame({"u": [1.0, 2.5], "v": [3.0, 4.5]}))._repr_html_()
    assert "<th>read as</th>" in html
    assert "<th>missing</th>" not in html


def test_values_of_numbers_of_groups_are_not_powers_of_ten() -> None:
    chosen = Choice(2, SoftECM(2, n_init=1, random_state=0).fit(TABLE[["u", "v"]]), {2: 5456.24, 3: 5462.61})
    assert "<td>5456.2</td>" in chosen._repr_html_()
    assert "<td>5462.6</td>" in chosen._repr_html_()


def test_two_partitions_are_compared_by_their_ids() -> None:
    first = TABLE.set_index("who")
    other = first.iloc[::-1][5:].copy()
    other.loc["<b>07", "u"] = 9.0
    model, later = (SoftECM(2, metric="sqeuclidean", n_init=1, random_state=0).fit(X) for X in (first, other))
    found = report.compare(model.partition_, later.partition_, names=("May", "June"))
    assert found.facts["moved"] == ["<b>07"]
    assert (found.facts["n_gone"], found.facts["n_new"], found.facts["n_objects"]) == (5, 0, 35)
    assert "&lt;b&gt;07" in found._repr_html_()
    assert "<b>0" not in found._repr_html_()


def test_a_report_takes_ids() -> None:
    X = TABLE[["u", "v"]]
    model = SoftECM(2, n_init=1, random_state=0).fit(X)
    assert list(report.build(model, X, ids=TABLE["who"]).ids) == TABLE["who"].tolist()
