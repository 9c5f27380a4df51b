"""Files we write: each appears whole or not at all, and a model is data that runs no code when it is read.

``softecm._atomic`` is the one safe writer, ``folders`` the same for a folder of results (elsewhere, where its place can't be
written); ``places`` finds out before the work whether they will do, and which files there are ours to replace.
``tensors`` and ``models`` keep fitted estimators, ``journal`` notes work as it is done, ``scratch`` puts arrays aside for
the length of a fit.
"""

from softecm._atomic import replaced, write_bytes, write_text, written, written_text
from softecm._errors import Mendable, ReadError, WriteError
from softecm.files.folders import check_free, completed, to_file, to_folder, whole_folder
from softecm.files.places import check_file, check_folder, check_new_file, check_replaced

__all__ = [
    "Mendable",
    "ReadError",
    "WriteError",
    "check_file",
    "check_folder",
    "check_free",
    "check_new_file",
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
