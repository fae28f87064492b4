# Everything below needs Python 3.11 or newer with pip, git and make; the rest is installed in .venv.
# PYTHON chooses the interpreter: make test PYTHON=/opt/python3.13/bin/python3

VENV   := .venv
BIN    := $(VENV)/bin
PYTEST := $(BIN)/pytest -n 2
DEMO   := build/demo/traces
PEAK   := $(BIN)/python benchmarks/peak_memory.py --dir build/bench
RUNS   ?= 100000

# The first that runs, is new enough and can make an environment: a shim on the PATH may do neither.
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3.14 python3.13 python3.12 python3.11 python3; do \
	$$python -c '$(USABLE)' >/dev/null 2>&1 && echo $$python && break; done)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-long fuzz check format bench bench-full notebooks schemas clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | awk -F'|' '{printf "make %-11s %s\n", $$1, $$2}'

demo: $(VENV)/.installed ## grade a small generated corpus
	rm -rf $(DEMO)
	$(BIN)/python benchmarks/corpus.py demo $(DEMO)
	$(BIN)/tracestream grade --dir $(DEMO)

test: $(VENV)/.installed-dev ## run the tests and the docstrings' examples
	$(PYTEST) --doctest-modules tests tracestream

test-long: $(VENV)/.installed-dev ## run the fuzzing and soak tests too long for every day
	$(PYTEST) -m long

fuzz: $(VENV)/.installed-fuzz ## hold mutated traces against the laws of reading: make fuzz RUNS=1000000
	$(BIN)/python -m tests.damage.fuzz --runs $(RUNS)

check: $(VENV)/.installed-dev ## format, lint, types, then test: what must be green to commit
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(MAKE) test

format: $(VENV)/.installed-dev ## format the code, and mend what lint can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

bench: $(VENV)/.installed ## speed and peak memory over 256 MB of growing conversations
	$(PEAK) --shape growing --size 256MB --json build/bench/growing-256MB.json

bench-full: $(VENV)/.installed ## the same over 1 GB: many files, a one-line array, gzip
	$(PEAK) --shape growing --size 1GB --json build/bench/growing-1GB.json
	$(PEAK) --shape array --size 1GB --json build/bench/array-1GB.json
	$(PEAK) --shape gz --size 1GB --json build/bench/gz-1GB.json

notebooks: $(VENV)/.installed-dev ## run the notebooks and store what they print
	$(BIN)/python tests/test_notebook.py

schemas: $(VENV)/.installed ## write schemas/ anew from the code
	$(BIN)/python -m tracestream.schema --write schemas/
	cp tracestream/evalport/schemas/*.json schemas/evalport/

clean: ## remove what was built and cached; .venv stays
	rm -rf build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +

# Stamps: installed again only when pyproject.toml changes, or when the environment's interpreter
# is gone (make has looked at the stamps before it makes a new one). dev contains the plain one.
$(shell test -x $(BIN)/python || rm -f $(VENV)/.installed $(VENV)/.installed-dev $(VENV)/.installed-fuzz)

$(VENV)/.installed: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.installed $@

$(VENV)/.installed-fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	@touch $@

$(BIN)/python:
	@python='$(PYTHON)'; \
	if [ -z "$$python" ]; then \
		echo "make: no Python 3.11 or newer with venv and pip was found." >&2; \
		echo "Hint: install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; fi; \
	if ! "$$python" -c '$(USABLE)' 2>/dev/null; then \
		echo "make: $$python is no Python 3.11 or newer with venv and pip: $$("$$python" -VV 2>&1 | head -1)" >&2; \
		echo "Hint: name another: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; exit 1; fi; \
	rm -rf $(VENV); "$$python" -m venv $(VENV)
