# Two commands do all the set-up on a fresh machine with Python 3.11 or later:
#   make demo   install the package and open the main job on real data
#   make test   install everything the tests use and run them

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
EXTRAS = arrow,dask,experiments,mlflow,notebook,tensorboard,torch
CONSTRAINTS = -c constraints.txt

.PHONY: demo test check lint types script-types install install-spark docs gallery benchmarks clean

demo: $(VENV)/demo.stamp
	$(BIN)/deconfuse demo

test: install
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# The tests that need no browser, cluster or simulation: for the minute between two edits.
check: install
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 -m "not slow and not browser and not spark and not dask" \
		tests/test_*.py tests/scaling tests/properties tests/packaging/test_imports.py

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install
	$(BIN)/mypy

# The page's scripts have their types in comments; nothing is built from them.
script-types:
	npx --yes --package typescript@5.9 tsc --project tests/reporting/logic/tsconfig.json

install: $(VENV)/test.stamp

install-spark: install
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) -e ".[spark]"

# Needs the package and the documentation's tools alone, neither torch nor the other extras.
docs: $(VENV)/demo.stamp
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) --group docs
	$(BIN)/python -m mkdocs build --strict --quiet

gallery: install
	$(BIN)/python docs/gallery/run.py

benchmarks: install
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) --group bench
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/demo.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) -e .
	touch $@

$(VENV)/test.stamp: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet $(CONSTRAINTS) -e ".[$(EXTRAS)]" \
		--group test --group lint --group docs
	touch $@ $(VENV)/demo.stamp
