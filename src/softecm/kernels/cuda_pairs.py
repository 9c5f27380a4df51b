"""Pairs of series on an NVIDIA GPU for the kernels of Soft-DTW and DTW, and costs of many channels."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from softecm.kernels.cuda_compile import kernel
from softecm.kernels.series_checks import Pairs, Rows

IN_REGISTERS = 8  # maximum number of channels handled by the recursion; for more, costs are tabulated first
TABLE_BYTES = 1 << 31  # tables of the pairs of one launch, if each pair has its own
_PARTIAL_BYTES = 1 << 29  # the pairs' own gradient sums per chunk; fixed, so that the order of summation is
_TILE = 64  # steps by steps (or channels) of one block of `pair_costs` and `pair_moments`


class PairsOnCard:
    """The tensors of one call, checked and contiguous, and the sizes for the kernels."""

    def __init__(
        self,
        x: Tensor,
        x_lengths: Tensor | None,
        y: Tensor,
        y_lengths: Tensor | None,
        pairs: Pairs,
        band: int | None,
    ) -> None:
        if x.dtype not in (torch.float32, torch.float64) or y.dtype != x.dtype:
            raise TypeError(
                f"x and y must both be float32 or both be float64; got {x.dtype} and {y.dtype}. Convert one of them."
            )
        self.x, self.y = x.contiguous(), y.contiguous()
        self.lengths = tuple(None if t is None else t.contiguous() for t in (x_lengths, y_lengths))
        self.pairs = None if pairs is None else (pairs[0].contiguous(), pairs[1].contiguous())
        # Pairs of equal rows: for the sums they look like one object with every prototype, so nothing is sorted.
        self.by_rows = isinstance(pairs, Rows)
        self.band = -1 if band is None else int(band)
        if self.band >= max(x.shape[1], y.shape[1]) - 1:
            self.band = -1  # no band
        self.n, self.x_steps, self.d = x.shape
        self.f, self.y_steps, _ = y.shape
        self.count = self.n * self.f if pairs is None else pairs[0].numel()
        self.shape = (self.n, self.f) if pairs is None else (self.count,)
        self.wide = x.dtype == torch.float64
        self.device: int = x.device.index
        self.stream: int = torch.cuda.current_stream(x.device).cuda_stream

    def empty_values(self) -> Tensor:
        """Return the output tensor of values."""
        return torch.empty(self.shape, dtype=self.x.dtype, device=self.x.device)

    def addresses(self) -> tuple[int, int, int, int, int, int]:
        """Return the addresses of x, its lengths, y, its lengths, the pairs' indices into x and y; 0 if absent."""
        ix, iy = (None, None) if self.pairs is None else self.pairs
        x_lengths, y_lengths = self.lengths
        return (
            self.x.data_ptr(),
            _address(x_lengths),
            self.y.data_ptr(),
            _address(y_lengths),
            _address(ix),
            _address(iy),
        )

    def fill_costs(self, table: int, each: int, height: int, first: int, number: int) -> None:
        """Fill tables of `each` bytes with the costs of pairs `first` to `first + number`, for `height` rows a thread."""
        costs = kernel(self.device, "pair_costs", (("REAL64", int(self.wide)), ("H", height)))
        costs.start(
            self.stream,
            (number, -(-self.y_steps // _TILE), -(-self.x_steps // _TILE)),
            (256 if self.wide else 64, 1, 1),
            0,
            *self.addresses(),
            table,
            self.f,
            self.x_steps,
            self.y_steps,
            self.d,
            first,
            each,
            self.band,
        )

    def sum_moments(
        self, table: int, each: int, height: int, first: int, number: int, weights: Tensor, values: Tensor, partial: int
    ) -> None:
        """Sum each pair's aligned steps, from the alignments that the backward pass left in the tables."""
        x, x_lengths, _, y_lengths, ix, iy = self.addresses()
        moments = kernel(self.device, "pair_moments", (("REAL64", int(self.wide)), ("H", height)))
        moments.start(
            self.stream,
            (number, -(-self.y_steps // _TILE), -(-self.d // _TILE)),
            (256 if self.wide else 64, 1, 1),
            0,
            x,
            x_lengths,
            y_lengths,
            ix,
            iy,
            weights.data_ptr(),
            values.data_ptr(),
            partial,
            table,
            self.f,
            self.x_steps,
            self.y_steps,
            self.d,
            first,
            each,
            self.band,
        )

    def room(self, slots: int, each: int, beside: int = 0) -> tuple[int, Tensor]:
        """Allocate `beside` bytes, and `each` for as many of the slots as fit in free memory, at least one."""
        while True:
            try:
                return slots, torch.empty(beside + slots * each, dtype=torch.uint8, device=self.x.device)
            except torch.OutOfMemoryError:
                if slots == 1:
                    raise MemoryError(
                        f"pairs of {self.y_steps} by {self.x_steps} steps need at least {each / 2**30:.1f} GiB of GPU "
                        f"memory (and their sums {beside / 2**30:.1f}), more than is free. Shorten the series "
                        "(resample them), free memory on the GPU, use float32, or use device='cpu'."
                    ) from None
                slots = (slots + 1) // 2

    def chunk(self, row: int) -> int:
        """Return how many pairs keep their own sums, of `row` bytes each, at a time: whole rows of the (n, f) grid."""
        whole = 1 if self.pairs is not None and not self.by_rows else self.f
        return min(self.count, max(1, _PARTIAL_BYTES // (row * whole)) * whole)

    def add_up(self, partial: int, sums: Tensor, first: int, number: int, width: int) -> None:
        """Add the pairs' sums by prototype, in a fixed order."""
        order = start = None
        if self.pairs is not None and not self.by_rows:
            ids, order = torch.sort(self.pairs[1][first : first + number], stable=True)
            start = torch.searchsorted(ids, torch.arange(self.f + 1, device=ids.device))
        members = -(-number // self.f)
        shares = min(64, members // 1024) if members >= 4096 else 1
        columns = min(-(-width // 32), 65535)
        add = kernel(self.device, "sum_by_prototype", (("REAL64", int(self.wide)),))
        into = sums if shares == 1 else sums.new_empty((shares, self.f, width))
        add.start(
            self.stream,
            (self.f, columns, shares),
            (32, 16, 1),
            0,
            partial,
            0 if order is None else order.data_ptr(),
            0 if start is None else start.data_ptr(),
            into.data_ptr(),
            self.f,
            members,
            width,
            int(first > 0 and shares == 1),
        )
        if shares > 1:
            again = (into.data_ptr(), 0, 0, sums.data_ptr(), self.f, shares, width, int(first > 0))
            add.start(self.stream, (self.f, columns, 1), (32, 16, 1), 0, *again)


def parts(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the offset and size of parts with at most `size` elements."""
    return ((first, min(size, count - first)) for first in range(0, count, size))


def table_bytes(groups: int, height: int, columns: int, wide: bool) -> int:
    """Return bytes of one pair's table of `groups` times 32 `height` rows: a warp's columns are skewed by its lanes."""
    return groups * (columns + 31) * height * 32 * (16 if wide else 4)


def _address(tensor: Tensor | None) -> int:
    return 0 if tensor is None else tensor.data_ptr()
