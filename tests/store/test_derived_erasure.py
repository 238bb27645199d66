"""What a model wrote after reading a forgotten turn is gone from the files, byte for byte."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from combray.model import Session
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.store.derived import Closing
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
from combray.testing.store_rows import NOON, Saying, new_bank

SECRET_VECTOR = half_floats(4711)
SECRET_TIME = datetime(1847, 11, 12, 13, 14, 15, 161718, tzinfo=UTC)
SECRETS = {
    "time": b"1847-11-12T13:14:15.161718Z",
    "fact": b"Quentinella collects quokkas",
    "detail": b"detail-of-quentin",
    "event": b"Quokkas of Quentinella",
    "vector": SECRET_VECTOR,
    "reply": b"reply-of-quentin",
    "error": b"error-of-quentin",
    "raw reply": b"raw-of-quentin",
    "subject": b"session-of-quentin",
    "link error": b"link-error-of-quentin",
}


def left_in(folder: Path) -> set[str]:
    raw = b"".join(path.read_bytes() for path in folder.iterdir())
    return {name for name, secret in SECRETS.items() if secret in raw}


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "evidence.db") as store:
        store.create_bank(replace(new_bank("alpha", embedder="m:1"), methods=(METHOD,)))
        for n in range(60):
            # Others before, between and after, so that pages are shared and split.
            (doc,) = put(store, f"plain {n}", session=f"s{n}")
            derive(
                store,
                window(
                    [doc],
                    *(fact(f"Fact {n}.{m} of many", doc, vector=half_floats(n)) for m in range(4)),
                ),
                embedder="m:1",
            )
            if n == 30:
                add_secrets(store)
        yield store


def put(store: SqliteStore, *texts: str, session: str) -> list[int]:
    rows = [Saying(text=text, session=session).row() for text in texts]
    return store.docs("alpha", store.put("alpha", Session(name=session), rows).ids)


def add_secrets(store: SqliteStore) -> None:
    first, second = put(store, "He collects", "them", session="session-of-quentin")
    row = fact("Quentinella collects quokkas " * 500, first, vector=SECRET_VECTOR)
    unit = window(
        [first, second],
        replace(row, detail={"x": "detail-of-quentin"}, valid_from=SECRET_TIME),
        subject="session-of-quentin",
    )
    receipt = derive(store, unit, embedder="m:1", queue=[("link", "")])
    (number,) = receipt.records.values()
    (other,) = numbers(store, "Fact 1.1 of many")
    event = cluster([number, other], [first], "Quokkas of Quentinella " * 10)
    derive(store, event, edges=[(number, other)])
    (told,) = numbers(store, "Fact 2.1 of many")
    closing = Closing(record=told, by=row.id, valid_to=SECRET_TIME)
    derive(store, verdict([told, number], closing, docs=[second]))
    store.reply_put("alpha", "key", "reply-of-quentin " * 900, [first, second])
    while job := store.claim("w", now=NOON + timedelta(days=1), lease_s=60):
        mine = {"": "link-", "session-of-quentin": ""}.get(job.subject)
        text = "plain" if mine is None else f"{mine}error-of-quentin"
        raw = "" if mine is None else "raw-of-quentin " * 800
        store.fail("alpha", job.number, "w", code="c", error=text, raw=raw, due_at=None)


def test_the_secrets_are_in_the_file_to_begin_with(store, tmp_path):
    assert left_in(tmp_path) == set(SECRETS)


def test_no_byte_of_what_was_made_of_a_forgotten_session_is_left(store, tmp_path):
    assert store.forget("alpha", Selection(session="session-of-quentin"), NOON).erased
    assert left_in(tmp_path) == set()
    assert {f.severity for f in store.check()} <= {"ok", "warning"}


def test_no_byte_of_what_was_made_of_a_forgotten_turn_is_left(store, tmp_path):
    ids = [turn.id for _, turn in store.scan("alpha", session="session-of-quentin")]
    assert store.forget("alpha", Selection(turns=ids[:1]), NOON).erased
    assert left_in(tmp_path) == {"subject"}


def test_no_byte_of_a_dropped_method_is_left_after_the_next_erasure(store, tmp_path):
    store.rebuild("alpha", METHOD, NOON)
    store.forget("alpha", Selection(session="s1"), NOON)
    assert left_in(tmp_path) == {"subject", "reply"}


def test_no_byte_of_a_forgotten_bank_is_left(store, tmp_path):
    assert store.forget("alpha", Selection(whole_bank=True), NOON).erased
    assert left_in(tmp_path) == set()
    assert store.check()[0].severity == "ok"
