"""Help texts: complete sentences, reviewed as diffs, and the reference page in step.

After a change: ``WRITE_GOLDEN=1 pytest tests/cli/test_help.py`` and
``python -m combray.cli.reference > docs/reference/cli.md``.
"""

import os
from importlib.metadata import version
from pathlib import Path

import pytest
import typer.main

from combray.cli.app import app
from combray.cli.reference import commands, reference

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "cli_help"
COMMANDS = dict(commands(typer.main.get_command(app)))
TYPER = (GOLDEN / "typer-version").read_text(encoding="utf-8").strip()


def shown(cli, name):
    done = cli(*name.split()[1:], "--help")
    assert done.code == 0
    return done.out


@pytest.mark.skipif(
    version("typer").split(".")[:2] != TYPER.split(".")[:2],
    reason=f"the golden help is laid out by typer {TYPER}",
)
@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_as_it_was_reviewed(cli, name, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = GOLDEN / f"{name.replace(' ', '-')}.txt"
    text = shown(cli, name)
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
        (GOLDEN / "typer-version").write_text(version("typer") + "\n", encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_described_in_a_sentence(cli, name):
    flowing = " ".join(shown(cli, name).split())
    for parameter in COMMANDS[name].params:
        text = parameter.help
        assert text
        assert text[0].isupper()
        assert text.endswith(".")
        assert " ".join(text.split()) in flowing


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_begins_with_a_sentence_that_fits_a_list(name):
    first = COMMANDS[name].help.split("\n\n")[0].strip()
    assert first.endswith(".")
    assert len(first) <= 76


def test_golden_files_are_those_of_the_commands():
    names = {f"{name.replace(' ', '-')}.txt" for name in COMMANDS}
    assert {path.name for path in GOLDEN.glob("*.txt")} == names


def test_the_reference_page_is_in_step():
    page = ROOT / "docs" / "reference" / "cli.md"
    assert page.read_text(encoding="utf-8") == reference()
