"""An estimator's parameters, checked, with every choice made."""

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

from softecm import _engine
from softecm._checks import check_count, check_number
from softecm._engine import choose_dtype
from softecm._text import shown_size
from softecm.belief import FocalSets
from softecm.files import check_file, check_replaced
from softecm.fit.loop import Callback, Progress
from softecm.fit.model import PrototypeModel
from softecm.objective.linked import Pairs
from softecm.objective.problem import RELAXATIONS, SOLVERS, Gap, Penalty, Relaxation
from softecm.objective.pull import PrototypePull
from softecm.optim import Solver

logger = logging.getLogger("softecm")
INITS = ("auto", "k-means++", "random")

MASSES = 2  # copies of the masses of all objects at the end of a fit
MATRICES = 6  # of all sets by all sets in a prototype step that pays for the constraint, a run
ARMS = 2  # copies of the differences that are paid for, by all sets
PAIRS = 2  # copies of all dissimilarities, where an algorithm needs them
GAIN = 10.0  # times tol: where steps are not exact, a run ends when a round gains less than this part of its objective


@dataclass(frozen=True)
class Plan:
    """What the user asked for: where to write, how often, where to go on from."""

    path: Path
    every: int
    resume: bool

    @staticmethod
    def of(checkpoint: Any, every: Any, resume: Any) -> Plan | None:
        """From the arguments of ``fit``; None where nothing is asked for."""
        check_count("checkpoint_every", every, hint="1 writes after every round; 10 is usual.")
        if checkpoint is None and resume is None:
            return None
        for name, value in (("checkpoint", checkpoint), ("resume", resume)):
            if value is not None and (not isinstance(value, str | os.PathLike) or not os.fspath(value)):
                raise ValueError(f"{name} must be the path of a file; got {value!r}. Give 'fit.checkpoint', say.")
        if resume is not None and not Path(resume).is_file():
            raise FileNotFoundError(
                f"resume must be a checkpoint that is there; got {str(resume)!r}, which is no file."
            )
        if resume is not None and checkpoint is not None and Path(resume) != Path(checkpoint):
            raise ValueError(
                f"checkpoint must be the file of resume, which goes on being written; got {str(checkpoint)!r} and "
                f"{str(resume)!r}. Give resume alone."
            )
        path = Path(checkpoint or resume)
        if not path.absolute().parent.is_dir():
            raise ValueError(
                f"checkpoint must lie in a folder that is there; got {str(path)!r}. Make {path.absolute().parent} first."
            )
        check_file(path)
        if resume is None:
            check_replaced([path], kind="checkpoint")
        return Plan(path, int(every), resume is not None)


@dataclass(frozen=True)
class Prior:
    """An earlier model, and how much each of its clusters counts, in objects of an average cluster."""

    model: PrototypeModel
    weight: float

    @staticmethod
    def of(prior: object, weight: object) -> Prior | None:
        """From the arguments of ``fit``; None where there is none."""
        hint = "1 counts an old prototype as much as all objects of an average cluster; 0 ignores it."
        price = check_number("prior_weight", weight, least=0, hint=hint)
        if prior is None:
            return None
        model = getattr(prior, "model_", None)
        if not isinstance(model, PrototypeModel) or model.prototypes.ndim < 2:
            raise ValueError(
                f"prior must be a fitted model with prototypes, such as a SoftECM after fit; got {type(prior).__name__}. "
                "Fit it first, or read it with load_model."
            )
        return Prior(model, price)


class Init(NamedTuple):
    """Where runs start."""

    given: Any = None  # at these prototypes, one row a cluster, or whatever else an algorithm takes for them
    kind: str = "random"  # else drawn: see :class:`softecm.fit.prepare.Draw`
    staged: bool = False  # single clusters come first: by default


@dataclass(frozen=True)
class Settings:
    """A Soft-ECM problem with every choice made; what an estimator's parameters come down to."""

    n_clusters: int
    metric: Any
    alpha: float
    beta: float
    delta: float | None  # None: no empty set, or not known yet
    lam: float | None  # None: in proportion to the objects' weight
    relaxation: type[Relaxation] | None  # None: as suits the metric
    focal: FocalSets  # single clusters only where the sets are to be found
    init: Init
    n_init: int
    max_iter: int
    tol: float
    solver: Solver | None  # None: as suits the metric
    device: Any
    dtype: torch.dtype
    n_jobs: int | None
    warm_start: bool
    callback: Callback | None
    random_state: Any
    finds_delta: bool = False  # from the distances to single clusters
    finds_sets: bool = False  # each cluster and each pair of neighbouring clusters, which are found
    pairs: Pairs | None = None  # must-links and cannot-links
    plan: Plan | None = None  # where checkpoints go
    seeds: tuple[NDArray[np.int64], ...] = ()  # objects of a known label each, in the place of starts
    prior: Prior | None = None  # an earlier model whose clusters pull at the new ones
    pull: PrototypePull | None = None  # prototypes known before, or what objects seen before leave behind
    own_shapes: bool = True  # each group of numbers may be measured in units of its own shape
    gain: float = 0.0  # a run also ends when a round gains less than this part of its objective

    @property
    def keeps_clusters(self) -> bool:
        """Whether the clusters found first are kept when sets are added: where nobody asks for a relaxation or a price."""
        linked = self.pairs is not None and self.pairs.some
        return self.init.staged and self.relaxation is None and self.lam is None and not linked

    @property
    def n_sets(self) -> int:
        """How many sets have a prototype; at most so many where they are to be found."""
        return 4 * self.n_clusters if self.finds_sets else len(self.focal)


def settings(checked: Mapping[str, object], **choices: Any) -> Settings:
    """From an estimator's checked parameters and what its algorithm leaves no choice of."""
    values = {"metric": "sqeuclidean", "lam": 0.0, "solver": "auto", **checked, **choices}
    c, largest, sets = values["n_clusters"], values.pop("max_cardinality"), values.pop("focal_sets")
    auto = sets is None or (isinstance(sets, str) and sets == "auto")
    if not auto and largest is not None:
        raise ValueError(
            f"max_cardinality must be left out where focal_sets is given; got {largest!r} and {sets!r}. Give one of them."
        )
    finds = auto and largest is None
    delta, lam, solver, init = values["delta"], values["lam"], values["solver"], values["init"]
    values |= {
        "delta": None if delta == "auto" else delta,
        "finds_delta": delta == "auto",
        "lam": None if lam == "auto" else lam,
        "relaxation": RELAXATIONS.get(values["relaxation"]),
        "init": Init(init) if not isinstance(init, str) else Init(staged=True) if init == "auto" else Init(kind=init),
        "solver": SOLVERS[solver] if isinstance(solver, str) else solver,
        "focal": FocalSets.up_to(c, 1) if finds else FocalSets.make(c, largest, None if auto else sets),
        "dtype": choose_dtype(values["dtype"]),
        "warm_start": bool(values["warm_start"]),
        "callback": told(values["callback"], values.pop("verbose")),
    }
    for name in values.keys() - Settings.__dataclass_fields__.keys():  # an algorithm's own
        del values[name]
    return Settings(**values, finds_sets=finds)


def told(callback: object, verbose: object) -> Callback | None:
    """What is called after every round; ``verbose`` adds a line in the log."""
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of one argument or None; got {callback!r}.")
    return logged(callback) if verbose else callback


def logged(callback: Callback | None) -> Callback:
    """The callback, with a line in the log before it."""

    def report(progress: Progress) -> object:
        logger.info(
            "round %d of at most %d: objective %.10g, %d of %d runs moving, masses by %.2g",
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
    pays: bool  # for the constraint, by matrices of all sets by all sets
    compares: bool = False  # all objects with all others

    def bytes(self) -> float:
        """About so many."""
        step = float(self.runs) * MATRICES * self.f**2 + ARMS * float(self.members) * self.f if self.pays else 0.0
        pairs = PAIRS * float(self.n) ** 2 if self.compares else 0.0
        return 8.0 * (step + pairs + MASSES * float(self.n) * (self.f + 1))

    def up_to(self, c: int, k: int) -> Size:
        """The same with all sets of up to k of the c clusters."""
        f = sum(comb(c, j) for j in range(1, k + 1))
        return replace(self, f=f, members=sum(j * comb(c, j) for j in range(2, k + 1)))


def check_size(chosen: Settings, n: int, *, quadratic: bool, compares: bool = False) -> None:
    """Refuse a fit that would ask for more memory than is free, with what would fit.

    ``quadratic``: the metric's prototype step is a linear system; ``compares``: all objects with all others.
    """
    asked = chosen.relaxation in (Penalty, Gap)
    pays = quadratic and (asked or (chosen.relaxation is None and chosen.lam is not None))
    members = int(chosen.focal.cardinalities[chosen.n_clusters :].sum())
    size = Size(n, chosen.n_sets, members, 1 if chosen.init.staged else chosen.n_init, pays, compares)
    free = _engine.free_memory()
    if size.bytes() <= free:
        return
    c, largest = chosen.n_clusters, int(chosen.focal.cardinalities.max())
    asks = f"the fit would ask for about {shown_size(size.bytes())}, and {shown_size(free)} are free"
    remedies = _remedies(size, c, largest, free)
    if remedies:
        raise ValueError(
            f"n_clusters must leave a number of sets that fits in memory; got n_clusters={c}, which makes {size.f} sets of "
            f"up to {largest} clusters: {asks}. Use {' or '.join(remedies)}."
        )
    what = "dissimilarities" if compares else f"masses on {size.f} sets"
    blocks = "" if compares else " Or give them in blocks (softecm.distributed)."
    raise ValueError(
        f"X must have so few objects that their {what} fit in memory; got n_samples={n}: {asks}. Fit a sample of them, and "
        f"predict_partition the rest.{blocks}"
    )


def _remedies(size: Size, c: int, largest: int, free: float) -> list[str]:
    """Settings that fit, each by itself."""
    found = []
    if size.pays and replace(size, pays=False).bytes() <= free:
        found.append("relaxation='exact'")
    if size.runs > 1 and replace(size, runs=1).bytes() <= free:
        found.append("n_init=1")
    fewer = (k for k in range(largest - 1, 0, -1) if size.up_to(c, k).bytes() <= free)
    return found + [f"max_cardinality={k}" for k in fewer][:1]
