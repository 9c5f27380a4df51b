"""Without the package there is nothing to test here."""

from importlib.util import find_spec

from cli.conftest import run  # noqa: F401  (the command line as a fixture)

collect_ignore_glob = ["*"] if find_spec("softecm.experiments.as_coded") is None else []
