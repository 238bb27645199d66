"""Revision and epoch of derived records, and which of them went within an epoch.

While the epoch stands, a derived copy is brought up to date by what is new, what was closed and what was replaced. The
numbers of what was replaced are noted for that, until they are about as many as the records there are: then the epoch
moves, copies are read anew, and the notes go.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from combray.store.derived import RecordChanges
from combray.store.sqlite.banks import BankKey

LEAST_GONE = 256
"""So many may be noted whatever the bank holds: a copy of fewer records is read anew in milliseconds."""


def revise(connection: sqlite3.Connection, bank: BankKey, *, changed: bool) -> int:
    """Move the revision where something changed; returns it."""
    row = connection.execute(
        "UPDATE bank SET derived_revision = derived_revision + ? WHERE number = ? "
        "RETURNING derived_revision",
        (int(changed), bank.number),
    ).fetchone()
    return int(row[0])


def begin(connection: sqlite3.Connection, bank: BankKey) -> None:
    """Begin another epoch."""
    connection.execute(
        "UPDATE bank SET derived_epoch = derived_epoch + 1, gone_left = ? WHERE number = ?",
        (LEAST_GONE, bank.number),
    )
    # Not a walk over the bank: the notes are cleared as often as they were written.
    connection.execute("DELETE FROM record_gone WHERE bank = ?", (bank.number,))


def note_gone(
    connection: sqlite3.Connection, bank: BankKey, gone: Sequence[tuple[str, int]], revision: int
) -> None:
    """Note (method, number) of records that were replaced, or begin another epoch where they are too many."""
    if not gone:
        return
    connection.executemany(
        "INSERT INTO record_gone (bank, method, revision, number) VALUES (?, ?, ?, ?)",
        [(bank.number, method, revision, number) for method, number in sorted(gone)],
    )
    (left,) = connection.execute(
        "UPDATE bank SET gone_left = gone_left - ? WHERE number = ? RETURNING gone_left",
        (len(gone), bank.number),
    ).fetchone()
    if left < 0:
        _count(connection, bank)


def changes(
    connection: sqlite3.Connection, bank: BankKey, method: str, since: int
) -> RecordChanges:
    """The method's records that were closed or replaced after the revision."""
    closed = connection.execute(
        "SELECT number FROM record WHERE bank = ? AND method = ? AND closed_in > ? ORDER BY number",
        (bank.number, method, since),
    ).fetchall()
    gone = connection.execute(
        "SELECT number FROM record_gone WHERE bank = ? AND method = ? AND revision > ? ORDER BY number",
        (bank.number, method, since),
    ).fetchall()
    return RecordChanges(
        closed=np.array([number for (number,) in closed], dtype=np.int64),
        gone=np.array([number for (number,) in gone], dtype=np.int64),
    )


def _count(connection: sqlite3.Connection, bank: BankKey) -> None:
    """Let more be noted where the bank has records to match; half as many must go before they are counted again."""
    n_gone, n_records = connection.execute(
        "SELECT (SELECT count(*) FROM record_gone WHERE bank = ?1), "
        "(SELECT count(*) FROM record WHERE bank = ?1)",
        (bank.number,),
    ).fetchone()
    if 2 * n_gone > n_records:
        begin(connection, bank)
    connection.execute(
        "UPDATE bank SET gone_left = max(?, ? - (SELECT count(*) FROM record_gone WHERE bank = ?3)) WHERE number = ?3",
        (LEAST_GONE, n_records, bank.number),
    )
