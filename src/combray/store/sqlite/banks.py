"""Banks: making them, finding them, and the counters that every write moves."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from combray.errors import Conflict, InvalidInput, NotFound, NotOurFile, StoreError
from combray.model import Bank
from combray.model.time import to_stored
from combray.store.base import BankState
from combray.store.rows import BANK_COLUMNS, MAX_BANKS, MAX_DIMENSION, as_json, bank_of, methods_of


@dataclass(frozen=True, slots=True, kw_only=True)
class BankKey:
    """What a call needs to know of its bank.

    Attributes:
        number: leads every key.
        name: for messages.
        analyser: that made the postings that count.
        edition: of the analysis that counts.
        embedder: whose vectors count, or None.
        dimension: of its vectors, 0 without.
        last_turn: highest n given to a turn.
        methods: that derive from its turns.
    """

    number: int
    name: str
    analyser: str
    edition: int
    embedder: str | None
    dimension: int
    last_turn: int
    methods: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """By how much a write moves a bank's counters.

    Attributes:
        turns: stored, or negative where removed.
        sessions: likewise.
        terms: likewise.
        rewritten: whether rows that were there before have changed or gone.
    """

    turns: int = 0
    sessions: int = 0
    terms: int = 0
    rewritten: bool = False


def create(connection: sqlite3.Connection, bank: Bank) -> None:
    """Insert an empty bank with the edition and the space that it starts with."""
    if (bank.embedder is None) != (bank.dimension == 0) or bank.dimension < 0:
        raise InvalidInput("a bank has an embedder with a dimension above 0, or neither.")
    try:
        cursor = connection.execute(
            "INSERT INTO bank (name, zone, analyser, embedder, dimension, created_at, methods) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                bank.name,
                bank.zone,
                bank.analyser,
                bank.embedder,
                bank.dimension,
                to_stored(bank.created_at),
                as_json(sorted(set(bank.methods))),
            ),
        )
    except sqlite3.IntegrityError as error:
        raise Conflict(f"a bank named {bank.name!r} exists already.") from error
    number = cursor.lastrowid or 0
    if number > MAX_BANKS:
        raise StoreError(f"this file has given all its {MAX_BANKS} bank numbers; use another file.")
    connection.execute("INSERT INTO edition VALUES (?, 0, ?)", (number, bank.analyser))
    if bank.embedder is not None:
        open_space(connection, number, bank.embedder, bank.dimension)


def find(connection: sqlite3.Connection, name: str) -> BankKey:
    """The bank of that name.

    Raises:
        NotFound: there is none.
    """
    row = connection.execute(
        "SELECT number, name, analyser, edition, embedder, dimension, last_turn, methods FROM bank "
        "WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        raise NotFound("bank", name)
    return BankKey(
        number=row[0],
        name=row[1],
        analyser=row[2],
        edition=row[3],
        embedder=row[4],
        dimension=row[5],
        last_turn=row[6],
        methods=methods_of(row[7]),
    )


def read(connection: sqlite3.Connection, name: str) -> Bank:
    """The bank of that name as a value.

    Raises:
        NotFound: there is none.
    """
    row = connection.execute(
        f"SELECT {BANK_COLUMNS} FROM bank WHERE name = ?",  # noqa: S608 (a constant)
        (name,),
    ).fetchone()
    if row is None:
        raise NotFound("bank", name)
    return bank_of(row)


def page(connection: sqlite3.Connection, after: str, limit: int) -> list[Bank]:
    """Banks in order of name."""
    rows = connection.execute(
        f"SELECT {BANK_COLUMNS} FROM bank WHERE name > ? ORDER BY name LIMIT ?",  # noqa: S608
        (after, max(limit, 0)),
    )
    return [bank_of(row) for row in rows]


def state(connection: sqlite3.Connection, name: str) -> BankState:
    """Revision and counters of the bank.

    Raises:
        NotFound: there is none.
    """
    row = connection.execute(
        "SELECT revision, erase_epoch, embedder, dimension, n_turns, n_terms FROM bank WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None:
        raise NotFound("bank", name)
    if not 0 <= row[3] <= MAX_DIMENSION:
        raise NotOurFile(
            f"the database is damaged: bank {name!r} has vectors of dimension {row[3]}. Put back a copy."
        )
    return BankState(
        revision=row[0],
        erase_epoch=row[1],
        embedder=row[2],
        dimension=row[3],
        n_turns=row[4],
        n_terms=row[5],
    )


def record(connection: sqlite3.Connection, number: int, change: Change) -> int:
    """Move the counters and the revision; returns the new revision."""
    row = connection.execute(
        "UPDATE bank SET revision = revision + 1, erase_epoch = erase_epoch + ?, "
        "n_turns = n_turns + ?, n_sessions = n_sessions + ?, n_terms = n_terms + ? "
        "WHERE number = ? RETURNING revision",
        (int(change.rewritten), change.turns, change.sessions, change.terms, number),
    ).fetchone()
    return int(row[0])


def open_space(
    connection: sqlite3.Connection, number: int, embedder: str, dimension: int
) -> tuple[int, int]:
    """Number and dimension of the embedder's space in the bank, made if missing."""
    row = find_space(connection, number, embedder)
    if row is None:
        cursor = connection.execute(
            "INSERT INTO space (bank, embedder, dimension) VALUES (?, ?, ?)",
            (number, embedder, dimension),
        )
        row = (cursor.lastrowid or 0, dimension)
        if row[0] > MAX_BANKS:
            raise StoreError("this file has given all its numbers for vectors; use another file.")
    return row


def find_space(
    connection: sqlite3.Connection, number: int, embedder: str
) -> tuple[int, int] | None:
    """Number and dimension of the embedder's space in the bank, or None."""
    row = connection.execute(
        "SELECT number, dimension FROM space WHERE bank = ? AND embedder = ?", (number, embedder)
    ).fetchone()
    return None if row is None else (row[0], row[1])
