.PHONY: help demo check test docs bench fix
PYTHON ?= python3
BIN := .venv/bin
RESULTS := benchmarks/results

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
	$(BIN)/ruff check src tests benchmarks docs_src tools
	$(BIN)/ruff format --check src tests benchmarks docs_src tools
	$(BIN)/mypy

test: check  ## install the development extras and run everything
	$(BIN)/combray models fetch
	$(BIN)/pytest -n 2

docs: .venv/dev  ## rebuild the generated parts of the README and the docs
	$(BIN)/python tools/examples.py
	$(BIN)/python -m combray.cli.reference > docs/reference/cli.md
	$(BIN)/python tools/api_reference.py
	$(BIN)/python benchmarks/readme_table.py
	$(BIN)/python benchmarks/anchor_table.py
	$(BIN)/python benchmarks/atom_table.py

bench: .venv/dev  ## measure on the benchmark data (COMBRAY_DATA, or ../shared/data)
	$(BIN)/combray bench locomo --method fused --method edge --method dense --method late --save $(RESULTS)
	$(BIN)/combray bench realmem --save $(RESULTS)
	$(BIN)/combray bench longmemeval-pool --save $(RESULTS)
	$(BIN)/combray bench speed --save $(RESULTS)
	$(BIN)/python benchmarks/edge_ladder.py --save $(RESULTS)
	$(BIN)/python benchmarks/anchor_clusters.py --save $(RESULTS)
	$(BIN)/python benchmarks/anchor_incremental.py --save $(RESULTS)
	$(BIN)/python benchmarks/anchor_released.py --save $(RESULTS)

fix: .venv/dev  ## format and mend what the linter can
	$(BIN)/ruff check --fix src tests benchmarks docs_src tools
	$(BIN)/ruff format src tests benchmarks docs_src tools
