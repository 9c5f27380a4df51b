"""The fit in a report: parameters, warnings, scores, code to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from softecm._checks import is_number
from softecm._text import counted
from softecm._wording import option
from softecm.belief import CredalPartition
from softecm.distances import SEMI_METRICS, SemiMetric
from softecm.distances.auto import AUTO, SERIES_AUTO
from softecm.report.columns import missing
from softecm.report.inputs import FittedModel, comparing, merged, pairwise

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

OURS = "from softecm import "
UNTOLD = ("callback", "verbose", "warm_start")
LONGEST = 120  # characters of a parameter; longer ones are data
LONGEST_METRIC = 500


def parameters(model: FittedModel) -> dict[str, str]:
    """Return parameters of the fit as text, without uninformative ones."""
    params = model.get_params(deep=False)
    shown = {k: _shown(v) for k, v in params.items() if k not in UNTOLD and v is not None}
    metric = _metric(model, params.get("metric"))
    if metric:
        shown["metric"] = metric
    if metric and hasattr(model, "metric_reason_"):
        shown["metric_reason"] = str(model.metric_reason_)
    shown |= weight_texts(model)
    for name, reason in getattr(model, "left_out_", {}).items():
        shown[f"left out: {name}"] = str(reason)
    for name, value in params.items():
        fitted = getattr(model, f"{name}_", None)
        if isinstance(value, str) and value == "auto" and is_number(fitted):
            shown[name] = f"auto: {fitted:.4g}"
    return shown


def plain_parameters(model: FittedModel, texts: Mapping[str, str]) -> dict[str, str]:
    """Return settings that are words or numbers, because arrays may be data."""
    params = model.get_params(deep=False)
    known = {"metric", *(name for name, value in params.items() if isinstance(value, bool | int | float | str))}
    return {name: text for name, text in texts.items() if name in known}


def weight_texts(model: FittedModel) -> dict[str, str]:
    """Return the weight of each view or column in words; for weights per set, the minimum and the maximum."""
    fitted = comparing(model)
    metric = None if fitted is None else fitted.model_.metric
    views = getattr(metric, "view_weights", None) if fitted is not None else getattr(model, "view_weights_", None)
    texts = {}
    for part, weights in (("view", views), ("column", getattr(metric, "feature_weights", None))):
        whole = sum((weights or {}).values())  # they have sum 1, or product 1
        for name, weight in (weights or {}).items():
            least, most = float(np.min(weight / whole)), float(np.max(weight / whole))
            texts[f"weight of {part} {name}"] = f"{most:.1%}" if least == most else f"{least:.1%} to {most:.1%}, by set"
    return texts


def _metric(model: FittedModel, parameter: object) -> str:
    """Return the metric's name: inferred, or as given."""
    if pairwise(model):
        return parameter if isinstance(parameter, str) else ""
    fitted = comparing(model)
    if fitted is None or (isinstance(parameter, str) and parameter not in (AUTO, SERIES_AUTO)):
        return str(parameter or "")
    name = str(fitted.model_.metric.name)
    if parameter is None:  # an algorithm with a single metric: use its common name
        return name if name in SEMI_METRICS else ""
    return name or getattr(parameter, "__name__", type(parameter).__name__)


def _shown(value: object) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{type(value).__name__} as given"


def warnings(model: FittedModel) -> list[str]:
    """Return a fitted model's own warnings."""
    messages = []
    if not getattr(model, "converged_", True):
        messages.append(
            f"{type(model).__name__} has not converged after {getattr(model, 'n_iter_', 0)} iterations. Raise "
            f"{option('max_iter')}, or {option('tol')} if a rougher answer will do."
        )
    if merged(model):
        messages.append("Prototypes of different clusters have merged: the partition can't tell them apart.")
    doubt = getattr(model, "_doubt_of_number", None)
    return [*messages, doubt] if doubt else messages


def own_warnings(model: FittedModel, messages: Sequence[str]) -> list[str]:
    """Return the model's own warnings; others may quote cells, so they are only counted."""
    own = warnings(model)
    return [*own, *hidden_warnings(sum(text not in own for text in messages))]


def hidden_warnings(count: int) -> list[str]:
    """Return a sentence with the number of hidden warnings, if any."""
    some = counted(count, "warning is", "warnings are")
    return [f"{some} hidden here, because a warning may quote a cell."] if count else []


def scores(partition: CredalPartition, labels: Sequence[object] | None) -> dict[str, float]:
    """Return the agreement with known classes; empty without any. Objects of unknown class (None, NaN) are ignored."""
    if labels is None:
        return {}
    if len(labels) != len(partition):
        raise ValueError(
            f"labels must have one entry for each of the {len(partition)} objects, None for unknown classes; got "
            f"{len(labels)}."
        )
    known = np.array([not missing(v) for v in labels])
    if known.sum() < 2:
        return {}
    from softecm import scores as measure

    truth = [str(v) for v, there in zip(labels, known, strict=True) if there]
    predicted = partition[known].labels()
    return {
        "adjusted Rand index": float(measure.adjusted_rand_index(truth, predicted)),
        "Rand index": float(measure.rand_index(truth, predicted)),
        "accuracy": float(measure.accuracy(truth, predicted)),
        "purity": float(measure.purity(truth, predicted)),
    }


def code(model: FittedModel, reading: Sequence[str] = (), saved: str | None = None, *, streamed: bool = False) -> str:
    """Return Python code for the same fit.

    Parameters
    ----------
    model : fitted estimator
    reading : sequence of str
        Lines that define ``X``, or ``X, y``.
    saved : str, optional
        Path of the model, if saved.
    streamed : bool
        Whether its partition is in blocks.
    """
    name = type(model).__name__
    loading = ["", "# or, without fitting again:", f"model = load_model({saved!r})"] if saved is not None else []
    ours = [line.removeprefix(OURS) for line in reading if line.startswith(OURS)]
    ours = sorted({name, *ours, *(["load_model"] if loading else [])})
    others = [line for line in reading if line.startswith(("import", "from")) and not line.startswith(OURS)]
    metrics = sorted({type(metric).__name__ for metric in _metrics(_changed(model).get("metric"))})
    data = "X, y" if any(line.startswith("X, y =") for line in reading) else "X"
    unwritten = [k for k, v in _changed(model).items() if _written(v) is None]
    return "\n".join(
        [
            *others,
            f"{OURS}{', '.join(ours)}",
            *([f"from softecm.distances import {', '.join(metrics)}"] if metrics else []),
            "",
            *[line for line in reading if not line.startswith(("import", "from"))],
            *([f"# give these as in the fit, too long to show here: {', '.join(unwritten)}"] if unwritten else []),
            f"model = {name}({arguments(model)}).fit({data})",
            'model.partition_.to_parquet("partition.parquet")' if streamed else "model.partition_.to_frame()",
            *loading,
        ]
    )


def arguments(model: FittedModel, without: Sequence[str] = ()) -> str:
    """Return the non-default parameters as Python code, without data."""
    written = {k: _written(v) for k, v in _changed(model).items() if k not in without}
    return ", ".join(f"{k}={text}" for k, text in written.items() if text is not None)


def _changed(model: FittedModel) -> dict[str, object]:
    """Return the non-default parameters."""
    usual: Mapping[str, object] = type(model)().get_params(deep=False)
    params = model.get_params(deep=False)
    return {k: v for k, v in params.items() if k != "callback" and not _same(v, usual.get(k))}


def _written(value: object) -> str | None:
    """Return a parameter as Python code; None for data and values without such a form."""
    text = _without_defaults(value)
    longest = LONGEST_METRIC if isinstance(value, SemiMetric) else LONGEST
    return None if len(text) > longest or "<" in text or "tensor(" in text else text


def _without_defaults(value: object) -> str:
    """Return a metric, or a dict of them, without parameters at their defaults; other values unchanged."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{k!r}: {_without_defaults(v)}' for k, v in value.items())}}}"
    changed = (f"{name}={_without_defaults(one)}" for name, one in _changed_fields(value).items())
    return f"{type(value).__name__}({', '.join(changed)})" if _is_ours(value) else repr(value)


def _metrics(value: object) -> Iterator[object]:
    """Yield this metric of ours and those it contains."""
    if _is_ours(value):
        yield value
    for one in (value if isinstance(value, Mapping) else _changed_fields(value)).values():
        yield from _metrics(one)


def _changed_fields(metric: object) -> dict[str, object]:
    """Return the non-default parameters of a metric of ours."""
    own = [one for one in fields(metric) if one.repr] if _is_ours(metric) else []
    return {one.name: value for one in own if not _same(value := getattr(metric, one.name), one.default)}


def _is_ours(value: object) -> TypeGuard[DataclassInstance]:
    return is_dataclass(value) and type(value).__module__.startswith("softecm.distances")


def _same(value: object, usual: object) -> bool:
    return value is usual or (type(value) is type(usual) and bool(np.all(value == usual)))
