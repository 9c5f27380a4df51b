"""Files written by the library: written atomically, and models are data that run no code when loaded.

``softecm._atomic`` is the only writer; ``folders`` does the same for a results folder (elsewhere, if it can't be
written); ``places`` checks before a fit whether targets are writable, and which existing files may be replaced.
``tensors`` and ``models`` serialize fitted estimators, ``journal`` records work as it completes.
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
