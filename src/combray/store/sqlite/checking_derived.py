"""Looking for derived rows that hang on nothing, and for jobs that do not go on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime

from combray.model.time import to_stored
from combray.store.base import Finding
from combray.store.rows import LAST, SHIFT
from combray.store.sqlite.banks import BankKey, find_space
from combray.store.sqlite.closings import FIRST

_DAMAGE = {
    "units read turns that do not exist": "SELECT count(*) FROM unit_turn WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM turn WHERE turn.doc = unit_turn.doc AND turn.bank = :bank)",
    "units read records that do not exist": "SELECT count(*) FROM unit_record WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM record WHERE record.number = unit_record.record AND record.bank = :bank)",
    "units read nothing": "SELECT count(*) FROM unit WHERE bank = :bank "
    "AND NOT EXISTS (SELECT 1 FROM unit_turn WHERE unit_turn.bank = :bank AND unit_turn.unit = unit.number) "
    "AND NOT EXISTS (SELECT 1 FROM unit_record WHERE unit_record.bank = :bank AND unit_record.unit = unit.number)",
    "derived records are of no unit": "SELECT count(*) FROM record WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM source JOIN unit ON unit.bank = :bank AND unit.number = source.unit "
    "WHERE source.bank = :bank AND source.record = record.number)",
    "derived records do not say which unit wrote them": "SELECT count(*) FROM record WHERE bank = :bank "
    "AND NOT EXISTS (SELECT 1 FROM unit WHERE unit.bank = :bank AND unit.number = record.unit)",
    "sources are of records that do not exist": "SELECT count(*) FROM source WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM record WHERE record.number = source.record AND record.bank = :bank)",
    "sources are turns that their unit has not read": "SELECT count(*) FROM source WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM unit_turn WHERE unit_turn.bank = :bank AND unit_turn.doc = source.doc "
    "AND unit_turn.unit = source.unit)",
    "edges lead to records that do not exist": "SELECT count(*) FROM record_edge WHERE bank = :bank AND NOT EXISTS "
    "(SELECT 1 FROM record WHERE record.number = record_edge.b AND record.bank = :bank)",
    "edges are there from one side only": "SELECT count(*) FROM record_edge AS there WHERE bank = :bank "
    "AND NOT EXISTS (SELECT 1 FROM record_edge AS back WHERE back.bank = :bank AND back.a = there.b "
    "AND back.method = there.method AND back.kind = there.kind AND back.b = there.a "
    "AND back.weight = there.weight)",
    "units that are only wanted say something of records": "SELECT count(*) FROM unit WHERE bank = :bank AND done = 0 "
    "AND (EXISTS (SELECT 1 FROM source WHERE source.bank = :bank AND source.unit = unit.number) "
    "OR EXISTS (SELECT 1 FROM closing WHERE closing.bank = :bank AND closing.unit = unit.number))",
    "closings are by units, or of records, that do not exist": "SELECT count(*) FROM closing WHERE bank = :bank AND ("
    "NOT EXISTS (SELECT 1 FROM unit WHERE unit.bank = :bank AND unit.number = closing.unit) "
    "OR NOT EXISTS (SELECT 1 FROM record WHERE record.number = closing.record AND record.bank = :bank))",
    "closings are of records that their unit has not read": "SELECT count(*) FROM closing WHERE bank = :bank "
    "AND NOT EXISTS (SELECT 1 FROM unit_record WHERE unit_record.bank = :bank AND unit_record.record = closing.record "
    "AND unit_record.unit = closing.unit)",
    "records do not say what their closings say": "SELECT count(*) FROM record WHERE bank = :bank AND ("  # noqa: S608
    "(retired_at IS NULL) <> (status = 'current') OR (closed_in IS NULL) <> (status = 'current') "
    "OR status <> coalesce((SELECT closing.status FROM closing WHERE closing.bank = :bank "
    f"AND closing.record = record.number ORDER BY {FIRST} LIMIT 1), 'current'))",
    "records are noted as gone that are there": "SELECT count(*) FROM record_gone WHERE bank = :bank AND EXISTS "
    "(SELECT 1 FROM record WHERE record.number = record_gone.number)",
    "numbers were given that the bank does not know of": "SELECT count(*) FROM bank WHERE number = :bank AND ("
    "last_record < coalesce((SELECT max(number) FROM record WHERE bank = :bank), 0) & 4294967295 "
    "OR last_unit < coalesce((SELECT max(number) FROM unit WHERE bank = :bank), 0) "
    "OR last_job < coalesce((SELECT max(number) FROM job WHERE bank = :bank), 0))",
}
_REPLIES = (
    "SELECT count(*) FROM reply WHERE bank = :bank AND NOT EXISTS (SELECT 1 FROM reply_turn "
    "JOIN turn ON turn.doc = reply_turn.doc WHERE reply_turn.bank = :bank AND reply_turn.key = reply.key)"
)
_VECTORS = (
    "SELECT total(record.number IS NULL), total(length(record_vector.v) <> :bytes) FROM record_vector "
    "LEFT JOIN record ON record.number = record_vector.id + :to_record AND record.bank = :bank "
    "WHERE record_vector.id BETWEEN :first AND :last"
)
_BARE = (
    "SELECT count(*) FROM record WHERE bank = ? "
    "AND NOT EXISTS (SELECT 1 FROM record_vector WHERE record_vector.id = record.number + ?)"
)


def units(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    """Units, records, sources, edges and replies that do not fit together."""
    for what, query in _DAMAGE.items():
        (n,) = connection.execute(query, {"bank": bank.number}).fetchone()
        if n:
            yield Finding(severity="error", what=what, n=n, remedy=_rebuild(bank))
    (n,) = connection.execute(_REPLIES, {"bank": bank.number}).fetchone()
    if n:
        yield Finding(severity="error", what="replies are kept of turns that do not exist", n=n)


def vectors(connection: sqlite3.Connection, bank: BankKey) -> Iterator[Finding]:
    """Vectors of records that do not fit, and records without one."""
    spaces = connection.execute(
        "SELECT number, dimension FROM space WHERE bank = ?", (bank.number,)
    ).fetchall()
    for space, dimension in spaces:
        values = {
            "bytes": 2 * dimension,
            "bank": bank.number,
            "to_record": (bank.number - space) << SHIFT,
            "first": space << SHIFT,
            "last": space << SHIFT | LAST,
        }
        loose, misfits = connection.execute(_VECTORS, values).fetchone()
        if loose or misfits:
            what = "vectors of derived records do not fit them"
            yield Finding(
                severity="error", what=what, n=int(loose + misfits), remedy=_reindex(bank)
            )
    if bank.embedder is None:
        return
    space, _ = find_space(connection, bank.number, bank.embedder) or (0, 0)
    (n,) = connection.execute(_BARE, (bank.number, (space - bank.number) << SHIFT)).fetchone()
    if n:
        what = "derived records have no vectors yet"
        yield Finding(severity="warning", what=what, n=n, remedy=_reindex(bank))


def jobs(connection: sqlite3.Connection, bank: BankKey, now: datetime | None) -> Iterator[Finding]:
    """Jobs that were given up, that nobody works on any more, or that are of no session."""
    failed, expired, loose = connection.execute(
        "SELECT total(state = 'failed'), total(state = 'running' AND leased_until < ?), "
        "total(kind = 'turns' AND NOT EXISTS "
        "(SELECT 1 FROM session WHERE session.bank = job.bank AND session.name = job.subject)) "
        "FROM job WHERE bank = ?",
        (to_stored(now) if now is not None else "", bank.number),
    ).fetchone()
    if failed:
        what = "jobs have failed and are not tried again"
        remedy = f"combray jobs {bank.name} --retry"
        yield Finding(severity="warning", what=what, n=int(failed), remedy=remedy)
    if expired:
        what = "jobs were taken by workers that have not been heard of since"
        yield Finding(severity="warning", what=what, n=int(expired), remedy="combray work")
    if loose:
        yield Finding(severity="error", what="jobs are of sessions that do not exist", n=int(loose))


def _rebuild(bank: BankKey) -> str:
    return f"combray rebuild {bank.name} --method METHOD"


def _reindex(bank: BankKey) -> str:
    return f"combray reindex {bank.name}"
