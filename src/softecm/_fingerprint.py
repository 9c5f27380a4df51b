"""The behaviour of a function as a short text: its code, and every user value that the code refers to.

Comments, line numbers and file names don't count. Functions of installed packages are identified by name.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from softecm._warnings import warn

INSTALLED = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))

PLAIN = (type(None), bool, int, float, complex, str, bytes)


class Fingerprint:
    """The text of a value, and the parts identified only by name, because they have no code.

    Examples
    --------
    >>> p = 2.0
    >>> def f(x, v):
    ...     return abs(x - v) ** p
    >>> before = Fingerprint(f).text
    >>> p = 3.0
    >>> Fingerprint(f).text == before
    False
    """

    def __init__(self, value: object) -> None:
        self.unseen: list[str] = []
        self._met: dict[int, int] = {}
        self._total = hashlib.sha256()
        self._feed(value, top=True)
        self.text = self._total.hexdigest()[:16]

    def _tell(self, *words: object) -> None:
        for word in words:
            self._total.update(f"{word}\n".encode())

    def _feed(self, value: object, *, top: bool = False) -> None:
        if isinstance(value, PLAIN):
            self._tell(type(value).__name__, repr(value))
        elif id(value) in self._met:  # a cycle, or seen before
            self._tell("again", self._met[id(value)])
        else:
            self._met[id(value)] = len(self._met)
            feed = next((feed for kinds, feed in FEEDS if isinstance(value, kinds)), Fingerprint._feed_other)
            feed(self, value, top)

    def _feed_other(self, value: object, top: bool) -> None:
        """Add objects by their class and content; compiled functions by their names."""
        python = getattr(value, "py_func", None)  # of functions compiled by Numba
        if hasattr(value, "detach"):
            self._feed_array(np.asarray(value.detach().cpu()), top)
        elif python is not None:
            self._feed(python, top=top)
        elif inspect.isroutine(value):
            self._tell("compiled", _name(value))
            self.unseen += [_name(value)] if top else []
        else:
            self._feed_object(value, top)

    def _feed_parts(self, kind: str, parts: Sequence[object]) -> None:
        self._tell(kind, len(parts))
        for part in parts:
            self._feed(part)

    def _feed_array(self, value: object, top: bool) -> None:
        array = np.asarray(value)
        self._tell("array", array.dtype, array.shape)
        self._total.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())

    def _feed_partial(self, value: functools.partial[object], top: bool) -> None:
        self._feed(value.func, top=top)
        self._feed_parts("list", [value.args, value.keywords])

    def _feed_method(self, value: MethodType, top: bool) -> None:
        self._feed(value.__func__, top=top)
        self._feed(value.__self__)

    def _feed_function(self, function: FunctionType, top: bool) -> None:
        if _is_installed(function) and not top:
            return self._tell("installed", _name(function))
        self._feed_bytecode(function.__code__)
        self._feed(function.__defaults__)
        self._feed(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self._feed(cell.cell_contents)
            except ValueError:  # not filled yet
                self._tell("empty cell")
        for name in sorted(set(_names(function.__code__)) & set(function.__globals__)):
            self._tell(name)
            self._feed(function.__globals__[name])

    def _feed_bytecode(self, code: CodeType) -> None:
        self._total.update(code.co_code)
        self._tell(code.co_names, code.co_varnames, code.co_argcount, code.co_kwonlyargcount)
        for constant in code.co_consts:
            self._feed_bytecode(constant) if isinstance(constant, CodeType) else self._feed(constant)

    def _feed_class(self, cls: type, top: bool) -> None:
        if _is_installed(cls) and not top:
            return self._tell("installed", _name(cls))
        for base in cls.__mro__:
            if base is not cls and _is_installed(base):
                self._tell("installed", _name(base))
                continue
            for name, part in sorted(vars(base).items()):
                if isinstance(part, property):
                    part = part.fget
                part = getattr(part, "func" if isinstance(part, functools.cached_property) else "__func__", part)
                plain = isinstance(part, bool | int | float | str | tuple) and not name.startswith("__")
                if plain or isinstance(part, FunctionType):
                    self._tell(name)
                    self._feed(part, top=True)

    def _feed_object(self, value: object, top: bool) -> None:
        self._feed(type(value), top=top)
        names = getattr(type(value), "__slots__", None)
        held = vars(value) if hasattr(value, "__dict__") else None
        if held is None and names is not None:
            held = {name: getattr(value, name, None) for name in names}
        if held is not None:
            self._feed({name: part for name, part in held.items() if not _is_cached(type(value), name)})
        elif "<" in repr(value):  # probably an address
            self.unseen.append(_name(value))
        else:
            self._tell(repr(value))


#: How to add values of some kinds.
FEEDS: tuple[tuple[type | tuple[type, ...], Callable[[Fingerprint, Any, bool], None]], ...] = (
    (ModuleType, lambda self, module, top: self._tell("module", module.__name__)),
    ((list, tuple), lambda self, parts, top: self._feed_parts(type(parts).__name__, parts)),
    ((set, frozenset), lambda self, parts, top: self._feed_parts(type(parts).__name__, sorted(parts, key=repr))),
    (Mapping, lambda self, pairs, top: self._feed_parts("list", [part for pair in pairs.items() for part in pair])),
    ((np.ndarray, np.generic), Fingerprint._feed_array),
    (functools.partial, Fingerprint._feed_partial),
    (MethodType, Fingerprint._feed_method),
    (FunctionType, Fingerprint._feed_function),
    (type, Fingerprint._feed_class),
)


def _is_cached(kind: type, name: str) -> bool:
    """Whether an attribute is a cached property's value, which comes and goes."""
    return isinstance(getattr(kind, name, None), functools.cached_property)


def _names(code: CodeType) -> Iterator[str]:
    """Yield all names that a function refers to, including functions inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _name(value: object) -> str:
    """Return the name of a value, without its address."""
    owner = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', type(value).__name__)}"


def _is_installed(value: object) -> bool:
    """Whether something belongs to Python, a package, or this library."""
    module = getattr(value, "__module__", None) or "builtins"
    if module.split(".")[0] in ("builtins", "softecm"):
        return module != "builtins" or not isinstance(value, FunctionType)
    return str(getattr(sys.modules.get(module), "__file__", None)).startswith(INSTALLED)


def code_of(metric: object) -> Fingerprint | None:
    """Return the code of a metric from outside this library: of a function, or of an object and its class."""
    if type(metric).__module__ == "softecm.distances.auto":  # a function wrapped as a metric
        metric = getattr(metric, "function", metric)
    own = type(metric).__module__.startswith("softecm.")
    return None if own or metric is None or isinstance(metric, str) else Fingerprint(metric)


def warn_unseen(metric: object, where: str) -> None:
    """Warn if a metric is identified only by its name."""
    code = code_of(metric)
    if code is not None and code.unseen:
        warn(
            f"metric can't be distinguished from another of the same name in {where}: there is no Python code of "
            f"{', '.join(sorted(set(code.unseen)))} to compare. Use another file when it changes."
        )
