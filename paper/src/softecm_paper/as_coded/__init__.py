"""The paper's experiments as run by the authors' public code, if that differs from the paper.

The code (GitHub, ``armelsoubeiga/Experiments-FUZZIEEE25``) answers questions left open by the text and explains printed
numbers that the text alone does not give. Each of its habits is imitated in a module, whose first sentence describes
it, only for comparison: nothing outside this folder uses it, and everything else works without it. All code is written
from scratch; none of the authors' lines are included.
"""

#: Experiments with pages extended by this package; each is a module with ``run`` and ``with_others``.
ADDED = ("table", "diamond", "cbf")
