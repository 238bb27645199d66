"""Rows that do not hold what was stored: every call says so, none crashes."""

import sqlite3

import pytest

from combray import Memory
from combray.errors import CombrayError, NotOurFile

DAMAGE = {
    "a time": "UPDATE turn SET said_at = 'yesterday'",
    "a short time": "UPDATE turn SET said_at = '' WHERE position = 0",
    "a role": "UPDATE turn SET role = 'queen'",
    "metadata": "UPDATE turn SET metadata = '{'",
    "metadata of another shape": "UPDATE turn SET metadata = '5'",
    "tags": "UPDATE turn SET tags = '{'",
    "an analysis": "UPDATE analysis SET terms = '[1]'",
    "a session": "UPDATE turn SET session = 9",
    "a session's metadata": "UPDATE session SET metadata = '[1]'",
    "a session's start": "UPDATE session SET first_at = 'x'",
    "methods": "UPDATE bank SET methods = '{'",
    "a dimension": "UPDATE bank SET dimension = 99999999999",
    "a negative dimension": "UPDATE bank SET dimension = -1",
    "bytes that are no text": "UPDATE turn SET text = cast(x'ff' AS TEXT)",
}

CALLS = {
    "turns": lambda bank: list(bank.turns()),
    "sessions": lambda bank: bank.sessions(),
    "recall": lambda bank: bank.recall("tea", abstain=False),
    "remember": lambda bank: bank.remember("More tea.", session="s"),
    "export": lambda bank: list(bank.export()),
    "reindex": lambda bank: bank.reindex(analyser="plain"),
    "forget": lambda bank: bank.forget(session="s"),
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "evidence.db"
    with Memory.open(path, embedder="none") as memory:
        said = [{"text": "I like tea.", "tags": ["x"], "metadata": {"n": 1}}, "And cake."]
        memory.create_bank("mira").remember(said, session="s")
    return path


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_rows_give_typed_errors_and_findings(path, damage):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(DAMAGE[damage])
    connection.close()
    refused = []
    with Memory.open(path, embedder="none") as memory:
        findings = memory.check()
        for name, call in CALLS.items():
            try:
                call(memory.bank("mira"))
            except CombrayError as error:
                refused.append((name, error))
    assert any(finding.severity == "error" for finding in findings)
    assert refused


def test_the_error_says_that_the_database_is_damaged(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(DAMAGE["metadata"])
    connection.close()
    with Memory.open(path, embedder="none") as memory, pytest.raises(NotOurFile, match="damaged"):
        list(memory.bank("mira").turns())
