import numpy as np

from softecm import CredalPartition, FocalSets
from softecm.plots import style as colours


def test_a_cluster_keeps_its_colour_and_a_set_mixes_those_of_its_clusters() -> None:
    two, three = colours.set_colors(FocalSets.full(2)), colours.set_colors(FocalSets.full(3))
    assert two[:3] == three[:3]
    assert two[3] == three[4]  # ω1∪ω2
    assert len(set(three)) == len(three)


def test_there_are_colours_for_many_clusters() -> None:
    colors = colours.set_colors(FocalSets.simple(30))
    assert len(set(colors[1:31])) == 30
    assert colors[1:13] == colours.set_colors(FocalSets.simple(12))[1:13]  # a cluster keeps its colour


def test_twenty_clusters_are_as_easy_to_tell_apart_as_the_first_eight() -> None:
    def least(count: int) -> float:
        lab = colours._oklab(colours.rgb(colours.set_colors(FocalSets.simple(count))[: count + 1]))
        apart = np.linalg.norm(lab[:, None] - lab, axis=2)
        return float(apart[np.triu_indices(count + 1, 1)].min())

    assert least(20) >= least(8) - 0.005  # colours are rounded


def test_outliers_are_dark_and_sure_objects_have_their_clusters_colour() -> None:
    p = CredalPartition([[0, 1, 0], [1, 0, 0]], FocalSets.up_to(2, 1))
    sure, outlier = colours.mixed_colors(p)
    np.testing.assert_allclose(sure, colours.rgb([colours.CLUSTER_COLORS[0]])[0], atol=1e-6)
    np.testing.assert_allclose(outlier, colours.rgb([colours.EMPTY_COLOR])[0], atol=1e-6)
