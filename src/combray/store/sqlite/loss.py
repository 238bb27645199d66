"""What a removal of derived rows takes away."""

from __future__ import annotations

import sqlite3
from collections import Counter
from dataclasses import dataclass, field

from combray.store.sqlite.banks import BankKey

Removed = Counter[str]
"""Number of removed rows by table."""


@dataclass(slots=True)
class Loss:
    """What a removal took away.

    Attributes:
        rows: by table.
        methods: that lost records.
        unlinked: methods that have something to link again.
        gone: method and number of the records.
        closed: numbers of records whose closings have changed.
        rewritten: records that stayed and are told of by another unit now.
    """

    rows: Removed = field(default_factory=Removed)
    methods: set[str] = field(default_factory=set)
    unlinked: set[str] = field(default_factory=set)
    gone: list[tuple[str, int]] = field(default_factory=list)
    closed: set[int] = field(default_factory=set)
    rewritten: int = 0


def delete(
    connection: sqlite3.Connection, bank: BankKey, table: str, column: str, wanted: str
) -> int:
    """Delete the bank's rows of which the column is among the wanted values, a JSON list; returns how many."""
    return connection.execute(
        f"DELETE FROM {table} WHERE bank = ? AND {column} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (bank.number, wanted),
    ).rowcount
