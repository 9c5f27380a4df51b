"""Several files about the same objects: a table, series and embeddings, as views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softecm._errors import ReadError
from softecm.readers.base import Loaded, ReadOptions, first_of, id_of, short

Reading = Callable[[Path, ReadOptions], Loaded]

KINDS = ("series", "embeddings", "matrices")  # in a summary
SHOWN = 5  # maximum number of ids to list


class Beside(NamedTuple):
    """Other files about the same objects."""

    series: Path | None = None
    embeddings: tuple[Path, ...] = ()
    matrices: tuple[Path, ...] = ()  # of dissimilarities; the main file is one of them

    def __bool__(self) -> bool:
        return bool(self.files)

    @property
    def files(self) -> tuple[Path, ...]:
        """All of them."""
        return (*(() if self.series is None else (self.series,)), *self.embeddings, *self.matrices)

    def summary(self) -> dict[str, list[str]]:
        """Return their paths, for a summary."""
        kinds = zip(KINDS, (self.files[: self.series is not None], self.embeddings, self.matrices), strict=True)
        return {kind: [str(file.absolute()) for file in files] for kind, files in kinds if files}

    @staticmethod
    def of(files: Mapping[str, Sequence[str]]) -> Beside:
        """Return the files of a summary."""
        series, embeddings, matrices = (tuple(map(Path, files.get(kind, ()))) for kind in KINDS)
        return Beside(next(iter(series), None), embeddings, matrices)


def read_views(path: Path, beside: Beside, options: ReadOptions, read: Reading) -> Loaded:
    """Return the objects of a table with their series and embeddings from other files, as a dict of views.

    Series are matched by id. Rows of an embedding are in the order of the table's, unless it has a column of ids.
    """
    names = [path.stem, *(one.stem for one in beside.files)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ReadError(f"two files are called {twice}, and views are named after their files: rename one of them.")
    if beside.matrices:
        return _matrices(path, beside, options, read)
    key = options.id_column or options.series_id
    if key is None and beside.series is not None and options.expected is not None:
        key = options.expected.id_column
    main = read(path, replace(options, id_column=key, series_id=None, time=None, value=(), channel=None, series=None))
    if main.shape == "series" or hasattr(main.data, "indptr"):
        raise ReadError(f"{path} must be a table with one object per row: give it first, and series with --series.")
    others = _OtherViews(path, main, read)
    views: dict[str, Any] = {path.stem: main.data}
    if beside.series is not None:
        own = key or id_of(main.columns)
        if own != key:
            others.notes.append(f"{beside.series} is matched with {path} by {own}; --id-column changes this.")
        views[beside.series.stem] = others.series(beside.series, options, own)
    for file in beside.embeddings:
        views[file.stem] = others.embedding(file, key)
    code = (*main.code, "# the other views of X are read from the other files; X is then a dict of views")
    how = {**main.how, "views": ", ".join(views)}
    return replace(main, data=views, notes=(*main.notes, *others.notes), code=code, how=how)


def _matrices(path: Path, beside: Beside, options: ReadOptions, read: Reading) -> Loaded:
    """Return several matrices of dissimilarities between the same objects."""
    if len(beside.files) > len(beside.matrices):
        raise ReadError("--matrix can't be combined with --series and --embedding: leave them out.")
    loaded = [read(file, options) for file in (path, *beside.matrices)]
    views = {}
    for file, one in zip((path, *beside.matrices), loaded, strict=True):
        views[file.stem] = _numbers(file, one, "--matrix")
        if views[file.stem].shape != views[path.stem].shape:
            shapes = [" x ".join(map(str, views[name].shape)) for name in (path.stem, file.stem)]
            raise ReadError(f"{path} has {shapes[0]} cells and {file} {shapes[1]}: give the same objects in both.")
    code = (*loaded[0].code, "# the other matrices are read from the other files; X is then a dict of them")
    return replace(loaded[0], data=views, code=code, how={**loaded[0].how, "views": ", ".join(views)})


@dataclass(frozen=True)
class _OtherViews:
    """What is read from files beside a table, for its objects."""

    path: Path
    main: Loaded
    read: Reading
    notes: list[str] = field(default_factory=list)

    def series(self, file: Path, options: ReadOptions, key: str | None) -> list[Any]:
        """Return the series of each object, or None."""
        if self.main.ids is None or key is None:
            raise ReadError(
                f"{file} is matched with {self.path} by the objects' ids: name the column that both have with --id."
            )
        time, value = self._time_and_values(file, key, options)
        loaded = self.read(file, ReadOptions(series_id=key, time=time, value=value, channel=options.channel))
        return self._matched(file, dict(zip(loaded.names, loaded.data, strict=True)))

    def _time_and_values(self, file: Path, key: str, options: ReadOptions) -> tuple[str, tuple[str, ...]]:
        """Return these columns of a long table: as given, or the first beside the ids, and all others."""
        table = self.read(file, ReadOptions()).table
        names = [] if table is None else [str(name) for name in table.columns]
        if key not in names or len(names) < 3:
            raise ReadError(
                f"{file} must have the column {key}, a time column and one or more value columns, one row per object and "
                "time."
            )
        time = options.time or next(name for name in names if name != key)
        value = options.value or tuple(name for name in names if name not in (key, time, options.channel))
        if not (options.time and options.value):
            self.notes.append(
                f"{file}: {time} is used as the time, {', '.join(value)} as values; --time and --value change this."
            )
        return time, value

    def embedding(self, file: Path, key: str | None) -> Any:
        """Return numbers for each object: by id if the file has ids, else in the table's order."""
        loaded = self.read(file, ReadOptions(id_column=key if file.suffix.lower() not in (".npy", ".npz") else None))
        if loaded.shape == "series" or hasattr(loaded.data, "indptr"):
            raise ReadError(
                f"{file} must hold one row of numbers per object: give an array of two dimensions, or a table."
            )
        rows = _numbers(file, loaded, "--embedding")
        if loaded.ids is not None and self.main.ids is not None:
            empty = np.full(rows.shape[1], np.nan)
            matched = self._matched(file, dict(zip(loaded.names, rows, strict=True)))
            return np.stack([empty if row is None else row for row in matched])
        if len(rows) != len(self.main):
            raise ReadError(
                f"{file} has {len(rows)} rows and {self.path} {len(self.main)}: without ids the rows must be of the same "
                "objects, in the same order."
            )
        return rows

    def _matched(self, file: Path, rows: Mapping[str, object]) -> list[Any]:
        """Return a file's data of each object, or None; raise an error for unknown objects."""
        ids, known = self.main.names, set(self.main.names)
        strange = [short(one) for one in rows if one not in known]
        if strange:
            raise ReadError(
                f"{file} has {first_of(strange, SHOWN)}, which {self.path} does not have: an object must be in {self.path} "
                "to be clustered. Leave such rows out, or check that ids are spelled the same."
            )
        absent = [short(one) for one in ids if one not in rows]
        if absent:
            self.notes.append(
                f"{file} lacks {first_of(absent, SHOWN)}: such objects are compared in their other views."
            )
        return [rows.get(one) for one in ids]


def _numbers(file: Path, loaded: Loaded, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(loaded.data, dtype=np.float64)
    except (TypeError, ValueError):
        raise ReadError(f"{file} must hold only numbers for {name}: drop its other columns.") from None
