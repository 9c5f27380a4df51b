"""Raw data on one side, tensors on the other."""

from softecm.spaces.base import Encoded, Space
from softecm.spaces.columns import CategoryColumn, NumberColumn
from softecm.spaces.dissimilarities import Dissimilarities
from softecm.spaces.encoded import EncodedTable, Layout
from softecm.spaces.real import RealVectors
from softecm.spaces.series import SeriesBatch, SeriesSpace, TimeSeries
from softecm.spaces.states import States
from softecm.spaces.tables import Table, TableOptions
from softecm.spaces.texture import Texture
from softecm.spaces.transformed import TransformedSeries
from softecm.spaces.views import EncodedViews, Views

__all__ = [
    "CategoryColumn",
    "Dissimilarities",
    "Encoded",
    "EncodedTable",
    "EncodedViews",
    "Layout",
    "NumberColumn",
    "RealVectors",
    "SeriesBatch",
    "SeriesSpace",
    "Space",
    "States",
    "Table",
    "TableOptions",
    "Texture",
    "TimeSeries",
    "TransformedSeries",
    "Views",
]
