"""No statement about derived records reads a whole bank: each finds its rows by an index."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from combray.model import Session, Status
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.store.derived import Claim, Closing
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

SMALL = {"last_claim", "space", "edition", "erasure"}
"""Tables of which a bank, or the file, has a handful of rows."""

KINDS = {"SELECT", "WITH", "UPDATE", "DELETE"}

CLEARED = {"record_gone"}
"""Tables of notes: they are cleared as often as they were written."""


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        store.create_bank(replace(new_bank("alpha", embedder="m:1"), methods=(METHOD,)))
        yield store


def live(store: SqliteStore) -> None:
    """Everything that a worker does, and a deletion."""
    rows = [Saying(text=f"turn {n}", vectors=vector_row(n)).row() for n in range(4)]
    receipt = store.put("alpha", Session(name="s1"), rows)
    docs = store.docs("alpha", receipt.ids)
    job = store.claim("w", now=NOON + timedelta(hours=1), lease_s=60, settled_before=NOON)
    held = Claim(job=job.number, worker="w")
    facts = [fact(text, *docs[:2], vector=half_floats(1)) for text in "AB"]
    derive(store, window(docs[:2], *facts), window(docs[2:3], "C"), embedder="m:1", claim=held)
    a, b, c = numbers(store, *"ABC")
    derive(store, cluster([a, b]), edges=[(a, b), (b, c)], staged=[a, b, c], queue=[("link", "")])
    (wanted,) = store.units("alpha", METHOD, "event", done=False)
    derive(store, replace(cluster(wanted.inputs, docs, "E"), key=wanted.key))
    derive(store, verdict([b, a], Closing(record=a, status=Status.MERGED, by=fact("B").id)))
    derive(store, verdict([c, a], c, key="again"), drop=[("verdict", "again")])
    derive(store, cluster([b, c], docs[3:], "F", least=1))
    store.record_changes("alpha", METHOD, since=1)
    store.record_details("alpha", METHOD, after=a)
    store.units("alpha", METHOD, "facts", subject="s1")
    store.units_reading("alpha", METHOD, "event", [a])
    store.unstaged("alpha", METHOD, "fact", limit=9)
    store.edges("alpha", METHOD, "similar", [a])
    store.sources("alpha", [a])
    store.records("alpha", [a])
    store.reply_put("alpha", "k", "v", docs)
    store.renew("alpha", job.number, "w", NOON + timedelta(hours=2))
    store.finish("alpha", job.number, "w", job.version)
    derive(store, drop=[("facts", window(docs[2:3]).key)])
    store.forget("alpha", Selection(turns=receipt.ids[:1]), NOON)


def test_no_statement_reads_a_whole_bank(store):
    said: list[str] = []
    with store._connections.reading() as connection:
        connection.set_trace_callback(said.append)
    live(store)
    with store._connections.reading() as connection:
        connection.set_trace_callback(None)
        statements = {text for text in said if text.split()[0] in KINDS}
        assert len(statements) > 50
        slow = {
            text: step
            for text in statements
            for *_, step in connection.execute(f"EXPLAIN QUERY PLAN {text}").fetchall()
            if reads_all(step)
        }
    assert slow == {}


def reads_all(step: str) -> bool:
    """Whether the step goes over all rows of a table, or over all of a bank."""
    found = re.match(r"(SCAN|SEARCH) (\w+)(.*)", step)
    if (
        found is None
        or found[2] in SMALL | CLEARED
        or "VIRTUAL TABLE" in step
        or "wanted" in found[2]
    ):
        return False
    return found[1] == "SCAN" or found[3].endswith("(bank=?)")
