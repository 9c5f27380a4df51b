"""Data beyond one machine's memory: blocks streamed from disk, or spread over a Dask cluster.

``SoftECM`` and ``ECM`` take ``dask.array``, ``dask.dataframe``, lists of delayed blocks (of series, say) and
:class:`ParquetBlocks` where they take an array. Nothing of the size of the data comes to the client.
"""

from softecm.distributed.objects import InBlocks, choose_for_blocks, opened, predict_scattered
from softecm.distributed.parquet import ParquetBlocks
from softecm.distributed.partition import ScatteredPartition
from softecm.distributed.sources import source_of

__all__ = [
    "InBlocks",
    "ParquetBlocks",
    "ScatteredPartition",
    "choose_for_blocks",
    "opened",
    "predict_scattered",
    "source_of",
]
