"""``softecm compare``: two result folders side by side."""

import json
from collections.abc import Callable
from pathlib import Path

Run = Callable[..., tuple[int, str, str]]


def test_two_folders_are_compared(run: Run, two_groups: Path) -> None:
    lines = two_groups.read_text(encoding="utf-8").splitlines()
    other = Path("turned.csv")
    other.write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n", encoding="utf-8")
    Path("fewer.csv").write_text("\n".join(lines[:-4]) + "\n", encoding="utf-8")
    for file, folder, groups in ((two_groups, "a", 2), (other, "b", 2), ("fewer.csv", "c", 2)):
        assert run("cluster", file, "-c", groups, "-o", folder, "--n-init", 1, "-q")[0] == 0
    code, out, err = run("compare", "a", "b")
    assert code == 0, err
    assert "Of 42 objects, 0 (0 %) are in another set in b." in out  # whatever the order of the rows
    assert "<h1" in Path("compare.html").read_text(encoding="utf-8")
    code, out, _ = run("compare", "a", "b", "-o", "again.html", "--json")
    assert (code, json.loads(out)["scores"]["same set"]["value"]) == (0, 1.0)
    for arguments, message in (
        (("a", "b"), "compare.html is there already"),
        (("a", "c", "-o", "new.html"), "a and c are about different objects: 42 and 38, 38 in common"),
        (("a", "nothing", "-o", "new.html"), "nothing is not a folder"),
    ):
        code, _, err = run("compare", *arguments)
        assert code == 2
        assert message in " ".join(err.split())
