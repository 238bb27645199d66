"""What the pages say can be done: commands that run, samples that import, a reference in step."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from combray import Memory
from combray.importers import detect, read

ROOT = Path(__file__).parents[2]
COMMANDS = re.compile(r"<!-- commands -->\n```sh\n(.*?)```\n<!-- /commands -->", re.DOTALL)
SAMPLE = re.compile(r"<!-- sample (\S+) -->\n```json\n(.*?)```", re.DOTALL)
IMPORTING = (ROOT / "docs" / "importing.md").read_text("utf-8")
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BLOCKS = [(page, block) for page in PAGES for block in COMMANDS.findall(page.read_text("utf-8"))]

spec = importlib.util.spec_from_file_location("api", ROOT / "tools" / "api_reference.py")
api_reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(api_reference)


def test_there_is_a_block_of_commands():
    assert BLOCKS


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=lambda value: getattr(value, "name", ""))
def test_the_commands_of_a_page_run_as_they_are_printed(page, block, tmp_path):
    own = {name: value for name, value in os.environ.items() if not name.startswith("COMBRAY_")}
    (tmp_path / "combray").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m combray.cli "$@"\n')
    (tmp_path / "combray").chmod(0o755)
    done = subprocess.run(
        ["sh", "-eu"],
        input=block,
        cwd=tmp_path,
        env={
            **own,
            "PATH": f"{tmp_path}{os.pathsep}{own['PATH']}",
            "COMBRAY_DB": str(tmp_path / "memory.db"),
            "COMBRAY_EMBEDDER": "hash",
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr


@pytest.mark.parametrize(
    ("name", "sample"), SAMPLE.findall(IMPORTING), ids=lambda value: value[:12]
)
def test_a_sample_of_the_importing_page_can_be_imported(name, sample, tmp_path):
    path = tmp_path / name
    path.write_text(sample, "utf-8")
    kinds = {"openai": "openai", "export": "combray", "locomo": "locomo"}
    assert detect(path) == kinds[path.stem]
    turns = [turn for one in read(path) for turn in one.turns]
    assert turns[0].text == "The kite flew."
    with Memory.open(":memory:", embedder="none") as memory:
        bank = memory.create_bank("b")
        for one in read(path):
            bank.remember(one.turns, session=one.session)
        assert bank.bank.n_turns == len(turns)


def test_all_formats_have_a_sample():
    assert len(SAMPLE.findall(IMPORTING)) == 3


def test_the_python_reference_is_in_step():
    made = api_reference.page()
    assert api_reference.PAGE.read_text("utf-8") == made, "run `python tools/api_reference.py`"


def test_every_link_between_pages_leads_somewhere():
    for page in [*PAGES, ROOT / "README.md"]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
