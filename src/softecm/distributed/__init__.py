"""Data larger than one machine's memory: blocks streamed from disk, or distributed over a Dask cluster.

``SoftECM`` and ``ECM`` accept ``dask.array``, ``dask.dataframe``, lists of delayed blocks (of series, say) and
:class:`ParquetBlocks` instead of an array. The client never holds anything of the size of the data.
"""

from softecm.distributed.objects import choose_for_blocks as choose_for_blocks
from softecm.distributed.objects import opened as opened
from softecm.distributed.objects import predict_scattered as predict_scattered
from softecm.distributed.parquet import ParquetBlocks as ParquetBlocks
from softecm.distributed.partition import ScatteredPartition as ScatteredPartition
from softecm.distributed.sources import source_of as source_of
