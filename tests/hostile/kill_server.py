"""Runs commands in separate processes, which may be killed on the way; the libraries are loaded once.

Each line of the input is JSON: a folder, the arguments, where to die. Each line of the answer is the exit status; the
counts of the points reached are left in the folder, with the printed output.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from softecm import _atomic
from softecm.cli import main
from softecm.files import to_folder, write_text

COMMANDS = (
    "matplotlib.pyplot", "pandas", "pyarrow.csv", "sklearn", "torch",
    *(f"softecm.{name}" for name in ("algorithms", "selection", "report")),
    *(f"softecm.cli.{name}" for name in ("cluster", "predict", "redraw", "sweep")),
)  # fmt: skip


@dataclass
class Server:
    """Commands in separate processes, in one folder that is reset before each trial."""

    folder: Path
    process: subprocess.Popen[str] | None

    def __call__(self, arguments: tuple[str, ...], at: str = "nowhere") -> int:
        case = {"folder": str(self.folder), "arguments": arguments, "at": at}
        print(json.dumps(case), file=self.process.stdin, flush=True)
        return int(self.process.stdout.readline())

    @property
    def seen(self) -> dict[str, int]:
        """How often the last command that was not killed reached each point."""
        return json.loads((self.folder / ".seen").read_text())

    def keep(self) -> None:
        """Make the present state the initial one."""
        shutil.copytree(self.folder, self.folder.with_name("first"))

    def reset(self) -> None:
        shutil.rmtree(self.folder)
        shutil.copytree(self.folder.with_name("first"), self.folder)


@contextmanager
def served(root: Path, *options: str) -> Iterator[Server]:
    """This file as a program."""
    (root / "work").mkdir()
    program = [sys.executable, __file__, *options]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Server(root / "work", process)
        process.stdin.close()


def fill(work: Path) -> None:
    """Write two files of the second version."""
    (work / "a").write_text("new")
    write_text(work / "b", "new")


def work(kind: str, path: str) -> None:
    """Run a sweep with a journal, or a fit with checkpoints, on the data of test_killed_writing.py."""
    import numpy as np

    from softecm import SoftECM
    from softecm.selection import batch, sweep

    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 5.0]
    if kind == "sweep":
        batch.CPU_WORK = 1.0
        sweep(X, {"beta": [1.2, 1.4, 1.6, 1.8]}, estimator=SoftECM(2, n_init=1), journal=path)
    else:
        SoftECM(2, n_init=2, random_state=0, tol=1e-6).fit(X, checkpoint=path, checkpoint_every=1)


def command(arguments: list[str]) -> int:
    """Run a command, or "files FOLDER": the writers alone, or "sweep FILE" or "fit FILE"."""
    if arguments[0] == "files":
        to_folder(Path(arguments[1]), fill, force=True, instead_of=["a", "b", "c"])
        return 0
    if len(arguments) == 2 and arguments[0] in ("sweep", "fit"):
        work(*arguments)
        return 0
    sys.argv = ["softecm", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def run(folder: str, arguments: list[str], at: str) -> None:
    """Run one command in this process, which ends with it."""
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
