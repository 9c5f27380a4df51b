"""Validation is the same for all estimators: input is read as meant, or raises a clear error."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

import softecm
from contracts.test_estimators import KINDS, NAMES, quick
from hostile.outcomes import assert_sentence, ends_well
from softecm import SoftECM
from softecm.constraints import spread_constraints
from softecm.distances import Combined, Mahalanobis, SoftDTW
from softecm.explain import ExplanationTree
from softecm.scores import credal_silhouette
from softecm.selection import sweep
from softecm.spaces.raw import as_plain

RNG = np.random.default_rng(0)
WHOLE = RNG.integers(0, 9, (30, 3)) + np.repeat([[0], [30]], 15, 0)  # small integers, in two groups
DATA = {
    "vectors": WHOLE.astype(float),
    "dissimilarities": np.round(pairwise_distances(WHOLE, metric="cityblock")),
    "categories": (WHOLE // 10).astype(float),
}
FORMATS = ("csr", "csc", "coo", "dok", "lil", "bsr", "dia")
LARGE = 10**400


def masses(estimator, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X).partition_.masses


def refused(estimator, X):
    """The error message for data that can't be clustered."""
    with pytest.raises((ValueError, TypeError)) as caught:
        masses(estimator, X)
    assert_sentence(caught.value)
    return str(caught.value)


@pytest.fixture(params=NAMES)
def estimator(request):
    return quick(request.param, n_clusters=2, max_iter=5)


@pytest.fixture
def X(estimator):
    return DATA[KINDS[type(estimator).__name__]]


def masked(X, cell):
    mask = np.zeros(X.shape, dtype=bool)
    mask[cell] = True
    values = X.copy()
    values[cell] = 1e6  # masked values are never read
    return np.ma.masked_array(values, mask)


def test_a_masked_cell_is_a_missing_cell(estimator, X):
    given, missing = masked(X, (3, 1)), X.copy()
    missing[3, 1] = np.nan
    if type(estimator).__name__ in ("SoftECM", "CatECM"):
        np.testing.assert_array_equal(masses(estimator, given), masses(estimator, missing))
    else:
        assert refused(estimator, given) == refused(estimator, missing)


def test_a_mask_without_a_masked_cell_changes_nothing(estimator, X):
    np.testing.assert_array_equal(masses(estimator, np.ma.masked_array(X)), masses(estimator, X))


@pytest.mark.parametrize("kind", ["uint8", "int8", "uint64", "float16"])
def test_numbers_of_any_type_are_the_numbers_they_are(estimator, X, kind):
    np.testing.assert_array_equal(masses(estimator, X.astype(kind)), masses(estimator, X))


def test_tensors_leave_their_gradients_behind(estimator, X):
    tensor = torch.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(masses(estimator, tensor), masses(estimator, X))


def test_a_whole_number_beyond_all_floats_is_named(estimator, X):
    given = X.astype(object)
    given[2, 1] = given[1, 2] = LARGE
    if KINDS[type(estimator).__name__] == "categories":
        masses(estimator, given)  # an ordinary category
    else:
        assert "must hold" in refused(estimator, given)
        assert "digits" in refused(estimator, given.tolist())


def test_a_parameter_beyond_all_floats_ends_well(estimator, X):
    for name in estimator.get_params():
        large = clone(estimator).set_params(**{name: LARGE})
        ends_well(lambda model=large: model.fit(X).partition_)


def test_columns_of_one_name_are_refused(estimator, X):
    frame = pd.DataFrame(X, columns=["a", "a", *(f"c{k}" for k in range(2, X.shape[1]))])
    assert "a name of its own for every column; got 'a' more than once" in refused(estimator, frame)


def test_a_cell_without_a_value_or_of_two_parts_is_refused_where_numbers_are_needed(estimator, X):
    if KINDS[type(estimator).__name__] != "vectors":
        pytest.skip("takes something else than numbers")
    given = X.astype(object)
    given[3, 1] = 1 + 2j
    assert "must hold real numbers" in refused(estimator, given.tolist())
    given[3, 1] = pd.NA
    if type(estimator).__name__ != "SoftECM":
        assert "contains NaN" in refused(estimator, pd.DataFrame(given, columns=["a", "b", "c"]))


def test_a_column_is_called_by_its_name_even_if_that_is_a_number_or_a_pair():
    for name in (2021, ("a", "b")):
        frame = pd.DataFrame({name: [{}, 1, 2], 7: [1.0, 2.0, 3.0]})
        assert f"column {name!r} must hold" in refused(SoftECM(2), frame)


def test_records_are_refused(estimator, X):
    records = np.rec.fromarrays(X.T)
    for given in (records, np.ma.masked_array(records)):
        assert "records with the fields f0, f1" in refused(estimator, given)


@pytest.mark.parametrize("form", FORMATS)
def test_sparse_rows_of_any_format_are_the_same_rows(form):
    X = np.where(DATA["vectors"] > 2, DATA["vectors"], 0.0)
    expected = masses(SoftECM(2, random_state=0), scipy.sparse.csr_array(X))
    for kind in ("array", "matrix"):
        given = getattr(scipy.sparse, f"{form}_{kind}")(X)
        np.testing.assert_array_equal(masses(SoftECM(2, random_state=0), given), expected)
        model = SoftECM(2, metric="sqeuclidean", random_state=0).fit(given)
        np.testing.assert_array_equal(model.predict(given), model.labels_)


def damaged(form):
    """Sparse matrices of a format with inconsistent parts."""
    X = np.where(DATA["vectors"] > 2, DATA["vectors"], 0.0)

    def made():
        return getattr(scipy.sparse, f"{form}_array")(X)

    def put(part, place, value):
        matrix = made()
        getattr(matrix, part)[place] = value
        return matrix

    if form in ("csr", "csc", "bsr"):
        yield put("indptr", 2, 10**6)
        yield put("indptr", 2, -5)
        yield put("indptr", 0, 1)
        yield put("indptr", -1, 10**6)
        yield put("indices", 0, 10**6)
        yield put("indices", -1, -7)
        short = made()
        short.indptr = short.indptr[:-1]
        yield short
        short = made()
        short.data = short.data[:-1]
        yield short
    elif form == "coo":
        for row, column in ((-1, 0), (10**6, 0), (0, -1), (0, 10**6)):
            matrix = made()
            places = np.append(matrix.row[1:], row), np.append(matrix.col[1:], column)
            if hasattr(matrix, "coords"):
                matrix.coords = places
            else:  # SciPy before 1.13
                matrix.row, matrix.col = places
            yield matrix
    elif form == "lil":
        longer = made()
        longer.rows[3].append(1)
        yield longer
        outside = made()
        outside.rows[3] = [99 for _ in outside.rows[3]]
        yield outside
    elif form == "dok":
        matrix = made()
        dict.__setitem__(getattr(matrix, "_dict", matrix), (99, 99), 1.0)  # before SciPy 1.13 it is itself a dict
        yield matrix
    elif form == "dia":
        matrix = made()
        matrix.offsets = matrix.offsets[:-1]
        yield matrix


def test_sparse_words_are_refused():
    words = scipy.sparse.csr_array(DATA["vectors"])
    words.data = words.data.astype(str)
    assert "must hold numbers only; got a sparse matrix of <U" in refused(SoftECM(2), words)


@pytest.mark.parametrize("form", FORMATS)
def test_a_damaged_sparse_matrix_is_refused_before_it_is_read(form, hostile_case):
    sound = SoftECM(2, metric="sqeuclidean", random_state=0).fit(np.abs(DATA["vectors"]))
    for matrix in damaged(form):
        for kind in (SoftECM, softecm.ECM, softecm.EGMM, softecm.RECM):
            hostile_case()
            assert "must be a valid sparse matrix" in refused(kind(2), matrix) or kind is softecm.EGMM
        with pytest.raises((ValueError, TypeError), match="valid sparse matrix"):
            sound.predict(matrix)


def test_a_frame_of_dissimilarities_is_read_by_its_labels(estimator):
    if KINDS[type(estimator).__name__] != "dissimilarities":
        pytest.skip("takes objects, not dissimilarities")
    names = [f"object {k}" for k in range(30)]
    frame = pd.DataFrame(DATA["dissimilarities"], index=names, columns=names)
    shuffled = frame[[names[k] for k in RNG.permutation(30)]]
    np.testing.assert_array_equal(masses(estimator, shuffled), masses(estimator, frame))
    if not isinstance(estimator, softecm.MECMdd):
        predicted = [estimator.predict_partition(X).masses for X in (shuffled, frame)]
        np.testing.assert_array_equal(*predicted)


def test_refits_and_scores_read_dissimilarities_by_their_labels():
    names = [f"object {k}" for k in range(30)]
    frame = pd.DataFrame(DATA["dissimilarities"], index=names, columns=names)
    shuffled = frame[[names[k] for k in RNG.permutation(30)]]
    model = softecm.RECM(2, random_state=0).fit(frame)
    for ask in (
        lambda X: softecm.calibrate(model, X, 3, level=0.5).memberships,
        lambda X: sweep(X, {"n_clusters": [2]}, estimator=softecm.RECM(random_state=0, n_init=1), seeds=1, resamples=2)[
            "stability"
        ],
        lambda X: credal_silhouette(model.partition_, X),
        lambda X: spread_constraints([(0, 1)], [(0, 20)], X).cannot_link,
    ):
        np.testing.assert_array_equal(ask(shuffled), ask(frame))


@pytest.mark.parametrize("given", [[["x"] * 30] * 30, DATA["dissimilarities"] + 1j, [[1, 2], [3]]])
def test_numbers_for_scores_and_links_pass_the_gate(given):
    partition = softecm.CredalPartition.from_hard([0, 1] * 15)
    for ask in (
        lambda: credal_silhouette(partition, given),
        lambda: spread_constraints([(0, 1)], None, given),
        lambda: partition.discount(given),
        lambda: ExplanationTree().fit(partition, DATA["vectors"], sample_weight=given),
    ):
        with pytest.raises(ValueError, match="must hold numbers only"):
            ask()


def test_views_in_another_order_are_refused():
    table = pd.DataFrame(DATA["vectors"], index=[f"object {k}" for k in range(30)])
    views = {"a": table, "b": table.iloc[::-1]}
    metric = Combined({"a": "sqeuclidean", "b": "sqeuclidean"})
    said = refused(SoftECM(2, metric=metric), views)
    assert "'object 0' in 'a' and 'object 29' in 'b'" in said
    masses(SoftECM(2, metric=metric), {"a": table, "b": table})
    matrix = pd.DataFrame(DATA["dissimilarities"], index=table.index)
    assert "in the same order in every view" in refused(softecm.MECMdd(2), [matrix, matrix.iloc[::-1]])


def test_half_a_character_is_refused_among_categories_and_names():
    words = pd.Series(["\udfff", "x", "y"] * 10, dtype=object)
    assert "half a character" in refused(SoftECM(2), pd.DataFrame({"a": np.arange(30.0) % 7, "b": words}))
    assert "half a character" in refused(SoftECM(2), [[word, 1.0] for word in words])
    assert "half a character" in refused(SoftECM(2, metric="states"), [["\ud800", "a"], ["a", "b"]] * 5)
    named = pd.DataFrame(DATA["vectors"], columns=pd.Index(["a", "\ud800", "c"], dtype=object))
    assert "half a character" in refused(SoftECM(2), named)


def test_half_a_character_in_an_id_is_written_as_its_number(tmp_path):
    table = pd.DataFrame(DATA["vectors"], index=pd.Index(["\ud800", *(f"n{k}" for k in range(29))], dtype=object))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SoftECM(2, random_state=0).fit(table).report(table, tmp_path / "report.html")
    assert "\\ud800" in (tmp_path / "report.html").read_text(encoding="utf-8")


TABLE = pd.DataFrame(DATA["vectors"], columns=["a", "b", "c"])
NO_NUMBERS = {
    "ellipsis": (lambda: ..., "got a value of type ellipsis"),
    "number": (lambda: 5, "got a value of type int"),
    "class": (object, "got a value of type object"),
    "bytes": (lambda: b"1,2", "got the text b'1,2'"),
    "meta": (lambda: torch.empty(30, 3, device="meta"), "nested or on the device 'meta'"),
    "nested": (
        lambda: torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
        "nested or on the device 'meta'",
    ),
    "complex": (lambda: DATA["vectors"] + 1j, "np.hstack"),
    "names": (lambda: TABLE.set_axis([np.nan, "b", "c"], axis=1), "a name for every column; got nan"),
    "intervals": (lambda: TABLE.assign(a=pd.cut(TABLE.a, 3)), "a value of type Interval in row 1"),
    "durations": (lambda: TABLE.assign(b=pd.to_timedelta(TABLE.b, unit="s")), "durations"),
    "lists": (lambda: TABLE.assign(c=[[1, 2]] * 30), "a value of type list in row 1"),
    "a column of lists": (lambda: pd.Series([[1.0, 2.0]] * 30), "a column whose cells are lists"),
    "values of a dict": (lambda: {"a": [1.0]}.values(), "got a dict_values. Pass list(X)"),
    "groups": (lambda: TABLE.groupby("a"), "got a DataFrameGroupBy. Pass list(X)"),
    "ragged": (lambda: [[1, 2], [3]] * 15, "got 2 cells in row 1 (X[0]) and 1 cell in row 2 (X[1])"),
    "arrays of two shapes": (lambda: [np.ones(3), np.ones(4)] * 15, "must have rows of the same length"),
}


@pytest.mark.parametrize("kind", [softecm.ECM, softecm.RECM, softecm.EGMM, softecm.EVCLUS])
@pytest.mark.parametrize("what", NO_NUMBERS)
def test_what_holds_no_numbers_is_named(kind, what):
    make, said = NO_NUMBERS[what]
    assert said in refused(kind(2), make())


def test_times_of_day_are_no_numbers():
    pl = pytest.importorskip("polars")
    times = pl.DataFrame({"a": [datetime.time(7, 48), datetime.time(9)] * 15, "b": DATA["vectors"][:, 0]})
    for kind in (softecm.ECM, softecm.EGMM, lambda c: SoftECM(c, metric="dtw")):
        assert "column 'a' holds times of day" in refused(kind(2), times)


def test_a_polars_table_is_no_list_of_series():
    pl = pytest.importorskip("polars")
    assert "a table of shape (30, 3)" in refused(SoftECM(2, metric="dtw"), pl.DataFrame(DATA["vectors"]))


def test_a_decimal_that_is_no_number_is_a_missing_cell():
    cells = [[Decimal(one), other] for one, other in zip([0, "NaN", 2] * 10, "abcde" * 6, strict=True)]
    missing = [[None if one.is_nan() else one, other] for one, other in cells]
    for kind in (SoftECM, softecm.CatECM):
        np.testing.assert_array_equal(masses(kind(2, random_state=0), cells), masses(kind(2, random_state=0), missing))


def test_a_dict_of_keys_is_a_matrix_wherever_data_are_taken():
    dense = np.abs(DATA["vectors"])
    rows, keys = scipy.sparse.csr_matrix(dense), scipy.sparse.dok_matrix(dense)
    found = [softecm.choose_n_clusters(X, candidates=[2, 3], random_state=0).values for X in (rows, keys)]
    assert found[0] == found[1]
    grids = [sweep(X, {"n_clusters": [2]}, resamples=2)["stability"] for X in (rows, keys)]
    np.testing.assert_array_equal(*grids)
    model = softecm.ECM(2, random_state=0).fit(keys)
    assert softecm.calibrate(model, keys, 3, level=0.5).memberships.shape == (3, 30, 2)


def test_several_matrices_in_a_list_have_as_many_objects_as_rows():
    D = DATA["dissimilarities"]
    model = softecm.MECMdd(2, random_state=0)
    assert len(softecm.choose_n_clusters([D, D**0.5], estimator=model, candidates=[2, 3]).values) == 2
    assert len(sweep([D, D**0.5], {"n_clusters": [2]}, estimator=model, resamples=2)) == 1
    listed = softecm.calibrate(model.fit([D, D**0.5]), [D, D**0.5], 3, level=0.5)
    named = softecm.calibrate(model, {"view 1": D, "view 2": D**0.5}, 3, level=0.5)
    np.testing.assert_array_equal(listed.memberships, named.memberships)


def test_what_is_given_beside_the_data_passes_the_gate_too(tmp_path):
    X = DATA["vectors"]
    start = torch.tensor(X[[0, 20]], requires_grad=True)
    np.testing.assert_array_equal(masses(softecm.ECM(init=start), X), masses(softecm.ECM(init=X[[0, 20]]), X))
    np.testing.assert_array_equal(masses(softecm.EGMM(init=start), X), masses(softecm.EGMM(init=X[[0, 20]]), X))
    for given, said in [
        ({"init": X[:2] + 1j}, "init must hold numbers only; got complex128"),
        ({"init": object()}, "init must hold numbers only; got object"),
        ({"device": "meta"}, "device must be 'cpu' or 'cuda'; got 'meta'"),
        ({"random_state": -1}, "random_state must be a whole number from 0 to 4294967295"),
        ({"random_state": np.random.default_rng(0)}, "random_state must be a whole number"),
        ({"warm_start": torch.ones(2)}, "warm_start must be True or False"),
        ({"verbose": "yes"}, "verbose must be True or False"),
        ({"focal_sets": np.array(2)}, "focal_sets must be a list of tuples"),
    ]:
        assert said in refused(softecm.ECM(**given), X)
    np.testing.assert_array_equal(softecm.ECM().fit(X, sample_weight=2.0).labels_, softecm.ECM().fit(X).labels_)
    for weights in ([LARGE] * 30, np.ones(30) + 0j, ["heavy"] * 30, np.zeros(30, "M8[D]")):
        with pytest.raises(ValueError, match="sample_weight must hold numbers"):
            softecm.ECM().fit(X, sample_weight=weights)
    with pytest.raises(ValueError, match="holds a character that no file name may hold"):
        softecm.ECM().fit(X, checkpoint="a\0b")


def test_sparse_rows_too_wide_for_prototypes_are_refused_before_memory_is_taken():
    said = refused(softecm.ECM(2), scipy.sparse.csr_array((30, 10**12)))
    assert "up to 8 prototypes of 1000000000000 columns would take about" in said


def test_a_single_delayed_value_is_no_list_of_blocks():
    dask = pytest.importorskip("dask")
    assert "a list of delayed blocks; got Delayed" in refused(SoftECM(2), dask.delayed(DATA["vectors"]))


def test_weights_may_not_be_masked():
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        SoftECM(2).fit(DATA["vectors"], sample_weight=np.ma.masked_array(np.ones(30), np.arange(30) == 3))


def test_masks_keep_the_type_of_what_they_hide():
    words = np.ma.masked_array(np.array(["a", "b"]), [False, True])
    assert as_plain(words).tolist() == ["a", None]
    assert as_plain(np.ma.masked_array(np.array([1, 2], dtype=np.uint8), [False, True])).dtype.kind == "f"
    days = np.ma.masked_array(np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"), [True, False])
    assert as_plain(days)[0] is None
    single = np.ma.masked_array(np.ones(2, dtype=np.float32), [True, False])
    assert as_plain(single).dtype == np.float32
    series = [np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), np.ones(3)]
    assert np.isnan(as_plain(series)[0][1])
    assert as_plain(torch.ones(2, dtype=torch.bfloat16)).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="must be a dense tensor"):
        as_plain(torch.eye(3).to_sparse())


@pytest.mark.parametrize("made", [lambda: SoftDTW(gamma=LARGE), lambda: Mahalanobis(LARGE), lambda: Mahalanobis("x")])
def test_a_metric_refuses_what_is_no_number_among_floats(made):
    with pytest.raises(ValueError, match=r"must (be a number|hold numbers)"):
        made()
