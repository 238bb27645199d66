"""Units and what was made of them: put whole or not at all, and removed by one rule.

A unit goes when a turn or a record that it read goes; a record goes when no unit that made it is left.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from combray.errors import EmbedderMismatch, InvalidInput, StoreError
from combray.model.time import to_stored
from combray.store.derived import LINK, Derivation, DerivedReceipt, RecordRow, UnitRow
from combray.store.rows import LAST, SHIFT, as_json
from combray.store.sqlite import jobs
from combray.store.sqlite.banks import BankKey, find_space

Removed = Counter[str]
"""Number of removed rows by table."""

_UNIT_TABLES = ("unit_turn", "unit_record", "source")


def derive(
    connection: sqlite3.Connection, bank: BankKey, method: str, change: Derivation, at: datetime
) -> DerivedReceipt:
    """Apply the change; the caller has checked the claim.

    Raises:
        EmbedderMismatch: the vectors are another embedder's.
        InvalidInput: a record has no source.
    """
    if change.embedder is not None and change.embedder != bank.embedder:
        raise EmbedderMismatch(bank.name, f"{bank.embedder}/{bank.dimension}", change.embedder)
    removed = drop_units(connection, bank, _numbers(connection, bank, method, change.drop), at)
    outcomes: dict[str, list[str]] = {"stored": [], "known": [], "stale": []}
    writer = _Writer(connection, bank, method, at)
    for unit in change.units:
        outcomes[writer.put(unit)].append(unit.key)
    writer.close()
    _put_edges(connection, bank, method, change)
    connection.executemany(
        "UPDATE record SET stage = 1 WHERE number = ? AND bank = ?",
        [(number, bank.number) for number in change.staged],
    )
    jobs.queue(connection, bank, [(method, *wanted) for wanted in change.queue], at)
    return DerivedReceipt(
        stored=tuple(outcomes["stored"]),
        known=tuple(outcomes["known"]),
        stale=tuple(outcomes["stale"]),
        records=writer.records,
        removed=dict(removed),
        revision=_moved(connection, bank, removed),
    )


def drop_units(
    connection: sqlite3.Connection, bank: BankKey, numbers: Iterable[int], at: datetime
) -> Removed:
    """Delete the units, the records that no other unit made, the units that read those, and so on.

    Neighbours of deleted records are no longer linked, and their method gets a job.
    """
    removed = Removed()
    units = set(numbers)
    while units:
        wanted = json.dumps(sorted(units))
        made = connection.execute(
            "SELECT DISTINCT source.record FROM json_each(?) AS wanted CROSS JOIN source "
            "ON source.bank = ? AND source.unit = wanted.value",
            (wanted, bank.number),
        ).fetchall()
        for table in _UNIT_TABLES:
            removed[table] += _delete(connection, bank, table, "unit", wanted)
        removed["unit"] += _delete(connection, bank, "unit", "number", wanted)
        left = {
            number
            for (number,) in made
            if connection.execute(
                "SELECT 1 FROM source WHERE bank = ? AND record = ? LIMIT 1", (bank.number, number)
            ).fetchone()
            is None
        }
        removed_now, units = _drop_records(connection, bank, left, at)
        removed += removed_now
    return +removed


def units_reading(connection: sqlite3.Connection, bank: BankKey, docs: Sequence[int]) -> list[int]:
    """Numbers of the units that read one of the documents."""
    rows = connection.execute(
        "SELECT DISTINCT unit_turn.unit FROM json_each(?) AS wanted CROSS JOIN unit_turn "
        "ON unit_turn.bank = ? AND unit_turn.doc = wanted.value",
        (json.dumps(list(docs)), bank.number),
    )
    return [number for (number,) in rows.fetchall()]


def forget(
    connection: sqlite3.Connection, bank: BankKey, docs: Sequence[int], at: datetime
) -> Removed:
    """Delete what was derived from the documents, and the replies that read them."""
    removed = drop_units(connection, bank, units_reading(connection, bank, docs), at)
    keys = connection.execute(
        "SELECT DISTINCT reply_turn.key FROM json_each(?) AS wanted CROSS JOIN reply_turn "
        "ON reply_turn.bank = ? AND reply_turn.doc = wanted.value",
        (json.dumps(list(docs)), bank.number),
    ).fetchall()
    named = json.dumps([key for (key,) in keys])
    removed["reply"] += _delete(connection, bank, "reply", "key", named)
    if keys:
        removed["reply_turn"] += _delete(connection, bank, "reply_turn", "key", named)
    if removed:
        _moved(connection, bank, removed)
    return +removed


def drop(connection: sqlite3.Connection, bank: BankKey, method: str, at: datetime) -> Removed:
    """Delete everything of the method, and its jobs."""
    rows = connection.execute(
        "SELECT number FROM unit WHERE bank = ? AND method = ?", (bank.number, method)
    ).fetchall()
    removed = drop_units(connection, bank, [number for (number,) in rows], at)
    removed["job"] += connection.execute(
        "DELETE FROM job WHERE bank = ? AND method = ?", (bank.number, method)
    ).rowcount
    _moved(connection, bank, removed)
    return +removed


def relink(connection: sqlite3.Connection, bank: BankKey, method: str, at: datetime) -> Removed:
    """Delete edges and the units that read records; every record is to be linked anew."""
    rows = connection.execute(
        "SELECT number FROM unit WHERE bank = ? AND method = ? AND EXISTS "
        "(SELECT 1 FROM unit_record WHERE unit_record.bank = unit.bank AND unit_record.unit = unit.number)",
        (bank.number, method),
    ).fetchall()
    removed = drop_units(connection, bank, [number for (number,) in rows], at)
    removed["record_edge"] += connection.execute(
        "DELETE FROM record_edge WHERE bank = ? AND method = ?", (bank.number, method)
    ).rowcount
    connection.execute(
        "UPDATE record SET stage = 0 WHERE bank = ? AND method = ?", (bank.number, method)
    )
    jobs.queue(connection, bank, [(method, LINK, "")], at)
    _moved(connection, bank, removed)
    return +removed


class _Writer:
    """Puts units one after the other, numbering as it goes."""

    def __init__(
        self, connection: sqlite3.Connection, bank: BankKey, method: str, at: datetime
    ) -> None:
        self._connection = connection
        self._bank = bank
        self._method = method
        self._at = to_stored(at)
        self._unit: int
        self._record: int
        self._unit, self._record = connection.execute(
            "SELECT last_unit, last_record FROM bank WHERE number = ?", (bank.number,)
        ).fetchone()
        self.records: dict[str, int] = {}
        space = find_space(connection, bank.number, bank.embedder) if bank.embedder else None
        self._space = space[0] if space else None

    def put(self, unit: UnitRow) -> str:
        """Put one; whether it was ``stored``, ``known`` or ``stale``."""
        row = self._connection.execute(
            "SELECT number, done FROM unit WHERE bank = ? AND method = ? AND kind = ? AND key = ?",
            (self._bank.number, self._method, unit.kind, unit.key),
        ).fetchone()
        if row is not None and (row[1] or not unit.done):
            return "known"
        if not self._stands(unit):
            return "stale"
        number = self._open(unit) if row is None else self._fill(row[0], unit)
        for record in unit.records:
            self._put_record(number, unit, record)
        return "stored"

    def close(self) -> None:
        """Write the counters back."""
        if self._record > LAST or self._unit > LAST:
            raise StoreError(f"bank {self._bank.name!r} has given all its record numbers.")
        self._connection.execute(
            "UPDATE bank SET last_unit = ?, last_record = ? WHERE number = ?",
            (self._unit, self._record, self._bank.number),
        )

    def _stands(self, unit: UnitRow) -> bool:
        """Whether all that it read is still there."""
        bank = self._bank.number
        return _n_found(self._connection, "turn", "doc", unit.turns, bank) == len(
            set(unit.turns)
        ) and _n_found(self._connection, "record", "number", unit.inputs, bank) == len(
            set(unit.inputs)
        )

    def _open(self, unit: UnitRow) -> int:
        self._unit += 1
        bank, number = self._bank.number, self._unit
        self._connection.execute(
            "INSERT INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                bank,
                number,
                self._method,
                unit.kind,
                unit.key,
                unit.subject,
                int(unit.done),
                unit.made_by.prompt,
                unit.made_by.model,
                self._at,
            ),
        )
        self._connection.executemany(
            "INSERT INTO unit_turn VALUES (?, ?, ?)",
            [(bank, doc, number) for doc in sorted(set(unit.turns))],
        )
        self._connection.executemany(
            "INSERT INTO unit_record VALUES (?, ?, ?, ?)",
            [(bank, record, number, i) for i, record in enumerate(dict.fromkeys(unit.inputs))],
        )
        return number

    def _fill(self, number: int, unit: UnitRow) -> int:
        self._connection.execute(
            "UPDATE unit SET done = 1, prompt = ?, model = ?, made_at = ? WHERE bank = ? AND number = ?",
            (unit.made_by.prompt, unit.made_by.model, self._at, self._bank.number, number),
        )
        return number

    def _put_record(self, number: int, unit: UnitRow, row: RecordRow) -> None:
        if not row.sources:
            raise InvalidInput(f"record {row.id} has no source; every record comes from a turn.")
        if not set(row.sources) <= set(unit.turns):
            raise InvalidInput(f"record {row.id} has a source that its unit has not read.")
        record = self._known(row) or self._insert(unit, row)
        self.records[row.id] = record
        self._connection.executemany(
            "INSERT INTO source VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(self._bank.number, record, number, doc) for doc in row.sources],
        )

    def _known(self, row: RecordRow) -> int | None:
        found = self._connection.execute(
            "SELECT number FROM record WHERE bank = ? AND id = ?", (self._bank.number, row.id)
        ).fetchone()
        return None if found is None else int(found[0])

    def _insert(self, unit: UnitRow, row: RecordRow) -> int:
        self._record += 1
        number = self._bank.number << SHIFT | self._record
        self._connection.execute(
            "INSERT INTO record (number, bank, method, kind, id, text, detail, prompt, model, recorded_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                self._bank.number,
                self._method,
                str(row.kind),
                row.id,
                row.text,
                as_json(dict(row.detail)),
                unit.made_by.prompt,
                unit.made_by.model,
                self._at,
            ),
        )
        if row.vector is not None and self._space is not None:
            self._check_vector(row.vector)
            self._connection.execute(
                "INSERT INTO record_vector VALUES (?, ?)",
                (self._space << SHIFT | self._record, row.vector),
            )
        return number

    def _check_vector(self, vector: bytes) -> None:
        if len(vector) != 2 * self._bank.dimension:
            stored = f"{self._bank.embedder}/{self._bank.dimension}"
            raise EmbedderMismatch(self._bank.name, stored, f"another one (/{len(vector) // 2})")


def _drop_records(
    connection: sqlite3.Connection, bank: BankKey, numbers: set[int], at: datetime
) -> tuple[Removed, set[int]]:
    """Delete the records; returns the units that read one of them, which are to go next."""
    removed = Removed()
    if not numbers:
        return removed, set()
    wanted = json.dumps(sorted(numbers))
    reading = connection.execute(
        "SELECT DISTINCT unit_record.unit FROM json_each(?) AS wanted CROSS JOIN unit_record "
        "ON unit_record.bank = ? AND unit_record.record = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    methods = connection.execute(
        "SELECT DISTINCT record.method FROM json_each(?) AS wanted CROSS JOIN record "
        "ON record.number = wanted.value",
        (wanted,),
    ).fetchall()
    connection.execute(
        "UPDATE record SET stage = 0 WHERE number IN (SELECT record_edge.b FROM json_each(?) AS wanted "
        "CROSS JOIN record_edge ON record_edge.bank = ? AND record_edge.a = wanted.value)",
        (wanted, bank.number),
    )
    # An edge is stored from both ends: first those that lead here, found by those that lead away.
    pairs = connection.execute(
        "SELECT record_edge.method, record_edge.kind, record_edge.a, record_edge.b "
        "FROM json_each(?) AS wanted CROSS JOIN record_edge "
        "ON record_edge.bank = ? AND record_edge.a = wanted.value",
        (wanted, bank.number),
    ).fetchall()
    ends = [(bank.number, m, k, a, b) for m, k, a, b in pairs]
    ends += [(bank.number, m, k, b, a) for m, k, a, b in pairs]
    cursor = connection.executemany(
        "DELETE FROM record_edge WHERE bank = ? AND method = ? AND kind = ? AND a = ? AND b = ?",
        ends,
    )
    removed["record_edge"] += max(cursor.rowcount, 0)
    removed["record_vector"] += _drop_vectors(connection, bank, numbers)
    removed["record"] += _delete(connection, bank, "record", "number", wanted)
    jobs.queue(connection, bank, [(method, LINK, "") for (method,) in methods], at)
    return removed, {unit for (unit,) in reading}


def _drop_vectors(connection: sqlite3.Connection, bank: BankKey, numbers: set[int]) -> int:
    spaces = connection.execute(
        "SELECT number FROM space WHERE bank = ?", (bank.number,)
    ).fetchall()
    ids = [(space << SHIFT | number & LAST,) for (space,) in spaces for number in numbers]
    return max(connection.executemany("DELETE FROM record_vector WHERE id = ?", ids).rowcount, 0)


def _put_edges(
    connection: sqlite3.Connection, bank: BankKey, method: str, change: Derivation
) -> None:
    rows = [
        (bank.number, method, edge.kind, a, b, edge.weight)
        for edge in change.edges
        for a, b in ((edge.a, edge.b), (edge.b, edge.a))
    ]
    rows.sort()
    connection.executemany(
        "INSERT INTO record_edge VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET weight = excluded.weight",
        rows,
    )


def _numbers(
    connection: sqlite3.Connection, bank: BankKey, method: str, keys: Iterable[tuple[str, str]]
) -> list[int]:
    found = [
        connection.execute(
            "SELECT number FROM unit WHERE bank = ? AND method = ? AND kind = ? AND key = ?",
            (bank.number, method, kind, key),
        ).fetchone()
        for kind, key in keys
    ]
    return [row[0] for row in found if row is not None]


def _n_found(
    connection: sqlite3.Connection, table: str, column: str, values: Sequence[int], bank: int
) -> int:
    if not values:
        return 0
    row = connection.execute(
        f"SELECT count(*) FROM json_each(?) AS wanted CROSS JOIN {table} "  # noqa: S608 (constants)
        f"ON {table}.{column} = wanted.value WHERE {table}.bank = ?",
        (json.dumps(sorted(set(values))), bank),
    ).fetchone()
    return int(row[0])


def _delete(
    connection: sqlite3.Connection, bank: BankKey, table: str, column: str, wanted: str
) -> int:
    return connection.execute(
        f"DELETE FROM {table} WHERE bank = ? AND {column} IN (SELECT value FROM json_each(?))",  # noqa: S608
        (bank.number, wanted),
    ).rowcount


def _moved(connection: sqlite3.Connection, bank: BankKey, removed: Removed) -> int:
    row = connection.execute(
        "UPDATE bank SET derived_revision = derived_revision + 1, derived_epoch = derived_epoch + ? "
        "WHERE number = ? RETURNING derived_revision",
        (int(bool(removed["record"])), bank.number),
    ).fetchone()
    return int(row[0])
