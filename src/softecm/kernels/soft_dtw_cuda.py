"""Soft-DTW on an NVIDIA GPU: values and prototype gradients of many pairs at once.

The kernel is CUDA C++ (``cuda/soft_dtw.cu``, which explains the algorithm), compiled at run time by NVRTC for
the card at hand and for the shape asked for; no ``nvcc`` is needed. Compiled code is kept in a cache folder
(``SOFTECM_CACHE``, else the user's cache). Work is queued on torch's current stream. Results are equal from run
to run: every pair writes sums of its own, and these are added in a fixed order.

``softecm.kernels.soft_dtw`` is the public door; this module is what it opens when the tensors live on a GPU.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["available", "cache_folder", "forward", "forward_backward"]

Pairs = tuple[Tensor, Tensor] | None

_GROUP = 8  # channels handled in one go; more go through the table in groups of this many
_LN2 = math.log(2.0)
_PARTIAL_BYTES = 1 << 29  # the pairs' own gradient sums, per chunk; fixed, so that the order of addition is
_INSTALL = (
    "Soft-DTW on the GPU is compiled when it is first used and needs cuda-core (or CuPy) and NVRTC: "
    "pip install 'cuda-core[cu13]' (or 'cuda-core[cu12]', matching torch.version.cuda), or use device='cpu'."
)


def forward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    gamma: float,
    band: int | None,
) -> Tensor:
    """Soft-DTW values of pairs of series on the GPU.

    Parameters
    ----------
    x : Tensor (n, Lx, d)
        Series, padded; float32 or float64 on a CUDA device. What lies beyond a length is never read.
    x_lengths : Tensor (n,) of int64, or None
        Steps of each series; None: all of them.
    y, y_lengths
        The same for the f prototypes, (f, Ly, d).
    pairs : (Tensor, Tensor) or None
        Indices into x and y; None: every x with every y.
    gamma : float
        Smoothing, above 0.
    band : int or None
        Radius of the Sakoe–Chiba band.

    Returns
    -------
    Tensor
        (n, f) without ``pairs``, else (P,).
    """
    return _Job(x, x_lengths, y, y_lengths, pairs, gamma, band).values()


def forward_backward(
    x: Tensor,
    x_lengths: Tensor | None,
    y: Tensor,
    y_lengths: Tensor | None,
    pairs: Pairs,
    weights: Tensor,
    gamma: float,
    band: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Soft-DTW values, and what the gradient for the prototypes is made of.

    With E the expected alignment of a pair, ``W[g, t]`` is the sum over the pairs of prototype g of
    weight · Σ_s E[s, t] and ``Y[g, t]`` that of weight · Σ_s E[s, t] x[s]; the gradient of Σ weight · value in y
    is ``2 (W[..., None] * y - Y)``.

    Parameters
    ----------
    x, x_lengths, y, y_lengths, pairs, gamma, band
        As in `forward`.
    weights : Tensor
        One a pair, shaped as the values; may be negative.

    Returns
    -------
    values, W, Y : Tensor
        (n, f) or (P,); (f, Ly); (f, Ly, d).
    """
    return _Job(x, x_lengths, y, y_lengths, pairs, gamma, band).values_and_sums(weights)


def available() -> str | None:
    """Why the GPU kernel can't be used here, in a sentence; None when it can."""
    if not torch.cuda.is_available():
        return "torch sees no CUDA device (torch.cuda.is_available() is False)."
    try:
        _backend()
    except ImportError as error:
        return str(error)
    return None


# ---------------------------------------------------------------------------------------------------- launching


class _Job:
    """One call: the tensors checked, and the sizes the kernels want."""

    def __init__(
        self,
        x: Tensor,
        x_lengths: Tensor | None,
        y: Tensor,
        y_lengths: Tensor | None,
        pairs: Pairs,
        gamma: float,
        band: int | None,
    ) -> None:
        if x.dtype not in (torch.float32, torch.float64) or y.dtype != x.dtype:
            raise TypeError(
                f"x and y must both be float32 or both be float64; got {x.dtype} and {y.dtype}. Convert one of them."
            )
        self.x, self.y = x.contiguous(), y.contiguous()
        self.lengths = tuple(None if t is None else t.contiguous() for t in (x_lengths, y_lengths))
        self.pairs = None if pairs is None else (pairs[0].contiguous(), pairs[1].contiguous())
        self.gamma, self.band = float(gamma), -1 if band is None else int(band)
        if self.band >= max(x.shape[1], y.shape[1]) - 1:
            self.band = -1  # everything is inside
        self.n, self.x_steps, self.d = x.shape
        self.f, self.y_steps, _ = y.shape
        self.count = self.n * self.f if pairs is None else pairs[0].numel()
        self.shape = (self.n, self.f) if pairs is None else (self.count,)
        self.wide = x.dtype == torch.float64
        self.device = x.device.index
        self.stream = torch.cuda.current_stream(x.device).cuda_stream

    def values(self) -> Tensor:
        with _on(self.device):
            values = torch.empty(self.shape, dtype=self.x.dtype, device=self.x.device)
            if self.count:
                launch, slots, work = self._room(self.count, False, 0)
                self._align(launch, slots, work, 0, values, None, 0, self.count)
            return values

    def values_and_sums(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x, f, width = self.x, self.f, self.y_steps * (self.d + 1)
        with _on(self.device):
            values = torch.empty(self.shape, dtype=x.dtype, device=x.device)
            if self.count == 0:
                sums = torch.zeros((f, self.y_steps, self.d + 1), dtype=x.dtype, device=x.device)
                return values, sums[..., 0], sums[..., 1:]
            sums = torch.empty((f, self.y_steps, self.d + 1), dtype=x.dtype, device=x.device)
            if weights.dtype != x.dtype or weights.device != x.device or not weights.is_contiguous():
                weights = weights.to(dtype=x.dtype, device=x.device).contiguous()
            row = width * x.element_size()
            whole = 1 if self.pairs is not None else f  # a chunk holds whole rows of the (n, f) grid
            chunk = min(self.count, max(1, _PARTIAL_BYTES // (row * whole)) * whole)
            launch, slots, work = self._room(chunk, True, -(-chunk * row // 256) * 256)
            partial = work.data_ptr()
            for first in range(0, self.count, chunk):
                number = min(chunk, self.count - first)
                self._align(launch, slots, work, partial, values, weights, first, number)
                self._add_up(partial, sums, first, number, width)
            return values, sums.select(2, 0), sums.narrow(2, 1, self.d)

    def _room(self, number: int, gradient: bool, partial: int) -> tuple[_Launch, int, Tensor]:
        """Scratch memory: the pairs' sums, then tables for as many pairs in flight as what is free allows."""
        launch = _prepare(self.device, self.y_steps, self.x_steps, number, self.d, self.wide, gradient, self.band >= 0)
        slots, each = launch.slots, launch.table + launch.edge
        while True:
            try:
                return launch, slots, torch.empty(partial + slots * each, dtype=torch.uint8, device=self.x.device)
            except torch.OutOfMemoryError:
                if slots == 1:
                    raise MemoryError(
                        f"one pair of {self.y_steps} by {self.x_steps} steps needs {each / 2**30:.1f} GiB of GPU "
                        f"memory (and the sums {partial / 2**30:.1f}), more than is free. Shorten the series "
                        "(resample them), free memory on the card, use float32, or use device='cpu'."
                    ) from None
                slots = (slots + 1) // 2

    def _align(
        self,
        launch: _Launch,
        slots: int,
        work: Tensor,
        partial: int,
        values: Tensor,
        weights: Tensor | None,
        first: int,
        number: int,
    ) -> None:
        """Values, and each pair's sums, of pairs `first` to `first + number`."""
        end = work.data_ptr() + work.numel()
        table = end - slots * (launch.table + launch.edge)
        ix, iy = (0, 0) if self.pairs is None else (self.pairs[0].data_ptr(), self.pairs[1].data_ptr())
        x_lengths, y_lengths = self.lengths
        launch.kernel.start(
            self.stream,
            (min(slots, number), 1, 1),
            (32 * launch.plan.warps, 1, 1),
            launch.shared,
            self.x.data_ptr(),
            0 if x_lengths is None else x_lengths.data_ptr(),
            self.y.data_ptr(),
            0 if y_lengths is None else y_lengths.data_ptr(),
            ix,
            iy,
            0 if weights is None else weights.data_ptr(),
            values.data_ptr(),
            partial,
            table,
            table + slots * launch.table,
            self.f,
            self.x_steps,
            self.y_steps,
            self.d,
            first,
            number,
            launch.table,
            self.band,
            1.0 / (self.gamma * _LN2),
            self.gamma * _LN2,
        )

    def _add_up(self, partial: int, sums: Tensor, first: int, number: int, width: int) -> None:
        """Add the pairs' sums up by prototype, in a fixed order."""
        order = start = None
        if self.pairs is not None:
            ids, order = torch.sort(self.pairs[1][first : first + number], stable=True)
            start = torch.searchsorted(ids, torch.arange(self.f + 1, device=ids.device))
        members = -(-number // self.f)
        parts = min(64, members // 1024) if members >= 4096 else 1
        columns = min(-(-width // 32), 65535)
        add = _kernel(self.device, "sum_by_prototype", (("REAL64", int(self.wide)),))
        into = sums if parts == 1 else sums.new_empty((parts, self.f, width))
        add.start(
            self.stream,
            (self.f, columns, parts),
            (32, 16, 1),
            0,
            partial,
            0 if order is None else order.data_ptr(),
            0 if start is None else start.data_ptr(),
            into.data_ptr(),
            self.f,
            members,
            width,
            int(first > 0 and parts == 1),
        )
        if parts > 1:
            again = (into.data_ptr(), 0, 0, sums.data_ptr(), self.f, parts, width, int(first > 0))
            add.start(self.stream, (self.f, columns, 1), (32, 16, 1), 0, *again)


def _on(device: int) -> AbstractContextManager[Any]:
    return nullcontext() if torch.cuda.current_device() == device else torch.cuda.device(device)


# ---------------------------------------------------------------------------------------------------- planning


@dataclass(frozen=True)
class _Plan:
    """How a table is spread over threads."""

    rows: int  # of the prototype, in one thread
    warps: int  # a block, that is a pair
    strips: int  # blocks of rows, one after the other
    stages: int  # groups of 4 steps the backward pass holds in shared memory

    def shared(self, wide: bool, gradient: bool) -> int:
        """Bytes of shared memory a block needs: fetched steps, rings, sums (read two at a time)."""
        cell, real = (16, 8) if wide else (4, 4)
        fetched = self.stages * 4 * self.rows * 32 * cell if gradient else 0
        return self.warps * fetched + (self.warps + 2) // 2 * 2 * 33 * real + (self.warps + 2) * 8


@dataclass(frozen=True)
class _Launch:
    """A plan, its kernel, and the memory it wants (bytes a pair in flight)."""

    plan: _Plan
    kernel: _Kernel
    shared: int
    table: int
    edge: int
    slots: int  # pairs in flight that fill the card


@lru_cache(maxsize=1024)
def _plan(rows: int, pairs: int, channels: int, wide: bool, card: _Card) -> _Plan:
    """Rows a thread and warps a pair: little idle at the table's end, few instructions beside the cells' own."""
    heights = (1, 2) if wide else (1, 2, 4, 8) if rows >= 1000 and channels <= 2 else (1, 2, 4)
    height = min(heights, key=lambda h: -(-rows // (32 * h)) * (33 * h + 30))  # groups · instructions a step
    groups = -(-rows // (32 * height))
    most = 16 if pairs < 4 * card.processors else 8
    while _Plan(height, most, 1, 2).shared(False, True) > card.shared:
        most //= 2
    strips = -(-groups // most)
    return _Plan(height, -(-groups // strips), strips, 0 if wide else 2)


@lru_cache(maxsize=1024)
def _prepare(
    device: int, rows: int, columns: int, pairs: int, channels: int, wide: bool, gradient: bool, band: bool
) -> _Launch:
    card, inside = _card(device), min(channels, _GROUP)
    plan = _plan(rows, pairs, inside, wide, card)
    kernel = _kernel(
        device,
        "soft_dtw",
        (
            ("REAL64", int(wide)),
            ("H", plan.rows),
            ("D", inside),
            ("MORE", int(channels > _GROUP)),
            ("GRAD", int(gradient)),
            ("BAND", int(band)),
            ("STAGES", plan.stages),
            ("MAXT", 128 if plan.warps <= 4 else 512),
        ),
    )
    shared, threads = plan.shared(wide, gradient), 32 * plan.warps
    cells = plan.strips * plan.warps * (columns + 31) * plan.rows * 32 if gradient or channels > _GROUP else 0
    slots = card.processors * kernel.resident(threads, shared)
    waves = -(-pairs // slots)
    if waves <= 3:
        slots = -(-pairs // waves)  # every block the same number of pairs
    table, edge = cells * (16 if wide else 4), columns * (8 if wide else 4) if plan.strips > 1 else 0
    return _Launch(plan, kernel, shared, table, edge, slots)


@dataclass(frozen=True)
class _Card:
    processors: int
    shared: int  # bytes a block may have
    arch: str


@lru_cache(maxsize=64)
def _card(device: int) -> _Card:
    found = torch.cuda.get_device_properties(device)
    shared = getattr(found, "shared_memory_per_block_optin", 48 * 1024)
    return _Card(found.multi_processor_count, min(shared, 100 * 1024), f"sm_{found.major}{found.minor}")


# ---------------------------------------------------------------------------------------------------- compiling


class _Kernel:
    """A compiled function on one device, and how to start it."""

    def __init__(
        self, start: Callable[..., None], occupancy: Callable[[int, int], int], allow_shared: Callable[[int], None]
    ) -> None:
        self.start = start  # (stream, grid, block, bytes of shared memory, *arguments)
        self._occupancy = occupancy
        self._allow_shared = allow_shared
        self._allowed = 48 * 1024  # what every block may have without being asked

    def resident(self, threads: int, shared: int) -> int:
        """Blocks of this size that one multiprocessor holds at a time."""
        if shared > self._allowed:
            self._allow_shared(shared)
            self._allowed = shared
        return max(1, self._occupancy(threads, shared))


@lru_cache(maxsize=256)
def _kernel(device: int, name: str, defines: tuple[tuple[str, int], ...]) -> _Kernel:
    source = (Path(__file__).parent / "cuda" / f"{name}.cu").read_text(encoding="utf-8")
    return _backend()(device, name, source, defines)


@lru_cache(maxsize=1)
def _backend() -> Callable[[int, str, str, tuple[tuple[str, int], ...]], _Kernel]:
    """Cuda-core if it is there, else CuPy."""
    try:
        core = importlib.import_module("cuda.core")
        if not hasattr(core, "Program"):  # cuda-core before 0.5
            core = importlib.import_module("cuda.core.experimental")
        importlib.import_module("cuda.bindings.nvrtc")
        return lambda *args: _with_cuda_core(core, *args)
    except ImportError:
        pass
    try:
        cupy = importlib.import_module("cupy")
        return lambda *args: _with_cupy(cupy, *args)
    except ImportError:
        raise ImportError(_INSTALL) from None


def _with_cuda_core(core: Any, device: int, name: str, source: str, defines: tuple[tuple[str, int], ...]) -> _Kernel:
    core.Device(device).set_current()
    binary = _compiled(core, _card(device).arch, source, defines)
    try:
        kernel = core.ObjectCode.from_cubin(binary).get_kernel(name)
    except Exception as error:
        raise RuntimeError(
            f"The compiled Soft-DTW kernel could not be loaded ({error}). The NVIDIA driver is probably older "
            "than the installed NVRTC: update the driver, or install cuda-core and NVRTC for its CUDA version."
        ) from error
    config = lru_cache(maxsize=4096)(core.LaunchConfig)
    stream = lru_cache(maxsize=256)(core.Stream.from_handle)
    run = core.launch

    def start(handle: int, grid: tuple[int, ...], block: tuple[int, ...], shared: int, *args: int | float) -> None:
        run(stream(handle), config(grid, None, block, shared), kernel, *args)

    def allow_shared(shared: int) -> None:
        driver = importlib.import_module("cuda.bindings.driver")
        which = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (status,) = driver.cuKernelSetAttribute(which, shared, kernel.handle, driver.CUdevice(device))
        if status != driver.CUresult.CUDA_SUCCESS:
            raise RuntimeError(f"The card refused {shared} bytes of shared memory a block ({status}).")

    return _Kernel(start, kernel.occupancy.max_active_blocks_per_multiprocessor, allow_shared)


def _compiled(core: Any, arch: str, source: str, defines: tuple[tuple[str, int], ...]) -> bytes:
    """Machine code from the cache folder, or compiled now and put there."""
    nvrtc = importlib.import_module("cuda.bindings.nvrtc")
    try:
        version = nvrtc.nvrtcVersion()[1:]
    except Exception as error:  # the bindings are there, the library they load is not
        raise ImportError(f"{_INSTALL} ({error})") from error
    key = hashlib.sha256(repr((source, arch, defines, version)).encode()).hexdigest()[:32]
    path = cache_folder() / f"{key}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        pass
    binary = _compiled_now(core, arch, source, defines)
    try:  # a read-only home costs a compilation a process, nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(binary)
        os.replace(file.name, path)
    except OSError:
        pass
    return binary


def _compiled_now(core: Any, arch: str, source: str, defines: tuple[tuple[str, int], ...]) -> bytes:
    options = core.ProgramOptions(
        arch=arch,
        std="c++17",
        device_as_default_execution_space=True,
        define_macro=[(macro, str(value)) for macro, value in defines],
    )
    return bytes(core.Program(source, "c++", options=options).compile("cubin").code)


@dataclass(frozen=True)
class _Foreign:
    """A stream of torch's, as the CUDA stream protocol wants it."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.handle


def _with_cupy(cupy: Any, device: int, name: str, source: str, defines: tuple[tuple[str, int], ...]) -> _Kernel:
    options = ("-std=c++17", "-default-device", *(f"-D{macro}={value}" for macro, value in defines))
    with cupy.cuda.Device(device):
        function = cupy.RawModule(code=source, options=options).get_function(name)
    current = getattr(cupy.cuda.Stream, "from_external", None)

    @lru_cache(maxsize=256)
    def stream(handle: int) -> Any:
        return current(_Foreign(handle)) if current else cupy.cuda.ExternalStream(handle)

    def start(handle: int, grid: tuple[int, ...], block: tuple[int, ...], shared: int, *args: int | float) -> None:
        with cupy.cuda.Device(device), stream(handle):
            function(grid, block, args, shared_mem=shared)

    def resident(threads: int, shared: int) -> int:
        registers = 65536 // (max(32, (function.num_regs + 7) // 8 * 8) * threads)
        return int(min(32, 2048 // threads, registers, 220 * 1024 // (shared + 1024)))

    def allow_shared(shared: int) -> None:
        function.max_dynamic_shared_size_bytes = shared

    return _Kernel(start, resident, allow_shared)


def cache_folder() -> Path:
    """Where compiled kernels are kept: ``SOFTECM_CACHE``, else the user's cache folder."""
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
