"""The paper's experiments as the authors' public code ran them, where that differs from what the paper says.

The code (GitHub, ``armelsoubeiga/Experiments-FUZZIEEE25``) answers what the text leaves open and explains printed numbers
that the text alone does not lead to. What it did is imitated here, each habit in a module of its own that says so in its
first sentence, for the sake of comparison alone: nothing outside this folder uses any of it, and without the folder all
else works as before. Everything is written anew from what that code does; none of its lines are here.
"""

#: Experiments to whose pages this package adds; each is a module with ``run`` and ``with_others``.
ADDED = ("table", "diamond", "cbf")
