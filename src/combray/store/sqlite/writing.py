"""Putting turns: all rows of a batch with everything that hangs on them, or nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from combray.errors import Conflict, EmbedderMismatch, InvalidInput, StoreError
from combray.model import Session
from combray.store.base import PutReceipt, TurnRow, VectorRow
from combray.store.derived import TURNS
from combray.store.rows import (
    LAST,
    SHIFT,
    Terms,
    as_json,
    metadata_of,
    postings_of,
    time_values,
    turn_values,
)
from combray.store.sqlite import jobs
from combray.store.sqlite.banks import BankKey, Change, find_space, record

_TURN = (
    "INSERT INTO turn (doc, bank, session, position, n_terms, question, said_at, said_offset, "
    "expires_at, expires_offset, stored_at, role, speaker, id, content, client_id, tags, metadata, "
    "caption, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

_Numbered = tuple[int, TurnRow]


def put(
    connection: sqlite3.Connection, bank: BankKey, session: Session, rows: Sequence[TurnRow]
) -> PutReceipt:
    """Store what is new of the rows; the caller has checked the preconditions.

    Raises:
        Conflict: an id is there with other content.
        EmbedderMismatch: vectors do not fit the bank.
        InvalidInput: a row belongs to another session, or contradicts itself.
    """
    new, repeated = _split(connection, bank, session, rows)
    number, n_made = _open_session(connection, bank, session, make=bool(new))
    filled = number is not None and not n_made and _fill(connection, number, session)
    if number is not None and new:
        _insert(connection, bank, number, new)
    if new or filled:
        n_terms = sum(row.n_terms for row in new)
        change = Change(turns=len(new), sessions=n_made, terms=n_terms)
        revision = record(connection, bank.number, change)
        if new and bank.methods:
            wanted = [(method, TURNS, session.name) for method in bank.methods]
            jobs.queue(connection, bank, wanted, max(row.turn.stored_at for row in new), fresh=True)
    else:
        revision = _revision(connection, bank)
    return PutReceipt(
        ids=tuple(row.turn.id for row in rows),
        stored=tuple(row.turn.id for row in new),
        known=tuple(repeated),
        revision=revision,
    )


def known(connection: sqlite3.Connection, bank: BankKey, ids: Iterable[str]) -> dict[str, str]:
    """Content key by id, of those ids that are stored."""
    wanted = set(ids)
    found = connection.execute(
        "SELECT turn.id, turn.content FROM json_each(?) AS wanted "
        "CROSS JOIN turn ON turn.bank = ? AND turn.id = wanted.value",
        (json.dumps(list(wanted)), bank.number),
    )
    return {id_: content for id_, content in found if id_ in wanted}


def insert_analysis(
    connection: sqlite3.Connection,
    bank: BankKey,
    edition: int,
    rows: Iterable[tuple[int, int, TurnRow]],
) -> None:
    """Insert analysis and postings of (doc, session number, row)."""
    analyses: list[tuple[Any, ...]] = []
    postings: list[tuple[Any, ...]] = []
    for doc, session, row in rows:
        terms = postings_of(row)
        analyses.append((bank.number, edition, doc, row.n_terms, int(row.question), as_json(terms)))
        postings += _postings((bank.number, edition), (doc, session, row.n_terms), terms)
    # In key order a batch touches each page of the tree once.
    postings.sort()
    connection.executemany("INSERT INTO analysis VALUES (?, ?, ?, ?, ?, ?)", analyses)
    connection.executemany("INSERT INTO posting VALUES (?, ?, ?, ?, ?, ?, ?, ?)", postings)


def insert_vectors(
    connection: sqlite3.Connection, space: int, vectors: Iterable[tuple[int, VectorRow]]
) -> int:
    """Insert vectors of (doc, row) where there are none yet; returns how many."""
    numbered = [(space << SHIFT | doc & LAST, row) for doc, row in vectors]
    cursor = connection.executemany(
        "INSERT INTO vector VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((id_, row.vector) for id_, row in numbered),
    )
    connection.executemany(
        "INSERT INTO vector_tokens VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((id_, row.tokens) for id_, row in numbered),
    )
    return max(cursor.rowcount, 0)


def fits(row: VectorRow, dimension: int) -> bool:
    """Whether the blobs have the lengths that the dimension asks for."""
    return len(row.vector) == 2 * dimension and len(row.tokens) % token_bytes(dimension) == 0


def token_bytes(dimension: int) -> int:
    """Bytes of the packed sign bits of one token."""
    return (dimension + 7) // 8


def _split(
    connection: sqlite3.Connection, bank: BankKey, session: Session, rows: Sequence[TurnRow]
) -> tuple[list[TurnRow], list[str]]:
    seen = known(connection, bank, (row.turn.id for row in rows))
    new: list[TurnRow] = []
    repeated: list[str] = []
    for row in rows:
        turn = row.turn
        if turn.session != session.name:
            raise InvalidInput(
                f"turn {turn.id} is of session {turn.session!r}, not {session.name!r}."
            )
        if turn.id not in seen:
            _check_vectors(bank, row)
            seen[turn.id] = turn.content
            new.append(row)
        elif seen[turn.id] == turn.content:
            repeated.append(turn.id)
        else:
            raise Conflict(
                f"turn {turn.client_id or turn.id!r} of session {session.name!r} is stored with other "
                "content, and a stored turn never changes: give the new content another id. "
                "Nothing of this batch was stored."
            )
    return new, repeated


def _check_vectors(bank: BankKey, row: TurnRow) -> None:
    vectors = row.vectors
    if vectors is None or (bank.embedder is not None and fits(vectors, bank.dimension)):
        return
    stored = f"{bank.embedder}/{bank.dimension}" if bank.embedder else "no embedder"
    raise EmbedderMismatch(bank.name, stored, f"another one (/{len(vectors.vector) // 2})")


def _open_session(
    connection: sqlite3.Connection, bank: BankKey, session: Session, *, make: bool
) -> tuple[int | None, int]:
    row = connection.execute(
        "SELECT number FROM session WHERE bank = ? AND name = ?", (bank.number, session.name)
    ).fetchone()
    if row is not None:
        return int(row[0]), 0
    if not make:
        return None, 0
    (last,) = connection.execute(
        "UPDATE bank SET last_session = last_session + 1 WHERE number = ? RETURNING last_session",
        (bank.number,),
    ).fetchone()
    if last > LAST:
        raise StoreError(f"bank {bank.name!r} has given all its session numbers; use another bank.")
    number = bank.number << SHIFT | last
    connection.execute(
        "INSERT INTO session (number, bank, name, title, source, started_at, started_offset, metadata) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number,
            bank.number,
            session.name,
            session.title,
            session.source,
            *time_values(session.started_at),
            as_json(dict(session.metadata)),
        ),
    )
    return number, 1


def _fill(connection: sqlite3.Connection, number: int, session: Session) -> bool:
    stored = connection.execute(
        "SELECT title, source, started_at, started_offset, metadata FROM session WHERE number = ?",
        (number,),
    ).fetchone()
    title, source, started_at, started_offset, metadata = stored
    given_at, given_offset = time_values(session.started_at)
    merged: Mapping[str, Any] = {**session.metadata, **metadata_of(metadata)}
    filled = (
        session.title if title is None else title,
        session.source if source is None else source,
        given_at if started_at is None else started_at,
        given_offset if started_at is None else started_offset,
        metadata if len(merged) == len(metadata_of(metadata)) else as_json(merged),
    )
    if filled == stored:
        return False
    connection.execute(
        "UPDATE session SET title = ?, source = ?, started_at = ?, started_offset = ?, metadata = ? "
        "WHERE number = ?",
        (*filled, number),
    )
    return True


def _insert(
    connection: sqlite3.Connection, bank: BankKey, session: int, new: Sequence[TurnRow]
) -> None:
    last = bank.last_turn + len(new)
    if last > LAST:
        raise StoreError(f"bank {bank.name!r} has given all its turn numbers; use another bank.")
    connection.execute("UPDATE bank SET last_turn = ? WHERE number = ?", (last, bank.number))
    first = bank.number << SHIFT | bank.last_turn + 1
    numbered: list[_Numbered] = list(enumerate(new, start=first))
    position = _grow_session(connection, session, new)
    connection.executemany(
        _TURN,
        (
            (doc, bank.number, session, position + doc - first, *turn_values(row))
            for doc, row in numbered
        ),
    )
    tags = [(bank.number, tag, doc) for doc, row in numbered for tag in set(row.turn.tags)]
    connection.executemany("INSERT INTO turn_tag VALUES (?, ?, ?)", tags)
    insert_analysis(connection, bank, bank.edition, ((doc, session, row) for doc, row in numbered))
    _insert_vectors_in_use(connection, bank, numbered)


def _grow_session(connection: sqlite3.Connection, session: int, new: Sequence[TurnRow]) -> int:
    first_at, first_offset = min(time_values(row.turn.said_at) for row in new)
    position, n_terms, stored_at, stored_offset = connection.execute(
        "SELECT next_position, n_terms, first_at, first_offset FROM session WHERE number = ?",
        (session,),
    ).fetchone()
    if stored_at is not None and stored_at <= (first_at or ""):
        first_at, first_offset = stored_at, stored_offset
    connection.execute(
        "UPDATE session SET n_turns = n_turns + ?, n_terms = ?, next_position = ?, first_at = ?, "
        "first_offset = ? WHERE number = ?",
        (
            len(new),
            n_terms + sum(row.n_terms for row in new),
            position + len(new),
            first_at,
            first_offset,
            session,
        ),
    )
    return int(position)


def _insert_vectors_in_use(
    connection: sqlite3.Connection, bank: BankKey, numbered: Sequence[_Numbered]
) -> None:
    if bank.embedder is None:
        return
    space = find_space(connection, bank.number, bank.embedder)
    if space is not None:
        vectors = ((doc, row.vectors) for doc, row in numbered if row.vectors is not None)
        insert_vectors(connection, space[0], vectors)


def _postings(
    lead: tuple[int, int], place: tuple[int, int, int], terms: Terms
) -> Iterable[tuple[Any, ...]]:
    doc, session, length = place
    for kind, counts in terms.items():
        for term, tf in counts.items():
            yield (*lead, kind, term, doc, session, tf, length)


def _revision(connection: sqlite3.Connection, bank: BankKey) -> int:
    row = connection.execute(
        "SELECT revision FROM bank WHERE number = ?", (bank.number,)
    ).fetchone()
    return int(row[0])
