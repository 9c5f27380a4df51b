"""How often each rule finds the planted number of groups.

    python benchmarks/number_of_clusters.py --draws 1000-1001 --jobs 2

Gaussian groups (``planted.py``): 2 to 11 of them, 2 to 20 columns, 10 to 150 objects per group, 6 or 10 deviations
apart, plain, with objects between and outliers, and of unequal sizes and spreads. Candidates are those of
``choose_n_clusters``. That "valleys" removes an object from its own mean was decided on draws below 1000; its constants
were set on other problems. ``--write`` writes the table to ``docs/measured/number_of_clusters.md``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

import planted

RULES = ("valleys", "silhouette", "nonspecificity")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "measured" / "number_of_clusters.md"
PLAIN: dict[str, float] = {}
EXTRAS = {"plain": PLAIN, "between, outliers": {"between": 0.05, "outliers": 0.03}, "unequal": {"unequal": 3.0}}
Row = dict[str, Any]


def shapes() -> Iterator[planted.Shape]:
    """Yield the kinds of problems, without groups too small to be found."""
    for c, columns, each, apart, (name, extra) in product(
        (2, 3, 5, 8, 11), (2, 5, 10, 20), (10, 20, 40, 150), (6.0, 10.0), EXTRAS.items()
    ):
        fits = c <= (c * each) ** 0.5 and (columns > 2 or c <= 8)
        if fits:
            yield planted.Shape(name, c, columns, apart, c * each, **extra)


def found(shape: planted.Shape, draw: int) -> Row:
    """Return the number chosen by each rule."""
    from softecm import SoftECM
    from softecm.selection import choose_n_clusters

    X = planted.gaussian(shape, draw).X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits: dict[int, Any] = {}

        def fit(model: Any, X: Any) -> Any:
            if model.n_clusters not in fits:  # the same for all rules
                fits[model.n_clusters] = model.fit(X)
            return fits[model.n_clusters]

        model = SoftECM(metric="sqeuclidean", random_state=0)
        chosen = {rule: choose_n_clusters(X, estimator=model, rule=rule, fit=fit).n_clusters for rule in RULES}
    return {"shape": shape, "draw": draw, **chosen}


def part(rows: list[Row], rule: str, where: Callable[[planted.Shape], bool]) -> str:
    """Return the share of right answers, and of too large ones."""
    own = [row for row in rows if where(row["shape"])]
    right = sum(row[rule] == row["shape"].c for row in own) / len(own)
    over = sum(row[rule] > row["shape"].c for row in own) / len(own)
    return f"{right:.3f} ({over:.3f})"


def table(rows: list[Row]) -> list[str]:
    """Return lines of a Markdown table: all problems, and each kind."""
    kinds: list[tuple[str, Callable[[planted.Shape], bool]]] = [("all", lambda shape: True)]
    kinds += [(f"{c} groups", lambda shape, c=c: shape.c == c) for c in (2, 3, 5, 8, 11)]
    kinds += [(f"{d} columns", lambda shape, d=d: shape.columns == d) for d in (2, 5, 10, 20)]
    kinds += [(f"{k} objects a group", lambda shape, k=k: shape.n == k * shape.c) for k in (10, 20, 40, 150)]
    kinds += [(f"{a} deviations apart", lambda shape, a=a: shape.apart == a) for a in (6, 10)]
    kinds += [(name, lambda shape, name=name: shape.group == name) for name in EXTRAS]
    lines = [f"| problems | number | {' | '.join(RULES)} |", "|---" * (len(RULES) + 2) + "|"]
    for name, where in kinds:
        number = sum(where(row["shape"]) for row in rows)
        if number:
            lines.append(f"| {name} | {number} | {' | '.join(part(rows, rule, where) for rule in RULES)} |")
    return lines


def main() -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", default="1000-1001")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    first, last = (int(number) for number in given.draws.split("-"))
    rows: list[Row] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        tasks = [pool.submit(found, shape, draw) for draw in range(first, last + 1) for shape in shapes()]
        try:
            for task in as_completed(tasks):
                rows.append(task.result())
                print(f"\r{len(rows)} of {len(tasks)}", end="", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            print("\nstopped: this is the table of what was done", file=sys.stderr)
    lines = ["Parts of the problems with the right number of groups (with too many).", "", *table(rows), ""]
    lines += [f"Made by `python benchmarks/number_of_clusters.py --draws {given.draws}`.", ""]
    print("\n".join(lines))
    if given.write:
        PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
