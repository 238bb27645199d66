.PHONY: help demo check test docs bench fix
PYTHON ?= python3
BIN := .venv/bin

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/'

.venv/base: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/dev: .venv/base
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

demo: .venv/base  ## install into .venv, remember a small conversation, ask it questions
	$(BIN)/combray demo

check: .venv/dev  ## lint, format and types
	$(BIN)/ruff check src tests benchmarks docs_src
	$(BIN)/ruff format --check src tests benchmarks docs_src
	$(BIN)/mypy

test: check  ## install the development extras and run everything
	$(BIN)/combray models fetch
	$(BIN)/pytest -n 2

docs: .venv/dev  ## rebuild the generated parts of the README and the docs
	$(BIN)/python benchmarks/readme_table.py

bench: .venv/dev  ## measure on the benchmark data (COMBRAY_DATA, or ../shared/data)
	$(BIN)/combray bench locomo --save benchmarks/results
	$(BIN)/combray bench realmem --save benchmarks/results
	$(BIN)/combray bench longmemeval-pool --save benchmarks/results
	$(BIN)/combray bench speed --save benchmarks/results

fix: .venv/dev  ## format and mend what the linter can
	$(BIN)/ruff check --fix src tests benchmarks docs_src
	$(BIN)/ruff format src tests benchmarks docs_src
