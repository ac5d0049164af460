# `make demo` and `make test` need python3 (3.11 or newer, with venv) and nothing else.
VENV ?= .venv
BIN := $(VENV)/bin
# The first Python on the PATH that is new enough and really runs: a pyenv shim may exist and fail.
PROBE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	"$$p" -c '$(PROBE)' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
PLUGINS := $(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml))
PLUGIN_TESTS := $(wildcard plugins/*/tests)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# An installer that was interrupted must not look finished.
.DELETE_ON_ERROR:

.PHONY: help install demo test test-fast check format bench clean

help:
	@echo "make demo       run pipelines/digits.yaml: gradients over 4 simulated devices"
	@echo "make test       run all tests"
	@echo "make test-fast  run the tests that are not marked slow"
	@echo "make check      formatter, linter, types, import contracts"
	@echo "make bench      measure against hand-written JAX, equinox, flax and Hydra"
	@echo "make format     format the code"
	@echo "make clean      remove $(VENV) and all caches"

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt $(PLUGINS:%=%/pyproject.toml)
	$(if $(PYTHON),,$(error no Python 3.11 or newer with venv found; \
		install one (Debian: python3-venv) or say make PYTHON=/path/to/python3))
	@echo "installing into $(VENV) with $(PYTHON), once; this takes a minute or two"
	@"$(PYTHON)" -m venv $(VENV)
	@$(PIP) -e ".[dev,examples,train]" $(PLUGINS:%=-e ./%)
	@touch $@

$(VENV)/.bench: $(VENV)/.installed
	@$(PIP) -e ".[bench]"
	@touch $@

demo: install
	$(BIN)/composer run pipelines/digits.yaml

test: install
	$(BIN)/python -m pytest tests $(PLUGIN_TESTS)

test-fast: install
	$(BIN)/python -m pytest -m "not slow" tests $(PLUGIN_TESTS)

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench
	$(BIN)/python tests/bench/run.py

clean:
	rm -rf $(VENV) build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -path './.venv*' -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf
