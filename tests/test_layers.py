"""The layers of modules: every import points to the left, including those inside functions, and none leads back.

Checked in the syntax trees of ``src/``. Imports only for type checkers are ignored, because they load nothing. ``from
softecm import ECM`` counts as an import of the module that defines the class. The ``__init__`` of a package is an
ordinary module, which exports the rest of the package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import softecm

SRC = Path(softecm.__file__).resolve().parents[1]

#: The layers from left to right. A name stands for a module, or for a package with all its modules without a line of
#: their own.
LAYERS = [
    (
        "ground",
        "_atomic _checks _engine _errors _fingerprint _precision _progress "
        "_text _version _warnings _wording constraints files native",
    ),
    ("kernels", "kernels"),
    ("belief", "belief"),
    ("values as files", "files.models files.values"),
    ("spaces", "spaces"),
    ("scores", "baselines scores"),
    ("figures", "plots"),
    ("readers", "readers"),
    ("data", "barycenters datasets series"),
    ("distances", "distances losses"),
    ("solvers", "optim"),
    ("objective", "objective"),
    ("report, explanations", "report explain"),
    ("fit", "fit"),
    ("blocks", "distributed"),
    ("algorithms", "algorithms"),
    ("models read back, contracts", "models testing"),
    ("selection", "selection"),
    ("calibration", "calibration"),
    ("command line", "cli __main__"),
]

#: Justified imports that point back. Readers must know each of them, so the list is short.
EXCEPTIONS: dict[tuple[str, str], str] = {}


def modules() -> dict[str, Path]:
    """Every module under ``src/`` by its name without ``softecm.``; the package itself has an empty name."""
    found = {}
    for path in sorted((SRC / "softecm").rglob("*.py")):
        parts = path.relative_to(SRC / "softecm").with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()
SHOWN = {name: where.removeprefix("softecm.") for name, where in softecm._WHERE.items()}


def run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those below ``if TYPE_CHECKING``."""
    if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        for other in node.orelse:
            yield from run_nodes(other)
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from run_nodes(child)


def imported(source: str) -> set[str]:
    """The modules of ours that a module imports, at the top or in a function."""
    found = set()
    for node in run_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {a.name.removeprefix("softecm.") for a in node.names if a.name.startswith("softecm.")}
            found |= {"" for a in node.names if a.name == "softecm"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "softecm":
            inside = (node.module or "").removeprefix("softecm").removeprefix(".")
            found |= {target(inside, alias.name) for alias in node.names}
        assert not (isinstance(node, ast.ImportFrom) and node.level), "imports name the module in full"
    return found


def target(inside: str, name: str) -> str:
    """The target of ``from softecm.inside import name``."""
    full = f"{inside}.{name}" if inside else name
    return full if full in MODULES else SHOWN[name] if not inside and name in SHOWN else inside


GRAPH = {
    module: imported(path.read_text(encoding="utf-8")) - {module} for module, path in MODULES.items() if module != ""
}


def layer(module: str) -> int:
    """The index of a module's layer: that of the longest matching name in the table."""
    lines = {name: i for i, (_, names) in enumerate(LAYERS) for name in names.split()}
    parts = module.split(".")
    found = [lines[name] for k in range(len(parts), 0, -1) if (name := ".".join(parts[:k])) in lines]
    assert found, f"{module} has no layer: add its package to a line of LAYERS, as far left as its imports allow"
    return found[0]


def test_no_import_leads_back_to_where_it_began():
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail("an import cycle: " + " <- ".join(error.args[1]))


def test_no_package_leads_back_to_where_it_began():
    """Also between packages: a module directly under ``softecm`` counts as a package."""
    packages: dict[str, set[str]] = {}
    for module, others in GRAPH.items():
        room = module.split(".")[0]
        packages.setdefault(room, set()).update(other.split(".")[0] for other in others - {""})
    for room, others in packages.items():
        others.discard(room)
    try:
        TopologicalSorter(packages).prepare()
    except CycleError as error:
        pytest.fail("packages import each other in a circle: " + " <- ".join(error.args[1]))
    rooms = {name for name in MODULES if MODULES[name].name == "__init__.py"}
    assert not packages["belief"] & rooms, "belief stands on its own"
    assert "fit" not in packages["files"]
    assert "files" not in packages["kernels"]


@pytest.mark.parametrize("module", [m for m in GRAPH if m])
def test_imports_point_to_the_left(module):
    back = [
        f"{module} ({LAYERS[layer(module)][0]}) imports {other} ({LAYERS[layer(other)][0]})"
        for other in sorted(GRAPH[module] - {""})
        if layer(other) > layer(module) and (module, other) not in EXCEPTIONS
    ]
    assert not back, "an arrow points back: move what is wanted further left, or hand it over as an argument"


def test_the_table_names_what_there_is():
    named = [name for _, names in LAYERS for name in names.split()]
    assert len(named) == len(set(named))
    assert set(named) <= set(MODULES)
    assert {(module, other) for module, other in EXCEPTIONS if other not in GRAPH.get(module, ())} == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def f():\n    from softecm.fit.loop import iterate\n", {"fit.loop"}),
        ("from softecm import ECM, scores\n", {"algorithms.ecm", "scores"}),
        ("from softecm.objective.equations import share\nimport softecm.optim\n", {"objective.equations", "optim"}),
        ("if TYPE_CHECKING:\n    from softecm import ECM\nelse:\n    import softecm.fit\n", {"fit"}),
    ],
)  # fmt: skip
def test_an_arrow_is_seen_wherever_it_stands(source, found):
    assert imported(source) == found
