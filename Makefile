PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo reproduce test test-deep lint bench docs packages clean

# One environment for every command: made on first use, remade when the requirements or the kernels' C sources change.
$(STAMP): pyproject.toml paper/pyproject.toml constraints.txt $(wildcard src/softecm/native/*.[ch])
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]" -e ./paper
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/softecm demo

# The paper's tables and figures; what the other methods of its table need (the extra `paper`) is left out.
reproduce: $(STAMP)
	$(BIN)/softecm reproduce $(or $(NAME),all)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two processes, a file of tests each at a time; plain `pytest` runs them one after the other.
test: lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

# Thousands of random and hostile cases more, every access of compiled code to memory checked.
test-deep: lint
	LD_PRELOAD=$$($(BIN)/python tools/build_native.py --sanitize) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	SOFTECM_DEEP=1 SOFTECM_BOUNDS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

bench: $(STAMP)
	$(BIN)/python benchmarks/vectors.py

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_site
	$(BIN)/python docs/check_links.py docs/_site

packages: $(STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/python tools/check_packages.py dist

clean:
	rm -rf $(VENV) dist build out docs/_site
