# Quire without installing anything on the machine: everything goes into .venv beside this file.
# make install  the environment alone
# make demo    bundled real reads to variants, with a truth set; uses the machine's NVIDIA card if there is one
# make card    install what the machine's NVIDIA card needs; nothing without a card
# make test    the quick tests, three to six minutes on two cores
# make test-all  the whole test suite, 20 to 40 minutes on two cores
# make page-tools  MultiQC and axe-core into .page-tools, for the tests of pages; Chromium and pdftotext are the system's
# make cohort-tools pixy  bio2zarr, sgkit and pixy into .cohort-tools, for the tests that let them read Quire's VCF
# make page-check  the tests of pages alone: in a browser, on paper, for axe-core, and in MultiQC
# make lint    style and types of the Python files, style of the Snakemake files
# make bench   run the measurements of docs/benchmarks.md
# make check CONFIG=my.yaml  check a configuration and its sheets, without a run
# make why AT=chr20:10001298 [CONFIG=config/demo.yaml]  explain a call, or its absence, in a finished run (config/README.md)
# make wheel   dist/quire-*.whl with compiled kernels for two levels of x86-64, 10 minutes on two cores
# make clean   remove the environment and the demo's results
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Wheels only, so that no compiler is needed; connection_pool is pure Python and published as source only.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: --no-binary connection_pool

.PHONY: install demo card test test-all lint bench clean

install: $(VENV)/run.stamp $(BIN)/quire

# The command of this clone; `pip install .` makes one of its own.
$(BIN)/quire: | $(BIN)/python
	@printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s" -m quire "$$@"\n' '$(CURDIR)/workflow/scripts' '$(CURDIR)/$(BIN)/python' > $@
	@chmod +x $@

demo: install card
	@$(BIN)/snakemake --cores all --configfile config/demo.yaml

# Without a card nothing is downloaded. If a download fails, runs use the CPU.
card: install
	@file=$$(PYTHONPATH=workflow/scripts $(BIN)/python -m quire.device.driver_card); \
	if [ -n "$$file" ]; then \
		$(MAKE) --silent --no-print-directory $(VENV)/$$file.stamp || echo "The packages of $$file are missing; going on without the card"; \
	fi

# A worker takes one file at a time: its kernels and fixtures are made once. With ONCE=FILE, `make test-all` leaves out
# what passed in `make test` (see tests/conftest.py).
PYTEST := $(BIN)/python -m pytest --dist loadfile $(if $(ONCE),--once=$(ONCE))

# Tests start thousands of processes, each of which would compile the modules that it imports.
test test-all: export PYTHONDONTWRITEBYTECODE :=

# Several workers, or a worker and a run of the workflow, would compile the same functions at the same time.
KERNELS := PYTHONPATH=workflow/scripts $(BIN)/python -m tests.compile_kernels

test: $(VENV)/test.stamp
	$(KERNELS)
	$(PYTEST) -n 2 -m "not full" --hypothesis-profile quick

# Workers wait a fifth of their time here, for Slurm and for processes that start: one more than CI has processors.
test-all: $(VENV)/test.stamp
	$(KERNELS)
	$(PYTEST) -n 3

# MultiQC is not a dependency of Quire. It has its own environment, since it needs other packages.
PAGE_TOOLS := .page-tools
.PHONY: page-tools page-check
page-tools: $(PAGE_TOOLS)/stamp

$(PAGE_TOOLS)/stamp: requirements-page-tools.txt
	$(PYTHON) -m venv $(PAGE_TOOLS)/multiqc
	$(PAGE_TOOLS)/multiqc/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	npm install --loglevel=error --no-audit --no-fund --prefix $(PAGE_TOOLS) axe-core@4.14.1
	@touch $@

# Readers of Quire's VCF, whose packages differ from Quire's too. pixy is in no registry of pip.
COHORT_TOOLS := .cohort-tools
PIXY ?= git+https://github.com/ksamuk/pixy@2.2.1
.PHONY: cohort-tools pixy
cohort-tools: $(COHORT_TOOLS)/stamp
pixy: $(COHORT_TOOLS)/pixy.stamp

$(COHORT_TOOLS)/stamp: requirements-cohort-tools.txt
	$(PYTHON) -m venv $(COHORT_TOOLS)
	$(COHORT_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check --only-binary=:all: -r $<
	@touch $@

$(COHORT_TOOLS)/pixy.stamp: $(COHORT_TOOLS)/stamp
	$(COHORT_TOOLS)/bin/python -m pip install --quiet --disable-pip-version-check '$(PIXY)'
	@touch $@

page-check: $(VENV)/test.stamp page-tools
	$(BIN)/python -m pytest -n 0 tests/workflow/test_pages.py

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/vulture
	$(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint --configfile config/demo.yaml

bench: $(VENV)/test.stamp
	$(BIN)/python -m bench

# The kernels of the wheel are for the Python of .venv and the Numba of requirements.txt; others compile their own.
.PHONY: wheel
wheel: $(VENV)/test.stamp
	rm -rf workflow/kernels
	for level in x86-64-v3 x86-64-v4; do PYTHONPATH=workflow/scripts $(BIN)/python -m quire.kernels $$level || exit; done
	$(BIN)/python -m hatchling build -t wheel -d dist

CONFIG ?= config/config.yaml
.PHONY: check
check: install
	@$(BIN)/quire check --configfile '$(CONFIG)'

.PHONY: why
why: install
	@$(BIN)/quire why --at '$(AT)' --configfile '$(CONFIG)'

clean:
	rm -rf $(VENV) $(PAGE_TOOLS) $(COHORT_TOOLS) results/demo

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

# Two CuPy packages in one environment would overwrite each other.
$(VENV)/requirements-gpu%.stamp: requirements-gpu% $(VENV)/run.stamp
	@echo "Installing the pinned packages of $< for the machine's card into $(VENV) (once)"
	@$(BIN)/python -m pip uninstall --quiet --yes --disable-pip-version-check cupy-cuda12x cupy-cuda13x 2>/dev/null
	@rm -f $(VENV)/requirements-gpu*.stamp
	$(PIP_INSTALL) -r $<
	@touch $@
