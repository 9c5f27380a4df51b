"""Runs commands in processes of their own, which may be killed on the way; the libraries are loaded once.

Each line of the input is JSON: a folder, the arguments, where to die. Each line of the answer is the exit status; how often
every point was reached is left in the folder, beside what was printed.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path

from softecm import _atomic
from softecm.cli import main
from softecm.files import to_folder, write_text

COMMANDS = (
    "matplotlib.pyplot", "pandas", "pyarrow.csv", "sklearn", "torch",
    *(f"softecm.{name}" for name in ("algorithms", "selection", "report")),
    *(f"softecm.cli.{name}" for name in ("cluster", "predict", "redraw", "sweep")),
)  # fmt: skip


def fill(work: Path) -> None:
    """Two files of the second version."""
    (work / "a").write_text("new")
    write_text(work / "b", "new")


def command(arguments: list[str]) -> int:
    """A command, or "files FOLDER": the writers alone."""
    if arguments[0] == "files":
        to_folder(Path(arguments[1]), fill, force=True, instead_of=["a", "b", "c"])
        return 0
    sys.argv = ["softecm", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def run(folder: str, arguments: list[str], at: str) -> None:
    """One command in this process, which ends with it."""
    os.chdir(folder)
    for number, name in ((1, ".stdout"), (2, ".stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ["SOFTECM_KILL_AT"] = at
    code = 1
    try:
        code = command(arguments)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    Path(".seen").write_text(json.dumps(_atomic._seen))
    os._exit(code)


if __name__ == "__main__":
    if "light" not in sys.argv:
        for module in COMMANDS:
            importlib.import_module(module)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
