"""Removing units, and what nothing makes any more.

A unit goes when a turn or a record that it read goes, if it is not wanted again without it; a record goes when no unit
that made it is left.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from combray.store.derived import LINK
from combray.store.rows import LAST, SHIFT
from combray.store.sqlite import closings, epochs, jobs
from combray.store.sqlite.banks import BankKey
from combray.store.sqlite.loss import Loss, Removed, delete
from combray.store.sqlite.reopening import reopen, replies_taken


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
    loss = _lost_turns(connection, bank, [number for (number,) in units], wanted)
    keys = connection.execute(
        "SELECT DISTINCT reply_turn.key FROM json_each(?) AS wanted CROSS JOIN reply_turn "
        "ON reply_turn.bank = ? AND reply_turn.doc = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    named = json.dumps([key for (key,) in keys])
    for table in ("reply", "reply_turn") if keys else ():
        loss.rows[table] += delete(connection, bank, table, "key", named)
    ask_to_link(connection, bank, loss.methods, at)
    _forgotten(connection, bank, loss, at, changed=bool(units))
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
    _forgotten(connection, bank, loss, at, changed=bool(rows))
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
    _forgotten(connection, bank, loss, at, changed=True)
    return +loss.rows


def _drop(connection: sqlite3.Connection, bank: BankKey, numbers: Iterable[int]) -> Loss:
    loss, units = Loss(), sorted(set(numbers))
    _unlink_read(connection, bank, units, loss)
    cascade(connection, bank, detach(connection, bank, units, loss), loss)
    return loss


def _lost_turns(
    connection: sqlite3.Connection, bank: BankKey, units: Sequence[int], docs: str
) -> Loss:
    """Drop the units that read the documents, or have them wanted again without."""
    loss = Loss()
    _unlink_read(connection, bank, units, loss)
    loss.rows["unit_turn"] += delete(connection, bank, "unit_turn", "doc", docs)
    going, made = reopen(connection, bank, units, loss)
    cascade(connection, bank, made | detach(connection, bank, going, loss), loss)
    return loss


def _unlink_read(
    connection: sqlite3.Connection, bank: BankKey, units: Sequence[int], loss: Loss
) -> set[str]:
    """Have the records that the units read linked again: what held them together goes, and something else may.

    Returns the methods of the records.
    """
    read = connection.execute(
        "SELECT DISTINCT record.number, record.method FROM json_each(?) AS wanted CROSS JOIN unit_record "
        "ON unit_record.bank = ? AND unit_record.unit = wanted.value "
        "CROSS JOIN record ON record.number = unit_record.record",
        (json.dumps(list(units)), bank.number),
    ).fetchall()
    _unlink(connection, bank, [number for number, _ in read])
    methods = {method for _, method in read}
    loss.methods |= methods
    return methods


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
    made = replies_taken(connection, bank, units, loss)
    for table in ("unit_turn", "unit_record"):
        loss.rows[table] += delete(connection, bank, table, "unit", wanted)
    loss.rows["unit"] += delete(connection, bank, "unit", "number", wanted)
    return made


def cascade(connection: sqlite3.Connection, bank: BankKey, loose: set[int], loss: Loss) -> None:
    """Delete those of the records that no unit makes any more, the units that read them, and so on."""
    while loose:
        rows = connection.execute(
            "SELECT wanted.value, (SELECT min(source.unit) FROM source WHERE source.bank = ? "
            "AND source.record = wanted.value) FROM json_each(?) AS wanted",
            (bank.number, json.dumps(sorted(loose))),
        ).fetchall()
        # A record that is left must hold nothing of a reply that went: its text is the same in all, its detail is not.
        rewritten = connection.executemany(
            "UPDATE record SET unit = ?, detail = '{}', valid_from = NULL, valid_offset = 0 "
            "WHERE number = ? AND bank = ? AND NOT EXISTS (SELECT 1 FROM source WHERE source.bank = record.bank "
            "AND source.record = record.number AND source.unit = record.unit)",
            [(unit, record, bank.number) for record, unit in rows if unit is not None],
        )
        loss.rewritten += max(rewritten.rowcount, 0)
        orphans = {record for record, unit in rows if unit is None}
        # One that is left comes from fewer turns now, which may change what it belongs with.
        left = [record for record, unit in rows if unit is not None]
        _unlink(connection, bank, left)
        loss.methods |= _methods(connection, left)
        reading = _drop_records(connection, bank, orphans, loss)
        loss.unlinked |= _unlink_read(connection, bank, reading, loss)
        going, made = reopen(connection, bank, reading, loss)
        loose = made | detach(connection, bank, going, loss)


def ask_to_link(
    connection: sqlite3.Connection, bank: BankKey, methods: set[str], at: datetime
) -> None:
    """Ask for a `LINK` job of each of the methods that the bank uses."""
    wanted = [(method, LINK, "") for method in sorted(methods & set(bank.methods))]
    jobs.queue(connection, bank, wanted, at)


def _drop_records(
    connection: sqlite3.Connection, bank: BankKey, numbers: set[int], loss: Loss
) -> list[int]:
    """Delete the records; returns the units that read one of them, and do so no longer."""
    if not numbers:
        return []
    wanted = json.dumps(sorted(numbers))
    reading = connection.execute(
        "SELECT DISTINCT unit_record.unit FROM json_each(?) AS wanted CROSS JOIN unit_record "
        "ON unit_record.bank = ? AND unit_record.record = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    loss.rows["unit_record"] += delete(connection, bank, "unit_record", "record", wanted)
    _drop_edges(connection, bank, wanted, loss)
    loss.rows["record_vector"] += _drop_vectors(connection, bank, numbers)
    gone = connection.execute(
        "DELETE FROM record WHERE number IN (SELECT value FROM json_each(?)) RETURNING method, number",
        (wanted,),
    ).fetchall()
    loss.rows["record"] += len(gone)
    loss.gone += gone
    loss.methods |= {method for method, _ in gone}
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


def replaced(
    connection: sqlite3.Connection, bank: BankKey, loss: Loss, at: datetime, *, changed: bool
) -> int:
    """Take down what a derivation did to records that were there; returns the revision."""
    revision = epochs.revise(connection, bank, changed=changed)
    again = closings.settle(connection, bank, loss.closed, revision, at)
    if again or loss.rewritten:
        epochs.begin(connection, bank)
    else:
        epochs.note_gone(connection, bank, loss.gone, revision)
    return revision


def _forgotten(
    connection: sqlite3.Connection, bank: BankKey, loss: Loss, at: datetime, *, changed: bool
) -> None:
    """Begin another epoch after units went that nothing replaces."""
    revision = epochs.revise(connection, bank, changed=changed)
    closings.settle(connection, bank, loss.closed, revision, at)
    if changed:
        epochs.begin(connection, bank)
