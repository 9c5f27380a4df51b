"""Run-time compilation of CUDA C++ for all kernels of this package on NVIDIA GPUs.

Sources are in ``cuda/``; NVRTC compiles them through cuda-core for the present card and the given macros. Compiled code
is cached in a folder (``SOFTECM_CACHE``, else the user's cache).
"""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from softecm._atomic import write_bytes

__all__ = ["Card", "Kernel", "available", "cache_folder", "card", "kernel", "on", "source"]

_INSTALL = (
    "code for the GPU is compiled when it is first used and needs cuda-core and NVRTC: "
    "pip install 'cuda-core[cu13]' (or 'cuda-core[cu12]', matching torch.version.cuda), or use device='cpu'."
)


def cache_folder() -> Path:
    """Return the folder of compiled code: ``SOFTECM_CACHE``, else the user's cache folder."""
    chosen = os.environ.get("SOFTECM_CACHE")
    if chosen:
        return Path(chosen) / "kernels"
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return base / "softecm" / "kernels"


def available() -> str | None:
    """Return why kernels can't be compiled here, in a sentence; None if they can."""
    if not torch.cuda.is_available():
        return "torch sees no CUDA device (torch.cuda.is_available() is False)."
    try:
        _backend()
    except ImportError as error:
        return str(error)
    return None


def on(device: int) -> AbstractContextManager[object]:
    """Make the device the current one inside the context."""
    return nullcontext() if torch.cuda.current_device() == device else torch.cuda.device(device)


@dataclass(frozen=True)
class Card:
    """Properties that determine a kernel's launch plan."""

    processors: int
    shared: int  # maximum bytes per block
    arch: str


@lru_cache(maxsize=64)
def card(device: int) -> Card:
    """Return the card of a device number."""
    properties = torch.cuda.get_device_properties(device)
    shared = getattr(properties, "shared_memory_per_block_optin", 48 * 1024)
    return Card(properties.multi_processor_count, min(shared, 100 * 1024), f"sm_{properties.major}{properties.minor}")


class Kernel:
    """A compiled function on one device, and how to launch it."""

    def __init__(self, core: ModuleType, function: Any, device: int) -> None:
        self._launch, self._function, self._device = core.launch, function, device
        self._config = lru_cache(maxsize=4096)(core.LaunchConfig)
        self._stream = lru_cache(maxsize=256)(core.Stream.from_handle)
        self._allowed = 48 * 1024  # guaranteed for every block

    def start(
        self, stream: int, grid: tuple[int, ...], block: tuple[int, ...], shared: int, *args: int | float
    ) -> None:
        """Launch it on a torch stream, with this many bytes of shared memory per block."""
        self._launch(self._stream(stream), self._config(grid, None, block, shared), self._function, *args)

    def resident(self, threads: int, shared: int) -> int:
        """Return how many blocks of this size one multiprocessor holds at a time."""
        if shared > self._allowed:
            self._allow_shared(shared)
            self._allowed = shared
        return max(1, int(self._function.occupancy.max_active_blocks_per_multiprocessor(threads, shared)))

    def _allow_shared(self, shared: int) -> None:
        driver = importlib.import_module("cuda.bindings.driver")
        which = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        handle, device = self._function.handle, driver.CUdevice(self._device)
        (status,) = driver.cuKernelSetAttribute(which, shared, handle, device)
        if status != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"The GPU refused {shared} bytes of shared memory per block ({status}).")


def source(file: str) -> str:
    """Return the text of a file in ``cuda/``, with each line ``#include "other"`` replaced by that file."""
    text = (Path(__file__).parent / "cuda" / file).read_text(encoding="utf-8")
    return re.sub(r'^#include "(.+)"\n', lambda line: source(line[1]), text, flags=re.MULTILINE)


@lru_cache(maxsize=1)
def _backend() -> ModuleType:
    """Return ``cuda.core`` if NVRTC is available, too."""
    try:
        core = importlib.import_module("cuda.core")
        if not hasattr(core, "Program"):  # cuda-core before 0.5
            core = importlib.import_module("cuda.core.experimental")
        importlib.import_module("cuda.bindings.nvrtc")
    except ImportError:
        raise ImportError(_INSTALL) from None
    return core


@lru_cache(maxsize=256)
def kernel(device: int, name: str, defines: tuple[tuple[str, int], ...]) -> Kernel:
    """Return the function ``name`` of ``cuda/name.cu``, compiled with these macros."""
    core = _backend()
    core.Device(device).set_current()
    binary = _compiled(core, card(device).arch, source(f"{name}.cu"), defines)
    try:
        function = core.ObjectCode.from_cubin(binary).get_kernel(name)
    except Exception as error:
        raise RuntimeError(
            f"The compiled kernel could not be loaded ({error}). The NVIDIA driver is probably older "
            "than the installed NVRTC: update the driver, or install cuda-core and NVRTC for its CUDA version."
        ) from error
    return Kernel(core, function, device)


def _compiled(core: ModuleType, arch: str, source: str, defines: tuple[tuple[str, int], ...]) -> bytes:
    """Return machine code from the cache folder, or compile and cache it."""
    nvrtc = importlib.import_module("cuda.bindings.nvrtc")
    try:
        version = nvrtc.nvrtcVersion()[1:]
    except Exception as error:  # the bindings are installed, the library they load is not
        raise ImportError(f"{_INSTALL} ({error})") from error
    key = hashlib.sha256(repr((source, arch, defines, version)).encode()).hexdigest()[:32]
    path = cache_folder() / f"{key}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        pass
    binary = _compiled_now(core, arch, source, defines)
    try:  # with a read-only home, each process compiles again
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, binary)
    except OSError:
        pass
    return binary


def _compiled_now(core: ModuleType, arch: str, source: str, defines: tuple[tuple[str, int], ...]) -> bytes:
    options = core.ProgramOptions(
        arch=arch,
        std="c++17",
        device_as_default_execution_space=True,
        define_macro=[(macro, str(value)) for macro, value in defines],
    )
    return bytes(core.Program(source, "c++", options=options).compile("cubin").code)
