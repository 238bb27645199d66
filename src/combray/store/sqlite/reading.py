"""Reading turns back: by id, by number, in order, by filter."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from combray.errors import NotFound
from combray.model import Filters, Session, Turn
from combray.model.time import to_stored
from combray.store.base import SessionState
from combray.store.rows import SESSION_COLUMNS, SHIFT, TURN_COLUMNS, session_of, turn_of
from combray.store.sqlite.banks import BankKey
from combray.store.sqlite.columns import integers

_TURN = f"SELECT {TURN_COLUMNS} FROM turn JOIN session ON session.number = turn.session"  # noqa: S608
_TURN_LIST = (
    f"SELECT {TURN_COLUMNS} FROM json_each(?) AS wanted "  # noqa: S608
    "CROSS JOIN turn ON turn.bank = ? AND {key} = wanted.value "
    "JOIN session ON session.number = turn.session"
)


def session_state(
    connection: sqlite3.Connection, bank: BankKey, name: str, contents: Sequence[str]
) -> SessionState:
    """How far a session has come; zeros where it does not exist."""
    row = connection.execute(
        "SELECT number, n_turns, next_position - 1 - "
        "(SELECT coalesce(max(position), -1) FROM turn WHERE turn.session = session.number) "
        "FROM session WHERE bank = ? AND name = ?",
        (bank.number, name),
    ).fetchone()
    if row is None:
        return SessionState(n_turns=0)
    number, n_turns, n_lost = row
    head = connection.execute(
        "SELECT content FROM turn WHERE session = ? ORDER BY position LIMIT ?",
        (number, len(contents)),
    ).fetchall()
    wanted = set(contents)
    counts = connection.execute(
        "SELECT turn.content, count(*) FROM json_each(?) AS wanted "
        "CROSS JOIN turn ON turn.session = ? AND turn.content = wanted.value GROUP BY turn.content",
        (json.dumps(list(wanted)), number),
    )
    return SessionState(
        n_turns=n_turns,
        head=tuple(content for (content,) in head),
        counts={content: n for content, n in counts if content in wanted},
        n_lost=n_lost,
    )


def sessions(
    connection: sqlite3.Connection, bank: BankKey, after: str, limit: int
) -> list[Session]:
    """Sessions in order of name."""
    rows = connection.execute(
        f"SELECT {SESSION_COLUMNS} FROM session "  # noqa: S608
        "WHERE bank = ? AND name > ? ORDER BY name LIMIT ?",
        (bank.number, after, max(limit, 0)),
    )
    return [session_of(row) for row in rows]


def turns(connection: sqlite3.Connection, bank: BankKey, ids: Sequence[str]) -> list[Turn]:
    """The turns of those ids, in the order asked for.

    Raises:
        NotFound: an id is unknown in this bank.
    """
    rows = connection.execute(
        _TURN_LIST.format(key="turn.id"), (json.dumps(list(set(ids))), bank.number)
    )
    found = {turn.id: turn for turn in map(turn_of, rows)}
    for id_ in ids:
        if id_ not in found:
            raise NotFound("turn", id_, f"Bank {bank.name!r} has no such turn.")
    return [found[id_] for id_ in ids]


def turns_by_doc(
    connection: sqlite3.Connection, bank: BankKey, docs: Sequence[int]
) -> dict[int, Turn]:
    """Turns by document number; unknown numbers are left out."""
    wanted = json.dumps([int(doc) for doc in docs])
    rows = connection.execute(_TURN_LIST.format(key="turn.doc"), (wanted, bank.number))
    return {row[0]: turn_of(row) for row in rows}


def scan(
    connection: sqlite3.Connection, bank: BankKey, session: str | None, page: tuple[int, int]
) -> list[tuple[int, Turn]]:
    """Document number and turn in order, of documents after `page[0]`, at most `page[1]`."""
    after, limit = page
    if session is None:
        first, last = bounds(bank.number, after)
        rows = connection.execute(
            f"{_TURN} WHERE turn.doc BETWEEN ? AND ? ORDER BY turn.doc LIMIT ?",
            (first, last, max(limit, 0)),
        )
    else:
        rows = connection.execute(
            f"{_TURN} WHERE session.bank = ? AND session.name = ? AND turn.doc > ? "
            "ORDER BY turn.position LIMIT ?",
            (bank.number, session, after, max(limit, 0)),
        )
    return [(row[0], turn_of(row)) for row in rows]


def bounds(lead: int, after: int = 0) -> tuple[int, int]:
    """First and last number of a bank (or space), of those after a number."""
    return max(lead << SHIFT, int(after) + 1), (lead + 1 << SHIFT) - 1


def matching(connection: sqlite3.Connection, bank: BankKey, filters: Filters) -> NDArray[np.int64]:
    """Document numbers of the turns that satisfy all filters, ascending."""
    conditions = ["turn.bank = ?"]
    values: list[object] = [bank.number]

    def require(condition: str, *given: object) -> None:
        conditions.append(condition)
        values.extend(given)

    if filters.sessions:
        require(
            "turn.session IN (SELECT session.number FROM session WHERE session.bank = ? "
            "AND session.name IN (SELECT value FROM json_each(?)))",
            bank.number,
            json.dumps(list(filters.sessions)),
        )
    if filters.speakers:
        names = _speakers(connection, bank, filters.speakers)
        require("turn.speaker IN (SELECT value FROM json_each(?))", json.dumps(names))
    if filters.roles:
        roles = json.dumps([str(role) for role in filters.roles])
        require("turn.role IN (SELECT value FROM json_each(?))", roles)
    for tag in set(filters.tags):
        require(
            "turn.doc IN (SELECT turn_tag.doc FROM turn_tag WHERE turn_tag.bank = ? AND turn_tag.tag = ?)",
            bank.number,
            tag,
        )
    if filters.since is not None:
        require("turn.said_at >= ?", to_stored(filters.since))
    if filters.until is not None:
        require("turn.said_at < ?", to_stored(filters.until))
    where = " AND ".join(conditions)
    (text,) = connection.execute(
        f"SELECT group_concat(turn.doc) FROM turn WHERE {where}",  # noqa: S608 (constants only)
        values,
    ).fetchone()
    return np.sort(integers(text))


def _speakers(connection: sqlite3.Connection, bank: BankKey, wanted: Sequence[str]) -> list[str]:
    # A loose scan of turn_speaker: one step per different name, not per turn.
    stored = connection.execute(
        "WITH RECURSIVE name (speaker) AS ("
        " SELECT min(turn.speaker) FROM turn WHERE turn.bank = :bank"
        " UNION ALL"
        " SELECT (SELECT min(turn.speaker) FROM turn WHERE turn.bank = :bank AND turn.speaker > name.speaker)"
        " FROM name WHERE name.speaker IS NOT NULL"
        ") SELECT speaker FROM name WHERE speaker IS NOT NULL",
        {"bank": bank.number},
    )
    folded = {name.casefold() for name in wanted}
    return [name for (name,) in stored if name.casefold() in folded]
