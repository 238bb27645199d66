"""Removing units, and what nothing makes any more.

A unit goes when a turn or a record that it read goes; a record goes when no unit that made it is left.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from combray.store.derived import LINK
from combray.store.rows import LAST, SHIFT
from combray.store.sqlite import jobs
from combray.store.sqlite.banks import BankKey

Removed = Counter[str]
"""Number of removed rows by table."""

_UNIT_TABLES = ("unit_turn", "unit_record", "source")


@dataclass(slots=True)
class Loss:
    """What a removal took away.

    Attributes:
        rows: by table.
        methods: that lost records.
        unlinked: methods of which records have lost a neighbour.
    """

    rows: Removed = field(default_factory=Removed)
    methods: set[str] = field(default_factory=set)
    unlinked: set[str] = field(default_factory=set)


def forget(
    connection: sqlite3.Connection, bank: BankKey, docs: Sequence[int], at: datetime
) -> Removed:
    """Delete what was derived from the documents, and the replies that read them."""
    wanted = json.dumps(list(docs))
    units = connection.execute(
        "SELECT DISTINCT unit_turn.unit FROM json_each(?) AS wanted CROSS JOIN unit_turn "
        "ON unit_turn.bank = ? AND unit_turn.doc = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    loss = _drop(connection, bank, [number for (number,) in units])
    keys = connection.execute(
        "SELECT DISTINCT reply_turn.key FROM json_each(?) AS wanted CROSS JOIN reply_turn "
        "ON reply_turn.bank = ? AND reply_turn.doc = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    named = json.dumps([key for (key,) in keys])
    for table in ("reply", "reply_turn") if keys else ():
        loss.rows[table] += _delete(connection, bank, table, "key", named)
    ask_to_link(connection, bank, loss.methods, at)
    moved(connection, bank, loss, changed=bool(units))
    return +loss.rows


def drop(connection: sqlite3.Connection, bank: BankKey, method: str, at: datetime) -> Removed:
    """Delete everything of the method, and its jobs."""
    rows = connection.execute(
        "SELECT number FROM unit WHERE bank = ? AND method = ?", (bank.number, method)
    ).fetchall()
    loss = _drop(connection, bank, [number for (number,) in rows])
    loss.rows["job"] += connection.execute(
        "DELETE FROM job WHERE bank = ? AND method = ?", (bank.number, method)
    ).rowcount
    ask_to_link(connection, bank, loss.methods - {method}, at)
    moved(connection, bank, loss, changed=bool(rows))
    return +loss.rows


def relink(connection: sqlite3.Connection, bank: BankKey, method: str, at: datetime) -> Removed:
    """Delete edges and the units that read records; every record is to be linked anew."""
    rows = connection.execute(
        "SELECT number FROM unit WHERE bank = ? AND method = ? AND EXISTS "
        "(SELECT 1 FROM unit_record WHERE unit_record.bank = unit.bank AND unit_record.unit = unit.number)",
        (bank.number, method),
    ).fetchall()
    loss = _drop(connection, bank, [number for (number,) in rows])
    loss.rows["record_edge"] += connection.execute(
        "DELETE FROM record_edge WHERE bank = ? AND method = ?", (bank.number, method)
    ).rowcount
    connection.execute(
        "UPDATE record SET stage = 0 WHERE bank = ? AND method = ?", (bank.number, method)
    )
    ask_to_link(connection, bank, loss.methods | {method}, at)
    moved(connection, bank, loss, changed=True)
    return +loss.rows


def _drop(connection: sqlite3.Connection, bank: BankKey, numbers: Iterable[int]) -> Loss:
    loss, units = Loss(), sorted(set(numbers))
    _unlink_read(connection, bank, units, loss)
    cascade(connection, bank, detach(connection, bank, units, loss), loss)
    return loss


def _unlink_read(
    connection: sqlite3.Connection, bank: BankKey, units: Sequence[int], loss: Loss
) -> None:
    """Have the records that the units read linked again: what held them together goes, and something else may."""
    read = connection.execute(
        "SELECT DISTINCT record.number, record.method FROM json_each(?) AS wanted CROSS JOIN unit_record "
        "ON unit_record.bank = ? AND unit_record.unit = wanted.value "
        "CROSS JOIN record ON record.number = unit_record.record",
        (json.dumps(list(units)), bank.number),
    ).fetchall()
    _unlink(connection, bank, [number for number, _ in read])
    loss.methods |= {method for _, method in read}


def _unlink(connection: sqlite3.Connection, bank: BankKey, numbers: Iterable[int]) -> None:
    connection.executemany(
        "UPDATE record SET stage = 0 WHERE number = ? AND bank = ?",
        [(number, bank.number) for number in sorted(numbers)],
    )


def detach(
    connection: sqlite3.Connection, bank: BankKey, numbers: Iterable[int], loss: Loss
) -> set[int]:
    """Delete the units; returns the records that they made."""
    units = sorted(set(numbers))
    if not units:
        return set()
    wanted = json.dumps(units)
    made = connection.execute(
        "SELECT DISTINCT source.record FROM json_each(?) AS wanted CROSS JOIN source "
        "ON source.bank = ? AND source.unit = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    for table in _UNIT_TABLES:
        loss.rows[table] += _delete(connection, bank, table, "unit", wanted)
    loss.rows["unit"] += _delete(connection, bank, "unit", "number", wanted)
    return {number for (number,) in made}


def cascade(connection: sqlite3.Connection, bank: BankKey, loose: set[int], loss: Loss) -> None:
    """Delete those of the records that no unit makes any more, the units that read them, and so on."""
    while loose:
        rows = connection.execute(
            "SELECT wanted.value, (SELECT min(source.unit) FROM source WHERE source.bank = ? "
            "AND source.record = wanted.value) FROM json_each(?) AS wanted",
            (bank.number, json.dumps(sorted(loose))),
        ).fetchall()
        # A record that is left must hold nothing of a unit that went: its text is the same in all, its detail is not.
        connection.executemany(
            "UPDATE record SET unit = ?, detail = '{}' WHERE number = ? AND bank = ? AND NOT EXISTS "
            "(SELECT 1 FROM unit WHERE unit.bank = record.bank AND unit.number = record.unit)",
            [(unit, record, bank.number) for record, unit in rows if unit is not None],
        )
        orphans = {record for record, unit in rows if unit is None}
        # One that is left comes from fewer turns now, which may change what it belongs with.
        left = [record for record, unit in rows if unit is not None]
        _unlink(connection, bank, left)
        loss.methods |= _methods(connection, left)
        reading = _drop_records(connection, bank, orphans, loss)
        _unlink_read(connection, bank, reading, loss)
        loose = detach(connection, bank, reading, loss)


def ask_to_link(
    connection: sqlite3.Connection, bank: BankKey, methods: set[str], at: datetime
) -> None:
    """Ask for a `LINK` job of each of the methods that the bank uses."""
    wanted = [(method, LINK, "") for method in sorted(methods & set(bank.methods))]
    jobs.queue(connection, bank, wanted, at)


def _drop_records(
    connection: sqlite3.Connection, bank: BankKey, numbers: set[int], loss: Loss
) -> list[int]:
    """Delete the records; returns the units that read one of them."""
    if not numbers:
        return []
    wanted = json.dumps(sorted(numbers))
    reading = connection.execute(
        "SELECT DISTINCT unit_record.unit FROM json_each(?) AS wanted CROSS JOIN unit_record "
        "ON unit_record.bank = ? AND unit_record.record = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    loss.methods |= _methods(connection, numbers)
    _drop_edges(connection, bank, wanted, loss)
    loss.rows["record_vector"] += _drop_vectors(connection, bank, numbers)
    gone = connection.executemany(
        "DELETE FROM record WHERE number = ?", [(number,) for number in sorted(numbers)]
    )
    loss.rows["record"] += max(gone.rowcount, 0)
    return [unit for (unit,) in reading]


def _methods(connection: sqlite3.Connection, records: Iterable[int]) -> set[str]:
    """The methods of the records."""
    rows = connection.execute(
        "SELECT DISTINCT record.method FROM json_each(?) AS wanted CROSS JOIN record "
        "ON record.number = wanted.value",
        (json.dumps(sorted(records)),),
    )
    return {method for (method,) in rows.fetchall()}


def _drop_edges(connection: sqlite3.Connection, bank: BankKey, wanted: str, loss: Loss) -> None:
    """Delete the edges of the records; their neighbours are to be linked again."""
    pairs = connection.execute(
        "SELECT record_edge.method, record_edge.kind, record_edge.a, record_edge.b "
        "FROM json_each(?) AS wanted CROSS JOIN record_edge "
        "ON record_edge.bank = ? AND record_edge.a = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    # An edge is stored from both ends: those that lead here are found by those that lead away.
    ends = {(bank.number, m, k, *end) for m, k, a, b in pairs for end in ((a, b), (b, a))}
    cursor = connection.executemany(
        "DELETE FROM record_edge WHERE bank = ? AND method = ? AND kind = ? AND a = ? AND b = ?",
        sorted(ends),
    )
    loss.rows["record_edge"] += max(cursor.rowcount, 0)
    gone = {a for _, _, a, _ in pairs}
    _unlink(connection, bank, {b for _, _, _, b in pairs} - gone)
    loss.unlinked |= {method for method, _, _, b in pairs if b not in gone}


def _drop_vectors(connection: sqlite3.Connection, bank: BankKey, numbers: set[int]) -> int:
    spaces = connection.execute(
        "SELECT number FROM space WHERE bank = ?", (bank.number,)
    ).fetchall()
    ids = [(space << SHIFT | number & LAST,) for (space,) in spaces for number in numbers]
    return max(connection.executemany("DELETE FROM record_vector WHERE id = ?", ids).rowcount, 0)


def _delete(
    connection: sqlite3.Connection, bank: BankKey, table: str, column: str, wanted: str
) -> int:
    return connection.execute(
        f"DELETE FROM {table} WHERE bank = ? AND {column} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (bank.number, wanted),
    ).rowcount


def moved(connection: sqlite3.Connection, bank: BankKey, loss: Loss, *, changed: bool) -> int:
    """Move revision and epoch of the derived records; returns the revision."""
    row = connection.execute(
        "UPDATE bank SET derived_revision = derived_revision + ?, derived_epoch = derived_epoch + ? "
        "WHERE number = ? RETURNING derived_revision",
        (int(changed), int(loss.rows["record"] > 0), bank.number),
    ).fetchone()
    return int(row[0])
