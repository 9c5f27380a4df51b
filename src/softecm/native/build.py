"""Compile the C sources beside this file into shared libraries, one for each level of processors.

The system's compiler does it (``$CC``, ``cc``, ``gcc``, ``clang``); where there is none, zig does, which PyPI has as the
package ``ziglang``. Needs nothing but the standard library: the package's build hook runs it before anything is installed.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Where the libraries lie: the fast ones, and those that check every access to memory.
PLAIN, CHECKED = HERE / "lib", HERE / "lib-checked"
SUFFIX = ".dll" if sys.platform == "win32" else ".so"
#: Contraction (a * b + c in one step) is allowed and nobody reads errno or floating-point traps; infinities and NaN keep
#: their meaning, and sums their order but where ``#pragma omp simd`` lets it go. Nothing of OpenMP is linked.
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fopenmp-simd",  # loops marked as independent become vectors; no OpenMP at run time
    "-fPIC",
    "-fvisibility=hidden",
)
WARNINGS = ("-Wall", "-Wextra", "-Werror=implicit-function-declaration", "-Wno-unknown-pragmas", "-Wno-psabi")
CHECKS = ("-DCHECKED", "-std=gnu11", "-O1", "-g", "-fPIC", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")
#: Flags by the level of x86-64 processors: the library at run time is the best that the processor has instructions for.
LEVELS: dict[str, tuple[str, ...]] = {
    "kernels": ("-march=x86-64-v2",),
    "kernels-v3": ("-march=x86-64-v3",),  # AVX2, FMA
    "kernels-v4": ("-march=x86-64-v4", "-mprefer-vector-width=512"),  # AVX-512
}


def sources() -> list[Path]:
    """What libraries are made from: the C files and their headers; none in an installed package."""
    return sorted([*HERE.glob("*.c"), *HERE.glob("*.h")])


def fingerprint(files: Sequence[Path]) -> str:
    """A hash of what the sources hold, and of this file, which has the flags."""
    digest = hashlib.sha256()
    for path in (*files, Path(__file__)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current(folder: Path = PLAIN) -> bool:
    """Whether the libraries were compiled from the sources as they are now."""
    stamp, files = folder / "fingerprint", sources()
    return stamp.exists() and (not files or stamp.read_text(encoding="utf-8") == fingerprint(files))


def system_compiler() -> list[str] | None:
    """The command of a C compiler that works, or None."""
    chosen = os.environ.get("CC")
    names = [chosen] if chosen else [] if sys.platform == "win32" else ["cc", "gcc", "clang"]
    commands = (shlex.split(name) for name in names)
    return next((command for command in commands if shutil.which(command[0]) and _works(command)), None)


def _works(command: list[str]) -> bool:
    """Whether a compiler finds its headers and can link: one without the C library's headers is no help."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "try.c"
        source.write_text("#include <math.h>\n#include <stdlib.h>\ndouble f(double x) { return pow(x, x); }\n")
        call = [*command, "-shared", "-fPIC", str(source), "-o", str(source.with_suffix(SUFFIX)), "-lm"]
        return subprocess.run(call, capture_output=True).returncode == 0


def zig() -> list[str]:
    """The command of zig's C compiler, from the package ``ziglang``."""
    return [sys.executable, "-m", "ziglang", "cc"]


def target() -> str | None:
    """The system to compile for in zig's words, such as ``aarch64-linux-gnu.2.17``; None for this one."""
    return os.environ.get("SOFTECM_TARGET") or None


def compiler() -> list[str]:
    """The command that compiles: zig for another system or where this one has no compiler."""
    command = None if target() else system_compiler()
    if command is not None:
        return command
    if subprocess.run([*zig(), "--version"], capture_output=True).returncode:
        raise SystemExit(
            "softecm's kernels are written in C, and no C compiler was found. Install one (gcc, clang), or run "
            "`pip install ziglang`, which brings one."
        )
    return zig()


def _levels() -> dict[str, tuple[str, ...]]:
    wanted = target()
    machine = wanted.split("-")[0] if wanted else platform.machine()
    return LEVELS if machine.lower() in ("x86_64", "amd64") else {"kernels": ()}


def _command(command: list[str], flags: Sequence[str], name: str, folder: Path) -> list[str]:
    wanted, suffix = target(), SUFFIX
    if command[1:] == zig()[1:]:  # zig writes x86_64_v3, and takes this machine's own level unless told
        flags = [flag.replace("-march=x86-64-", "-mcpu=x86_64_") for flag in flags] or ["-mcpu=baseline"]
        if wanted:
            flags = ["-target", wanted, *flags]
            suffix = ".dll" if "windows" in wanted else ".so"
    files = [str(path) for path in sources() if path.suffix == ".c"]
    return [*command, *flags, *WARNINGS, "-shared", *files, "-o", str(folder / (name + suffix)), "-lm"]


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}\n{done.stdout}{done.stderr}\nsoftecm's kernels could not be compiled.")
    sys.stderr.write(done.stderr)


def build(folder: Path = PLAIN, *, force: bool = False) -> bool:
    """Compile the libraries into their folder unless they are current; returns whether anything was compiled."""
    if is_current(folder) and not force:
        return False
    command, checked = compiler(), folder == CHECKED
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".build-") as made:
        levels = {"kernels": ()} if checked else _levels()
        flags = CHECKS if checked else FLAGS
        calls = [_command(command, [*flags, *own], name, Path(made)) for name, own in levels.items()]
        with ThreadPoolExecutor() as pool:
            list(pool.map(_run, calls))
        folder.mkdir(exist_ok=True)
        stamp = folder / "fingerprint"
        stamp.unlink(missing_ok=True)  # a build that is interrupted here is made again
        for path in Path(made).glob("kernels*"):
            if path.suffix in (".so", ".dll"):  # Windows' linker leaves more
                os.replace(path, folder / path.name)
        stamp.write_text(fingerprint(sources()), encoding="utf-8")
    return True


def sanitizer() -> str:
    """The libraries that must be loaded first (LD_PRELOAD) where the checked kernels are used.

    C++'s own is among them: the sanitizer looks for it when it is loaded, and ends a process that throws without it.
    """
    calls = ([*compiler(), f"-print-file-name={name}"] for name in ("libasan.so", "libstdc++.so.6"))
    return " ".join(subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip() for call in calls)


def main(arguments: Sequence[str]) -> int:
    """``--sanitize`` makes the libraries that check memory and prints what to preload; ``--force`` compiles in any case."""
    if "--sanitize" in arguments:
        build(CHECKED, force="--force" in arguments)
        print(sanitizer())
        return 0
    made = build(force="--force" in arguments)
    print(f"{PLAIN}: {'compiled' if made else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
