"""Run-time compilation, as far as testable without a GPU."""

import importlib
from pathlib import Path

import pytest

from softecm.kernels import cuda_compile

SOURCES = Path(cuda_compile.__file__).parent / "cuda"


def test_a_missing_compiler_says_what_to_install(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match="pip install 'cuda-core"):
        cuda_compile._backend.__wrapped__()


def test_the_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTECM_CACHE", str(tmp_path))
    assert cuda_compile.cache_folder().is_relative_to(tmp_path)
    monkeypatch.delenv("SOFTECM_CACHE")
    assert "softecm" in cuda_compile.cache_folder().parts


@pytest.mark.parametrize("path", sorted(SOURCES.glob("*.cu")), ids=lambda path: path.name)
def test_a_source_is_its_files_put_together(path):
    whole = cuda_compile.source(path.name)
    assert '#include "' not in whole  # the compiler gets one text and no folders
    assert whole.count(f"{path.stem}(") == 1  # the kernel itself
    if path.stem == "soft_dtw":
        expected = path.read_text(encoding="utf-8")
        for part in ("series.cuh", "shares.cuh", "soft_dtw_cells.cuh"):
            expected = expected.replace(f'#include "{part}"\n', (SOURCES / part).read_text(encoding="utf-8"))
        assert whole == expected
