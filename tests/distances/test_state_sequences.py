"""Sequences of states: known answers of optimal matching, costs, realistic input, and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import torch

from softecm import SoftECM, UnseenCategoryWarning, load_model
from softecm.distances import StateSequences
from softecm.spaces.states import States, to_sequences
from softecm.testing import check_semimetric


def matched(a, b, cost, indel):
    """Optimal matching by a plain recursion."""
    r = np.add.outer(np.arange(len(a) + 1), np.arange(len(b) + 1)) * indel
    for i, s in enumerate(a):
        for j, t in enumerate(b):
            r[i + 1, j + 1] = min(r[i, j] + cost(s, t), r[i, j + 1] + indel, r[i + 1, j] + indel)
    return r[-1, -1]


def encoded(metric, sequences):
    space = metric.make_space().fit(to_sequences(sequences), dtype=torch.float64)
    return space, space.encode(to_sequences(sequences))


def groups(rng, n=15):
    """Sequences of three kinds, blurred, of 8 to 15 steps."""
    kinds = (("a", "b", "c"), ("c", "c", "a"), ("b", "d", "d"))
    found, truth = [], []
    for g, kind in enumerate(kinds):
        for _ in range(n):
            steps = np.repeat(kind, rng.integers(3, 6, size=3)).tolist()
            found.append([str(rng.choice(list("abcd"))) if rng.random() < 0.1 else state for state in steps])
            truth.append(g)
    return found, np.array(truth)


@pytest.mark.parametrize(
    "substitution", ["constant", "transitions", {("a", "b"): 1.0, ("a", "c"): 1.5, ("b", "c"): 0.8}]
)
@pytest.mark.parametrize("indel", [0.3, 1.0, 4.0])
def test_hard_values_are_those_of_optimal_matching(rng, substitution, indel):
    sequences = [list(rng.choice(list("abc"), size=rng.integers(1, 9))) for _ in range(12)]
    metric = StateSequences(substitution, indel, gamma=0.0)
    space, x = encoded(metric, sequences)
    costs = np.array(space.costs).reshape(3, 3)

    def cost(s, t):
        return costs[space.states.index(s), space.states.index(t)]

    for i in range(len(x)):
        prototype = space.encode([sequences[i]]).values
        wanted = [matched(one, sequences[i], cost, indel) for one in sequences]
        np.testing.assert_allclose(metric.pairwise(x, prototype)[:, 0], wanted, atol=1e-10)


def test_costs_from_transitions_are_two_less_both_rates():
    space, _ = encoded(StateSequences("transitions"), [["a", "a", "b"], ["b", "a"], ["a", "c"]])
    rates = {("a", "b"): 1 / 3, ("b", "a"): 1.0, ("a", "c"): 1 / 3}
    costs = np.array(space.costs).reshape(3, 3)
    np.testing.assert_allclose(
        costs[np.triu_indices(3, 1)], [2 - rates["a", "b"] - rates["b", "a"], 2 - rates["a", "c"], 2.0]
    )
    np.testing.assert_allclose(costs, costs.T)


def test_it_keeps_the_contract_of_a_semi_metric():
    check_semimetric(StateSequences(gamma=0.1))
    check_semimetric(StateSequences(gamma=0.0))


@pytest.mark.parametrize("gamma", ["auto", 0.0])
def test_groups_of_sequences_are_found_and_new_ones_placed(rng, gamma):
    sequences, truth = groups(rng)
    model = SoftECM(3, metric=StateSequences(gamma=gamma), random_state=0).fit(sequences)
    names = {int(np.bincount(truth[model.labels_ == k]).argmax()) for k in range(3)}
    assert names == {0, 1, 2}
    assert np.mean([np.bincount(truth[model.labels_ == k]).max() for k in range(3)]) * 3 >= 0.95 * len(truth)
    np.testing.assert_allclose(model.predict_partition(sequences).masses, model.partition_.masses, atol=1e-8)
    assert set(np.unique(model.cluster_centers_.astype(str))) <= set("abcd")
    shares = np.stack(list(model.prototype_distributions_.values()))
    np.testing.assert_allclose(shares.sum(0), 1.0)
    np.testing.assert_allclose(model.explain(sequences[:4]).sum(-1), model.transform(sequences[:4]), atol=1e-8)


def test_a_fitted_model_is_saved_and_loaded(rng, tmp_path):
    sequences, _ = groups(rng, n=6)
    costs = {(a, b): 1.0 + 0.2 * (a + b == "ab") for a in "abcd" for b in "abcd" if a < b}
    model = SoftECM(3, metric=StateSequences(costs), n_init=2, random_state=0).fit(sequences)
    model.save(tmp_path / "states.safetensors")
    again = load_model(tmp_path / "states.safetensors")
    np.testing.assert_array_equal(again.predict_partition(sequences).masses, model.predict_partition(sequences).masses)
    assert (again.prototypes_ == model.prototypes_).all()


def test_lists_arrays_and_frames_are_the_same_and_ends_may_be_empty():
    rows = [["a", "b", None], ["b", None, "a"], ["b", "b", "a"]]
    wanted = [["a", "b"], ["b", None, "a"], ["b", "b", "a"]]
    assert to_sequences(rows) == wanted
    assert to_sequences(np.array(rows, dtype=object)) == wanted
    assert to_sequences(pd.DataFrame(rows, columns=["t1", "t2", "t3"])) == wanted
    assert to_sequences(pd.DataFrame({"t1": [1, 2], "t2": [3.0, np.nan]})) == [[1, 3], [2]]


def test_what_is_missing_or_unseen_lies_in_the_middle():
    metric = StateSequences(gamma=0.0)
    space, x = encoded(metric, [["a", "b", "c"], ["a", None, "c"]])
    np.testing.assert_allclose(space.places.mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(x.values[1, 1], 0.0, atol=1e-12)
    with pytest.warns(UnseenCategoryWarning, match=r"1 steps hold a state that was not in the fit \('z'\)"):
        new = space.encode([["a", "z", "c"]])
    torch.testing.assert_close(new.values[0], x.values[1])


def test_prototypes_come_back_as_they_were_given():
    space, _ = encoded(StateSequences(), [["a", "b", "c"], ["c", "c", "a"]])
    given = np.array([["a", "b", "c"], ["c", "a", "a"]], dtype=object)
    assert (space.decode(space.encode_prototypes(given)) == given).all()
    shares = np.full((1, 4, 3), [0.2, 0.5, 0.3])
    np.testing.assert_allclose(space.curves(space.encode_prototypes(shares)), shares, atol=1e-12)
    with pytest.raises(ValueError, match=r"a share for each of the 3 states; got shape \(1, 4, 2\)"):
        space.encode_prototypes(shares[..., :2])


def test_costs_no_points_have_are_told():
    odd = {("a", "b"): 1.0, ("b", "c"): 1.0, ("a", "c"): 3.0}
    with pytest.warns(
        UserWarning, match=r"differ by up to .*: 'a' for 'b' costs .* instead of 1\. Use metric='precomp"
    ):
        encoded(StateSequences(odd), [["a", "b", "c"]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded(StateSequences({**odd, ("a", "c"): 1.9}), [["a", "b", "c"]])


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: StateSequences("random"), ValueError, "substitution must be one of 'constant', 'transitions'; got"),
        (lambda: StateSequences({"ab": 1.0}), ValueError, "pairs of states as keys"),
        (lambda: StateSequences({("a", "b"): -1.0}), ValueError, "costs above 0; got -1.0 for 'a' and 'b'"),
        (lambda: StateSequences({("a", "b"): 1.0, ("b", "a"): 2.0}), ValueError, "the same in both directions"),
        (lambda: StateSequences(indel=0.0), ValueError, "indel must be"),
        (lambda: StateSequences(derivative=True), ValueError, "are for series of numbers"),
        (lambda: to_sequences(["abc", "abd"]), TypeError, r"got text in sequence 1 \(X\[0\]\).*list\(word\)"),
        (lambda: to_sequences("abc"), TypeError, "got str"),
        (lambda: to_sequences([]), ValueError, "at least one sequence; got none"),
        (lambda: to_sequences([["a"], [None]]), ValueError, r"got none in sequence 2 \(X\[1\]\)"),
        (lambda: to_sequences([["a", 0.5]]), TypeError, "got 0.5 in sequence 1"),
        (lambda: to_sequences(np.zeros((2, 2, 2))), ValueError, "an array of 3 dimensions"),
        (lambda: encoded(StateSequences(), [["a"], ["a"]]), ValueError, "two different states; got only 'a'"),
        (lambda: encoded(StateSequences(), [[str(i) for i in range(300)]]), ValueError, "at most 200.*got 300"),
        (lambda: encoded(StateSequences({("a", "b"): 1.0}), [["a", "c"]]), ValueError, "none for 'a' and 'c'"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_remedy(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_gradients_are_those_of_finite_differences(rng):
    metric = StateSequences(gamma=0.3)
    space = States().fit(to_sequences([list("abca"), list("ccb")]), dtype=torch.float64)
    x = space.encode(to_sequences([list("abca"), list("ccb")]))
    metric = metric.fitted(x, None)
    v = torch.from_numpy(rng.normal(size=(2, 4, 3))).requires_grad_()
    torch.autograd.gradcheck(lambda u: metric.pairwise(x, u), (v,))


def test_a_report_draws_the_shares_of_the_states(rng, tmp_path):
    sequences, _ = groups(rng, n=6)
    model = SoftECM(3, metric="states", n_init=2, random_state=0).fit(sequences)
    model.report(sequences, tmp_path / "report.html")
    assert "share of b" in (tmp_path / "report.html").read_text(encoding="utf-8")
