import numpy as np
import pandas as pd
import pytest

from softecm.distributed import ParquetBlocks, parquet
from softecm.distributed.parquet import _cut


def test_large_row_groups_are_cut_and_small_ones_put_together():
    assert _cut([10], 4) == [((0,), 4), ((0,), 4), ((0,), 2)]
    assert _cut([1, 1, 1, 1, 1], 2) == [((0, 1), 2), ((2, 3), 2), ((4,), 1)]
    assert _cut([3, 9, 0, 2], 4) == [((0,), 3), ((1,), 3), ((1,), 3), ((1,), 3), ((3,), 2)]


@pytest.mark.parametrize("row_group", [37, 1000, 100_000])
def test_blocks_hold_all_rows_in_order(tmp_path, rng, row_group, monkeypatch):
    frame = pd.DataFrame(rng.normal(size=(5000, 3)), columns=list("abc"))
    frame.to_parquet(tmp_path / "x.parquet", row_group_size=row_group)
    monkeypatch.setattr(parquet, "BLOCK_BYTES", 1200 * 16)  # 1200 rows of two columns
    source = ParquetBlocks(tmp_path / "x.parquet", ["c", "a"])
    parts = list(source.read())
    assert len(parts) >= 4
    assert [len(p) for p in parts] == source.lengths
    np.testing.assert_array_equal(np.concatenate(parts), frame[["c", "a"]].to_numpy())


def test_single_precision_stays_single_and_gaps_in_whole_numbers_are_nan(tmp_path):
    pd.DataFrame({"x": np.array([1, 2], dtype=np.float32)}).to_parquet(tmp_path / "a.parquet")
    (block,) = ParquetBlocks(tmp_path / "a.parquet").read()
    assert block.dtype == np.float32
    pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}).to_parquet(tmp_path / "b.parquet")
    (block,) = ParquetBlocks(tmp_path / "b.parquet").read()
    np.testing.assert_array_equal(block, [[1.0], [np.nan]])


def test_text_comes_as_a_table_unless_it_is_transformed(tmp_path):
    pd.DataFrame({"x": ["a", "b"], "code": [1, 2]}).to_parquet(tmp_path / "a.parquet")
    (block,) = ParquetBlocks(tmp_path / "a.parquet").read()
    assert block.column("x").to_pylist() == ["a", "b"]
    (block,) = ParquetBlocks(tmp_path / "a.parquet", ["code"], transform=lambda table: table.to_pandas()).read()
    assert block["code"].tolist() == [1, 2]
    (names,) = ParquetBlocks(tmp_path / "a.parquet", ["code"]).beside(["x"]).read()
    assert names.column("x").to_pylist() == ["a", "b"]


def test_what_is_wrong_with_a_file_is_said_with_its_name(tmp_path, rng):
    file = tmp_path / "x.parquet"
    pd.DataFrame({"x": rng.normal(size=200_000)}).to_parquet(file)
    with pytest.raises(ValueError, match=r"row group 0 of .*x\.parquet takes 2 MB, too much for 1 MB"):
        ParquetBlocks(file, memory=1_000_000)
    with pytest.raises(ValueError, match=r"x\.parquet has no column 'y'"):
        ParquetBlocks(file, ["y"])
    pd.DataFrame({"x": np.empty(0)}).to_parquet(file)
    with pytest.raises(ValueError, match=r"x\.parquet has no rows"):
        ParquetBlocks(file)
