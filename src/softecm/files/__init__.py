"""Files we write: each appears whole or not at all, and a model is data that runs no code when it is read.

``softecm._atomic`` is the one safe writer, ``folders`` the same for a folder of results (elsewhere, where its place can't be
written); ``places`` finds out before the work whether they will do, and which files there are ours to replace.
``tensors`` and ``models`` keep fitted estimators, ``journal`` notes work as it is done.
"""

from softecm._atomic import write_bytes as write_bytes
from softecm._atomic import write_text as write_text
from softecm.files.folders import check_free as check_free
from softecm.files.folders import completed as completed
from softecm.files.folders import to_file as to_file
from softecm.files.folders import to_folder as to_folder
from softecm.files.places import check_file as check_file
from softecm.files.places import check_folder as check_folder
from softecm.files.places import check_new_file as check_new_file
from softecm.files.places import check_replaced as check_replaced
