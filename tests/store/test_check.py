import sqlite3

import pytest

from combray import Memory
from combray.model import Session
from combray.store import SqliteStore
from combray.testing.store_rows import Saying, new_bank, vector_row

DAMAGE = {
    "counters": "UPDATE bank SET n_turns = n_turns + 1",
    "counters of sessions": "UPDATE session SET n_terms = n_terms + 1",
    "a lost analysis": "DELETE FROM analysis WHERE doc = (SELECT max(doc) FROM turn)",
    "a wrong length": "UPDATE turn SET n_terms = n_terms + 1",
    "a wrong question": "UPDATE turn SET question = 1 - question",
    "a lost posting": "DELETE FROM posting WHERE term = 'tea'",
    "a wrong count": "UPDATE posting SET tf = tf + 1 WHERE term = 'tea'",
    "a posting too many": "INSERT INTO posting SELECT bank, edition, kind, 'x', doc, session, 1, len "
    "FROM posting LIMIT 1",
    "a posting of no turn": "INSERT INTO posting SELECT bank, edition, kind, term, doc + 99, session, "
    "1, len FROM posting LIMIT 1",
    "a lost turn": "DELETE FROM turn WHERE doc = (SELECT max(doc) FROM turn)",
    "a lost tag": "DELETE FROM turn_tag",
    "a tag too many": "INSERT INTO turn_tag SELECT bank, 'y', doc FROM turn_tag",
    "a short vector": "UPDATE vector SET v = x'00'",
    "odd tokens": "UPDATE vector_tokens SET bits = x'00'",
    "lost tokens": "DELETE FROM vector_tokens",
    "tokens without a vector": "DELETE FROM vector WHERE id = (SELECT max(id) FROM vector)",
    "a vector of no turn": "INSERT INTO vector SELECT max(id) + 99, v FROM vector",
    "a changed text": "UPDATE turn SET text = 'Coffee'",
    "a changed speaker": "UPDATE turn SET speaker = 'Bob'",
    "a changed id": "UPDATE turn SET id = 't1:' || doc",
    "a turn's time that is none": "UPDATE turn SET said_at = 'yesterday' WHERE doc = (SELECT max(doc) FROM turn)",
    "metadata that are no JSON": "UPDATE turn SET metadata = '{'",
    "tags that are no list": "UPDATE turn SET tags = '5'",
    "a role that is none": "UPDATE turn SET role = 'queen'",
    "an analysis that is no JSON": "UPDATE analysis SET terms = '{'",
    "an analysis of another shape": "UPDATE analysis SET terms = '[1]'",
    "a session's metadata that are no object": "UPDATE session SET metadata = '5'",
    "methods that are no JSON": "UPDATE bank SET methods = '{'",
    "a zone that is none": "UPDATE bank SET zone = 'Europe/Combray'",
    "a zone that is no text": "UPDATE bank SET zone = CAST(x'ff' AS TEXT)",
    "another analyser": "UPDATE bank SET analyser = 'heavy:9'",
    "an analyser that is no text": "UPDATE bank SET analyser = CAST(x'ff' AS TEXT)",
    "an edition of another analyser": "UPDATE edition SET analyser = 'heavy:9'",
    "an edition that is not there": "UPDATE bank SET edition = 9",
    "a session of no bank": "UPDATE session SET bank = 7",
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "evidence.db"
    with SqliteStore(path) as store:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        rows = [
            Saying(text=text, tags=["x"], vectors=vector_row(1)).row() for text in ("Tea", "More?")
        ]
        store.put("alpha", Session(name="s1"), rows)
    return path


def change(path, statement: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_found(path, statement):
    change(path, statement)
    with SqliteStore(path) as store:
        findings = store.check()
    assert "error" in [finding.severity for finding in findings]
    assert all(finding.n > 0 for finding in findings)


@pytest.mark.parametrize(
    ("statement", "says", "remedy"),
    [
        ("UPDATE bank SET zone = 'Europe/Combray'", "'Europe/Combray'", "put back a copy"),
        (
            "UPDATE bank SET analyser = 'heavy:9'",
            "'heavy:9'",
            "put back a copy, or combray reindex alpha --analyser NAME",
        ),
    ],
)
def test_a_damaged_setting_of_a_bank_is_named_with_what_to_do(path, statement, says, remedy):
    change(path, statement)
    with SqliteStore(path) as store:
        (finding,) = store.check("alpha")
    assert (finding.severity, finding.remedy) == ("error", remedy)
    assert says in finding.what


def test_reindexing_mends_an_analyser_that_is_none(tmp_path):
    path = tmp_path / "evidence.db"
    with Memory.open(path, embedder="none") as memory:
        memory.create_bank("alpha").remember("The heron came back.")
    change(path, "UPDATE bank SET analyser = 'heavy:9'")
    with Memory.open(path, embedder="none") as memory:
        assert memory.store.check("alpha")[0].severity == "error"
        memory.bank("alpha").reindex(analyser="light")
        assert memory.store.check("alpha")[0].severity == "ok"
        assert memory.bank("alpha").recall("heron", abstain=False).hits


def test_missing_vectors_are_a_warning_with_a_remedy(path):
    change(path, "DELETE FROM vector")
    change(path, "DELETE FROM vector_tokens")
    with SqliteStore(path) as store:
        (finding,) = store.check("alpha")
    assert (finding.severity, finding.n) == ("warning", 2)
    assert finding.remedy == "combray reindex alpha"


def test_a_damaged_page_is_found_not_raised(path):
    connection = sqlite3.connect(path)
    (root,) = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'posting'"
    ).fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    with SqliteStore(path) as store:
        findings = store.check()
    assert findings[0].severity == "error"
    assert "damaged" in findings[0].what


def test_another_banks_damage_is_not_this_banks(path):
    with SqliteStore(path) as store:
        store.create_bank(new_bank("beta"))
    change(path, "UPDATE turn SET text = 'Coffee'")
    with SqliteStore(path) as store:
        assert [finding.severity for finding in store.check("beta")] == ["ok"]
