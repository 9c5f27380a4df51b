import numpy as np
from sklearn.metrics import confusion_matrix, rand_score

from softecm_paper.as_coded.choice import choose, nonspecificity
from softecm_paper.as_coded.labels import by_appearance, renamed, scored, single_labels
from softecm_paper.as_coded.optimiser import Sets
from softecm_paper.as_coded.preparing import codes
from softecm_paper.as_coded.runs import Cell
from softecm_paper.as_coded.table import attainable, exchanged


def test_labels_go_by_single_clusters_in_the_order_of_their_coming() -> None:
    own = np.array([[0.1, 0.4], [0.3, 0.2], [0.0, 0.0], [np.nan, np.nan]])
    assert single_labels(own).tolist() == [0, 1, 1, -1]  # zeros count as the first cluster


def test_clusters_of_one_majority_become_one() -> None:
    y = np.array([0, 0, 0, 0, 1, 1])
    labels = np.array([0, 0, 1, 1, 1, 0])
    assert renamed(y, labels).tolist() == [0] * 6
    found = scored(y, labels)
    assert found == {
        "rand": round(rand_score(y, np.zeros(6)), 3),
        "accuracy": 0.667,
        "plain": round(rand_score(y, labels), 3),
    }


def test_renaming_is_by_a_confusion_matrix_even_with_labels_of_minus_one(rng: np.random.Generator) -> None:
    for _ in range(20):
        y, labels = by_appearance(rng.integers(0, 4, 30)), rng.integers(-1, 4, 30)
        matrix = confusion_matrix(y, labels).argmax(axis=0)
        assert renamed(y, labels).tolist() == [matrix[label] for label in labels]


def test_n_star_counts_the_empty_set_as_everything() -> None:
    masses = np.array([[[0.5, 0.5, 0.0, 0.0]], [[0.0, 0.0, 0.0, 1.0]], [[np.nan] * 4]])
    sets = Sets(2)
    assert sets.sizes.tolist() == [1, 1, 2]
    np.testing.assert_allclose(nonspecificity(masses, sets), [0.5, 1.0, np.nan])
    np.testing.assert_allclose(nonspecificity(masses, sets, with_empty=False), [0.0, 1.0, np.nan])


def test_ties_to_three_digits_go_to_the_largest_beta_then_the_smallest_lambda() -> None:
    beta, lam = np.array([1.1, 1.1, 2.0, 2.0, 1.5]), np.array([1.0, 2.0, 2.0, 1.0, 1.0])
    assert choose(beta, lam, np.array([0.0101, 0.0102, 0.0104, 0.0099, np.nan])) == (2.0, 1.0, 0.01)
    assert choose(beta, lam, np.array([0.01, 0.2, 0.3, 0.3, 0.3])) == (1.1, 1.0, 0.01)
    assert choose(beta, lam, np.full(5, np.nan)) is None


def test_codes_follow_sorted_text() -> None:
    assert codes(np.array([["10-14", "?"], ["5-9", "no"], ["15-19", "?"]])).tolist() == [[0, 0], [2, 1], [1, 0]]


def test_the_best_mixture_lies_on_a_line_between_two_points() -> None:
    x, y = np.array([0.0, 0.5, 1.0]), np.array([0.0, 0.2, 1.0])
    assert attainable(x, y, 0.5) == 0.5
    assert np.isnan(attainable(x, y, 2.0))


def test_columns_that_changed_places_are_seen() -> None:
    from toy_rows import GLASS

    def cell(mean: float, spread: float, accuracy: float, other: float) -> Cell:
        ends = np.array([-1.0, 1.0]) / np.sqrt(2)
        return Cell(mean + spread * ends, accuracy + other * ends, mean + spread * ends)

    ecm, soft = cell(0.663, 0.005, 0.584, 0.0), cell(0.638, 0.042, 0.552, 0.043)
    others = {("glass", method): cell(0.1, 0.0, 0.1, 0.0) for method in ("ECMdd", "K-Means")}
    assert exchanged({("glass", "ECM"): ecm, ("glass", "Soft-ECM"): soft, **others}, GLASS, "Soft-ECM") == "ECM"
    assert exchanged({("glass", "ECM"): soft, ("glass", "Soft-ECM"): ecm, **others}, GLASS, "Soft-ECM") == ""
