"""Files of scipy.sparse.save_npz on the command line."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from softecm import SoftECM, load_model


def some_rows() -> sp.csr_matrix:
    rng = np.random.default_rng(0)
    rows = np.kron(np.eye(3), np.ones((20, 8))) * rng.poisson(2.0, size=(60, 24))
    rows[:, 0] += 1.0
    return sp.csr_matrix(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_a_sparse_file_is_clustered_predicted_and_drawn(run, tmp_path: Path) -> None:
    rows = some_rows()
    sp.save_npz(tmp_path / "rows.npz", rows)
    code, _, err = run("cluster", "rows.npz", "-c", 3, "-o", "out")
    assert code == 0, err
    assert "sparse matrix of shape (60, 24)" in " ".join((tmp_path / "out" / "summary.json").read_text().split())
    model = load_model(tmp_path / "out" / "model.safetensors")
    assert model.model_.space.sparse
    fitted = SoftECM(3, random_state=0).fit(rows)
    np.testing.assert_allclose(model.prototypes_, fitted.prototypes_, atol=1e-6)
    code, _, err = run("predict", "out", "rows.npz", "-o", "new.csv")
    assert code == 0, err
    assert len((tmp_path / "new.csv").read_text().splitlines()) == 61
    code, _, err = run("report", "out", "-o", "again.html")
    assert code == 0, err


def test_a_damaged_sparse_file_is_refused(run, tmp_path: Path) -> None:
    rows = some_rows()
    np.savez(
        tmp_path / "odd.npz",
        format="csr",
        shape=rows.shape,
        data=rows.data,
        indices=rows.indices + 1000,
        indptr=rows.indptr,
    )
    code, _, err = run("cluster", "odd.npz", "-c", 3)
    assert code == 2
    assert "can't be read as a sparse matrix of SciPy's" in " ".join(err.split())


def test_words_beside_a_sparse_file_name_its_columns(run, tmp_path: Path) -> None:
    rows, words = some_rows(), [f"word {chr(97 + j)}" for j in range(24)]
    parts = {"shape": rows.shape, "data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
    np.savez_compressed(tmp_path / "rows.npz", names=words, format="csr", **parts)
    code, _, err = run("cluster", "rows.npz", "-c", 3, "-o", "out")
    assert code == 0, err
    assert ": word " in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert ": word " in (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")
