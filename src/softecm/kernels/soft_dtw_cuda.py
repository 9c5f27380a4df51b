"""Soft-DTW on an NVIDIA GPU: values and prototype gradients of many pairs at once.

The kernel is CUDA C++ (``cuda/soft_dtw.cu``, which explains the algorithm), compiled at run time by NVRTC for the
card at hand and for the shape asked for; no ``nvcc`` is needed. Compiled code is kept in a cache folder
(``SOFTECM_CACHE``, else the user's cache). Work is queued on torch's current stream. Results are equal from run to
run: every pair writes sums of its own, and these are added in a fixed order.

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
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

__all__ = ["available", "cache_folder", "forward", "forward_backward"]

Pairs = tuple[Tensor, Tensor] | None

_GROUP = 8  # channels handled in one go; more go through the table in groups of this many
_STEP_LAG = 40  # LAG in the CUDA source
_SHARED_LIMIT = 47 * 1024  # of a block; what every card gives without being asked
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
    weight · Σ_s E[s, t] and ``Y[g, t]`` that of weight · Σ_s E[s, t] x[s]; the gradient of Σ weight · value with
    respect to y is ``2 (W[..., None] * y - Y)``.

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


# ------------------------------------------------------------------------------------------------------ launching


@dataclass(frozen=True)
class _Plan:
    """How a table is spread over threads, and what the kernel is compiled for."""

    rows: int  # of the prototype, in one thread
    warps: int  # a block, that is a pair
    strips: int
    depth: int  # steps the backward pass fetches ahead

    def shared(self, cell: int, real: int, gradient: bool) -> int:
        """Bytes of shared memory a block needs: fetched steps, rings, sums."""
        fetched = self.depth * self.rows * 32 * cell if gradient else 0
        return self.warps * (fetched + 32 * real + 8)


@lru_cache(maxsize=1024)
def _plan(rows: int, columns: int, pairs: int, channels: int, wide: bool, processors: int) -> _Plan:
    """Rows a thread and warps a pair with the least estimated time.

    Few pairs want many warps each (the wait of one cell for the next is what counts then), many pairs want few (less
    time in which a part of the wavefront has nothing to do). Cycles below are rough measurements on an H200.
    """
    best, best_time = None, math.inf
    for height in (1, 2) if wide else (1, 2, 4, 8) if channels <= 2 else (1, 2, 4):
        bands = -(-rows // (32 * height))
        for warps in range(1, min(bands, 16) + 1):
            strips = -(-bands // warps)
            if strips > 1 and warps < 4:
                continue
            resident = max(1, 20 // warps)
            blocks = min(pairs, processors * resident)
            crowd = max(1.0, blocks * warps / (4 * processors))  # warps that share a scheduler
            forward = max(height * 85 + 70 + 8 * channels, crowd * (height * (42 + 2 * channels) + 30))
            backward = max(height * 14 + 80, crowd * (height * (16 + channels) + 40))
            steps = strips * (columns + 31 + (warps - 1) * _STEP_LAG)
            waves = max(1.0, pairs / blocks)
            time = (waves if waves > 6 else math.ceil(waves)) * steps * (forward + backward)
            if time < best_time:
                cell_bytes = 512 if wide else 128
                depth = 16
                while depth > 4 and warps * depth * height * cell_bytes > _SHARED_LIMIT - 4096:
                    depth //= 2
                best, best_time = _Plan(height, warps, strips, depth), time
    assert best is not None
    return best


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
                f"x and y must both be float32 or both float64; got {x.dtype} and {y.dtype}. Convert one of them."
            )
        self.x, self.y = x.contiguous(), y.contiguous()
        self.x_lengths = None if x_lengths is None else x_lengths.contiguous()
        self.y_lengths = None if y_lengths is None else y_lengths.contiguous()
        self.pairs = None if pairs is None else (pairs[0].contiguous(), pairs[1].contiguous())
        self.gamma, self.band = float(gamma), -1 if band is None else int(band)
        self.n, self.x_steps, self.d = x.shape
        self.f, self.y_steps, _ = y.shape
        self.count = self.n * self.f if pairs is None else pairs[0].numel()
        self.shape = (self.n, self.f) if pairs is None else (self.count,)
        self.wide = x.dtype == torch.float64
        self.device = x.device.index

    def values(self) -> Tensor:
        with torch.cuda.device(self.device):
            values = torch.empty(self.shape, dtype=self.x.dtype, device=self.x.device)
            if self.count:
                self._align(values, None, None, 0, self.count)
            return values

    def values_and_sums(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.x
        width = self.y_steps * (self.d + 1)
        with torch.cuda.device(self.device):
            values = torch.empty(self.shape, dtype=x.dtype, device=x.device)
            if self.count == 0:
                sums = torch.zeros((self.f, self.y_steps, self.d + 1), dtype=x.dtype, device=x.device)
                return values, sums[..., 0], sums[..., 1:]
            sums = torch.empty((self.f, self.y_steps, self.d + 1), dtype=x.dtype, device=x.device)
            weights = weights.to(dtype=x.dtype, device=x.device).contiguous()
            whole = self.f if self.pairs is None else 1  # a chunk holds whole rows of the (n, f) grid
            chunk = max(1, _PARTIAL_BYTES // (width * x.element_size() * whole)) * whole
            chunk = min(chunk, self.count)
            partial = torch.empty((chunk, width), dtype=x.dtype, device=x.device)
            for first in range(0, self.count, chunk):
                number = min(chunk, self.count - first)
                self._align(values, weights, partial, first, number)
                self._add_up(partial, sums, first, number, width)
            return values, sums[..., 0], sums[..., 1:]

    def _align(self, values: Tensor, weights: Tensor | None, partial: Tensor | None, first: int, number: int) -> None:
        """Values, and each pair's sums, of pairs `first` to `first + number`."""
        gradient, more = weights is not None, self.d > _GROUP
        card = _card(self.device)
        plan = _plan(self.y_steps, self.x_steps, number, min(self.d, _GROUP), self.wide, card.processors)
        real, cell = (8, 16) if self.wide else (4, 4)
        kernel = _kernel(
            self.device,
            "soft_dtw",
            (
                ("REAL64", int(self.wide)),
                ("H", plan.rows),
                ("D", min(self.d, _GROUP)),
                ("MORE", int(more)),
                ("GRAD", int(gradient)),
                ("BAND", int(self.band >= 0)),
                ("DEPTH", plan.depth),
                ("UNROLL", 2 if self.d <= 2 else 1),
                ("MAXT", 128 if plan.warps <= 4 else 512),
            ),
        )
        shared = plan.shared(cell, real, gradient)
        threads = 32 * plan.warps
        cells = plan.strips * plan.warps * (self.x_steps + 31) * plan.rows * 32 if gradient or more else 0
        slots = min(number, card.processors * kernel.resident(threads, shared))
        table, edge = self._scratch(slots, cells * cell, self.x_steps * real if plan.strips > 1 else 0)
        if table is not None:
            slots = table.shape[0]
        ix, iy = (0, 0) if self.pairs is None else (self.pairs[0].data_ptr(), self.pairs[1].data_ptr())
        kernel.launch(
            (slots, 1, 1),
            (threads, 1, 1),
            shared,
            self.x.data_ptr(),
            0 if self.x_lengths is None else self.x_lengths.data_ptr(),
            self.y.data_ptr(),
            0 if self.y_lengths is None else self.y_lengths.data_ptr(),
            ix,
            iy,
            0 if weights is None else weights.data_ptr(),
            values.data_ptr(),
            0 if partial is None else partial.data_ptr(),
            0 if table is None else table.data_ptr(),
            0 if edge is None else edge.data_ptr(),
            self.f,
            self.x_steps,
            self.y_steps,
            self.d,
            first,
            number,
            cells,
            self.band,
            1.0 / (self.gamma * math.log(2.0)),
            self.gamma * math.log(2.0),
        )

    def _scratch(self, slots: int, table: int, edge: int) -> tuple[Tensor | None, Tensor | None]:
        """Room for as many pairs in flight as the memory that is free allows."""
        if table == 0 and edge == 0:
            return None, None
        while True:
            try:
                return (
                    torch.empty((slots, max(table, 1)), dtype=torch.uint8, device=self.x.device),
                    torch.empty((slots, edge), dtype=torch.uint8, device=self.x.device) if edge else None,
                )
            except torch.OutOfMemoryError:
                if slots == 1:
                    raise MemoryError(
                        f"one pair of {self.y_steps} by {self.x_steps} steps needs {(table + edge) / 2**30:.1f} GiB "
                        "of GPU memory, more than is free. Shorten the series (resample them), free memory on the "
                        "card, use float32, or use device='cpu'."
                    ) from None
                slots = (slots + 1) // 2

    def _add_up(self, partial: Tensor, sums: Tensor, first: int, number: int, width: int) -> None:
        """Add the pairs' sums up by prototype, in a fixed order."""
        order = start = None
        if self.pairs is not None:
            ids = self.pairs[1][first : first + number]
            ids, order = torch.sort(ids, stable=True)
            start = torch.searchsorted(ids, torch.arange(self.f + 1, device=ids.device))
        members = -(-number // self.f)
        parts = min(64, members // 1024) if members >= 4096 else 1
        add = _kernel(self.device, "sum_by_prototype", (("REAL64", int(self.wide)),))
        columns = -(-width // 32)
        into = sums if parts == 1 else partial.new_empty((parts, self.f, width))
        add.launch(
            (columns, self.f, parts),
            (32, 16, 1),
            0,
            partial.data_ptr(),
            0 if order is None else order.data_ptr(),
            0 if start is None else start.data_ptr(),
            into.data_ptr(),
            self.f,
            members,
            width,
            int(first > 0 and parts == 1),
        )
        if parts > 1:
            add.launch(
                (columns, self.f, 1),
                (32, 16, 1),
                0,
                into.data_ptr(),
                0,
                0,
                sums.data_ptr(),
                self.f,
                parts,
                width,
                int(first > 0),
            )


@dataclass(frozen=True)
class _Card:
    processors: int
    arch: str


@lru_cache(maxsize=64)
def _card(device: int) -> _Card:
    found = torch.cuda.get_device_properties(device)
    return _Card(found.multi_processor_count, f"sm_{found.major}{found.minor}")


# ------------------------------------------------------------------------------------------------------ compiling


class _Kernel:
    """A compiled function on one device, and how to start it."""

    def __init__(self, start: Callable[..., None], occupancy: Callable[[int, int], int]) -> None:
        self.launch = start
        self._occupancy = occupancy
        self._resident: dict[tuple[int, int], int] = {}

    def resident(self, threads: int, shared: int) -> int:
        """Blocks that one multiprocessor holds at a time."""
        key = (threads, shared)
        if key not in self._resident:
            self._resident[key] = max(1, self._occupancy(threads, shared))
        return self._resident[key]


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
            f"The compiled Soft-DTW kernel could not be loaded ({error}). The NVIDIA driver is probably older than "
            "the installed NVRTC: update the driver, or install cuda-core and NVRTC for the driver's CUDA version."
        ) from error
    config = lru_cache(maxsize=4096)(core.LaunchConfig)
    stream = lru_cache(maxsize=256)(core.Stream.from_handle)

    def start(grid: tuple[int, ...], block: tuple[int, ...], shared: int, *args: int | float) -> None:
        current = torch.cuda.current_stream(device).cuda_stream
        core.launch(stream(current), config(grid=grid, block=block, shmem_size=shared), kernel, *args)

    return _Kernel(start, kernel.occupancy.max_active_blocks_per_multiprocessor)


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
    options = core.ProgramOptions(
        arch=arch, std="c++17", define_macro=[(macro, str(value)) for macro, value in defines]
    )
    binary = bytes(core.Program(source, "c++", options=options).compile("cubin").code)
    try:  # a read-only home costs a compilation a process, nothing else
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(binary)
        os.replace(file.name, path)
    except OSError:
        pass
    return binary


def _with_cupy(cupy: Any, device: int, name: str, source: str, defines: tuple[tuple[str, int], ...]) -> _Kernel:
    options = ("-std=c++17", *(f"-D{macro}={value}" for macro, value in defines))
    with cupy.cuda.Device(device):
        function = cupy.RawModule(code=source, options=options).get_function(name)
    stream = lru_cache(maxsize=256)(cupy.cuda.ExternalStream)

    def start(grid: tuple[int, ...], block: tuple[int, ...], shared: int, *args: int | float) -> None:
        with cupy.cuda.Device(device), stream(torch.cuda.current_stream(device).cuda_stream):
            function(grid, block, args, shared_mem=shared)

    def resident(threads: int, shared: int) -> int:
        registers = 65536 // (max(32, function.num_regs + 7 & ~7) * threads)
        return int(min(32, 2048 // threads, registers, 220 * 1024 // (shared + 1024)))

    return _Kernel(start, resident)


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
