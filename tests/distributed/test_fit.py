"""Fits on blocks in this process: without a cluster, Dask collections are streamed."""

import warnings

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask", reason="needs dask: pip install 'softecm[dask]'")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from softecm import ECM, FCM, RECM, ECMPlus, SoftECM, load_model  # noqa: E402
from softecm.datasets import make_blobs  # noqa: E402
from softecm.distances import DTW, Learner, Mixed, SemiMetric, SoftDTW  # noqa: E402
from softecm.distributed import ParquetBlocks  # noqa: E402
from softecm.spaces.raw import raw_data  # noqa: E402

X = make_blobs(600, between=20, outliers=10, random_state=0).data
START = X[[0, 200, 400]]


def same(model, other, tol=1e-8):
    np.testing.assert_allclose(other.partition_.compute().masses, model.partition_.masses, rtol=0, atol=tol)
    assert other.objective_ == pytest.approx(model.objective_, rel=tol)
    assert other.n_iter_ == model.n_iter_
    assert (other.delta_ or 0.0) == pytest.approx(model.delta_ or 0.0, rel=tol)
    assert other.separation_ == pytest.approx(model.separation_, rel=tol)


def quietly(model, data, **options):
    """Fit for a few iterations, which suffice for a comparison."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(data, **options)


def table(rng, n=240):
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), ["low", "mid", "high"], ordered=True),
            "member": rng.random(n) < 0.3,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    frame.loc[rng.choice(n, 20, replace=False), "size"] = np.nan  # in some of the blocks
    frame.loc[5:20, "colour"] = None
    return frame


@pytest.mark.parametrize("estimator", [SoftECM, ECM, FCM])
@pytest.mark.parametrize("blocks", [1, 16])
def test_a_dask_array_gives_the_fit_of_the_whole(estimator, blocks):
    whole = estimator(3, init=START, n_init=1).fit(X)
    parts = estimator(3, init=START, n_init=1).fit(da.from_array(X, chunks=(-(-len(X) // blocks), 1)))
    same(whole, parts)
    np.testing.assert_array_equal(parts.labels_.compute(), whole.labels_)
    np.testing.assert_allclose(parts.outlier_scores_.compute(), whole.outlier_scores_, atol=1e-8)
    assert len(parts.partition_) == len(X)


@pytest.mark.parametrize("options", [{"relaxation": "gap"}, {"beta": 2.0, "delta": None}, {"metric": "mahalanobis"}])
def test_options_are_heeded_in_blocks(options):
    whole = quietly(SoftECM(3, init=START, max_iter=30, **options), X)
    same(whole, quietly(SoftECM(3, init=START, max_iter=30, **options), da.from_array(X, chunks=(90, 2))))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_the_papers_gradient_steps_work_in_blocks(metric):
    def model():
        return SoftECM(3, init=START, metric=metric, solver="gradient", max_iter=2)

    same(quietly(model(), X), quietly(model(), da.from_array(X, chunks=(90, 2))))


def test_weights_count_alike_whether_in_memory_or_in_blocks(rng):
    weights = rng.integers(1, 4, len(X)).astype(float)
    whole = SoftECM(3, init=START).fit(X, sample_weight=weights)
    array = da.from_array(X, chunks=(100, 2))
    same(whole, SoftECM(3, init=START).fit(array, sample_weight=weights))
    same(whole, SoftECM(3, init=START).fit(array, sample_weight=da.from_array(weights, chunks=100)))


def test_the_start_drawn_from_blocks_does_not_depend_on_them():
    models = [SoftECM(3, n_init=10, random_state=0).fit(da.from_array(X, chunks=(n, 2))) for n in (50, 170)]
    assert models[0].objective_ == pytest.approx(models[1].objective_, rel=1e-12)
    assert models[0].objective_ == pytest.approx(SoftECM(3, n_init=10, random_state=0).fit(X).objective_, rel=1e-4)


@pytest.mark.parametrize("scaling", ["std", "range"])
def test_a_mixed_data_frame_gives_the_fit_of_the_whole(rng, scaling):
    frame = table(rng)
    metric = Mixed(scaling=scaling, ordinal_features=["count"])
    start = frame.iloc[[0, 100, 200]]
    given = {"metric": metric, "init": start, "max_cardinality": 2, "delta": 2.0, "max_iter": 30}
    whole = quietly(SoftECM(3, **given), frame)
    parts = quietly(SoftECM(3, **given), dd.from_pandas(frame, npartitions=7))
    same(whole, parts)
    here, there = whole.prototypes_, parts.prototypes_
    dates = here.pop("since") - there.pop("since")
    assert abs(dates).max() < pd.Timedelta("1s")
    pd.testing.assert_frame_equal(here, there, check_dtype=False, check_column_type=False)
    assert list(parts.feature_names_in_) == list(frame.columns)


def test_weights_of_a_mixed_data_frame_reach_its_scales(rng):
    frame = table(rng)
    weights = rng.integers(1, 4, len(frame)).astype(float)
    start = frame.iloc[[0, 100]]
    whole = quietly(SoftECM(2, metric="mixed", init=start, max_iter=10), frame, sample_weight=weights)
    parts = dd.from_pandas(frame, npartitions=5)
    same(whole, quietly(SoftECM(2, init=start, max_iter=10), parts, sample_weight=weights))


def test_a_frame_of_numbers_is_taken_as_vectors():
    frame = pd.DataFrame(X, columns=["u", "v"])
    parts = SoftECM(3, init=START).fit(dd.from_pandas(frame, npartitions=4))
    same(SoftECM(3, init=START).fit(frame), parts)
    assert parts.model_.metric.name == "sqeuclidean"


@pytest.mark.parametrize("metric", [SoftDTW(), SoftDTW(gamma="auto"), DTW()])
def test_delayed_blocks_of_series_give_the_fit_of_the_whole(rng, metric):
    series = [rng.normal(size=(rng.integers(8, 13), 2)).cumsum(0) + 3 * (i % 2) for i in range(40)]
    blocks = [dask.delayed(series[i : i + 8]) for i in range(0, 40, 8)]
    whole = quietly(SoftECM(2, metric=metric, init=series[:2], max_iter=6), series)
    parts = quietly(SoftECM(2, metric=metric, init=series[:2], max_iter=6), blocks)
    same(whole, parts, tol=1e-6)
    assert getattr(parts.model_.metric, "gamma", 1.0) == pytest.approx(getattr(whole.model_.metric, "gamma", 1.0))


def test_other_objects_in_blocks_get_the_masses_they_get_in_memory():
    model = SoftECM(3, init=START).fit(X)
    found = model.predict_partition(da.from_array(X[:100], chunks=(30, 2)))
    np.testing.assert_allclose(found.masses.compute(), model.predict_partition(X[:100]).masses, atol=1e-12)
    np.testing.assert_allclose(found.pignistic().compute(), model.predict_proba(X[:100]), atol=1e-12)
    np.testing.assert_array_equal(model.predict(da.from_array(X[:100], chunks=(30, 2))).compute(), model.labels_[:100])
    assert len(found) == 100


def test_the_partition_is_written_to_parquet_block_by_block(tmp_path):
    model = SoftECM(3, init=START).fit(da.from_array(X, chunks=(70, 2)))
    totals = model.partition_.to_parquet(tmp_path / "masses.parquet")
    frame = pd.read_parquet(tmp_path / "masses.parquet")
    whole = model.partition_.compute()
    np.testing.assert_array_equal(frame.filter(like="m(").to_numpy(), whole.masses)
    np.testing.assert_array_equal(frame["label"], [f"ω{k + 1}" for k in whole.labels()])
    assert totals.n_objects == len(X)
    assert totals.nonspecificity == pytest.approx(whole.nonspecificity(), rel=1e-12)
    assert totals.outliers == len(whole.outliers())
    np.testing.assert_allclose(totals.held, whole.plausibility(normalise=None).sum(0), rtol=1e-12)


def test_a_model_of_blocks_is_saved_without_its_partition(tmp_path):
    model = SoftECM(3, init=START).fit(da.from_array(X, chunks=(70, 2)))
    model.save(tmp_path / "model.safetensors")
    again = load_model(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(again.predict(X[:20]), model.labels_.compute()[:20])
    assert not hasattr(again, "partition_")


def test_a_fit_begun_in_memory_is_gone_on_with_in_blocks(tmp_path):
    file = tmp_path / "fit.checkpoint"
    given = {"init": START, "max_cardinality": 2, "delta": 4.0}
    quietly(SoftECM(3, **given, max_iter=3), X, checkpoint=file, checkpoint_every=1)
    parts = SoftECM(3, **given).fit(da.from_array(X, chunks=(100, 2)), resume=file)
    same(SoftECM(3, **given).fit(X), parts)


# ------------------------------------------------------------------ errors


def test_an_empty_block_is_named():
    blocks = [dask.delayed(X[:50]), dask.delayed(X[:0]), dask.delayed(X[50:])]
    with pytest.raises(ValueError, match="block 1: it is empty"):
        SoftECM(3).fit(blocks)


def test_a_block_with_a_gap_is_named():
    gap = X.copy()
    gap[250, 1] = np.nan
    with pytest.raises(ValueError, match=r"block 2 \(rows 201 to 300\): Input X contains NaN"):
        SoftECM(3, metric="sqeuclidean").fit(da.from_array(gap, chunks=(100, 2)))


@pytest.mark.parametrize("kind", ["alike", "units", "gaps"])
def test_auto_takes_in_blocks_what_it_takes_in_memory(kind):
    rows = X * [1.0, 1000.0] if kind == "units" else X.copy()
    if kind == "gaps":
        rows[250, 1] = np.nan
    given = {"init": rows[[0, 200, 400]], "max_iter": 5}
    whole = quietly(SoftECM(3, **given), rows)
    parts = quietly(SoftECM(3, **given), da.from_array(rows, chunks=(100, 2)))
    same(whole, parts)
    assert parts.metric_reason_ == whole.metric_reason_
    assert parts.metric_.name == {"alike": "sqeuclidean"}.get(kind, "mixed")
    np.testing.assert_allclose(parts.prototypes_, whole.prototypes_)
    np.testing.assert_allclose(parts.predict_partition(rows).masses, whole.partition_.masses, atol=1e-8)


def test_new_objects_in_blocks_may_have_the_id_that_was_left_out():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(number=np.arange(len(X)))
    model = quietly(SoftECM(3, init=START, max_iter=5), frame)
    assert list(model.left_out_) == ["number"]
    found = model.predict_partition(dd.from_pandas(frame, npartitions=3)).compute().masses
    np.testing.assert_allclose(found, model.partition_.masses, atol=1e-8)


def test_auto_in_blocks_asks_about_aeons_layout():
    series = da.zeros((8, 2, 40), chunks=(4, 2, 40))
    with pytest.raises(ValueError, match="looks like aeon's"):
        SoftECM(2).fit(series)


def test_blocks_of_other_columns_are_named():
    with pytest.raises(ValueError, match=r"block 1 must have the columns and types of block 0, .*got"):
        SoftECM(3).fit([dask.delayed(X[:50]), dask.delayed(X[50:, :1])])
    with pytest.raises(ValueError, match=r"block 1 must have .*0 \(float64\).*got 0 \(float32\)"):
        SoftECM(3).fit([dask.delayed(X[:50]), dask.delayed(X[50:].astype(np.float32))])
    frames = [dask.delayed(pd.DataFrame(X[:50], columns=names)) for names in (["a", "b"], ["a", "c"])]
    with pytest.raises(ValueError, match=r"block 1 must have .*b \(float64\).*got .*c \(float64\)"):
        SoftECM(3, metric="sqeuclidean").fit(frames)


def test_numbers_whose_squares_overflow_are_named_with_their_block():
    with pytest.raises(ValueError, match=r"block 1: X must hold numbers of at most 1e\+150"):
        SoftECM(2).fit([dask.delayed(X[:50]), dask.delayed(X[50:] * 1e160)])


def test_series_of_other_channels_are_named(rng):
    blocks = [dask.delayed(rng.normal(size=(4, 9, d))) for d in (2, 3)]
    with pytest.raises(ValueError, match=r"block 1 must have .*2 channels; got 3 channels"):
        SoftECM(2, metric="softdtw").fit(blocks)


def test_a_level_without_a_place_is_named_with_its_block(rng):
    frame = table(rng)[["size", "count"]]
    metric = Mixed(ordinal_features={"count": list(range(8))})
    with pytest.raises(ValueError, match=r"partition \d: column 'count' must hold one of its ordered levels"):
        SoftECM(2, metric=metric).fit(dd.from_pandas(frame, npartitions=3))


@pytest.mark.parametrize("estimator", [ECMPlus(2), RECM(2)])
def test_estimators_that_need_all_objects_say_so(estimator):
    with pytest.raises(TypeError, match="needs all objects in memory"):
        estimator.fit(da.from_array(X, chunks=(100, 2)))


def test_links_are_refused_in_blocks():
    with pytest.raises(ValueError, match="must_link and cannot_link must be left out"):
        SoftECM(2).fit(da.from_array(X, chunks=(100, 2)), must_link=[[0, 1]])


def test_a_metric_that_learns_from_all_objects_is_refused():
    class Everything(Learner):
        metric = property(lambda self: Scaled())

        def fitted(self, x, weights):
            return Scaled()

    class Scaled(SemiMetric):
        learner = property(lambda self: Everything())

        def pairwise(self, x, v):
            return (x[:, None] - v).square().sum(-1)

    with pytest.raises(TypeError, match="metric Scaled learns from all objects at once"):
        SoftECM(2, metric=Scaled()).fit(da.from_array(X, chunks=(300, 2)))


def test_too_few_objects_and_wrong_weights_are_refused():
    array = da.from_array(X[:4], chunks=(2, 2))
    with pytest.raises(ValueError, match="n_clusters must be at most the number of objects"):
        SoftECM(5).fit(array)
    with pytest.raises(ValueError, match="sample_weight must have one number per object, 4"):
        SoftECM(2).fit(array, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match=r"block 1 .*sample_weight must not be negative"):
        SoftECM(2).fit(array, sample_weight=[1.0, 2.0, -1.0, 1.0])
    with pytest.raises(ValueError, match="sample_weight must not be zero for every object"):
        SoftECM(2).fit(array, sample_weight=np.zeros(4))
    with pytest.raises(TypeError, match="list of delayed blocks; got ndarray at 1"):
        SoftECM(2).fit([dask.delayed(X[:4]), X[4:]])


def test_a_parquet_file_gives_the_fit_of_its_rows(tmp_path):
    file = tmp_path / "points.parquet"
    pd.DataFrame(X, columns=["u", "v"]).to_parquet(file, row_group_size=130)
    blocks = ParquetBlocks(file)
    same(SoftECM(3, init=START).fit(X), SoftECM(3, init=START).fit(blocks))
    model = SoftECM(3, init=START).fit(blocks)
    assert not hasattr(model, "labels_")
    with pytest.raises(AttributeError, match="to_parquet"):
        _ = model.partition_.masses


def test_a_frame_of_the_package_that_dask_had_for_frames_is_in_blocks():
    """Until 2025 the frames of ``dask.dataframe`` came from ``dask_expr``."""
    assert raw_data(type("DataFrame", (), {"__module__": "dask_expr._collection"})()).in_blocks
    assert not raw_data(pd.DataFrame()).in_blocks
