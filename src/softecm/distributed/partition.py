"""A credal partition whose masses stay where the objects are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from operator import attrgetter, methodcaller
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
    """The credal partition of objects in blocks: computed where they are, when it is asked for.

    ``masses``, ``labels()``, ``pignistic()``, ``belief()`` and ``plausibility()`` are Dask arrays; ``blocks()`` gives one
    :class:`CredalPartition` after the other; ``to_parquet`` writes all of them; ``compute()`` fetches everything.
    """

    source: Source
    encoder: Encoder
    model: PrototypeModel
    n_objects: int | None = None
    lengths: tuple[int, ...] | None = None
    _known: dict[str, PartitionTotals] = field(default_factory=dict, repr=False)

    @property
    def focal_sets(self) -> FocalSets:
        """The sets that have a column."""
        return self.model.focal

    def rename(self, names: Names) -> ScatteredPartition:
        """The same with names for its clusters; see :meth:`CredalPartition.rename`."""
        return replace(self, model=replace(self.model, focal=self.model.focal.renamed(names)), _known={})

    @property
    def is_lazy(self) -> bool:
        """Whether masses, labels and the like are Dask arrays; of a file's partition they go block by block."""
        return self.source.delayed is not None

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return self.model.focal.n_clusters

    def __len__(self) -> int:
        return self.totals().n_objects if self.n_objects is None else self.n_objects

    def _of_raw(self) -> Callable[[Raw], CredalPartition]:
        return partial(_partition, encoder=self.encoder, model=self.model)

    # -------------------------------------------------------------- lazily, with Dask

    @property
    def masses(self) -> DaskArray:
        """Masses (n, f + 1) as a Dask array."""
        return self._array(attrgetter("masses"), np.float64, len(self.focal_sets) + 1)

    def labels(self, rule: LabelRule = "pignistic") -> DaskArray:
        """Clusters (n,) as a Dask array."""
        return self._array(methodcaller("labels", rule), np.intp, None)

    def pignistic(self, normalise: Normalisation = "dempster") -> DaskArray:
        """Pignistic probabilities (n, c) as a Dask array."""
        return self._array(methodcaller("pignistic", normalise), np.float64, self.n_clusters)

    def belief(self, normalise: Normalisation = "dempster") -> DaskArray:
        """Beliefs (n, c) as a Dask array."""
        return self._array(methodcaller("belief", normalise), np.float64, self.n_clusters)

    def plausibility(self, normalise: Normalisation = "dempster") -> DaskArray:
        """Plausibilities (n, c) as a Dask array."""
        return self._array(methodcaller("plausibility", normalise), np.float64, self.n_clusters)

    def decisions(self, clear: float = CLEAR) -> DaskArray:
        """What is said of each object, (n,) words as a Dask array; ``totals(clear).decisions()`` counts them."""
        return self._array(partial(_words, clear=checked_clear(clear)), object, None)

    def doubt(self) -> DaskArray:
        """Doubt (n,) as a Dask array."""
        return self._array(CredalPartition.doubt, np.float64, None)

    def outlier_scores(self) -> DaskArray:
        """Masses on the empty set (n,) as a Dask array."""
        return self._array(_empty, np.float64, None)

    def _array(self, of: Values, dtype: DTypeLike, width: int | None) -> DaskArray:
        if self.source.delayed is None:
            raise AttributeError(
                "a file's partition has no Dask arrays: go through blocks(), or write it with to_parquet(path)."
            )
        from dask import array
        from dask.delayed import delayed

        da: Any = array  # untyped
        payload = packed(partial(_apply, of_raw=self._of_raw(), of=of))
        parts = []
        for i, raw in enumerate(self.source.delayed):
            shape: tuple[float, ...] = (np.nan if self.lengths is None else self.lengths[i],)
            value = delayed(run_packed, pure=False)(payload, self.source.name(i), raw, None)
            parts.append(da.from_delayed(value, shape if width is None else (*shape, width), dtype=dtype))
        whole: DaskArray = da.concatenate(parts)
        return whole

    # -------------------------------------------------------------- one pass

    def blocks(self) -> Iterator[CredalPartition]:
        """The partition of one block after the other, in order."""
        of_raw = self._of_raw()
        for raw in ahead(Streaming(self.source).raw(None)):
            yield of_raw(raw)

    def totals(self, clear: float = CLEAR) -> PartitionTotals:
        """Counts and means over all objects; "clearly" is said from a belief of ``clear`` on."""
        key = f"totals {checked_clear(clear)!r}"
        if key not in self._known:
            engine = engine_for(self.source)
            of_block = partial(_totals, of_raw=self._of_raw(), clear=clear)
            self._known[key] = engine.over_raw(of_block, PartitionTotals.merge, None)
        totals: PartitionTotals = self._known[key]
        return totals

    def compute(self) -> CredalPartition:
        """Everything in memory."""
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
        """Write labels, decisions and masses: one file from this process, or a folder with a file a block from a cluster.

        Parameters
        ----------
        path : path of the file or the folder; workers of a cluster must be able to write to it
        dtype : {"float64", "float32"}
            Type of the masses.
        ids : iterable of arrays, optional
            Names of each block's objects, for a column ``id``; only where this process writes.
        clear : float, default 0.75
            Belief from which an object is said to belong clearly.

        Returns
        -------
        totals : PartitionTotals
        """
        of_raw, clear = self._of_raw(), checked_clear(clear)
        client = current_client()
        if self.source.delayed is not None and client is not None:
            os.makedirs(path, exist_ok=True)
            write = partial(
                _write_part,
                of_raw=of_raw,
                folder=os.fspath(path),
                dtype=dtype,
                digits=len(str(len(self.source))),
                clear=clear,
            )
            return Cluster(self.source, client).over_raw(write, PartitionTotals.merge, None)
        tree = Tree(PartitionTotals.merge)
        with _parquet_file(Path(path)) as file:
            for part, names in zip(self.blocks(), repeat(None) if ids is None else ids, strict=False):
                table = part_table(part, dtype, clear)
                file.write(table if names is None else table.add_column(0, "id", names))
                tree.add(PartitionTotals.of(part, clear))
        return tree.result()


def engine_for(source: Source) -> Engine:
    """The cluster in use, where the source can go there; else this process."""
    client = current_client()
    return Streaming(source) if client is None or source.delayed is None else Cluster(source, client)


def part_table(part: CredalPartition, dtype: str = "float64", clear: float = CLEAR) -> pa.Table:
    """Labels, what is said of each object, and masses as a pyarrow table."""
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


class _Tables:
    """Tables of one kind, one after the other in a Parquet file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writer: ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        if self.writer is None:
            self.writer = parquet_library().ParquetWriter(self.path, table.schema, use_dictionary=["label", "decision"])
        self.writer.write_table(table, row_group_size=len(table))

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


@contextmanager
def _parquet_file(path: Path) -> Iterator[_Tables]:
    """A Parquet file that appears whole or not at all."""
    with replaced(path) as temporary, closing(_Tables(temporary)) as tables:
        yield tables


# ------------------------------------------------------------------ of a block


def _partition(raw: Raw, *, encoder: Encoder, model: PrototypeModel) -> CredalPartition:
    return model.partition(encoder(raw).objects)


def _apply(raw: Raw, *, of_raw: Callable[[Raw], CredalPartition], of: Values) -> Array:
    return of(of_raw(raw))


def _totals(raw: Raw, *, of_raw: Callable[[Raw], CredalPartition], clear: float) -> PartitionTotals:
    return PartitionTotals.of(of_raw(raw), clear)


def _write_part(
    raw: Raw, *, of_raw: Callable[[Raw], CredalPartition], folder: str, dtype: str, digits: int, clear: float
) -> PartitionTotals:
    part = of_raw(raw)
    number = raw.name.split()[1]
    with _parquet_file(Path(folder) / f"part.{number.zfill(digits)}.parquet") as file:
        file.write(part_table(part, dtype, clear))
    return PartitionTotals.of(part, clear)


def _words(part: CredalPartition, *, clear: float) -> Array:
    return part.decisions(clear).words


def _empty(part: CredalPartition) -> Array:
    return part.masses[:, 0]
