"""The ledger of calls to models, and the replies that are kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from combray.model import Call
from combray.model.time import from_stored, to_stored
from combray.store.derived import CallSummary
from combray.store.rows import decoding
from combray.store.sqlite.banks import BankKey

_COLUMNS = (
    "at, run, phase, method, model, prompt_tokens, completion_tokens, latency_ms, cached, "
    "retry, attempts, outcome"
)
Part = tuple[str, list[str]]
"""A condition on rows, with its values."""

_USABLE = "('ok', 'truncated')"


def add(connection: sqlite3.Connection, bank: BankKey, calls: Sequence[Call]) -> None:
    """Append rows."""
    (last,) = connection.execute(
        "UPDATE bank SET last_call = last_call + ? WHERE number = ? RETURNING last_call",
        (len(calls), bank.number),
    ).fetchone()
    connection.executemany(
        "INSERT INTO call VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                bank.number,
                number,
                to_stored(call.at),
                call.run,
                call.phase,
                call.method,
                call.model,
                call.prompt_tokens,
                call.completion_tokens,
                call.latency_ms,
                int(call.cached),
                call.retry,
                call.attempts,
                str(call.outcome),
            )
            for number, call in enumerate(calls, start=last - len(calls) + 1)
        ],
    )


@decoding
def page(connection: sqlite3.Connection, bank: BankKey, part: Part, limit: int) -> list[Call]:
    """Rows of the part in order of time."""
    where, values = part
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM call WHERE bank = ?{where} ORDER BY at, number LIMIT ?",  # noqa: S608
        (bank.number, *values, limit),
    )
    return [
        Call(
            at=from_stored(row[0]),
            run=row[1],
            phase=row[2],
            method=row[3],
            model=row[4],
            prompt_tokens=row[5],
            completion_tokens=row[6],
            latency_ms=row[7],
            cached=bool(row[8]),
            retry=row[9],
            attempts=row[10],
            outcome=row[11],
        )
        for row in rows
    ]


def part_of(since: datetime | None, run: str | None) -> Part:
    """The rows from `since` on, and of a run."""
    where, values = "", []
    if since is not None:
        where, values = " AND at >= ?", [to_stored(since)]
    if run is not None:
        where, values = f"{where} AND run = ?", [*values, run]
    return where, values


def summary(connection: sqlite3.Connection, bank: BankKey, part: Part) -> list[CallSummary]:
    """Rows added up by phase, method and model; a cached call counts no tokens."""
    where, values = part
    rows = connection.execute(
        "SELECT phase, method, model, count(*), sum(cached), sum(retry > 0), "  # noqa: S608
        f"sum(outcome NOT IN {_USABLE}), sum(prompt_tokens * (1 - cached)), "
        "sum(completion_tokens * (1 - cached)), sum(latency_ms) "
        f"FROM call WHERE bank = ?{where} GROUP BY phase, method, model ORDER BY phase, method, model",
        (bank.number, *values),
    )
    names = [field.name for field in fields(CallSummary)]
    return [CallSummary(**dict(zip(names, row, strict=True))) for row in rows]


def reply(connection: sqlite3.Connection, bank: BankKey, key: str) -> str | None:
    """The reply of the key."""
    row = connection.execute(
        "SELECT value FROM reply WHERE bank = ? AND key = ?", (bank.number, key)
    ).fetchone()
    return None if row is None else str(row[0])


def put_reply(
    connection: sqlite3.Connection,
    bank: BankKey,
    key: str,
    value: str,
    docs: Sequence[int],
) -> None:
    """Keep the reply unless a turn that it read has gone; without turns there would be nothing to erase it with."""
    (n_there,) = connection.execute(
        "SELECT count(*) FROM json_each(?) AS wanted CROSS JOIN turn ON turn.doc = wanted.value "
        "WHERE turn.bank = ?",
        (json.dumps(sorted(set(docs))), bank.number),
    ).fetchone()
    if not docs or n_there != len(set(docs)):
        return
    connection.execute(
        "INSERT INTO reply VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (bank.number, key, value),
    )
    connection.executemany(
        "INSERT INTO reply_turn VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(bank.number, doc, key) for doc in sorted(set(docs))],
    )
