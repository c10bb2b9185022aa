# weft: everything a newcomer needs is here. `make help` lists the targets.
#
# Needs python3 (>= 3.11) with pip, make and git. uv is installed with pip into .tools/, the project into .venv/;
# nothing outside the checkout is changed, except that `make test` run as root installs what tests need with apt.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
UV_VERSION := 0.13.7
UV := .tools/bin/uv
BIN := .venv/bin
WORKERS ?= 2
PYTEST_ARGS ?=

# Use the Python that is here, this checkout's environment and no other.
export UV_PYTHON_DOWNLOADS := never
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

.PHONY: help setup demo test check fix lint bench soak corpus clean provision lock viewer

help: ## list the targets
	@grep -hE '^[a-z]+:.*?## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F '\t' '{printf "  make %-9s %s\n", $$1, $$2}'

$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "weft needs Python 3.11 or newer; try: make PYTHON=python3.12 ...")'
	@echo "installing uv $(UV_VERSION) into .tools/"
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --target .tools "uv==$(UV_VERSION)"

# Two stamps: what the product needs, and what its developers need on top.
.venv/.core: pyproject.toml uv.lock | $(UV)
	@echo "installing weft into .venv/"
	@$(UV) sync --quiet --frozen --inexact --no-default-groups --extra mcp --extra prices --extra view --python "$$(command -v $(PYTHON))"
	@touch $@

.venv/.dev: pyproject.toml uv.lock | $(UV)
	@echo "installing weft and its development tools into .venv/"
	@$(UV) sync --quiet --frozen --all-extras --python "$$(command -v $(PYTHON))"
	@touch $@ .venv/.core

# The viewer's page, built by Vite into the package; wheels carry it, a checkout makes it.
VIEWER := src/weft/web/static/index.html
$(VIEWER): $(shell find viewer -type f -not -path '*/node_modules/*' -not -path '*/test*/*' 2>/dev/null) | $(UV)
	@tools/build_viewer.sh

viewer: $(VIEWER) ## build the viewer's page

setup: .venv/.dev ## install everything for development into .venv

demo: .venv/.core $(VIEWER) ## show what weft does (no key, no network service, no root)
	@if [ -t 0 ] && [ -t 1 ]; then exec $(BIN)/weft demo; else exec $(BIN)/weft demo --once; fi

provision:
	@tools/provision.sh

# pytest's own summary is the last line of the output; the coverage table comes before it. Tracing takes half as long again
# as the tests themselves, so coverage is counted where it decides something: in CI and in `make check`.
COVERAGE := $(if $(WEFT_TEST_REQUIRE)$(COVER),-p tools.coverage_by_room --cov --cov-report=,--no-cov)

test: .venv/.dev provision $(VIEWER) ## run all tests (COVER=1: with coverage by room)
	@$(BIN)/python -m pytest -n $(WORKERS) $(COVERAGE) $(PYTEST_ARGS)

lint: .venv/.dev ## check format, lint, types and the order of rooms
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

check: lint ## everything a reviewer would run: lint, then test with coverage by room
	@$(MAKE) test COVER=1

fix: .venv/.dev ## repair format and lint, regenerate generated pages
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/python -m tools.cli_reference
	$(BIN)/python -m tools.dialect_reference
	$(BIN)/python -m tools.formats_reference
	$(BIN)/python -m tools.provider_reference
	$(BIN)/python -m tools.viewer_types

bench: .venv/.dev ## run every benchmark against its peer
	@$(BIN)/python -m benchmarks $(BENCH_ARGS)

soak: .venv/.dev provision $(VIEWER) ## run the long tests
	@$(BIN)/python -m pytest -m soak --timeout=3600 $(PYTEST_ARGS) || [ $$? -eq 5 ]

corpus: .venv/.dev ## run the laws over the recorded exchanges (WEFT_CORPUS)
	@$(BIN)/python -m tools.corpus_report --workers $(WORKERS)

lock: $(UV)
	$(UV) lock

clean: ## remove everything that was installed or built here
	rm -rf .venv .tools .mcp-servers viewer/node_modules src/weft/web/static build dist .coverage .coverage.* htmlcov benchmarks/.peers benchmarks/.results
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
