"""Files we write: each appears whole or not at all, and a model is data that runs no code when it is read.

``atomic`` is the one safe writer, ``folders`` the same for a folder of results; ``places`` finds out before the work
whether they will do, ``ours`` knows what may be replaced, ``rescue`` writes elsewhere what can't be written in its place.
``tensors`` and ``models`` keep fitted estimators, ``journal`` notes work as it is done, ``scratch`` puts arrays aside for
the length of a fit.
"""

from softecm.files.atomic import replaced, write_bytes, write_text, written, written_text
from softecm.files.errors import Mendable, ReadError, WriteError
from softecm.files.folders import check_free, completed, whole_folder
from softecm.files.places import check_file, check_folder, check_replaced
from softecm.files.rescue import to_file, to_folder

__all__ = [
    "Mendable",
    "ReadError",
    "WriteError",
    "check_file",
    "check_folder",
    "check_free",
    "check_replaced",
    "completed",
    "replaced",
    "to_file",
    "to_folder",
    "whole_folder",
    "write_bytes",
    "write_text",
    "written",
    "written_text",
]
