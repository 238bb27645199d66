"""Storing what a method derives: units with what was made of them, whole or not at all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from combray.errors import EmbedderMismatch, StoreError
from combray.model.time import to_stored
from combray.store.derived import Derivation, DerivedReceipt, RecordRow, UnitRow
from combray.store.rows import LAST, SHIFT, as_json, check_derivation, time_values
from combray.store.sqlite import closings, dropping, jobs
from combray.store.sqlite.banks import BankKey, find_space
from combray.store.sqlite.loss import Loss


def derive(
    connection: sqlite3.Connection, bank: BankKey, method: str, change: Derivation, at: datetime
) -> DerivedReceipt:
    """Apply the change; the caller has checked the claim.

    Raises:
        EmbedderMismatch: the vectors are another embedder's.
        InvalidInput: the change contradicts itself.
    """
    check_derivation(change)
    if change.embedder is not None and change.embedder != bank.embedder:
        raise EmbedderMismatch(bank.name, f"{bank.embedder}/{bank.dimension}", change.embedder)
    loss = Loss()
    # What the new units make too must not go in between: a record keeps its number, and what hangs on it.
    loose = dropping.detach(connection, bank, _numbers(connection, bank, method, change.drop), loss)
    outcomes: dict[str, list[str]] = {"stored": [], "known": [], "stale": []}
    writer = _Writer(connection, bank, method, at, loss)
    for unit in change.units:
        outcomes[writer.put(unit)].append(unit.key)
    writer.close()
    dropping.cascade(connection, bank, loose, loss)
    n_edges = _put_edges(connection, bank, method, change)
    connection.executemany(
        "UPDATE record SET stage = 1 WHERE number = ? AND bank = ? AND method = ?",
        [(number, bank.number, method) for number in change.staged],
    )
    jobs.queue(connection, bank, [(method, *wanted) for wanted in change.queue], at)
    dropping.ask_to_link(connection, bank, loss.unlinked, at)
    changed = bool(outcomes["stored"] or loss.rows["unit"] or n_edges)
    return DerivedReceipt(
        stored=tuple(outcomes["stored"]),
        known=tuple(outcomes["known"]),
        stale=tuple(outcomes["stale"]),
        records=writer.records,
        removed=dict(+loss.rows),
        revision=dropping.replaced(connection, bank, loss, at, changed=changed),
    )


class _Writer:
    """Puts units one after the other, numbering as it goes."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        bank: BankKey,
        method: str,
        at: datetime,
        loss: Loss,
    ) -> None:
        self._connection = connection
        self._bank = bank
        self._method = method
        self._at = to_stored(at)
        self._loss = loss
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
        self._put_reads(number, unit)
        for record in unit.records:
            self._put_record(number, record)
        self._loss.closed |= closings.put(self._connection, self._bank, number, unit.closes)
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
        """Whether all that it read, and what holds instead of what it closes, is still there."""
        made = {row.id for row in unit.records}
        instead = [one.by for one in unit.closes if one.by and one.by not in made]
        return all(
            _n_found(self._connection, table, column, values, self._bank.number) == len(set(values))
            for table, column, values in (
                ("turn", "doc", unit.turns),
                ("record", "number", unit.inputs),
                ("record", "id", instead),
            )
        )

    def _open(self, unit: UnitRow) -> int:
        self._unit += 1
        bank, number = self._bank.number, self._unit
        self._connection.execute(
            "INSERT INTO unit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
                unit.least_inputs,
            ),
        )
        return number

    def _fill(self, number: int, unit: UnitRow) -> int:
        key = (self._bank.number, number)
        self._connection.execute(
            "UPDATE unit SET done = 1, prompt = ?, model = ?, made_at = ?, least_inputs = ? "
            "WHERE bank = ? AND number = ?",
            (unit.made_by.prompt, unit.made_by.model, self._at, unit.least_inputs, *key),
        )
        self._connection.execute("DELETE FROM unit_turn WHERE bank = ? AND unit = ?", key)
        self._connection.execute("DELETE FROM unit_record WHERE bank = ? AND unit = ?", key)
        return number

    def _put_reads(self, number: int, unit: UnitRow) -> None:
        bank = self._bank.number
        self._connection.executemany(
            "INSERT INTO unit_turn VALUES (?, ?, ?)",
            [(bank, doc, number) for doc in sorted(set(unit.turns))],
        )
        self._connection.executemany(
            "INSERT INTO unit_record VALUES (?, ?, ?, ?)",
            [(bank, record, number, i) for i, record in enumerate(dict.fromkeys(unit.inputs))],
        )

    def _put_record(self, unit: int, row: RecordRow) -> None:
        record = self._known(row)
        if record is None:
            record = self._insert(unit, row)
        else:
            self._write_anew(unit, record, row)
            # It comes from more turns now, which may change what it belongs with.
            self._connection.execute(
                "UPDATE record SET stage = 0 WHERE number = ? AND bank = ?",
                (record, self._bank.number),
            )
        self.records[row.id] = record
        self._connection.executemany(
            "INSERT INTO source VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(self._bank.number, record, unit, doc) for doc in row.sources],
        )

    def _write_anew(self, unit: int, record: int, row: RecordRow) -> None:
        """Have the unit tell of the record, if the one that did has just been dropped."""
        cursor = self._connection.execute(
            "UPDATE record SET unit = ?, detail = ?, valid_from = ?, valid_offset = ? "
            "WHERE number = ? AND NOT EXISTS (SELECT 1 FROM source WHERE source.bank = record.bank "
            "AND source.record = record.number AND source.unit = record.unit)",
            (unit, as_json(dict(row.detail)), *time_values(row.valid_from), record),
        )
        self._loss.rewritten += max(cursor.rowcount, 0)

    def _known(self, row: RecordRow) -> int | None:
        found = self._connection.execute(
            "SELECT number FROM record WHERE bank = ? AND id = ?", (self._bank.number, row.id)
        ).fetchone()
        return None if found is None else int(found[0])

    def _insert(self, unit: int, row: RecordRow) -> int:
        self._record += 1
        number = self._bank.number << SHIFT | self._record
        self._connection.execute(
            "INSERT INTO record (number, bank, method, kind, id, text, detail, unit, recorded_at, "
            "valid_from, valid_offset) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number,
                self._bank.number,
                self._method,
                str(row.kind),
                row.id,
                row.text,
                as_json(dict(row.detail)),
                unit,
                self._at,
                *time_values(row.valid_from),
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


def _put_edges(
    connection: sqlite3.Connection, bank: BankKey, method: str, change: Derivation
) -> int:
    """Insert or weigh anew the edges of records that are there; returns how many rows that changed."""
    if not change.edges:
        return 0
    ends = sorted({end for edge in change.edges for end in (edge.a, edge.b)})
    rows = connection.execute(
        "SELECT record.number FROM json_each(?) AS wanted CROSS JOIN record "
        "ON record.number = wanted.value WHERE record.bank = ? AND record.method = ?",
        (json.dumps(ends), bank.number, method),
    )
    there = {number for (number,) in rows}
    cursor = connection.executemany(
        "INSERT INTO record_edge (bank, method, kind, a, b, weight) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET weight = excluded.weight WHERE weight <> excluded.weight",
        sorted(
            (bank.number, method, edge.kind, a, b, edge.weight)
            for edge in change.edges
            for a, b in ((edge.a, edge.b), (edge.b, edge.a))
            if {a, b} <= there
        ),
    )
    return max(cursor.rowcount, 0)


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
    connection: sqlite3.Connection, table: str, column: str, values: Sequence[object], bank: int
) -> int:
    if not values:
        return 0
    row = connection.execute(
        f"SELECT count(*) FROM json_each(?) AS wanted CROSS JOIN {table} "  # noqa: S608 (constants)
        f"ON {table}.{column} = wanted.value WHERE {table}.bank = ?",
        (json.dumps(list(set(values))), bank),
    ).fetchone()
    return int(row[0])
