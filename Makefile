# Quire without installing anything on the machine: everything goes into .venv beside this file.
# make demo    bundled real reads to variants, with a truth set
# make test    the whole test suite
# make lint    style of Python and Snakemake files
# make bench   the measurements of docs/benchmarks.md
# make clean   remove the environment and the demo's results
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Wheels only, so that no compiler is needed; connection_pool is pure Python and published as source alone.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --no-binary connection_pool

.PHONY: demo test lint bench clean

demo: $(VENV)/run.stamp
	@$(BIN)/snakemake --cores all --configfile config/demo.yaml
	@PYTHONPATH=workflow/scripts $(BIN)/python -c 'from quire.report import summary; summary.print_summary("results/demo/report/summary.json")'

test: $(VENV)/test.stamp
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint --configfile config/demo.yaml

bench: $(VENV)/test.stamp
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) results/demo

$(BIN)/python:
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 13); \
	sys.exit(None if ok else "Quire needs Python 3.11, 3.12 or 3.13 (immutables, which Snakemake needs, has no wheels for others); choose one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: requirements.txt | $(BIN)/python
	@echo "Installing the pinned packages of requirements.txt into $(VENV) (once)"
	$(PIP_INSTALL) -r requirements.txt
	@touch $@

$(VENV)/test.stamp: requirements-test.txt requirements.txt | $(BIN)/python
	@echo "Installing the pinned packages of requirements-test.txt into $(VENV) (once)"
	$(PIP_INSTALL) -r requirements-test.txt
	@touch $(VENV)/run.stamp $@
