import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt

from softecm import CredalPartition, FocalSets, plots

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def partition(n: int, c: int, rng: np.random.Generator) -> CredalPartition:
    focal = FocalSets.up_to(c, 2)
    return CredalPartition(rng.dirichlet(np.full(len(focal) + 1, 0.2), n), focal)


@pytest.mark.parametrize(("n", "c"), [(1, 1), (12, 2), (400, 7)])
def test_every_figure_is_drawn_on_the_axes_it_is_given(n: int, c: int, rng: np.random.Generator) -> None:
    p, points = partition(n, c, rng), rng.normal(size=(n, 2))
    figures = {
        "profile": lambda ax: plots.mass_profile(p, ax=ax),
        "sorted": lambda ax: plots.mass_profile(p, ax=ax, sort=True),
        "heat": lambda ax: plots.mass_heatmap(p, ax=ax),
        "map": lambda ax: plots.map(p, points, ax=ax, prototypes=points[:1]),
        "hulls": lambda ax: plots.hulls(p, points, ax=ax),
        "shades": lambda ax: plots.scatter_masses(p, points, (), ax=ax),
        "shepard": lambda ax: plots.shepard([0.1, 0.9], [0.0, 1.0], ax=ax),
        "trace": lambda ax: plots.objective_trace([3.0, 2.0, 1.0], ax=ax),
    }
    for name, draw in figures.items():
        figure, ax = plt.subplots()
        assert draw(ax) is ax, name
        assert ax.get_xlabel(), name
        assert ax.get_ylabel(), name
        figure.canvas.draw()
        plt.close(figure)


def test_the_mass_profile_shows_every_mass(rng: np.random.Generator) -> None:
    p = partition(12, 2, rng)
    ax = plots.mass_profile(p)
    np.testing.assert_allclose([line.get_ydata() for line in ax.lines], p.masses.T)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == [
        "no group",
        "group 1",
        "group 2",
        "group 1 or 2",
    ]


def test_names_of_clusters_reach_the_legend(rng: np.random.Generator) -> None:
    ax = plots.mass_profile(partition(5, 2, rng), names=["cat", "dog"])
    assert "cat" in [t.get_text() for t in ax.get_legend().get_texts()]


def test_a_triangle_needs_three_clusters(rng: np.random.Generator) -> None:
    ax = plots.ternary(partition(20, 3, rng))
    assert {t.get_text() for t in ax.texts} == {"group 1", "group 2", "group 3"}
    with pytest.raises(ValueError, match="3 clusters"):
        plots.ternary(partition(5, 2, rng))


def test_corners_of_the_triangle_are_the_sure_objects() -> None:
    ax = plots.ternary(CredalPartition.from_hard([0, 1, 2]))
    places = np.vstack([c.get_offsets() for c in ax.collections if len(c.get_offsets())])
    np.testing.assert_allclose(places, [[0, 0], [1, 0], [0.5, np.sqrt(0.75)]], atol=1e-12)


def test_series_are_drawn_behind_their_prototype(rng: np.random.Generator) -> None:
    p = CredalPartition.from_hard([0, 0, 1, 1, 1])
    ragged = [rng.normal(size=(length, 2)) for length in (5, 6, 7, 8, 9)]
    ax = plots.series_prototypes(p, [np.zeros((6, 2)), np.ones((6, 2))], ragged, clusters=(1,), channel=1)
    assert len(ax.lines) == 4
    np.testing.assert_allclose(ax.lines[-1].get_ydata(), 1.0)
    with pytest.raises(ValueError, match="empty set"):
        plots.series_prototypes(p, [np.zeros((6, 2))], clusters=())


def test_several_runs_share_one_trace() -> None:
    ax = plots.objective_trace([np.array([3.0, 2.0]), np.array([4.0, 1.0, 0.5])])
    assert len(ax.lines) == 2


def test_points_that_do_not_fit_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"shape \(5, 2\)"):
        plots.map(partition(5, 2, rng), np.zeros((4, 2)))


def test_hulls_hold_lower_inside_upper() -> None:
    p = CredalPartition([[0, 1, 0, 0]] * 3 + [[0, 0, 0, 1]], FocalSets.full(2))
    ax = plots.hulls(p, [[0, 0], [1, 0], [0, 1], [5, 5]])
    sizes = {patch.get_label(): len(patch.get_xy()) for patch in ax.patches}
    assert sizes["surely group 1"] < sizes["possibly group 1"] + 1
    assert "surely group 2" not in sizes


def test_legends_can_be_read_over_bands():
    masses = CredalPartition(np.random.default_rng(0).dirichlet(np.ones(8), 200), FocalSets.full(3))
    frame = plots.mass_profile(masses).get_legend().get_frame()
    assert frame.get_visible()
    assert frame.get_alpha() > 0.8


def test_iterations_are_whole_numbers():
    ax = plots.objective_trace([3.0, 2.0, 1.9])
    assert ax.get_xlabel() == "iteration"
    assert all(float(at).is_integer() for at in ax.get_xticks())
