# make demo   the main job on a bundled real log
# make test   everything that CI runs
# Both need nothing but python3 (3.11 or newer), make, git and the package registry.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev

.PHONY: demo test lint unit docs wheel test-long accept docs-accept schema clean

demo: $(STAMP)
	@$(BIN)/agenttrace demo

test: lint unit docs wheel

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "agenttrace needs Python 3.11 or newer; name one: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "this Python has no venv module; on Debian: apt-get install python3-venv"; exit 1; }

$(STAMP): pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV_STAMP): pyproject.toml | $(VENV)/bin/python
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP) $@

lint: $(DEV_STAMP)
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(DEV_STAMP)
	$(BIN)/python -m pytest -q -n auto --cov --cov-report=term:skip-covered

docs: $(DEV_STAMP)
	$(BIN)/python docs/generate.py --check
	$(BIN)/towncrier build --draft --version next > /dev/null

# A wheel without extras, in an environment of its own, must convert and validate.
wheel: $(DEV_STAMP)
	rm -rf build/wheel && mkdir -p build/wheel
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(PYTHON) -m venv build/wheel/env
	build/wheel/env/bin/python -m pip install --quiet --disable-pip-version-check build/wheel/*.whl
	cd build/wheel && env/bin/agenttrace demo --quiet -o trace.json && env/bin/agenttrace validate trace.json

test-long: $(DEV_STAMP)
	$(BIN)/python -m pytest -q -n auto --long
	$(BIN)/python benchmarks/convert.py

accept: $(DEV_STAMP)
	$(BIN)/python -m pytest -q --accept tests/readers
	@git diff --stat -- tests/formats

# Generated pages and the outputs shown in the docs, written anew; the diff is read.
docs-accept: $(DEV_STAMP)
	$(BIN)/python docs/generate.py
	$(BIN)/python -m pytest -q --accept tests/test_docs.py
	@git diff --stat -- README.md docs

schema: $(DEV_STAMP)
	$(BIN)/python -m agenttrace.schema
	$(BIN)/python docs/generate.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage
