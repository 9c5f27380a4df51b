"""Files we write: each appears whole or not at all, and a model is data that runs no code when it is read.

``atomic`` is the one safe writer, ``folders`` the same for a folder of results; ``tensors`` and ``models`` keep fitted
estimators, ``journal`` notes work as it is done, ``scratch`` puts arrays aside for the length of a fit.
"""

from softecm.files.atomic import replaced, write_bytes, write_text, written, written_text
from softecm.files.errors import Mendable, ReadError, WriteError
from softecm.files.folders import check_free, whole_folder

__all__ = [
    "Mendable",
    "ReadError",
    "WriteError",
    "check_free",
    "replaced",
    "whole_folder",
    "write_bytes",
    "write_text",
    "written",
    "written_text",
]
