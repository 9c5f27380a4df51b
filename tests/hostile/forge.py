"""Forged files: real ones with one to three changed parts, resealed with a valid checksum.

A forger knows the format: JSON in which every value has a kind, and named arrays.
"""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from softecm.files.tensors import read_description, tensor_file

Rng = np.random.Generator
Place = tuple[Any, Any]  # a dict or a list, and a key or an index in it

ODD_FLOATS = [0.5, -0.0, 1e-320, 1e-160, 1e160, -1.0, 1.0, 1.0000000001, 3.7]
ODD_FLOATS += [1e308, -1e308, float("nan"), float("inf"), -float("inf")]
ODD_NUMBERS = [*ODD_FLOATS, 0, -1, 1, 2, 2**31, 2**63, -(2**63), 10**12, 10**400]
ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "nan",
    "\u202eevil\x00\x1b[2J",
    "ω" * 50,
    [],
    {},
    [1, 2],
    [[[]]],
    {"a": 1},
]
ODD_VALUES += [{"value": None}, {"value": "x"}, {"list": []}, {"tuple": [{"value": 0}]}, {"array": "nowhere"}]
ODD_VALUES += [
    {"own": "SquaredEuclidean", "fields": {}},
    {"own": "os.system", "fields": {"command": {"value": "true"}}},
]
ODD_VALUES += [{"metric": "mine"}, {"dtype": "float16"}, {"dtype": "float32"}, "softdtw", "precomputed", "Table"]
TYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")
OWN = ("SquaredEuclidean", "Euclidean", "Cosine", "Hamming", "Mixed", "SoftDTW", "DTW", "Precomputed", "AffineDistance")
OWN += ("RealVectors", "Table", "TimeSeries", "Dissimilarities", "FocalSets", "CredalPartition", "ExpectedMismatches")


@dataclass
class Parts:
    """The parts of a file of tensors, to be changed in place."""

    description: dict[str, Any]
    tensors: dict[str, np.ndarray]
    done: list[str] = field(default_factory=list)  # the changes, for reading a failure

    @staticmethod
    def of(path: Path, kind: str, version: int, what: str) -> "Parts":
        """Read the parts of a file."""
        return Parts(*read_description(path, kind, version, what))

    def copy(self) -> "Parts":
        """Return an independent copy."""
        return Parts(copy.deepcopy(self.description), dict(self.tensors))

    def seal(self, path: Path) -> None:
        """Write with a valid checksum."""
        tensor_file(path, json.dumps(self.description), self.tensors)


def forged(parts: Parts, rng: Rng) -> Parts:
    """A copy with one to three changes."""
    changed = parts.copy()
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        pick(CHANGES, rng)(changed, rng)
    return changed


def pick(values: Any, rng: Rng) -> Any:
    """One of some values, unconverted."""
    return values[int(rng.integers(len(values)))]


def places(node: Any, at: str = "") -> Iterator[tuple[str, Place]]:
    """All keys and indices of the description below the first level."""
    items = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, value in items:
        yield f"{at}.{key}", (node, key)
        yield from places(value, f"{at}.{key}")


def any_place(parts: Parts, rng: Rng, wanted: Callable[[Any], bool] = lambda value: True) -> tuple[str, Place] | None:
    """A random place in the description whose value is wanted."""
    found = [(at, (inside, key)) for at, (inside, key) in places(parts.description) if wanted(inside[key])]
    found = [(at, place) for at, place in found if not at.startswith((".format", ".softecm_version"))]
    return pick(found, rng) if found else None


def set_value(parts: Parts, rng: Rng) -> None:
    """Set a leaf to an odd value."""
    place = any_place(parts, rng, lambda value: not isinstance(value, dict | list))
    if place is not None:
        at, (inside, key) = place
        inside[key] = copy.deepcopy(pick(ODD_NUMBERS if rng.random() < 0.6 else ODD_VALUES, rng))
        parts.done.append(f"{at} = {str(inside[key])[:40]}")


def set_branch(parts: Parts, rng: Rng) -> None:
    """Set a branch to an odd value."""
    place = any_place(parts, rng)
    if place is not None:
        at, (inside, key) = place
        inside[key] = copy.deepcopy(pick(ODD_VALUES, rng))
        parts.done.append(f"{at} = {str(inside[key])[:40]}")


def drop_key(parts: Parts, rng: Rng) -> None:
    """Remove a key."""
    place = any_place(parts, rng)
    if place is not None:
        at, (inside, key) = place
        del inside[key]
        parts.done.append(f"{at} dropped")


def add_key(parts: Parts, rng: Rng) -> None:
    """Add a key: a method's name, a private one, or a second copy of an entry."""
    place = any_place(parts, rng, lambda value: isinstance(value, dict | list) and bool(value))
    if place is None:
        return
    at, (inside, key) = place
    target = inside[key]
    if isinstance(target, list):
        target.append(copy.deepcopy(pick(target, rng)))
    else:
        name = pick(["predict_partition", "__class__", "fit", "_encode", "note", "model_", "n_clusters", "ω"], rng)
        target[name] = copy.deepcopy(pick([{"value": 1.0}, {"value": "x"}, *target.values()], rng))
    parts.done.append(f"{at} longer")


def swap_keys(parts: Parts, rng: Rng) -> None:
    """Swap two values."""
    place = any_place(parts, rng, lambda value: isinstance(value, dict | list) and len(value) > 1)
    if place is None:
        return
    at, (inside, key) = place
    target = inside[key]
    keys = list(target) if isinstance(target, dict) else list(range(len(target)))
    a, b = (keys[int(i)] for i in rng.choice(len(keys), 2, replace=False))
    target[a], target[b] = target[b], target[a]
    parts.done.append(f"{at}: {a} and {b} swapped")


def rename_own(parts: Parts, rng: Rng) -> None:
    """Change the class of a value."""
    place = any_place(parts, rng, lambda value: isinstance(value, dict) and "own" in value)
    if place is not None:
        at, (inside, key) = place
        inside[key]["own"] = pick(OWN, rng)
        parts.done.append(f"{at} is {inside[key]['own']}")


def rename_class(parts: Parts, rng: Rng) -> None:
    """Change the file's estimator or phase."""
    key = "class" if "class" in parts.description else "phase"
    parts.description[key] = pick(
        ["SoftECM", "ECM", "EVCLUS", "BPEC", "ECMdd", "RECM", "clusters", "sets", "starts", ""], rng
    )
    parts.done.append(f"{key} {parts.description[key]}")


def nest(parts: Parts, rng: Rng) -> None:
    """Nest far too deep."""
    place = any_place(parts, rng)
    if place is not None:
        at, (inside, key) = place
        depth = int(pick([5, 50, 150], rng))
        for _ in range(depth):
            inside[key] = {"list": [inside[key]]} if rng.random() < 0.5 else [inside[key]]
        parts.done.append(f"{at} {depth} deep")


def lengthen(parts: Parts, rng: Rng) -> None:
    """Set a text of a megabyte, or a list of many thousands."""
    place = any_place(parts, rng)
    if place is not None:
        at, (inside, key) = place
        inside[key] = "x" * 10**6 if rng.random() < 0.5 else [0] * 20_000
        parts.done.append(f"{at} huge")


def any_tensor(parts: Parts, rng: Rng) -> str | None:
    """The name of a random array."""
    return pick(sorted(parts.tensors), rng) if parts.tensors else None


def reshape(parts: Parts, rng: Rng) -> None:
    """Change the shape of an array."""
    name = any_tensor(parts, rng)
    if name is None:
        return
    value = parts.tensors[name]
    ways: list[Callable[[], np.ndarray]] = [
        lambda: value[:-1] if value.ndim else value,
        lambda: np.concatenate([value, value[:1]]) if value.ndim else value,
        lambda: value[..., :-1] if value.ndim else value,
        lambda: np.concatenate([value, value[..., :1]], -1) if value.ndim else value,
        lambda: value[None],
        lambda: value[..., None],
        lambda: value.reshape(-1),
        lambda: value.T,
        lambda: value[:0] if value.ndim else value,
        lambda: np.zeros((0, 10**6), dtype=value.dtype),
        lambda: np.zeros((), dtype=value.dtype),
    ]
    parts.tensors[name] = np.ascontiguousarray(pick(ways, rng)())
    if parts.tensors[name].ndim == 0 or value.ndim == 0:
        parts.tensors[name] = (
            parts.tensors[name].reshape(pick([(1,), (1, 1)], rng)) if rng.random() < 0.5 else parts.tensors[name]
        )
    parts.done.append(f"{name} {value.shape} -> {parts.tensors[name].shape}")


def retype(parts: Parts, rng: Rng) -> None:
    """Change the dtype of an array."""
    name = any_tensor(parts, rng)
    if name is not None:
        with np.errstate(all="ignore"):
            parts.tensors[name] = parts.tensors[name].astype(pick(TYPES, rng))
        parts.done.append(f"{name} as {parts.tensors[name].dtype}")


def set_numbers(parts: Parts, rng: Rng) -> None:
    """Set odd numbers in an array: one, a row, or all."""
    name = any_tensor(parts, rng)
    if name is None or not parts.tensors[name].size:
        return
    value = np.array(parts.tensors[name])
    odd = {"f": ODD_FLOATS, "b": [True, False]}.get(value.dtype.kind, [0, -1, 1, 5, 100, 127, -100])
    with np.errstate(over="ignore"):
        new = np.array(pick(odd, rng)).astype(value.dtype)
    where = pick(["one", "first", "all"], rng)
    if where == "one":
        value.reshape(-1)[int(rng.integers(value.size))] = new
    elif where == "first" and value.ndim:
        value[0] = new
    else:
        value[...] = new
    parts.tensors[name] = value
    parts.done.append(f"{name} {where} {new}")


def shift_numbers(parts: Parts, rng: Rng) -> None:
    """Move, reverse or scale an array's numbers, so that they are valid but wrong."""
    name = any_tensor(parts, rng)
    if name is not None and parts.tensors[name].dtype.kind != "b":
        value = parts.tensors[name]
        with np.errstate(all="ignore"):
            ways = [
                value + value.dtype.type(1),
                value[::-1] if value.ndim else value,
                -value.astype(value.dtype),
                value * value.dtype.type(100),
            ]
        parts.tensors[name] = np.ascontiguousarray(pick(ways, rng)).reshape(value.shape)
        parts.done.append(f"{name} moved")


def drop_tensor(parts: Parts, rng: Rng) -> None:
    """Remove an array, or replace it by another."""
    name = any_tensor(parts, rng)
    if name is not None:
        other = any_tensor(parts, rng)
        if rng.random() < 0.5:
            del parts.tensors[name]
        else:
            parts.tensors[name] = parts.tensors[other]  # type: ignore[index]
        parts.done.append(f"{name} gone")


CHANGES = [set_value] * 5 + [set_branch, drop_key, add_key, swap_keys, rename_own, rename_class, nest, lengthen]
CHANGES += [reshape] * 4 + [retype] * 2 + [set_numbers] * 4 + [shift_numbers, drop_tensor]
