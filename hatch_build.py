"""Build hook of hatchling for wheels and editable installs: compile the kernels and set the wheel's platform tag."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Tags of wheels for other systems, by zig's name of the system (``SOFTECM_TARGET``).
TAGS = {
    "x86_64-linux-gnu.2.17": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-linux-gnu.2.17": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-macos.11.0": "macosx_11_0_x86_64",
    "aarch64-macos.11.0": "macosx_11_0_arm64",
    "x86_64-windows-gnu": "win_amd64",
}


def builder(root: str) -> ModuleType:
    """Load ``softecm.native.build`` without importing the package, whose requirements are not installed yet."""
    path = Path(root) / "src" / "softecm" / "native" / "build.py"
    spec = importlib.util.spec_from_file_location("build_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class KernelsHook(BuildHookInterface[Any]):
    """Compiles before the files of the wheel are collected."""

    def dependencies(self) -> list[str]:
        """Return the package of zig's C compiler, if the system has no compiler or the wheel is for another system."""
        build = builder(self.root)
        return ["ziglang>=0.13"] if build.target() or build.system_compiler() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile in place, or into a separate folder for another system."""
        build = builder(self.root)
        target = build.target()
        if target is None:
            build.build()
            build_data["artifacts"].append("src/softecm/native/lib/*")
        else:
            folder = Path(self.root) / "build" / target
            build.build(folder, force=True)
            build_data["force_include"][str(folder)] = "softecm/native/lib"
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_") if target is None else TAGS[target]
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag}"
