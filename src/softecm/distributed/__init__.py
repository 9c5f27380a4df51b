"""Data beyond one machine's memory: blocks streamed from disk, or spread over a Dask cluster.

``SoftECM`` and ``ECM`` take ``dask.array``, ``dask.dataframe``, lists of delayed blocks (of series, say) and
:class:`ParquetBlocks` where they take an array. Nothing of the size of the data comes to the client.
"""

from softecm.distributed.objects import InBlocks, opened, predict_scattered
from softecm.distributed.parquet import ParquetBlocks
from softecm.distributed.partition import ScatteredPartition

__all__ = ["InBlocks", "ParquetBlocks", "ScatteredPartition", "opened", "predict_scattered"]
