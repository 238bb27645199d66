"""Vectors of another embedder and postings of another analyser, made beside those in use.

Both are gathered over many short writes while others go on putting and recalling; the last write switches, if no
turn has been left out, and drops what was in use before.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from combray.errors import Conflict, EmbedderMismatch, InvalidInput
from combray.model import Turn
from combray.store.base import TurnRow, VectorRow
from combray.store.rows import SHIFT, TURN_COLUMNS, turn_of
from combray.store.sqlite import records
from combray.store.sqlite.banks import BankKey, Change, find_space, open_space, record
from combray.store.sqlite.deleting import (
    drop_analysis,
    drop_edition,
    drop_space,
    editions,
    spaces,
)
from combray.store.sqlite.writing import fits, insert_analysis, insert_vectors

_BARE = "NOT EXISTS (SELECT 1 FROM vector WHERE vector.id = ? + turn.doc)"
_UNREAD = (
    "NOT EXISTS (SELECT 1 FROM analysis WHERE analysis.bank = turn.bank AND analysis.edition = ? "
    "AND analysis.doc = turn.doc)"
)


def put_vectors(
    connection: sqlite3.Connection,
    bank: BankKey,
    model: tuple[str, int],
    rows: Mapping[int, VectorRow],
) -> int:
    """Add vectors of `model` (embedder, dimension) where the document has none of it.

    Raises:
        EmbedderMismatch: the embedder is known with another dimension, or a row does not fit it.
    """
    embedder, dimension = model
    if dimension < 1:
        raise InvalidInput(f"a dimension is at least 1, not {dimension}.")
    space, stored = open_space(connection, bank.number, embedder, dimension)
    for row in rows.values():
        if stored != dimension or not fits(row, dimension):
            given = f"{embedder}/{len(row.vector) // 2}"
            raise EmbedderMismatch(bank.name, f"{embedder}/{stored}", given)
    docs = [doc for doc, _ in _stored(connection, bank, rows)]
    n_new = insert_vectors(connection, space, ((doc, rows[doc]) for doc in docs))
    if n_new:
        record(connection, bank.number, Change(rewritten=embedder == bank.embedder))
    return n_new


def missing_vectors(
    connection: sqlite3.Connection, bank: BankKey, embedder: str, limit: int
) -> list[tuple[int, Turn]]:
    """Turns without vectors of that embedder, in order of document."""
    space, _ = find_space(connection, bank.number, embedder) or (0, 0)
    return _turns_where(connection, bank, (_BARE, _shift(bank, space)), limit)


def use_embedder(
    connection: sqlite3.Connection, bank: BankKey, embedder: str | None, dimension: int
) -> None:
    """Switch to the vectors of that embedder (or to none) and drop all others.

    Raises:
        Conflict: a turn has none yet.
        EmbedderMismatch: the embedder is known with another dimension.
    """
    space = 0
    if embedder is not None:
        if dimension < 1:
            raise InvalidInput(f"a dimension is at least 1, not {dimension}.")
        space, stored = open_space(connection, bank.number, embedder, dimension)
        if stored != dimension:
            raise EmbedderMismatch(bank.name, f"{embedder}/{stored}", f"{embedder}/{dimension}")
        if _turns_where(connection, bank, (_BARE, _shift(bank, space)), 1):
            raise Conflict(
                f"a turn of bank {bank.name!r} has no vector of {embedder} yet; nothing was changed. "
                "Embed what is missing and try again."
            )
        if records.missing_vectors(connection, bank, embedder, 1):
            raise Conflict(
                f"a derived record of bank {bank.name!r} has no vector of {embedder} yet; "
                "nothing was changed. Embed what is missing and try again."
            )
    for other in spaces(connection, bank):
        if other != space:
            drop_space(connection, other)
    connection.execute(
        "UPDATE bank SET embedder = ?, dimension = ?, derived_revision = derived_revision + 1, "
        "derived_epoch = derived_epoch + 1 WHERE number = ?",
        (embedder, dimension if embedder is not None else 0, bank.number),
    )
    record(connection, bank.number, Change(rewritten=True))


def replace_analysis(
    connection: sqlite3.Connection, bank: BankKey, analyser: str, rows: Mapping[int, TurnRow]
) -> int:
    """Replace the analyser's postings of those documents; returns the number of its edition."""
    edition = _open_edition(connection, bank, analyser)
    stored = _stored(connection, bank, rows)
    drop_analysis(connection, bank, edition, (doc for doc, _ in stored))
    insert_analysis(
        connection, bank, edition, ((doc, session, rows[doc]) for doc, session in stored)
    )
    if edition == bank.edition and stored:
        _carry_over(connection, bank, edition, [doc for doc, _ in stored])
    record(connection, bank.number, Change(rewritten=edition == bank.edition))
    return edition


def missing_analysis(
    connection: sqlite3.Connection, bank: BankKey, analyser: str, limit: int
) -> list[tuple[int, Turn]]:
    """Turns that the analyser has not read yet, in order of document."""
    edition = _find_edition(connection, bank, analyser)
    return _turns_where(connection, bank, (_UNREAD, -1 if edition is None else edition), limit)


def use_analysis(
    connection: sqlite3.Connection, bank: BankKey, analyser: str, edition: int
) -> None:
    """Switch to that edition and drop all others.

    Raises:
        Conflict: a turn is not in it yet.
    """
    if _turns_where(connection, bank, (_UNREAD, edition), 1):
        raise Conflict(
            f"a turn of bank {bank.name!r} has not been read by {analyser} yet; nothing was changed. "
            "Analyse what is missing and try again."
        )
    for other in editions(connection, bank):
        if other != edition:
            drop_edition(connection, bank, other)
    connection.execute(
        "UPDATE bank SET analyser = ?, edition = ? WHERE number = ?",
        (analyser, edition, bank.number),
    )
    if edition != bank.edition:
        rows = connection.execute("SELECT doc FROM turn WHERE bank = ?", (bank.number,))
        _carry_over(connection, bank, edition, [doc for (doc,) in rows.fetchall()])
    record(connection, bank.number, Change(rewritten=True))


def _shift(bank: BankKey, space: int) -> int:
    return (space - bank.number) << SHIFT


def _find_edition(connection: sqlite3.Connection, bank: BankKey, analyser: str) -> int | None:
    row = connection.execute(
        "SELECT number FROM edition WHERE bank = ? AND analyser = ?", (bank.number, analyser)
    ).fetchone()
    return None if row is None else int(row[0])


def _open_edition(connection: sqlite3.Connection, bank: BankKey, analyser: str) -> int:
    found = _find_edition(connection, bank, analyser)
    if found is not None:
        return found
    taken = set(editions(connection, bank))
    # The smallest free number: 0 and 1 take no byte in a row of SQLite.
    number = next(n for n in range(len(taken) + 1) if n not in taken)
    connection.execute("INSERT INTO edition VALUES (?, ?, ?)", (bank.number, number, analyser))
    return number


def _stored(
    connection: sqlite3.Connection, bank: BankKey, docs: Iterable[int]
) -> list[tuple[int, int]]:
    # A turn may have been forgotten since its text was read: what hangs on it must not come back.
    rows = connection.execute(
        "SELECT turn.doc, turn.session FROM json_each(?) AS wanted "
        "CROSS JOIN turn ON turn.doc = wanted.value AND turn.bank = ? ORDER BY turn.doc",
        (json.dumps([int(doc) for doc in docs]), bank.number),
    )
    return rows.fetchall()


def _turns_where(
    connection: sqlite3.Connection, bank: BankKey, condition: tuple[str, int], limit: int
) -> list[tuple[int, Turn]]:
    text, value = condition
    rows = connection.execute(
        f"SELECT {TURN_COLUMNS} FROM turn JOIN session ON session.number = turn.session "  # noqa: S608
        f"WHERE turn.doc BETWEEN ? AND ? AND {text} ORDER BY turn.doc LIMIT ?",
        (bank.number << SHIFT, (bank.number + 1 << SHIFT) - 1, value, max(limit, 0)),
    )
    return [(row[0], turn_of(row)) for row in rows]


def _carry_over(
    connection: sqlite3.Connection, bank: BankKey, edition: int, docs: list[int]
) -> None:
    wanted = json.dumps(docs)
    connection.execute(
        "UPDATE turn SET n_terms = analysis.n_terms, question = analysis.question "
        "FROM json_each(?) AS wanted CROSS JOIN analysis ON analysis.bank = ? "
        "AND analysis.edition = ? AND analysis.doc = wanted.value WHERE turn.doc = analysis.doc",
        (wanted, bank.number, edition),
    )
    connection.execute(
        "UPDATE session SET n_terms = (SELECT coalesce(sum(turn.n_terms), 0) FROM turn "
        "WHERE turn.session = session.number) WHERE number IN "
        "(SELECT turn.session FROM json_each(?) AS wanted CROSS JOIN turn ON turn.doc = wanted.value)",
        (wanted,),
    )
    connection.execute(
        "UPDATE bank SET n_terms = (SELECT coalesce(sum(session.n_terms), 0) FROM session "
        "WHERE session.bank = bank.number) WHERE number = ?",
        (bank.number,),
    )
