"""A credal partition computed where the objects are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from softecm._atomic import replaced
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.assignments import CLEAR, WORDS, checked_clear
from softecm.belief.focal import Names
from softecm.belief.totals import PartitionTotals
from softecm.belief.transforms import LabelRule, Normalisation
from softecm.distributed.cluster import Cluster, packed, run_packed
from softecm.distributed.encoding import Encoder
from softecm.distributed.engines import Engine, Streaming, Tree, ahead
from softecm.distributed.parquet import parquet_library
from softecm.distributed.sources import Raw, Source
from softecm.distributed.waiting import current_client, value_of
from softecm.fit.settings import PrototypeModel

if TYPE_CHECKING:
    import pyarrow as pa
    from dask.array import Array as DaskArray
    from pyarrow.parquet import ParquetWriter

Array: TypeAlias = NDArray[np.float64] | NDArray[np.intp] | NDArray[np.object_]
Values: TypeAlias = Callable[[CredalPartition], Array]


@dataclass(frozen=True, eq=False)
class ScatteredPartition:
    """The credal partition of objects in blocks, computed on request and where they are.

    ``masses``, ``labels()``, ``pignistic()``, ``belief()`` and ``plausibility()`` are Dask arrays; ``blocks()`` yields
    one :class:`CredalPartition` after another; ``to_parquet`` writes all of them; ``compute()`` gathers everything.
    """

    source: Source
    encoder: Encoder
    model: PrototypeModel
    n_objects: int | None = None
    lengths: tuple[int, ...] | None = None
    _known: dict[float, PartitionTotals] = field(default_factory=dict, repr=False)

    @property
    def focal_sets(self) -> FocalSets:
        """The sets with a column."""
        return self.model.focal

    def rename(self, names: Names) -> ScatteredPartition:
        """Return the partition with names for its clusters; see :meth:`CredalPartition.rename`."""
        return replace(self, model=replace(self.model, focal=self.model.focal.renamed(names)), _known={})

    @property
    def is_lazy(self) -> bool:
        """Whether masses, labels and the like are Dask arrays; a file's partition is available only block by block."""
        return self.source.delayed is not None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.model.focal.n_clusters

    def __len__(self) -> int:
        return self.totals().n_objects if self.n_objects is None else self.n_objects

    def _of_raw(self) -> Callable[[Raw], CredalPartition]:
        encoder, model = self.encoder, self.model
        return lambda raw: model.partition(encoder(raw).objects)

    # -------------------------------------------------------------- lazy, with Dask

    @property
    def masses(self) -> DaskArray:
        """Masses (n, f + 1) as a Dask array."""
        return self._array(lambda part: part.masses, np.float64, len(self.focal_sets) + 1)

    def labels(self, rule: LabelRule = "pignistic") -> DaskArray:
        """Return clusters (n,) as a Dask array."""
        return self._array(lambda part: part.labels(rule), np.intp, None)

    def pignistic(self, normalise: Normalisation = "dempster") -> DaskArray:
        """Return pignistic probabilities (n, c) as a Dask array."""
        return self._array(lambda part: part.pignistic(normalise), np.float64, self.n_clusters)

    def belief(self, normalise: Normalisation = "dempster") -> DaskArray:
        """Return beliefs (n, c) as a Dask array."""
        return self._array(lambda part: part.belief(normalise), np.float64, self.n_clusters)

    def plausibility(self, normalise: Normalisation = "dempster") -> DaskArray:
        """Return plausibilities (n, c) as a Dask array."""
        return self._array(lambda part: part.plausibility(normalise), np.float64, self.n_clusters)

    def decisions(self, clear: float = CLEAR) -> DaskArray:
        """Return one-word decisions (n,) as a Dask array; ``totals(clear).decisions()`` counts them."""
        clear = checked_clear(clear)
        return self._array(lambda part: part.decisions(clear).words, object, None)

    def doubt(self) -> DaskArray:
        """Return doubt (n,) as a Dask array."""
        return self._array(CredalPartition.doubt, np.float64, None)

    def outlier_scores(self) -> DaskArray:
        """Return masses on the empty set (n,) as a Dask array."""
        return self._array(lambda part: part.masses[:, 0], np.float64, None)

    def _array(self, of: Values, dtype: DTypeLike, width: int | None) -> DaskArray:
        if self.source.delayed is None:
            raise AttributeError(
                "a file's partition has no Dask arrays: go through blocks(), or write it with to_parquet(path)."
            )
        from dask import array
        from dask.delayed import delayed

        da: Any = array  # untyped
        of_raw, parts = self._of_raw(), []
        payload = packed(lambda raw: of(of_raw(raw)))
        for i, raw in enumerate(self.source.delayed):
            shape: tuple[float, ...] = (np.nan if self.lengths is None else self.lengths[i],)
            value = delayed(run_packed, pure=False)(payload, self.source.name(i), raw, None)
            parts.append(da.from_delayed(value, shape if width is None else (*shape, width), dtype=dtype))
        whole: DaskArray = da.concatenate(parts)
        return whole

    # -------------------------------------------------------------- one pass

    def blocks(self) -> Iterator[CredalPartition]:
        """Yield the partition of one block after another, in order."""
        of_raw = self._of_raw()
        for raw in ahead(Streaming(self.source).raw(None)):
            yield of_raw(raw)

    def totals(self, clear: float = CLEAR) -> PartitionTotals:
        """Return counts and means over all objects; ``clear`` is the minimum belief for "clearly"."""
        if checked_clear(clear) not in self._known:
            of_raw, merge = self._of_raw(), PartitionTotals.merge
            counts = engine_for(self.source).over_raw(lambda raw: PartitionTotals.of(of_raw(raw), clear), merge, None)
            self._known[clear] = counts
        return self._known[clear]

    def compute(self) -> CredalPartition:
        """Return everything in memory."""
        if self.source.delayed is None or current_client() is None:
            masses = np.concatenate([part.masses for part in self.blocks()])
        else:
            masses = value_of(self.masses)
        return CredalPartition(masses, self.focal_sets)

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        dtype: str = "float64",
        ids: Iterable[Sequence[object]] | None = None,
        clear: float = CLEAR,
    ) -> PartitionTotals:
        """Write labels, decisions and masses to one file, or from a cluster to a folder with one file per block.

        Parameters
        ----------
        path : path of the file or the folder; workers of a cluster must be able to write to it
        dtype : {"float64", "float32"}
            Type of the masses.
        ids : iterable of arrays, optional
            Names of each block's objects, for a column ``id``; only if this process writes.
        clear : float, default 0.75
            Minimum belief for "clearly".

        Returns
        -------
        totals : PartitionTotals
        """
        of_raw, clear = self._of_raw(), checked_clear(clear)
        client = current_client()
        if self.source.delayed is not None and client is not None:
            os.makedirs(path, exist_ok=True)
            folder, digits = Path(path), len(str(len(self.source)))

            def write_part(raw: Raw) -> PartitionTotals:
                part, number = of_raw(raw), raw.name.split()[1]
                with _parquet_file(folder / f"part.{number.zfill(digits)}.parquet") as write:
                    write(part_table(part, dtype, clear))
                return PartitionTotals.of(part, clear)

            return Cluster(self.source, client).over_raw(write_part, PartitionTotals.merge, None)
        tree = Tree(PartitionTotals.merge)
        with _parquet_file(Path(path)) as write:
            for part, names in zip(self.blocks(), repeat(None) if ids is None else ids, strict=False):
                table = part_table(part, dtype, clear)
                write(table if names is None else table.add_column(0, "id", names))
                tree.add(PartitionTotals.of(part, clear))
        return tree.result()


def engine_for(source: Source) -> Engine:
    """Return the active cluster, if the source supports it; otherwise this process."""
    client = current_client()
    return Streaming(source) if client is None or source.delayed is None else Cluster(source, client)


def part_table(part: CredalPartition, dtype: str = "float64", clear: float = CLEAR) -> pa.Table:
    """Return labels, decisions and masses as a pyarrow table."""
    import pyarrow as pa

    decisions = part.decisions(clear)
    words = pa.DictionaryArray.from_arrays(pa.array(decisions.codes), pa.array(WORDS))
    names, clusters = [f"m({label})" for label in part.focal_sets.labels()], part.focal_sets.cluster_names
    numbers = [decisions.confidence, part.doubt(), *part.masses.T]
    columns = [pa.array(np.ascontiguousarray(column, dtype=dtype)) for column in numbers]
    return pa.table(
        [pa.DictionaryArray.from_arrays(pa.array(part.labels().astype(np.int32)), pa.array(clusters)), words, *columns],
        names=["label", "decision", "confidence", "doubt", *names],
    )


@contextmanager
def _parquet_file(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Return a function that writes tables of one schema to a Parquet file, atomically."""
    with replaced(path) as temporary, ExitStack() as stack:
        writers: list[ParquetWriter] = []

        def write(table: pa.Table) -> None:
            if not writers:
                options = {"use_dictionary": ["label", "decision"]}
                writer = parquet_library().ParquetWriter(temporary, table.schema, **options)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table, row_group_size=len(table))

        yield write
