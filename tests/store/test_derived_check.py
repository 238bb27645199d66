import sqlite3
from dataclasses import replace
from datetime import timedelta

import pytest

from combray.model import Session
from combray.store import SqliteStore
from combray.testing.derived_rows import (
    METHOD,
    cluster,
    derive,
    fact,
    half_floats,
    numbers,
    verdict,
    window,
)
from combray.testing.store_rows import NOON, Saying, new_bank, vector_row

DAMAGE = {
    "a record of no unit": "DELETE FROM source",
    "a lost unit": "DELETE FROM unit WHERE number = 1",
    "a unit that reads nothing": "DELETE FROM unit_turn",
    "a lost record": "DELETE FROM record WHERE number = (SELECT max(number) FROM record)",
    "an input of nothing": "UPDATE unit_record SET record = record + 99",
    "a turn of nothing": "UPDATE unit_turn SET doc = doc + 99",
    "a source that was not read": "UPDATE source SET doc = doc + 99",
    "an edge to nowhere": "UPDATE record_edge SET b = b + 99",
    "an edge from one side": "DELETE FROM record_edge WHERE a < b",
    "edges that disagree": "UPDATE record_edge SET weight = 2 WHERE a < b",
    "a record without its writer": "UPDATE record SET unit = 99",
    "a number that the bank does not know": "UPDATE bank SET last_record = 0",
    "a short vector": "UPDATE record_vector SET v = x'00'",
    "a vector of no record": "INSERT INTO record_vector SELECT max(id) + 99, v FROM record_vector",
    "a reply of no turn": "DELETE FROM reply_turn",
    "a closing of no record": "UPDATE closing SET record = record + 99",
    "a closing by no unit": "UPDATE closing SET unit = unit + 99",
    "a closing of what was not read": "DELETE FROM unit_record WHERE position = 1 AND unit = 3",
    "a record that is closed and holds": "UPDATE record SET status = 'current', retired_at = NULL",
    "a record that nothing closes": "DELETE FROM closing",
    "another status than that of the closing": "UPDATE closing SET status = 'retracted'",
    "a record closed at no time": "UPDATE record SET retired_at = NULL",
    "a record closed in no write": "UPDATE record SET closed_in = NULL",
    "a reply of a unit that is wanted": "UPDATE unit SET done = 0",
    "a note that a record is gone that is there": "INSERT INTO record_gone SELECT bank, method, 1, number FROM record",
    "a job of no session": "UPDATE job SET subject = 'none'",
}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "evidence.db"
    with SqliteStore(path) as store:
        store.create_bank(replace(new_bank("alpha", embedder="m:1"), methods=(METHOD,)))
        rows = [Saying(text=text, vectors=vector_row(1)).row() for text in ("Tea", "More?")]
        docs = store.docs("alpha", store.put("alpha", Session(name="s1"), rows).ids)
        facts = [fact(text, *docs, vector=half_floats(1)) for text in "AB"]
        derive(store, window(docs, *facts), embedder="m:1")
        a, b = numbers(store, "A", "B")
        derive(store, cluster([a, b]), edges=[(a, b)])
        derive(store, verdict([b, a], a))
        store.reply_put("alpha", "k", "v", docs)
        assert store.check()[0].severity == "ok"
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


def test_records_without_vectors_are_a_warning_with_a_remedy(path):
    change(path, "DELETE FROM record_vector")
    with SqliteStore(path) as store:
        (finding,) = store.check("alpha")
    assert (finding.severity, finding.n) == ("warning", 2)
    assert finding.remedy == "combray reindex alpha"


def test_a_failed_job_is_a_warning_with_a_remedy(path):
    with SqliteStore(path) as store:
        job = store.claim("w", now=NOON, lease_s=60)
        store.fail("alpha", job.number, "w", code="c", error="e", due_at=None)
        (finding,) = store.check()
    assert (finding.severity, finding.n) == ("warning", 1)
    assert finding.remedy == "combray jobs alpha --retry"


def test_a_lease_that_has_run_out_is_a_warning_to_those_who_know_the_time(path):
    with SqliteStore(path) as store:
        store.claim("w", now=NOON, lease_s=60)
        assert store.check(now=NOON + timedelta(seconds=59))[0].severity == "ok"
        assert store.check()[0].severity == "ok"
        (finding,) = store.check(now=NOON + timedelta(seconds=61))
    assert (finding.severity, finding.remedy) == ("warning", "combray work")
