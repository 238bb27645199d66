"""Units that have lost something they read: wanted again without it, or gone."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from combray.store.sqlite import closings
from combray.store.sqlite.banks import BankKey
from combray.store.sqlite.loss import Loss, delete


def reopen(
    connection: sqlite3.Connection, bank: BankKey, units: Sequence[int], loss: Loss
) -> tuple[list[int], set[int]]:
    """Take the replies of those of the units that have enough records left to read.

    Args:
        connection: in a transaction.
        bank: whose they are.
        units: that read something which is gone; what they read no longer names it.
        loss: takes down what goes.

    Returns:
        The units that are to go, and the records that the others had made.
    """
    rows = connection.execute(
        "SELECT unit.number, unit.method FROM json_each(?) AS wanted CROSS JOIN unit "
        "ON unit.bank = ? AND unit.number = wanted.value WHERE unit.least_inputs > 0 "
        "AND (SELECT count(*) FROM unit_record WHERE unit_record.bank = unit.bank "
        "AND unit_record.unit = unit.number) >= unit.least_inputs",
        (json.dumps(list(units)), bank.number),
    ).fetchall()
    kept = sorted(number for number, _ in rows)
    loss.methods |= {method for _, method in rows}
    loss.unlinked |= {method for _, method in rows}
    made = replies_taken(connection, bank, kept, loss)
    connection.executemany(
        "UPDATE unit SET done = 0 WHERE bank = ? AND number = ?",
        [(bank.number, number) for number in kept],
    )
    return sorted(set(units) - set(kept)), made


def replies_taken(
    connection: sqlite3.Connection, bank: BankKey, units: Sequence[int], loss: Loss
) -> set[int]:
    """Delete what the units say of records; returns the records that they made."""
    if not units:
        return set()
    wanted = json.dumps(list(units))
    made = connection.execute(
        "SELECT DISTINCT source.record FROM json_each(?) AS wanted CROSS JOIN source "
        "ON source.bank = ? AND source.unit = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    loss.closed |= closings.closed_by(connection, bank, units)
    for table in ("source", "closing"):
        loss.rows[table] += delete(connection, bank, table, "unit", wanted)
    return {number for (number,) in made}
