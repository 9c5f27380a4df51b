"""The input of a fit, an estimator's parameters with all choices resolved, and its output, a model that predicts."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from softecm import _engine
from softecm._checks import check_count, check_number
from softecm._errors import NotThere
from softecm._text import shown_size
from softecm._wording import literal, option, worded
from softecm.belief import CredalPartition, FocalSets
from softecm.belief.transforms import sound
from softecm.distances.base import SemiMetric, distances_of, metric_rule
from softecm.files import check_file, check_replaced
from softecm.files.expected import NOT_NEGATIVE, POSITIVE, Misfit, Range, maybe, number, rules
from softecm.files.values import Savable, own
from softecm.fit.loop import Callback, Progress
from softecm.objective.equations import POWER_MASSES, MassCost, MassRule, mass_cost, masses_of
from softecm.objective.linked import Pairs
from softecm.objective.problem import RELAXATIONS, SOLVERS, Gap, Penalty, Relaxation, distances_to_sets, set_barycenters
from softecm.objective.pull import PrototypePull
from softecm.optim import Solver
from softecm.spaces.base import Space

DELTA_HINT = "Pass a distance, None for no outliers, or 'fitted'."
ROWS = 1 << 11  # objects per block when computing masses


@dataclass(frozen=True)
class PrototypeModel(Savable):
    """Prototypes in a space, their metric, and the costs of a mass (CPU tensors)."""

    metric: SemiMetric
    space: Space
    focal: FocalSets
    prototypes: Tensor  # (f, *shape); if wide, (c, *shape): sets then follow from their clusters
    alpha: float
    beta: float
    delta: float | None
    tie: float  # the cost of the constraint on the sets' prototypes, per training object
    close: float | None = None  # the delta of the clusters, if it differs from that of the masses
    rule: MassRule = POWER_MASSES  # how masses follow from distances
    SAVED = rules(
        focal=own(FocalSets),
        space=own(Space),
        metric=metric_rule,
        alpha=number(NOT_NEGATIVE),
        beta=number(Range(above=1)),
        delta=maybe(number(POSITIVE)),
        tie=number(),
        close=maybe(number(POSITIVE)),
        rule=own(MassRule),
    )

    def check_parts(self) -> None:
        """Raise an error for inconsistent parts of a loaded model."""
        sets, clusters = len(self.focal), self.focal.n_clusters
        if len(self.prototypes) not in ((clusters, sets) if self.space.sparse else (sets,)):
            raise Misfit(f"model_.prototypes are {len(self.prototypes)}, for {sets} focal sets")
        if (self.prototypes.ndim == 1) != self.metric.discrete:
            raise Misfit("model_.prototypes are not what the metric measures to")
        self.space.check_kind(self.metric.make_space())
        self.space.check_prototypes(self.prototypes)
        self.metric.check_fitted(self.space, self.focal)

    def cost(self, like: Tensor | None = None, weights: Tensor | None = None) -> MassCost:
        """Return the costs of a batch of one run, in the prototypes' dtype by default."""
        like = self.prototypes if like is None else like
        return mass_cost(self.focal, self.alpha, self.beta, self.delta, like=like, weights=weights, rule=self.rule)

    def repriced(self, alpha: float | None, beta: float | None, delta: float | str | None) -> PrototypeModel:
        """Return the same prototypes with other costs; None keeps alpha and beta, "fitted" delta."""
        new_delta = self.delta if delta == "fitted" else delta
        return replace(
            self,
            alpha=self.alpha if alpha is None else check_number("alpha", alpha, hint="1 is usual.", least=0),
            beta=self.beta if beta is None else check_number("beta", beta, hint="1.2 is usual.", above=1),
            delta=None if new_delta is None else check_number("delta", new_delta, hint=DELTA_HINT, above=0),
        )

    def masses(self, x: Any) -> NDArray[np.float64]:
        """Return masses (n, f + 1) of encoded objects: one mass update (eq. 7, or the algorithm's own rule)."""
        if not torch.isfinite(self.prototypes).all():
            raise ValueError("the model's prototypes must be finite numbers; some are not. Fit it again.")
        if self.follows:
            return self.measured(x)[0].masses
        with torch.no_grad():
            return masses_of(self.metric, x, self.prototypes, self.cost()).double().numpy()

    @property
    def follows(self) -> bool:
        """Whether the sets' prototypes are not stored, being the barycentres of their clusters'."""
        return self.prototypes.ndim > 1 and len(self.prototypes) < len(self.focal)

    def whole(self) -> Tensor:
        """Return the prototypes (f, *shape) of all sets."""
        if not self.follows:
            return self.prototypes
        return torch.cat([self.prototypes, set_barycenters(self.metric, self.focal, self.prototypes[None], None)[0]])

    def to(self, device: torch.device) -> PrototypeModel:
        """Return a copy with its prototypes on a device; its metric is assumed to follow them."""
        return replace(self, prototypes=self.prototypes.to(device))

    def measured(self, x: Any) -> tuple[CredalPartition, NDArray[np.float64]]:
        """Return the partition of encoded objects and their distances (n, f), in one pass on the prototypes' device."""
        cost, d = self.cost().select(0), self.distances(x)
        cuts = range(0, max(1, len(x)), ROWS)
        masses = [cost.shares(d[i : i + ROWS]).masses.cpu() for i in cuts]
        table = torch.cat(masses).double().numpy()
        return CredalPartition._trusted(sound(table), self.focal), d.double().cpu().numpy()

    def partition(self, x: object) -> CredalPartition:
        """Return the credal partition of encoded objects."""
        return CredalPartition._trusted(sound(self.masses(x)), self.focal)  # not shared: no copy needed

    def distances(self, x: Any) -> Tensor:
        """Return distances (n, f) of encoded objects to the prototypes."""
        d = distances_of(self.metric, x, self.prototypes)
        return distances_to_sets(self.metric, self.focal, self.prototypes, d) if self.follows else d

    def mean_cost(self, x: Any, weights: NDArray[np.float64] | None) -> float:
        """Return the objective per object for these prototypes."""
        d = self.distances(x).double()
        cost = self.cost().select(0)
        cost = replace(cost, factors=cost.factors.double(), beta=cost.beta.double(), delta2=cost.delta2.double())
        values = cost.shares(d).cost.numpy()
        return float(np.average(values, weights=weights)) + self.tie

    def terms(self, x: Any) -> NDArray[np.floating[Any]]:
        """Return each attribute's contribution to each distance: (n, f, attributes)."""
        with torch.no_grad():
            terms = self.metric.terms(x, self.whole())
        if terms is None:
            name = self.metric.name or type(self.metric).__name__
            raise ValueError(
                f"metric must add up over attributes for explain; got {name}, which does not. Use transform for its "
                "distances, or a metric such as 'sqeuclidean', 'manhattan', 'hamming', 'mixed' or 'softdtw'."
            )
        return terms.numpy()

    def most_of_distances(self, x: Any) -> str | None:
        """Return the column or view that makes up more than half of the distances to the nearest clusters, if any."""
        with torch.no_grad():
            terms = None if self.space.of_series else self.metric.terms(x, self.whole())
        if terms is None:
            return None
        nearest = terms[torch.arange(len(terms)), terms[:, : self.focal.n_clusters].sum(2).argmin(1)]
        shares = (nearest / nearest.sum(1, keepdim=True).clamp_min(torch.finfo(terms.dtype).tiny)).mean(0)
        return str(self.space.attributes[int(shares.argmax())]) if shares.max() > 0.5 else None


logger = logging.getLogger("softecm")
INITS = ("auto", "k-means++", "random")

MASSES = 2  # copies of the masses of all objects at the end of a fit
MATRICES = 6  # of all sets by all sets, in a prototype step with the penalized constraint, per run
ARMS = 2  # copies of the penalized differences, by all sets
PAIRS = 2  # copies of all dissimilarities, if an algorithm needs them
GAIN = 10.0  # times tol: if steps are not exact, a run ends when the relative gain of an iteration is below this


@dataclass(frozen=True)
class CheckpointRequest:
    """The checkpoint file, how often to write it, and whether to resume from it."""

    path: Path
    every: int
    resume: bool

    @staticmethod
    def of(checkpoint: Any, every: Any, resume: Any) -> CheckpointRequest | None:
        """Return the request from the arguments of ``fit``, or None without one."""
        check_count("checkpoint_every", every, hint="1 writes after every iteration; 10 is usual.")
        if checkpoint is None and resume is None:
            return None
        for name, value in (("checkpoint", checkpoint), ("resume", resume)):
            if value is not None and (not isinstance(value, str | os.PathLike) or not os.fspath(value)):
                raise ValueError(
                    f"{name} must be the path of a file; got {value!r}. Use 'fit.checkpoint', for example."
                )
        if resume is not None and not Path(resume).is_file():
            raise NotThere(f"resume must be an existing checkpoint; got {str(resume)!r}, which is not a file.")
        if resume is not None and checkpoint is not None and Path(resume) != Path(checkpoint):
            raise ValueError(
                f"checkpoint must be the same file as resume, which is updated; got {str(checkpoint)!r} and "
                f"{str(resume)!r}. Pass resume only."
            )
        path = Path(checkpoint or resume)
        if not path.absolute().parent.is_dir():
            raise ValueError(
                f"checkpoint must lie in an existing folder; got {str(path)!r}. Make {path.absolute().parent} first."
            )
        check_file(path)
        if resume is None:
            check_replaced([path], kind="checkpoint")
        return CheckpointRequest(path, int(every), resume is not None)


@dataclass(frozen=True)
class Prior:
    """An earlier model, and the weight of each of its clusters, in objects of an average cluster."""

    model: PrototypeModel
    weight: float

    @staticmethod
    def of(prior: object, weight: object) -> Prior:
        """Return the prior from the arguments of ``fit``."""
        hint = "1 counts an old prototype as much as all objects of an average cluster; 0 ignores it."
        price = check_number("prior_weight", weight, least=0, hint=hint)
        model = getattr(prior, "model_", None)
        if not isinstance(model, PrototypeModel) or model.prototypes.ndim < 2:
            raise ValueError(
                f"prior must be a fitted model with prototypes, such as a SoftECM after fit; got {type(prior).__name__}. "
                "Fit it first, or read it with load_model."
            )
        return Prior(model, price)


class Init(NamedTuple):
    """How runs are initialized."""

    value: Any = None  # at these prototypes, one row per cluster, or what else an algorithm takes for them
    kind: str = "random"  # otherwise drawn: see :class:`softecm.fit.prepare.Draw`
    staged: bool = False  # single clusters come first: by default


@dataclass(frozen=True)
class Settings:
    """A Soft-ECM problem with all choices resolved, from an estimator's parameters."""

    n_clusters: int
    metric: Any
    alpha: float
    beta: float
    delta: float | None  # None: no empty set, or not known yet
    lam: float | None  # None: in proportion to the objects' weight
    relaxation: type[Relaxation] | None  # None: depends on the metric
    focal: FocalSets  # single clusters only if the sets are to be inferred
    init: Init
    n_init: int
    max_iter: int
    tol: float
    solver: Solver | None  # None: depends on the metric
    device: Any
    dtype: torch.dtype
    n_jobs: int | None
    warm_start: bool
    callback: Callback | None
    random_state: Any
    finds_delta: bool = False  # infer it from the distances to single clusters
    finds_sets: bool = False  # infer them: each cluster, and pairs of neighbouring clusters
    pairs: Pairs | None = None  # must-links and cannot-links
    checkpoint_request: CheckpointRequest | None = None
    seeds: tuple[NDArray[np.int64], ...] = ()  # objects of each known label, instead of an initialization
    prior: Prior | None = None  # an earlier model whose clusters attract the new ones
    pull: PrototypePull | None = None  # earlier prototypes, or statistics of earlier objects
    own_shapes: bool = True  # each group of numbers may have a metric of its own shape
    gain: float = 0.0  # a run also ends when an iteration gains less than this share of its objective

    @property
    def keeps_clusters(self) -> bool:
        """Whether clusters are kept when sets are added: if neither a relaxation nor a penalty is set."""
        linked = self.pairs is not None and self.pairs.some
        return self.init.staged and self.relaxation is None and self.lam is None and not linked

    @property
    def n_sets(self) -> int:
        """Number of sets with a prototype; an upper bound if they are inferred."""
        return 4 * self.n_clusters if self.finds_sets else len(self.focal)


def settings(checked: Mapping[str, object], **choices: Any) -> Settings:
    """Return settings from an estimator's checked parameters and its algorithm's fixed choices."""
    values = {"metric": "sqeuclidean", "lam": 0.0, "solver": "auto", **checked, **choices}
    c, largest, sets = values["n_clusters"], values.pop("max_cardinality"), values.pop("focal_sets")
    auto = sets is None or (isinstance(sets, str) and sets == "auto")
    if not auto and largest is not None:
        raise ValueError(
            f"{option('max_cardinality')} must be left out if {option('focal_sets')} is given; got {literal(largest)} "
            f"and {literal(sets)}. Use only one of them."
        )
    finds = auto and largest is None
    delta, lam, solver, init = values["delta"], values["lam"], values["solver"], values["init"]
    values |= {
        "delta": None if delta == "auto" else delta,
        "finds_delta": delta == "auto",
        "lam": None if lam == "auto" else lam,
        "relaxation": RELAXATIONS.get(values["relaxation"]),
        "init": Init(init) if not isinstance(init, str) else Init(staged=True) if init == "auto" else Init(kind=init),
        "solver": SOLVERS.get(solver, solver),
        "focal": FocalSets.up_to(c, 1) if finds else FocalSets.make(c, largest, None if auto else sets),
        "dtype": torch.float32 if values["dtype"] == "float32" else torch.float64,
        "warm_start": bool(values["warm_start"]),
        "callback": logged(values["callback"]) if values.pop("verbose") else values["callback"],
    }
    for name in values.keys() - Settings.__dataclass_fields__.keys():  # an algorithm's own
        del values[name]
    return Settings(**values, finds_sets=finds)


def logged(callback: Callback | None) -> Callback:
    """Return the callback, with a log line before each call."""

    def report(progress: Progress) -> object:
        logger.info(
            "iteration %d of at most %d: objective %.10g, %d of %d runs moving, masses by %.2g",
            progress.iteration,
            progress.max_iter,
            progress.objective.min(),
            progress.n_active,
            len(progress.objective),
            progress.change,
        )
        return callback(progress) if callback is not None else None

    return report


@dataclass(frozen=True)
class Size:
    """What the memory of a fit depends on."""

    n: int  # objects in memory
    f: int  # sets
    members: int  # clusters of all larger sets, counted in each
    runs: int  # solved at once with all sets
    pays: bool  # penalized constraint, with matrices of all sets by all sets
    compares: bool = False  # all objects with all others

    def bytes(self) -> float:
        """Approximate number of bytes."""
        step = float(self.runs) * MATRICES * self.f**2 + ARMS * float(self.members) * self.f if self.pays else 0.0
        pairs = PAIRS * float(self.n) ** 2 if self.compares else 0.0
        return 8.0 * (step + pairs + MASSES * float(self.n) * (self.f + 1))

    def up_to(self, c: int, k: int) -> Size:
        """Return the size with all sets of up to k of the c clusters."""
        f = sum(comb(c, j) for j in range(1, k + 1))
        return replace(self, f=f, members=sum(j * comb(c, j) for j in range(2, k + 1)))


def check_size(chosen: Settings, n: int, *, quadratic: bool, compares: bool = False) -> None:
    """Raise an error if a fit would need more memory than is free, with settings that fit.

    ``quadratic``: the metric's prototype step is a linear system; ``compares``: all objects with all others.
    """
    relaxed = chosen.relaxation in (Penalty, Gap)
    pays = quadratic and (relaxed or (chosen.relaxation is None and chosen.lam is not None))
    members = int(chosen.focal.cardinalities[chosen.n_clusters :].sum())
    size = Size(n, chosen.n_sets, members, 1 if chosen.init.staged else chosen.n_init, pays, compares)
    free = _engine.free_memory()
    if size.bytes() <= free:
        return
    c, largest = chosen.n_clusters, int(chosen.focal.cardinalities.max())
    asks = f"the fit would need about {shown_size(size.bytes())}, and {shown_size(free)} are free"
    remedies = _remedies(size, c, largest, free)
    if remedies:
        raise ValueError(
            f"{option('n_clusters')} must leave a number of sets that fits in memory; got {c}, which makes {size.f} sets "
            f"of up to {largest} clusters: {asks}. Use {' or '.join(remedies)}."
        )
    what = "dissimilarities" if compares else f"masses on {size.f} sets"
    blocks = "" if compares else worded(" Or give them in blocks (softecm.distributed).")
    raise ValueError(
        f"X must have so few objects that their {what} fit in memory; got n_samples={n}: {asks}. Fit a sample of them, "
        f"and predict_partition the rest.{blocks}"
    )


def _remedies(size: Size, c: int, largest: int, free: float) -> list[str]:
    """Return settings that fit, each by itself."""
    remedies = []
    if size.pays and replace(size, pays=False).bytes() <= free:
        remedies.append(option("relaxation", "exact"))
    if size.runs > 1 and replace(size, runs=1).bytes() <= free:
        remedies.append(option("n_init", 1))
    fewer = (k for k in range(largest - 1, 0, -1) if size.up_to(c, k).bytes() <= free)
    return remedies + [option("max_cardinality", k) for k in fewer][:1]
