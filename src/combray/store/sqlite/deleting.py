"""Deleting turns, sessions and banks from every table, and their bytes from the file.

SQLite's `secure_delete` overwrites what is deleted, but in its log first: the old bytes are gone when the log
has been moved into the file and emptied. A reader that still holds an older view keeps that from happening; the
table ``erasure`` remembers it, over a crash and a restart too.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from combray.errors import InvalidInput, NotFound
from combray.model.time import to_stored
from combray.store.base import ForgetReceipt, Selection
from combray.store.rows import LAST, SHIFT, tags_of, terms_of
from combray.store.sqlite import dropping, jobs
from combray.store.sqlite.banks import BankKey, Change, record

Removed = Counter[str]
"""Number of removed rows by table."""

_DERIVED = (
    "job",
    "reply_turn",
    "reply",
    "call",
    "source",
    "closing",
    "record_gone",
    "unit_record",
    "unit_turn",
    "unit",
    "record_edge",
    "record",
)


def forget(
    connection: sqlite3.Connection, bank: BankKey, selection: Selection, at: datetime
) -> ForgetReceipt:
    """Delete what is selected, in the open transaction; the bytes are still to be erased.

    Raises:
        NotFound: the session or one of the turns does not exist.
        InvalidInput: the selection names nothing, or more than one thing.
    """
    if isinstance(selection.turns, str):
        raise InvalidInput("turns must be a sequence of ids, not one text.")
    if bool(selection.turns) + (selection.session is not None) + selection.whole_bank != 1:
        raise InvalidInput("select turns, or a session, or the whole bank: exactly one of them.")
    if selection.whole_bank:
        ids, removed = _whole_bank(connection, bank)
    else:
        docs = _docs(connection, bank, selection)
        sessions = _sessions_of(connection, docs)
        derived = dropping.forget(connection, bank, docs, at)
        ids, removed = _turns(connection, bank, docs)
        removed += derived
        removed["job"] += jobs.after_forgetting(connection, bank, sessions, at)
    connection.execute("INSERT INTO erasure (at) VALUES (?)", (to_stored(at),))
    return ForgetReceipt(
        bank=bank.name,
        turns=tuple(ids),
        rows=dict(+removed),
        ids_sha256=hashlib.sha256("\n".join(ids).encode()).hexdigest(),
        at=at,
        erased=False,
    )


def pending(connection: sqlite3.Connection) -> int | None:
    """Number of the last deletion whose bytes may still be in the file, or None."""
    row = connection.execute("SELECT max(number) FROM erasure").fetchone()
    return None if row[0] is None else int(row[0])


def drop_analysis(
    connection: sqlite3.Connection, bank: BankKey, edition: int, docs: Iterable[int]
) -> int:
    """Delete analysis and postings of the documents in an edition; returns how many postings."""
    rows = connection.execute(
        "SELECT analysis.doc, analysis.terms FROM json_each(?) AS wanted CROSS JOIN analysis "
        "ON analysis.bank = ? AND analysis.edition = ? AND analysis.doc = wanted.value",
        (json.dumps(list(docs)), bank.number, edition),
    ).fetchall()
    keys = [
        (bank.number, edition, kind, term, doc)
        for doc, text in rows
        for kind, counts in terms_of(text).items()
        for term in counts
    ]
    cursor = connection.executemany(
        "DELETE FROM posting WHERE bank = ? AND edition = ? AND kind = ? AND term = ? AND doc = ?",
        sorted(keys),
    )
    connection.executemany(
        "DELETE FROM analysis WHERE bank = ? AND edition = ? AND doc = ?",
        ((bank.number, edition, doc) for doc, _ in rows),
    )
    return max(cursor.rowcount, 0)


def drop_edition(connection: sqlite3.Connection, bank: BankKey, edition: int) -> Removed:
    """Delete an edition with all its rows."""
    key = (bank.number, edition)
    return Removed(
        posting=_delete(connection, "posting WHERE bank = ? AND edition = ?", key),
        analysis=_delete(connection, "analysis WHERE bank = ? AND edition = ?", key),
        edition=_delete(connection, "edition WHERE bank = ? AND number = ?", key),
    )


def drop_space(connection: sqlite3.Connection, space: int) -> Removed:
    """Delete a space with all its vectors."""
    bounds = (space << SHIFT, space << SHIFT | LAST)
    return Removed(
        vector=_delete(connection, "vector WHERE id BETWEEN ? AND ?", bounds),
        vector_tokens=_delete(connection, "vector_tokens WHERE id BETWEEN ? AND ?", bounds),
        record_vector=_delete(connection, "record_vector WHERE id BETWEEN ? AND ?", bounds),
        space=_delete(connection, "space WHERE number = ?", (space,)),
    )


def spaces(connection: sqlite3.Connection, bank: BankKey) -> list[int]:
    """Numbers of the spaces of the bank."""
    rows = connection.execute("SELECT number FROM space WHERE bank = ?", (bank.number,))
    return [number for (number,) in rows.fetchall()]


def editions(connection: sqlite3.Connection, bank: BankKey) -> list[int]:
    """Numbers of the editions of the bank."""
    rows = connection.execute("SELECT number FROM edition WHERE bank = ?", (bank.number,))
    return [number for (number,) in rows.fetchall()]


def _docs(connection: sqlite3.Connection, bank: BankKey, selection: Selection) -> list[int]:
    if selection.session is not None:
        rows = connection.execute(
            "SELECT turn.doc FROM session JOIN turn ON turn.session = session.number "
            "WHERE session.bank = ? AND session.name = ?",
            (bank.number, selection.session),
        ).fetchall()
        if not rows:
            raise NotFound("session", selection.session, f"Bank {bank.name!r} has no such session.")
        return [doc for (doc,) in rows]
    found = dict(
        connection.execute(
            "SELECT turn.id, turn.doc FROM json_each(?) AS wanted "
            "CROSS JOIN turn ON turn.bank = ? AND turn.id = wanted.value",
            (json.dumps(list(set(selection.turns))), bank.number),
        ).fetchall()
    )
    for id_ in selection.turns:
        if id_ not in found:
            raise NotFound(
                "turn", id_, f"Bank {bank.name!r} has no such turn; nothing was removed."
            )
    return list(found.values())


def _sessions_of(connection: sqlite3.Connection, docs: Sequence[int]) -> list[str]:
    rows = connection.execute(
        "SELECT DISTINCT session.name FROM json_each(?) AS wanted CROSS JOIN turn "
        "ON turn.doc = wanted.value JOIN session ON session.number = turn.session",
        (json.dumps(list(docs)),),
    )
    return sorted(name for (name,) in rows.fetchall())


def _turns(
    connection: sqlite3.Connection, bank: BankKey, docs: Sequence[int]
) -> tuple[list[str], Removed]:
    gone = connection.execute(
        "SELECT turn.doc, turn.id, turn.session, turn.n_terms, turn.tags "
        "FROM json_each(?) AS wanted CROSS JOIN turn ON turn.doc = wanted.value",
        (json.dumps(list(docs)),),
    ).fetchall()
    removed = Removed()
    for edition in editions(connection, bank):
        n_analyses = connection.total_changes
        n_postings = drop_analysis(connection, bank, edition, docs)
        removed["posting"] += n_postings
        removed["analysis"] += connection.total_changes - n_analyses - n_postings
    for space in spaces(connection, bank):
        ids = [(space << SHIFT | doc & LAST,) for doc in docs]
        for table in ("vector", "vector_tokens"):
            removed[table] += _delete_each(connection, f"{table} WHERE id = ?", ids)
    tags = [(bank.number, tag, row[0]) for row in gone for tag in tags_of(row[4])]
    removed["turn_tag"] = _delete_each(
        connection, "turn_tag WHERE bank = ? AND tag = ? AND doc = ?", tags
    )
    removed["turn"] = _delete_each(connection, "turn WHERE doc = ?", [(doc,) for doc in docs])
    removed["session"] = _shrink_sessions(connection, gone)
    change = Change(
        turns=-len(gone),
        sessions=-removed["session"],
        terms=-sum(row[3] for row in gone),
        rewritten=True,
    )
    record(connection, bank.number, change)
    return sorted(row[1] for row in gone), +removed


def _shrink_sessions(
    connection: sqlite3.Connection, gone: Sequence[tuple[int, str, int, int, str]]
) -> int:
    turns = Counter(row[2] for row in gone)
    n_emptied = 0
    for session, n in turns.items():
        n_terms = sum(row[3] for row in gone if row[2] == session)
        (left,) = connection.execute(
            "UPDATE session SET n_turns = n_turns - ?, n_terms = n_terms - ? WHERE number = ? "
            "RETURNING n_turns",
            (n, n_terms, session),
        ).fetchone()
        if left:
            _find_first(connection, session)
        else:
            n_emptied += _delete(connection, "session WHERE number = ?", (session,))
    return n_emptied


def _find_first(connection: sqlite3.Connection, session: int) -> None:
    connection.execute(
        "UPDATE session SET (first_at, first_offset) = (SELECT said_at, said_offset FROM turn "
        "WHERE turn.session = session.number ORDER BY said_at, position LIMIT 1) WHERE number = ?",
        (session,),
    )


def _whole_bank(connection: sqlite3.Connection, bank: BankKey) -> tuple[list[str], Removed]:
    key = (bank.number,)
    ids = connection.execute("SELECT id FROM turn WHERE bank = ? ORDER BY id", key).fetchall()
    removed = Removed()
    for space in spaces(connection, bank):
        removed += drop_space(connection, space)
    # The order of the foreign keys: what points goes before what it points at.
    for table in (*_DERIVED, "posting", "analysis", "turn_tag", "edition", "turn", "session"):
        removed[table] = _delete(connection, f"{table} WHERE bank = ?", key)
    removed["bank"] = _delete(connection, "bank WHERE number = ?", key)
    return [id_ for (id_,) in ids], +removed


def _delete(connection: sqlite3.Connection, what: str, values: Sequence[int]) -> int:
    return connection.execute(f"DELETE FROM {what}", values).rowcount  # noqa: S608 (constants)


def _delete_each(
    connection: sqlite3.Connection, what: str, values: Sequence[tuple[int | str, ...]]
) -> int:
    return max(connection.executemany(f"DELETE FROM {what}", values).rowcount, 0)  # noqa: S608
