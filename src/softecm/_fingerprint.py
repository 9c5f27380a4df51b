"""What a function does, as a short text: its code, and every value of its user's that the code refers to.

Comments, line numbers and names of files don't count. Functions of installed packages go by their names.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from softecm._warnings import warn

INSTALLED = tuple(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib"))


class Fingerprint:
    """The text of a value, and what in it goes by its name alone because there is no code to look at.

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
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return self._tell(type(value).__name__, repr(value))
        if id(value) in self._met:  # a circle, or seen before
            return self._tell("again", self._met[id(value)])
        self._met[id(value)] = len(self._met)
        if isinstance(value, ModuleType):
            return self._tell("module", value.__name__)
        if isinstance(value, list | tuple | set | frozenset):
            return self._feed_all(value)
        if isinstance(value, Mapping):
            return self._feed_all([part for pair in value.items() for part in pair])
        if isinstance(value, np.ndarray | np.generic) or hasattr(value, "detach"):
            return self._feed_array(value)
        return self._feed_code(value, top)

    def _feed_all(self, values: object) -> None:
        parts = list(values) if not isinstance(values, set | frozenset) else sorted(values, key=repr)  # type: ignore[call-overload]
        self._tell(type(values).__name__, len(parts))
        for part in parts:
            self._feed(part)

    def _feed_array(self, value: object) -> None:
        array = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
        self._tell("array", array.dtype, array.shape)
        self._total.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())

    def _feed_code(self, value: object, top: bool) -> None:
        """Functions, classes, and objects by their class and what they hold."""
        if isinstance(value, functools.partial):
            self._feed(value.func, top=top)
            return self._feed_all([value.args, value.keywords])
        if isinstance(value, MethodType):
            self._feed(value.__func__, top=top)
            return self._feed(value.__self__)
        if isinstance(getattr(value, "py_func", None), FunctionType):  # compiled by Numba
            return self._feed(value.py_func, top=top)  # type: ignore[attr-defined]
        if isinstance(value, type | FunctionType):
            if _is_installed(value) and not top:
                return self._tell("installed", _name(value))
            return self._feed_function(value) if isinstance(value, FunctionType) else self._feed_class(value)
        return self._feed_object(value, top)

    def _feed_function(self, function: FunctionType) -> None:
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

    def _feed_class(self, cls: type) -> None:
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
        if inspect.isroutine(value):
            self._tell("compiled", _name(value))
            if top:
                self.unseen.append(_name(value))
            return
        self._feed(type(value), top=top)
        names = getattr(type(value), "__slots__", None)
        held = vars(value) if hasattr(value, "__dict__") else None
        if held is None and names is not None:
            held = {name: getattr(value, name, None) for name in names}
        if held is not None:
            self._feed({name: part for name, part in held.items() if not _is_cached(type(value), name)})
        elif "<" in repr(value):  # an address, likely
            self.unseen.append(_name(value))
        else:
            self._tell(repr(value))


def _is_cached(kind: type, name: str) -> bool:
    """Whether an attribute is what a property has found: it comes and goes."""
    return isinstance(getattr(kind, name, None), functools.cached_property)


def _names(code: CodeType) -> Iterator[str]:
    """All names a function refers to, those of functions inside it, too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _name(value: object) -> str:
    """What a value is called, without its address."""
    owner = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(owner, '__module__', '')}.{getattr(owner, '__qualname__', type(value).__name__)}"


def _is_installed(value: object) -> bool:
    """Whether something comes with Python, a package, or this library."""
    module = getattr(value, "__module__", None) or "builtins"
    if module.split(".")[0] in ("builtins", "softecm"):
        return module != "builtins" or not isinstance(value, FunctionType)
    return str(getattr(sys.modules.get(module), "__file__", None)).startswith(INSTALLED)


def code_of(metric: object) -> Fingerprint | None:
    """The code of a metric that is not this library's: of a function, or of an object and its class."""
    if type(metric).__module__ == "softecm.distances.auto":  # a function that was made a metric
        metric = getattr(metric, "function", metric)
    own = type(metric).__module__.startswith("softecm.")
    return None if own or metric is None or isinstance(metric, str) else Fingerprint(metric)


def warn_unseen(metric: object, where: str) -> None:
    """Say where a metric can be told from others by its name alone."""
    found = code_of(metric)
    if found is not None and found.unseen:
        warn(
            f"metric can't be told from another of the same name in {where}: there is no Python code of "
            f"{', '.join(sorted(set(found.unseen)))} to look at. Give another file when it changes."
        )
