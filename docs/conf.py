"""Configuration of the site: `make docs`, or `sphinx-build -W docs docs/_site`."""

from __future__ import annotations

import re
import shutil
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

from on_site import on_site  # noqa: E402

from softecm import __version__  # noqa: E402

# Show a warning in an example as its category and message, without a file's path.
warnings.formatwarning = lambda message, category, *_, **__: f"{category.__name__}: {message}\n"

project = "softecm"
author = "The softecm developers"
copyright = "The softecm developers"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_site", "_examples", "_included", "measured", "gallery_header.rst"]
templates_path = ["_templates"]
# A page that is not generated yet is no error; a broken link is.
suppress_warnings = ["toc.empty_glob", "config.cache"]

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]


def online(host: str = "docs.python.org") -> bool:
    """Whether other projects' pages are reachable: without a network, links to them are omitted."""
    try:
        socket.create_connection((host, 443), timeout=3).close()
    except OSError:
        print("no network: names of other packages are not linked")
        return False
    return True


OTHERS = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "torch": "https://docs.pytorch.org/docs/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
}
intersphinx_mapping = {name: (address, None) for name, address in OTHERS.items()} if online() else {}
intersphinx_timeout = 10

html_theme = "furo"
html_title = f"softecm {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_extra_path = ["llms.txt"]
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "monokai"

# The examples run in a copy, so that their output stays out of the tree.
sphinx_gallery_conf = {
    "examples_dirs": str(HERE / "_examples"),
    "gallery_dirs": str(HERE / "gallery"),
    "plot_gallery": True,
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "matplotlib_animations": False,
    "within_subsection_order": "ExampleTitleSortKey",
    "remove_config_comments": True,
}


def runnable() -> str:
    """Return which examples run: all, except those whose data are neither in ``SOFTECM_DATA`` nor downloadable."""
    from softecm.datasets import load_hepatitis

    try:
        load_hepatitis()
    except Exception as reason:
        print(f"plot_mixed_table.py is shown without figures: {reason}")
        return r"plot_(?!mixed_table)"
    return r"plot_"


def copy_examples() -> None:
    """Copy the examples, their data, and the gallery's introduction."""
    there = HERE / "_examples"
    shutil.rmtree(there, ignore_errors=True)
    shutil.copytree(ROOT / "examples", there, ignore=shutil.ignore_patterns("out", "__pycache__", "*.md"))
    shutil.copy(HERE / "gallery_header.rst", there / "GALLERY_HEADER.rst")


def list_scores() -> None:
    """Write the table of scores from their list."""
    from softecm.scores.listing import table

    there = HERE / "_included"
    there.mkdir(exist_ok=True)
    (there / "scores.md").write_text(table() + "\n", encoding="utf-8")


def to_mathml(tex: str, block: bool) -> str:
    r"""Convert TeX to MathML, which browsers render without scripts, fonts or downloads."""
    tex = re.sub(r"\\([td]?frac)\s*(\d)\s*(\d)", r"\\\1{\2}{\3}", tex)
    tex = re.sub(r"\\[bB]igg?[lrm]?(?![a-zA-Z])", "", tex)  # sizes of brackets: MathML stretches them itself
    tex = tex.replace(r"\dots", r"\ldots")
    return str(tex2mathml(tex, as_block=block))


def inline_math(self: Any, node: nodes.math) -> None:
    """Render a formula in a sentence."""
    self.body.append(to_mathml(node.astext(), block=False))
    raise nodes.SkipNode


def display_math(self: Any, node: nodes.math_block) -> None:
    """Render a displayed formula."""
    parts = [part for part in re.split(r"\n\s*\n", node.astext()) if part.strip()]
    self.body.append('<div class="math">' + "".join(to_mathml(part, block=True) for part in parts) + "</div>")
    raise nodes.SkipNode


def plain_stars(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape the star of a shape such as (n, *), which is no emphasis."""
    lines[:] = [re.sub(r"(?<=[ (,])\*(?=(?:shape)?[),])", r"\\*", line) for line in lines]


def as_a_site(app: Any, docname: str, source: list[str]) -> None:
    """Convert a page for the site."""
    if "/" not in docname:
        source[0] = on_site(docname, source[0])


def setup(app: Any) -> None:
    """Register everything generated at build time."""
    copy_examples()
    list_scores()
    sphinx_gallery_conf["filename_pattern"] = runnable()
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
    app.connect("autodoc-process-docstring", plain_stars)
    app.connect("source-read", as_a_site)
