"""Records that hold no longer: which unit closes them, and what that makes of them.

A record is closed as long as a unit closes it. Where several do, the one that says the earliest end decides, and of those
the first.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from combray.model.time import from_stored, to_stored
from combray.store.derived import Closing
from combray.store.rows import decoding, time_values
from combray.store.sqlite.banks import BankKey

FIRST = "closing.valid_to IS NULL, closing.valid_to, closing.unit"
"""Order of a record's closings; the first one decides."""


@dataclass(frozen=True, slots=True)
class End:
    """What the closing that decides says."""

    by: str
    valid_to: datetime | None


def put(
    connection: sqlite3.Connection, bank: BankKey, unit: int, closes: Sequence[Closing]
) -> set[int]:
    """Store what the unit closes; returns the records."""
    connection.executemany(
        "INSERT INTO closing (bank, record, unit, status, by, valid_to, valid_offset) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        [
            (bank.number, one.record, unit, str(one.status), one.by, *time_values(one.valid_to))
            for one in closes
        ],
    )
    return {one.record for one in closes}


def closed_by(connection: sqlite3.Connection, bank: BankKey, units: Sequence[int]) -> set[int]:
    """The records that the units close."""
    rows = connection.execute(
        "SELECT closing.record FROM json_each(?) AS wanted CROSS JOIN closing "
        "ON closing.bank = ? AND closing.unit = wanted.value",
        (json.dumps(list(units)), bank.number),
    )
    return {record for (record,) in rows.fetchall()}


def settle(
    connection: sqlite3.Connection,
    bank: BankKey,
    records: Iterable[int],
    revision: int,
    at: datetime,
) -> int:
    """Have the records' status say what is left of their closings; returns how many hold again."""
    numbers = sorted(records)
    connection.executemany(
        "UPDATE record SET retired_at = coalesce(retired_at, ?), closed_in = coalesce(closed_in, ?), "  # noqa: S608 (a constant)
        "status = (SELECT closing.status FROM closing WHERE closing.bank = record.bank "
        f"AND closing.record = record.number ORDER BY {FIRST} LIMIT 1) "
        "WHERE number = ? AND bank = ? AND EXISTS (SELECT 1 FROM closing "
        "WHERE closing.bank = record.bank AND closing.record = record.number)",
        [(to_stored(at), revision, number, bank.number) for number in numbers],
    )
    again = connection.executemany(
        "UPDATE record SET status = 'current', retired_at = NULL, closed_in = NULL "
        "WHERE number = ? AND bank = ? AND retired_at IS NOT NULL AND NOT EXISTS "
        "(SELECT 1 FROM closing WHERE closing.bank = record.bank AND closing.record = record.number)",
        [(number, bank.number) for number in numbers],
    )
    return max(again.rowcount, 0)


@decoding
def ends(connection: sqlite3.Connection, bank: BankKey, wanted: str) -> dict[int, End]:
    """The ends of those of the records that are closed; one that holds instead is named while it is there."""
    rows = connection.execute(
        "SELECT closing.record, other.id, closing.valid_to, closing.valid_offset "  # noqa: S608 (a constant)
        "FROM json_each(?) AS wanted CROSS JOIN closing "
        "ON closing.bank = ? AND closing.record = wanted.value "
        "LEFT JOIN record AS other ON other.bank = closing.bank AND other.id = closing.by "
        f"ORDER BY closing.record, {FIRST}",
        (wanted, bank.number),
    ).fetchall()
    found: dict[int, End] = {}
    for record, by, text, offset in rows:
        valid_to = None if text is None else from_stored(text, offset)
        found.setdefault(record, End(by or "", valid_to))
    return found
