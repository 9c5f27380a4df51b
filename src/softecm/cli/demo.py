"""``softecm demo``: a small file to try things on, the command that clusters it, and its result."""

from __future__ import annotations

import csv
import runpy
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.text import Text

from softecm._text import meant
from softecm.cli.commands import DemoOptions, application
from softecm.cli.options import INVOCATION
from softecm.cli.problems import Problem
from softecm.cli.screen import consoles
from softecm.files import check_folder, check_free, to_folder

COMMAND = "command.txt"  # beside the file of an example


def run(options: DemoOptions) -> None:
    """Write the file of an example and the command that clusters it, and run that."""
    if options.data not in EXAMPLES:
        names = ", ".join(EXAMPLES)
        raise Problem(f"WHAT must be one of {names}; got {options.data}.{meant(options.data, EXAMPLES)}")
    example = EXAMPLES[options.data]
    (out, _), called, folder = consoles(), INVOCATION.get(), options.output
    if folder is None:
        folder = Path("softecm-demo" if options.data == "points" else f"softecm-demo-{options.data}")
    check_folder(folder)
    check_free(folder, force=options.force or (folder / COMMAND).is_file())
    words = ["cluster", str(folder / example.file), *example.options, "-o", str(folder / "result")]
    command = shlex.join(["softecm", *words])

    def fill(work: Path) -> None:
        example.write(work)
        (work / COMMAND).write_text(f"{command}\n", encoding="utf-8")

    to_folder(folder, fill, force=True)
    about = f"  {example.about}, in {folder}. Replace the file with your own and run:"
    out.print(Text.assemble(("softecm demo", "bold"), about))
    out.print(Text(f"  {command}", style="bold"))
    out.print()
    flags = [*(["--quiet"] if called.quiet else []), *(["--json"] if called.machine else [])]
    application()([*words, "--force", *flags], standalone_mode=False)  # an earlier demo is replaced
    others = ", ".join(name for name in EXAMPLES if name != options.data)
    out.print(Text(f"Other examples: softecm demo {others}", style="dim"))


TO_NPZ = '''"""One text per line to texts.npz, for softecm cluster: put your own texts into texts.txt and run this."""

from pathlib import Path

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

here = Path(__file__).parent
texts = (here / "texts.txt").read_text(encoding="utf-8").splitlines()
words = TfidfVectorizer(sublinear_tf=True)
rows = words.fit_transform(texts)
# What scipy.sparse.save_npz writes, and the words, for the descriptions of the groups.
sparse = {"format": "csr", "shape": rows.shape, "data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
np.savez_compressed(here / "texts.npz", names=words.get_feature_names_out().astype(str), **sparse)
'''


@dataclass(frozen=True)
class Example:
    """A file that can be made up, and how to cluster it."""

    about: str
    file: str
    options: tuple[str, ...]
    write: Callable[[Path], None]


def points(folder: Path) -> None:
    """The paper's twelve points."""
    from softecm.datasets import load_diamond

    _table(
        folder / "points.csv", ["object", "x", "y"], [[i, *at] for i, at in enumerate(load_diamond().data.tolist(), 1)]
    )


def customers(folder: Path) -> None:
    """Four kinds of customers in columns of all kinds, with gaps, a column of noise, some in between and some odd ones."""
    rng, n = np.random.default_rng(1), 240
    group = rng.integers(0, 4, n)
    blend = np.where(np.arange(n) % 20 == 0, 0.5, 1.0)  # some lie halfway to the next kind

    def mixed(levels: Sequence[float]) -> np.ndarray:
        own, next_kind = np.array(levels)[group], np.array(levels)[(group + 1) % 4]
        return np.asarray(blend * own + (1 - blend) * next_kind)

    age = (mixed([24, 41, 63, 36]) + rng.normal(0, 4, n)).round()
    income = (mixed([21000, 48000, 33000, 83000]) + rng.normal(0, 4000, n)).round(-2)
    spent = (mixed([90, 640, 260, 1500]) * rng.lognormal(0, 0.2, n)).round(2)
    channel = np.where(
        rng.random(n) < 0.85,
        np.array(["app", "web", "store", "phone"])[group],
        rng.choice(["app", "web", "store", "phone"], n),
    )
    income[[7, 130]] = [640000.0, 410000.0]
    age[[55, 130]] = [103.0, 9.0]
    rows = []
    for i in range(n):
        cells = [f"{age[i]:.0f}", f"{income[i]:.0f}", f"{spent[i]:.2f}", str(channel[i]), str(rng.integers(1, 50))]
        rows.append([f"C{i:03d}", *("" if rng.random() < 0.03 else cell for cell in cells)])
    _table(folder / "customers.csv", ["customer", "age", "income", "spent per month", "channel", "lucky number"], rows)


def series(folder: Path) -> None:
    """Sensors with three courses of a day, one of them broken, a row a reading."""
    rng, t = np.random.default_rng(2), np.linspace(0, 1, 36)
    courses = [np.sin(2 * np.pi * t), np.where(t > 0.5, 1.0, -0.5), 2 * t - 1]
    rows = []
    for i in range(60):
        values = courses[i % 3] + rng.normal(0, 0.15, len(t)) + 0.1 * rng.normal()
        values = rng.normal(0, 2, len(t)) if i == 41 else values
        rows += [[f"sensor {i:02d}", str(k), f"{20 + 3 * v:.2f}"] for k, v in enumerate(values.tolist())]
    _table(folder / "sensors.csv", ["sensor", "time", "temperature"], rows)


def texts(folder: Path) -> None:
    """Short texts on four topics, and the script that makes a table of words of them."""
    rng = np.random.default_rng(3)
    topics = [
        "match goal team player league coach stadium season score win",
        "recipe oven butter sugar flour bake sauce onion garlic taste",
        "orbit rocket launch moon star galaxy probe planet crew mission",
        "court judge appeal ruling lawyer statute clause verdict trial jury",
    ]
    common = ["today", "people", "new", "said", "first", "week", "after", "with", "more", "time"]
    lines = [" ".join([*rng.choice(topic.split(), 9), *rng.choice(common, 4)]) for topic in topics for _ in range(40)]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    script = folder / "texts_to_npz.py"
    script.write_text(TO_NPZ, encoding="utf-8")
    runpy.run_path(str(script))


def states(folder: Path) -> None:
    """Ways through a web shop, a row a visit: looking around, buying, asking for help."""
    rng = np.random.default_rng(4)
    pages = ["home", "search", "product", "basket", "pay", "help", "account"]
    ways = [
        "home search product search product product",
        "home product basket account pay pay",
        "home account help help account help",
    ]
    rows = []
    for i in range(90):
        steps = [page if rng.random() < 0.88 else str(rng.choice(pages)) for page in ways[i % 3].split()]
        rows.append([f"visit {i:02d}", *steps])
    _table(folder / "visits.csv", ["visit", *(f"step {k}" for k in range(1, 7))], rows)


def _table(path: Path, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


EXAMPLES: Mapping[str, Example] = {
    "points": Example(
        "twelve points (two diamonds; 6 is midway, 12 far away)", "points.csv", ("-c", "2", "--id", "object"), points
    ),
    "customers": Example("customers, with missing values, noise and outliers", "customers.csv", ("-c", "4"), customers),
    "series": Example(
        "sensor series",
        "sensors.csv",
        ("-c", "3", "--id", "sensor", "--time", "time", "--value", "temperature", "--n-init", "3"),
        series,
    ),
    "texts": Example("short texts on four topics", "texts.npz", ("-c", "4", "--metric", "cosine"), texts),
    "states": Example("ways through a web shop", "visits.csv", ("-c", "3", "--metric", "states"), states),
}
