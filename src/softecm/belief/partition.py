"""The credal partition: a mass function over sets of clusters for every object."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softecm._checks import is_number, plain_array
from softecm.belief import assignments, files, show, transforms
from softecm.belief.assignments import CLEAR, Decisions, RoughSets
from softecm.belief.focal import FocalSets, Names, _cluster_set
from softecm.belief.partition_operations import Combining
from softecm.belief.transforms import FloatArray, IntArray, LabelRule, Normalisation, SetRule

__all__ = ["CredalPartition"]


@dataclass(frozen=True, eq=False, repr=False)
class CredalPartition(RoughSets, Combining):
    r"""A mass function for each of n objects over sets of clusters: which cluster, between which, or none.

    Row i holds :math:`m_i(\emptyset)`, then :math:`m_i(A)` for every focal set A, with sum 1. Mass on a single cluster
    means "this one", mass on a set "one of these, unknown which", mass on the empty set "none of them". Hard and fuzzy
    partitions are special cases. A partition is immutable: its arrays are read-only.

    Parameters
    ----------
    masses : array-like of shape (n, f + 1)
        Mass functions, the empty set in column 0. Not negative; rows sum to 1 (within 1e-6).
    focal_sets : FocalSets
        The sets of the other columns.

    Examples
    --------
    Four objects: one in each of two clusters, one between them, one in neither.

    >>> p = CredalPartition(
    ...     [[0.0, 0.9, 0.0, 0.1], [0.0, 0.1, 0.8, 0.1], [0.1, 0.1, 0.1, 0.7], [0.8, 0.1, 0.0, 0.1]],
    ...     FocalSets.full(2),
    ... )
    >>> p
    CredalPartition(4 objects, 2 clusters, 3 focal sets and ∅)
    >>> p.labels()
    array([0, 1, 0, 0])
    >>> p.sets().tolist()
    [(0,), (1,), (0, 1), ()]
    >>> p.outliers()
    array([3])
    >>> round(p.nonspecificity(), 3)
    0.25

    References
    ----------
    M.-H. Masson and T. Denœux, "ECM: an evidential version of the fuzzy c-means algorithm", Pattern
    Recognition 41, 2008.
    """

    masses: FloatArray
    focal_sets: FocalSets

    def __post_init__(self) -> None:
        if not isinstance(self.focal_sets, FocalSets):
            raise TypeError(
                f"focal_sets must be FocalSets; got {type(self.focal_sets).__name__}. "
                f"Make them with FocalSets.of(n_clusters, sets)."
            )
        masses = transforms._matrix(self.masses, self.focal_sets)
        object.__setattr__(self, "masses", transforms.frozen(transforms.valid(masses)))

    @classmethod
    def _trusted(cls, masses: FloatArray, focal_sets: FocalSets, ids: NDArray[np.object_] | None = None) -> Self:
        """Return a partition from a valid array, without a copy."""
        masses.flags.writeable = False
        partition = object.__new__(cls)
        object.__setattr__(partition, "masses", masses)
        object.__setattr__(partition, "focal_sets", focal_sets)
        object.__setattr__(partition, "ids", ids)
        return partition

    # ------------------------------------------------------------------ from other partitions

    @classmethod
    def from_hard(cls, labels: ArrayLike, n_clusters: int | None = None) -> CredalPartition:
        """Convert a hard partition: all mass on one cluster, or on the empty set.

        Parameters
        ----------
        labels : array-like of int of shape (n,)
            Clusters numbered from 0; -1 is an outlier.
        n_clusters : int, optional
            Number of clusters; by default the largest label plus 1.

        Examples
        --------
        >>> CredalPartition.from_hard([0, 1, -1]).masses
        array([[0., 1., 0.],
               [0., 0., 1.],
               [1., 0., 0.]])
        """
        columns = transforms.hard_labels(labels) + 1
        largest = int(columns.max(initial=0))
        focal = FocalSets.up_to(max(largest, 1) if n_clusters is None else n_clusters, 1)
        if largest > focal.n_clusters:
            raise ValueError(
                f"labels must be below n_clusters={focal.n_clusters}; got {largest - 1}. Clusters are "
                f"counted from 0: use n_clusters={largest} or leave it out."
            )
        masses = np.zeros((len(columns), len(focal) + 1))
        masses[np.arange(len(columns)), columns] = 1.0
        return cls._trusted(masses, focal)

    @classmethod
    def from_fuzzy(cls, memberships: ArrayLike, *, possibilistic: bool = False) -> CredalPartition:
        """Convert a fuzzy partition (or class probabilities): mass on single clusters only.

        Parameters
        ----------
        memberships : array-like of shape (n, c)
            Not negative; rows sum to 1, or to at most 1 with ``possibilistic``: the rest goes to the empty set.
        possibilistic : bool, default False

        Examples
        --------
        >>> CredalPartition.from_fuzzy([[0.7, 0.3]]).masses
        array([[0. , 0.7, 0.3]])
        """
        shares = plain_array(memberships, "memberships", np.float64)
        if shares.ndim != 2 or shares.shape[1] == 0:
            raise ValueError(
                f"memberships must have one row per object and one column per cluster; got shape {shares.shape}."
            )
        rest = np.maximum(1.0 - shares.sum(1), 0.0) * bool(possibilistic)
        masses = np.roll(transforms.valid(np.column_stack([shares, rest]), "memberships"), 1, axis=1)
        return cls._trusted(masses, FocalSets.up_to(shares.shape[1], 1))

    # ------------------------------------------------------------------ protocol

    @property
    def n_objects(self) -> int:
        """Number of objects n."""
        return len(self.masses)

    @property
    def n_clusters(self) -> int:
        """Number of clusters c."""
        return self.focal_sets.n_clusters

    def __len__(self) -> int:
        return len(self.masses)

    def __getitem__(self, index: int | slice | Sequence[int] | NDArray[Any]) -> CredalPartition:
        """Return the partition of some objects: by index, slice, index array or mask."""
        if not isinstance(index, slice):
            chosen = np.asarray(index)
            if chosen.size == 0 and chosen.dtype.kind == "f":  # the empty list
                chosen = chosen.astype(np.intp)
            if isinstance(index, tuple) or chosen.ndim > 1 or chosen.dtype.kind not in "biu":
                raise TypeError(
                    f"objects must be chosen by a number, a slice, a list of numbers or a mask; got "
                    f"{index!r}. Columns are in .masses."
                )
            index = np.atleast_1d(chosen)
        return self._trusted(self.masses[index], self.focal_sets, None if self.ids is None else self.ids[index])

    def rename(self, names: Names) -> CredalPartition:
        """Return the partition with names for its clusters, used in tables, figures, reports and files.

        Parameters
        ----------
        names : sequence of str, or mapping
            One name per cluster; or a mapping of some clusters, by index or current name, to their new names; None
            removes the names.

        Examples
        --------
        >>> p = CredalPartition.from_hard([0, 1, 1]).rename(["calm", "busy"])
        >>> p.to_frame("pandas")["label"].tolist()
        ['calm', 'busy', 'busy']
        """
        return self._trusted(self.masses, self.focal_sets.renamed(names), self.ids)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CredalPartition):
            return NotImplemented
        return self.focal_sets == other.focal_sets and np.array_equal(self.masses, other.masses)

    __hash__ = None  # type: ignore[assignment]  # hashing would read every mass

    def __reduce__(self) -> tuple[Any, ...]:
        return CredalPartition._trusted, (self.masses, self.focal_sets, self.ids)  # unpickled arrays are writable

    def __repr__(self) -> str:
        counts = ((self.n_objects, "object"), (self.n_clusters, "cluster"), (len(self.focal_sets), "focal set"))
        shown = ", ".join(f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in counts)
        return f"CredalPartition({shown} and ∅)"

    # ------------------------------------------------------------------ transforms

    def belief(self, normalise: Normalisation = "dempster") -> FloatArray:
        """Return the belief in each cluster, (n, c): the evidence for it alone.

        Parameters
        ----------
        normalise : {"dempster", "yager", None}, default "dempster"
            Divide by 1 - m(∅), move m(∅) to Ω, or keep it. With "dempster", an object with all mass on ∅ is vacuous:
            belief 0, plausibility 1, uniform probability.

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).belief()
        array([[0.5, 0. ]])
        """
        return transforms.belief(self.masses, self.focal_sets, normalise)

    def plausibility(self, normalise: Normalisation = "dempster") -> FloatArray:
        """Return the plausibility of each cluster, (n, c): one minus the evidence against it.

        Parameters
        ----------
        normalise : {"dempster", "yager", None}, as for :meth:`belief`

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).plausibility(normalise=None)
        array([[0.8, 0.4]])
        """
        return transforms.plausibility(self.masses, self.focal_sets, normalise)

    def pignistic(self, normalise: Normalisation = "dempster") -> FloatArray:
        """Return the probability of each cluster, (n, c), with sets sharing their mass equally among clusters.

        Parameters
        ----------
        normalise : {"dempster", "yager", None}, as for :meth:`belief`

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).pignistic()
        array([[0.75, 0.25]])
        """
        return transforms.pignistic(self.masses, self.focal_sets, normalise)

    def commonality(self, normalise: Normalisation = "dempster") -> FloatArray:
        """Return the commonality of ∅ and each focal set, (n, f + 1): the mass of the sets that contain it.

        Parameters
        ----------
        normalise : {"dempster", "yager", None}, as for :meth:`belief`

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).commonality()
        array([[1. , 1. , 0.5, 0.5]])
        """
        return transforms.commonality(self.masses, self.focal_sets, normalise)

    def plausibility_transform(self) -> FloatArray:
        """Return plausibilities scaled to rows with sum 1, (n, c).

        Examples
        --------
        >>> CredalPartition([[0.0, 0.0, 0.5, 0.5]], FocalSets.full(2)).plausibility_transform().round(3)
        array([[0.333, 0.667]])
        """
        return transforms.plausibility_transform(self.masses, self.focal_sets)

    def belief_of(self, clusters: Iterable[int], normalise: Normalisation = "dempster") -> FloatArray:
        r"""Return the belief in a set of clusters, (n,): :math:`\sum_{\emptyset \ne B \subseteq A} m(B)`.

        Parameters
        ----------
        clusters : iterable of int
            Any set of clusters, numbered from 0; it need not be a focal set.
        normalise : {"dempster", "yager", None}, as for :meth:`belief`

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).belief_of((0, 1))
        array([1.])
        """
        members = self._indicator(clusters)
        inside = self.focal_sets.with_empty @ (1 - members) == 0  # no cluster outside
        inside[0] = False
        return self._functional(inside, normalise, omega_value=float(members.all()))

    def plausibility_of(self, clusters: Iterable[int], normalise: Normalisation = "dempster") -> FloatArray:
        r"""Return the plausibility of a set of clusters, (n,): :math:`\sum_{B \cap A \ne \emptyset} m(B)`.

        Parameters
        ----------
        clusters : iterable of int
            Any set of clusters, numbered from 0; it need not be a focal set.
        normalise : {"dempster", "yager", None}, as for :meth:`belief`

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).plausibility_of((1,))
        array([0.5])
        """
        members = self._indicator(clusters)
        return self._functional(self.focal_sets.with_empty @ members > 0, normalise, float(members.any()))

    def normalise(self, how: Normalisation = "dempster") -> CredalPartition:
        """Return the partition without mass on the empty set.

        Parameters
        ----------
        how : {"dempster", "yager", None}, default "dempster"
            Divide by 1 - m(∅), or move m(∅) to Ω. Ω is added to the focal sets if necessary: always for "yager", for
            "dempster" if an object has all its mass on ∅.

        Examples
        --------
        >>> CredalPartition([[0.2, 0.4, 0.0, 0.4]], FocalSets.full(2)).normalise().masses
        array([[0. , 0.5, 0. , 0.5]])
        """
        return self._trusted(*transforms.normalise(self.masses, self.focal_sets, how))

    def _indicator(self, clusters: Iterable[int]) -> FloatArray:
        members = np.zeros(self.n_clusters)
        members[list(_cluster_set(clusters, self.n_clusters))] = 1.0
        return members

    def _functional(self, columns: NDArray[np.bool_], how: Normalisation, omega_value: float) -> FloatArray:
        values = (self.masses @ columns.astype(np.float64))[:, None]
        return transforms._normalised(values, self.masses, how, omega_value)[:, 0]

    # ------------------------------------------------------------------ decisions

    def labels(self, rule: LabelRule = "pignistic", *, outliers: int | None = None) -> IntArray:
        """Return one cluster per object, numbered from 0, (n,); by default the likeliest for outliers, too.

        Parameters
        ----------
        rule : {"pignistic", "plausibility", "mass"}, default "pignistic"
            What to maximize: pignistic probability, plausibility, or the mass of the single cluster (the belief).
        outliers : int, optional
            The label of :meth:`outliers`; scikit-learn uses -1.

        Examples
        --------
        >>> p = CredalPartition([[0.0, 0.1, 0.2, 0.7], [1, 0, 0, 0]], FocalSets.full(2))
        >>> p.labels(), p.labels(outliers=-1)
        (array([1, 0]), array([ 1, -1]))
        """
        labels = transforms.decisions(self.masses, self.focal_sets, rule)
        return labels if outliers is None else np.where(self.masses.argmax(1) == 0, outliers, labels)

    def decisions(self, clear: float = CLEAR) -> Decisions:
        """Return a one-word decision per object, as used by all tables, reports, summaries and the terminal.

        If the largest mass is on the empty set: "nowhere". On a set of several clusters: "between". Otherwise, for the
        cluster of largest normalised belief: "clearly" if that belief is at least ``clear``, "rather" if it leads the
        second largest by at least 0.1, "undecided" otherwise.

        Parameters
        ----------
        clear : float, default 0.75
            Minimum belief for "clearly"; above 0.5, at most 1.

        Returns
        -------
        decisions : Decisions
            ``words``, ``clusters`` (-1 for several or none), ``sets``, ``confidence``, ``counts()``, ``to_frame()``;
            ``decisions[i]`` is the decision about object i.

        Examples
        --------
        >>> p = CredalPartition(
        ...     [[0, 0.8, 0.1, 0.1], [0, 0.5, 0.3, 0.2], [0, 0.5, 0.49, 0.01], [0, 0.2, 0.2, 0.6], [0.9, 0.1, 0, 0]],
        ...     FocalSets.full(2),
        ... )
        >>> said = p.decisions()
        >>> said.words.tolist()
        ['clearly', 'rather', 'undecided', 'between', 'nowhere']
        >>> said.confidence
        array([0.8, 0.5, 0.5, 1. , 0.9])
        >>> said.counts()
        {'clearly': 1, 'rather': 1, 'between': 1, 'undecided': 1, 'nowhere': 1}
        >>> said[3]
        Decision(word='between', set='Ω', confidence=1.0)
        """
        return replace(assignments.decide(self.masses, self.focal_sets, clear), ids=self.ids)

    def set_indicators(self, rule: SetRule = "mass") -> NDArray[np.bool_]:
        """Return the set of clusters of each object as a row of booleans, (n, c); see :meth:`sets` for tuples.

        Parameters
        ----------
        rule : {"mass", "interval"}, default "mass"
            As for :meth:`sets`.

        Examples
        --------
        >>> CredalPartition([[0.0, 0.1, 0.2, 0.7]], FocalSets.full(2)).set_indicators()
        array([[ True,  True]])
        """
        return transforms.set_decisions(self.masses, self.focal_sets, rule)

    def sets(self, rule: SetRule = "mass") -> NDArray[np.object_]:
        """Return the set of clusters that each object is assigned to, as tuples, (n,).

        Parameters
        ----------
        rule : {"mass", "interval"}, default "mass"
            "mass": the focal set with the largest mass, ``()`` for outliers. "interval": all clusters with a
            plausibility of at least the largest belief; never empty.

        Returns
        -------
        ndarray of tuples

        Examples
        --------
        >>> p = CredalPartition([[0.0, 0.5, 0.1, 0.4], [0.9, 0.1, 0.0, 0.0]], FocalSets.full(2))
        >>> p.sets().tolist()
        [(0,), ()]
        >>> p.sets("interval").tolist()
        [(0, 1), (0,)]
        """
        return assignments.assigned(self.masses, self.focal_sets, rule)

    def outliers(self, threshold: float | None = None) -> IntArray:
        """Return the objects that belong to no cluster.

        Parameters
        ----------
        threshold : float in [0, 1], optional
            Objects with more mass on the empty set. By default those with their largest mass on the empty set.

        Examples
        --------
        >>> p = CredalPartition([[0.4, 0.3, 0.3], [0.4, 0.6, 0.0]], FocalSets.up_to(2, 1))
        >>> p.outliers(), p.outliers(threshold=0.3)
        (array([0]), array([0, 1]))
        """
        if threshold is None:
            return np.flatnonzero(self.masses.argmax(1) == 0)
        if not is_number(threshold) or not 0 <= threshold <= 1:
            raise ValueError(
                f"threshold must be a mass from 0 to 1; got {threshold!r}. "
                f"Leave it out to take objects with their largest mass on the empty set."
            )
        return np.flatnonzero(self.masses[:, 0] > float(threshold))

    # ------------------------------------------------------------------ uncertainty

    def nonspecificity(self, empty: bool = False) -> float:
        r"""Return the mass on large sets, from 0 (single clusters) to 1 (total ignorance).

        .. math:: N^* = \frac{1}{n \log_2 c} \sum_i \sum_{A \ne \emptyset} m_i(A) \log_2 |A|

        Parameters
        ----------
        empty : bool, default False
            Count the empty set as Ω, adding :math:`m_i(\emptyset) \log_2 c`, as Masson and Denœux and R's evclust do.
            The default is eq. 9 of the Soft-ECM paper, which ignores it: then mass on the empty set makes a partition
            look more specific.

        Returns
        -------
        float
            0 for a single cluster.

        Examples
        --------
        >>> p = CredalPartition([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]], FocalSets.full(2))
        >>> p.nonspecificity(), p.nonspecificity(empty=True)
        (0.25, 0.5)
        """
        if not len(self):
            raise ValueError("nonspecificity must be taken of at least one object; got a partition of none.")
        if self.n_clusters == 1:
            return 0.0
        whole = np.log2(self.n_clusters)
        bits = np.concatenate([[whole if empty else 0.0], np.log2(self.focal_sets.cardinalities)])
        return float((self.masses @ (bits / whole)).mean())

    def entropy(self) -> FloatArray:
        """Return the entropy of each object's pignistic probability in bits, (n,): 0 if certain, log2(c) if uniform.

        Examples
        --------
        >>> CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1]], FocalSets.full(2)).entropy()
        array([0., 1.])
        """
        probability = self.pignistic()
        bits = np.log2(probability, where=probability > 0, out=np.zeros_like(probability))
        bits *= probability
        total: FloatArray = np.abs(bits.sum(1))  # not minus zero
        return total

    def doubt(self) -> FloatArray:
        """Return the probability that each object's label is wrong according to its masses, (n,).

        One minus the largest pignistic probability: 0 if all mass is on one cluster, 1 - 1/c under total ignorance.

        Examples
        --------
        >>> CredalPartition([[0, 1, 0, 0], [0, 0, 0, 1], [0, 0.5, 0.25, 0.25]], FocalSets.full(2)).doubt()
        array([0.   , 0.5  , 0.375])
        """
        return assignments.doubt(self.masses, self.focal_sets)

    # ------------------------------------------------------------------ tables and files

    def to_frame(
        self, backend: str | None = None, ids: ArrayLike | None = None, *, X: object = None, clear: float = CLEAR
    ) -> Any:
        """Return a data frame with one row per object.

        Columns: ``id`` (if given), the columns of ``X`` (if given), ``label`` (name of the likeliest cluster), ``set``
        (name of the set with the largest mass), ``decision`` and ``confidence`` (see :meth:`decisions`), ``doubt``,
        ``bel(ω1)`` … and ``pl(ω1)`` … (normalised), ``m(∅)``, ``m(ω1)`` …. Clusters have their names (:meth:`rename`),
        or ω1, ω2, …; ω1 is number 0 in :meth:`labels`.

        Parameters
        ----------
        backend : {"pandas", "polars", None}, default None
            None uses whichever is installed, pandas first.
        ids : array-like of shape (n,), optional
            Names of the objects; without ``X``, by default those of the fit's data frame.
        X : data frame with n rows, optional
            The objects, whose columns are included; a pandas index is kept. Columns with the same name as one of the
            above get the suffix " (data)".
        clear : float, default 0.75
            Minimum belief for "clearly".

        Examples
        --------
        >>> p = CredalPartition([[0.0, 0.75, 0.0, 0.25], [1, 0, 0, 0]], FocalSets.full(2))
        >>> p.to_frame("pandas", ids=["a", "b"])[["id", "label", "set", "decision", "bel(ω1)", "pl(ω2)", "m(Ω)"]]
          id label set decision  bel(ω1)  pl(ω2)  m(Ω)
        0  a    ω1  ω1  clearly     0.75    0.25  0.25
        1  b    ω1   ∅  nowhere     0.00    1.00  0.00
        """
        return show.frame(self, backend, ids, X, clear)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the partition to a file (safetensors, masses and focal sets only).

        The file is written atomically: a reader sees the old file or the complete new one.

        Parameters
        ----------
        path : str or path
            Target file, replaced if it exists, usually with suffix ``.safetensors``.

        Examples
        --------
        >>> import tempfile, os
        >>> p = CredalPartition.from_hard([0, 1, -1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     p.save(os.path.join(folder, "partition.safetensors"))
        ...     CredalPartition.load(os.path.join(folder, "partition.safetensors")) == p
        True
        """
        files.write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CredalPartition:
        """Read a partition written by :meth:`save`. Runs no code from the file.

        Parameters
        ----------
        path : str or path
            The file.

        Raises
        ------
        ValueError
            If the file is damaged or holds something else.

        Examples
        --------
        >>> import tempfile, os
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     CredalPartition.from_hard([0, 1, 1]).save(os.path.join(folder, "p.safetensors"))
        ...     CredalPartition.load(os.path.join(folder, "p.safetensors"))
        CredalPartition(3 objects, 2 clusters, 2 focal sets and ∅)
        """
        masses, focal = files.read(path)
        try:
            return cls(masses, focal)
        except ValueError as error:
            raise files.unreadable(os.fspath(path), str(error)) from None

    def _repr_html_(self) -> str:
        return show.html_table(self)
