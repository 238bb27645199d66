"""Reading units and records; vectors of records."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from combray.errors import EmbedderMismatch, InvalidInput
from combray.model import DerivedRecord, MadeBy, RecordKind, Status
from combray.model.time import from_stored
from combray.store.derived import DerivedState, Edges, RecordColumns, RecordDetails, Sources, Unit
from combray.store.rows import LAST, SHIFT, decoding
from combray.store.sqlite import closings
from combray.store.sqlite.banks import BankKey, find_space, open_space

_KINDS = {str(kind): index for index, kind in enumerate(RecordKind)}


def state(connection: sqlite3.Connection, bank: BankKey) -> DerivedState:
    """Revision and epoch of the bank's records."""
    revision, epoch = connection.execute(
        "SELECT derived_revision, derived_epoch FROM bank WHERE number = ?", (bank.number,)
    ).fetchone()
    return DerivedState(revision=revision, epoch=epoch, dimension=bank.dimension)


_UNIT = "unit.number, unit.kind, unit.key, unit.subject, unit.done, unit.prompt, unit.model, unit.least_inputs"


def units(
    connection: sqlite3.Connection,
    bank: BankKey,
    place: tuple[str, str],
    subject: str | None,
    done: bool | None,
) -> list[Unit]:
    """Units of (method, kind), in order of number."""
    # Named, since without statistics the planner would read all units of the bank.
    index = "" if done is None or done else " INDEXED BY unit_wanted"
    index = index if subject is None else " INDEXED BY unit_subject"
    also = ("" if subject is None else " AND subject = ?") + (
        "" if done is None else f" AND done = {int(done)}"
    )
    found = connection.execute(
        f"SELECT {_UNIT} FROM unit{index} WHERE bank = ? AND method = ? AND kind = ?{also}",  # noqa: S608
        (bank.number, *place, *(() if subject is None else (subject,))),
    ).fetchall()
    return _units(connection, bank, place[0], found)


def units_reading(
    connection: sqlite3.Connection, bank: BankKey, place: tuple[str, str], numbers: Sequence[int]
) -> list[Unit]:
    """Units of (method, kind) that read one of the records, in order of number."""
    found = connection.execute(
        f"SELECT DISTINCT {_UNIT} FROM json_each(?) AS wanted CROSS JOIN unit_record "  # noqa: S608
        "ON unit_record.bank = ? AND unit_record.record = wanted.value "
        "CROSS JOIN unit ON unit.bank = unit_record.bank AND unit.number = unit_record.unit "
        "WHERE unit.method = ? AND unit.kind = ?",
        (json.dumps([int(number) for number in numbers]), bank.number, *place),
    ).fetchall()
    return _units(connection, bank, place[0], found)


def _units(
    connection: sqlite3.Connection, bank: BankKey, method: str, found: Sequence[tuple[Any, ...]]
) -> list[Unit]:
    values = (bank.number, json.dumps(sorted(row[0] for row in found)))

    def of(table: str, column: str, order: str) -> dict[int, tuple[Any, ...]]:
        return _grouped(
            connection,
            f"SELECT DISTINCT unit, {column}, {order} FROM {table} WHERE bank = ? "  # noqa: S608
            f"AND unit IN (SELECT value FROM json_each(?)) ORDER BY unit, {order}",
            values,
        )

    turns = of("unit_turn", "doc", "doc")
    inputs = of("unit_record", "record", "position")
    made = of("source", "record", "record")
    return [
        Unit(
            number=number,
            kind=kind,
            key=key,
            subject=subject,
            done=bool(is_done),
            turns=turns.get(number, ()),
            inputs=inputs.get(number, ()),
            records=made.get(number, ()),
            made_by=MadeBy(method=method, prompt=prompt, model=model),
            least_inputs=least,
        )
        for number, kind, key, subject, is_done, prompt, model, least in sorted(found)
    ]


@decoding
def records(
    connection: sqlite3.Connection, bank: BankKey, numbers: Sequence[int]
) -> dict[int, DerivedRecord]:
    """Records by number."""
    wanted = json.dumps([int(number) for number in numbers])
    rows = connection.execute(
        "SELECT record.number, record.id, record.kind, record.method, record.text, unit.prompt, unit.model, "
        "record.recorded_at, record.retired_at, record.status, record.detail, record.valid_from, record.valid_offset "
        "FROM json_each(?) AS wanted CROSS JOIN record ON record.number = wanted.value "
        "CROSS JOIN unit ON unit.bank = record.bank AND unit.number = record.unit WHERE record.bank = ?",
        (wanted, bank.number),
    ).fetchall()
    turns = _grouped(
        connection,
        f"{_BEHIND} SELECT DISTINCT wanted.record, turn.id, turn.said_at, turn.doc FROM wanted "  # noqa: S608
        "CROSS JOIN source ON source.bank = ? AND source.record = wanted.number "
        "CROSS JOIN turn ON turn.doc = source.doc ORDER BY wanted.record, turn.said_at, turn.doc",
        (wanted, bank.number, bank.number),
    )
    members = _grouped(
        connection,
        "SELECT record.number, member.id FROM json_each(?) AS wanted "
        "CROSS JOIN record ON record.number = wanted.value AND record.bank = ? "
        "CROSS JOIN unit_record ON unit_record.bank = record.bank AND unit_record.unit = record.unit "
        "CROSS JOIN record AS member ON member.number = unit_record.record "
        "ORDER BY record.number, unit_record.position",
        (wanted, bank.number),
    )
    ends = closings.ends(connection, bank, wanted)
    none = closings.End("", None)
    return {
        row[0]: DerivedRecord(
            number=row[0],
            id=row[1],
            kind=RecordKind(row[2]),
            method=row[3],
            text=row[4],
            sources=turns.get(row[0], ()),
            members=members.get(row[0], ()),
            made_by=MadeBy(method=row[3], prompt=row[5], model=row[6]),
            recorded_at=from_stored(row[7]),
            retired_at=None if row[8] is None else from_stored(row[8]),
            valid_from=None if row[11] is None else from_stored(row[11], row[12]),
            valid_to=ends.get(row[0], none).valid_to,
            superseded_by=ends.get(row[0], none).by,
            status=Status(row[9]),
            detail=json.loads(row[10]),
        )
        for row in rows
    }


@decoding
def columns(
    connection: sqlite3.Connection, bank: BankKey, method: str, after: int
) -> RecordColumns:
    """Records after that number."""
    space = find_space(connection, bank.number, bank.embedder) if bank.embedder else None
    rows = connection.execute(
        "SELECT record.number, record.kind, record_vector.v, record.retired_at IS NULL FROM record "
        "LEFT JOIN record_vector ON record_vector.id = ? + (record.number & ?) "
        "WHERE record.bank = ? AND record.method = ? AND record.number > ? "
        "ORDER BY record.number",
        ((space[0] if space else 0) << SHIFT, LAST, bank.number, method, after),
    ).fetchall()
    blank = bytes(2 * bank.dimension)
    vectors = b"".join(blank if space is None or row[2] is None else row[2] for row in rows)
    return RecordColumns(
        number=np.array([row[0] for row in rows], dtype=np.int64),
        kind=np.array([_KINDS[row[1]] for row in rows], dtype=np.int8),
        current=np.array([row[3] == 1 for row in rows], dtype=np.bool_),
        vector=np.frombuffer(vectors, dtype="<f2").reshape(len(rows), bank.dimension),
        embedded=np.array(
            [space is not None and row[2] is not None for row in rows], dtype=np.bool_
        ),
    )


@decoding
def details(
    connection: sqlite3.Connection, bank: BankKey, method: str, after: int
) -> RecordDetails:
    """What is noted about records after that number."""
    rows = connection.execute(
        "SELECT number, detail, (SELECT min(source.doc) FROM source WHERE source.bank = record.bank "
        "AND source.record = record.number AND source.unit = record.unit) FROM record "
        "WHERE bank = ? AND method = ? AND number > ? ORDER BY number",
        (bank.number, method, after),
    ).fetchall()
    pairs = connection.execute(
        "SELECT record.number, unit_record.record FROM record CROSS JOIN unit_record "
        "ON unit_record.bank = record.bank AND unit_record.unit = record.unit "
        "WHERE record.bank = ? AND record.method = ? AND record.number > ? "
        "ORDER BY record.number, unit_record.position",
        (bank.number, method, after),
    ).fetchall()
    return RecordDetails(
        number=np.array([row[0] for row in rows], dtype=np.int64),
        detail=[row[1] for row in rows],
        doc=np.array([row[2] or 0 for row in rows], dtype=np.int64),
        member=np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
    )


# A record stands for those that are merged into it, and for those merged into them. The index is named, since without
# statistics the planner would read all closings of the bank.
_BEHIND = """
WITH RECURSIVE wanted (record, number) AS (
  SELECT asked.value, asked.value FROM json_each(?) AS asked
  UNION
  SELECT wanted.record, closing.record FROM wanted
  CROSS JOIN record ON record.number = wanted.number
  CROSS JOIN closing INDEXED BY closing_by ON closing.bank = record.bank AND closing.by = record.id
  WHERE record.bank = ? AND closing.status = 'merged'
)
"""


def sources(connection: sqlite3.Connection, bank: BankKey, numbers: Sequence[int]) -> Sources:
    """From which turns the records come."""
    rows = connection.execute(
        f"{_BEHIND} SELECT DISTINCT wanted.record, source.unit, source.doc FROM wanted CROSS JOIN source "  # noqa: S608
        "ON source.bank = ? AND source.record = wanted.number "
        "ORDER BY wanted.record, source.unit, source.doc",
        (json.dumps([int(number) for number in numbers]), bank.number, bank.number),
    ).fetchall()
    table = np.array(rows, dtype=np.int64).reshape(len(rows), 3)
    return Sources(record=table[:, 0], unit=table[:, 1], doc=table[:, 2])


def unstaged(
    connection: sqlite3.Connection, bank: BankKey, place: tuple[str, str], limit: int
) -> list[int]:
    """Current records of (method, kind) at stage 0, ascending."""
    rows = connection.execute(
        "SELECT number FROM record WHERE bank = ? AND method = ? AND kind = ? AND stage = 0 "
        "AND retired_at IS NULL ORDER BY number LIMIT ?",
        (bank.number, *place, limit),
    )
    return [number for (number,) in rows.fetchall()]


def edges(
    connection: sqlite3.Connection,
    bank: BankKey,
    place: tuple[str, str],
    numbers: Sequence[int],
) -> Edges:
    """Edges of (method, kind) from each of the records."""
    rows = connection.execute(
        "SELECT record_edge.a, record_edge.b, record_edge.weight FROM json_each(?) AS wanted "
        "CROSS JOIN record_edge ON record_edge.bank = ? AND record_edge.method = ? "
        "AND record_edge.kind = ? AND record_edge.a = wanted.value ORDER BY record_edge.a, record_edge.b",
        (json.dumps([int(number) for number in numbers]), bank.number, *place),
    ).fetchall()
    a, b, weight = zip(*rows, strict=True) if rows else ((), (), ())
    return Edges(
        a=np.array(a, dtype=np.int64),
        b=np.array(b, dtype=np.int64),
        weight=np.array(weight, dtype=np.float64),
    )


def numbers_of(connection: sqlite3.Connection, bank: BankKey, ids: Sequence[str]) -> list[int]:
    """Numbers of the records of those ids."""
    rows = connection.execute(
        "SELECT record.number FROM json_each(?) AS wanted "
        "CROSS JOIN record ON record.bank = ? AND record.id = wanted.value",
        (json.dumps(list(ids)), bank.number),
    )
    return [number for (number,) in rows.fetchall()]


def docs(connection: sqlite3.Connection, bank: BankKey, turns: Sequence[str]) -> list[int]:
    """Document numbers of those turns that are stored, ascending."""
    rows = connection.execute(
        "SELECT turn.doc FROM json_each(?) AS wanted "
        "CROSS JOIN turn ON turn.bank = ? AND turn.id = wanted.value",
        (json.dumps(list(turns)), bank.number),
    )
    return sorted({doc for (doc,) in rows})


def missing_vectors(
    connection: sqlite3.Connection, bank: BankKey, embedder: str, limit: int
) -> list[tuple[int, str]]:
    """Number and text of records without a vector of that embedder."""
    space, _ = find_space(connection, bank.number, embedder) or (0, 0)
    rows = connection.execute(
        "SELECT number, text FROM record WHERE number BETWEEN ? AND ? AND NOT EXISTS "
        "(SELECT 1 FROM record_vector WHERE record_vector.id = ? + (record.number & ?)) "
        "ORDER BY number LIMIT ?",
        (bank.number << SHIFT, bank.number << SHIFT | LAST, space << SHIFT, LAST, limit),
    )
    return rows.fetchall()


def put_vectors(
    connection: sqlite3.Connection,
    bank: BankKey,
    model: tuple[str, int],
    rows: Mapping[int, bytes],
) -> int:
    """Add vectors of (embedder, dimension) to records that have none of it."""
    embedder, dimension = model
    if dimension < 1:
        raise InvalidInput(f"a dimension is at least 1, not {dimension}.")
    space, stored = open_space(connection, bank.number, embedder, dimension)
    for vector in rows.values():
        if stored != dimension or len(vector) != 2 * dimension:
            given = f"{embedder}/{len(vector) // 2}"
            raise EmbedderMismatch(bank.name, f"{embedder}/{stored}", given)
    cursor = connection.executemany(
        "INSERT INTO record_vector SELECT ?, ? WHERE EXISTS "
        "(SELECT 1 FROM record WHERE number = ? AND bank = ?) ON CONFLICT DO NOTHING",
        [
            (space << SHIFT | number & LAST, vector, number, bank.number)
            for number, vector in rows.items()
        ],
    )
    n_new = max(cursor.rowcount, 0)
    if n_new and embedder == bank.embedder:
        connection.execute(
            "UPDATE bank SET derived_revision = derived_revision + 1, derived_epoch = derived_epoch + 1 "
            "WHERE number = ?",
            (bank.number,),
        )
    return n_new


def _grouped(
    connection: sqlite3.Connection, query: str, values: tuple[object, ...]
) -> dict[int, tuple[Any, ...]]:
    rows = connection.execute(query, values).fetchall()
    return {
        key: tuple(row[1] for row in group) for key, group in groupby(rows, key=lambda row: row[0])
    }
