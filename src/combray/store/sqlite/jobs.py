"""Jobs: queued with what they concern, held by one worker at a time, gone when done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from combray.errors import Conflict
from combray.model import Job, JobState
from combray.model.time import from_stored, to_stored
from combray.store.derived import LINK, TURNS, Claim
from combray.store.sqlite.banks import BankKey

_COLUMNS = (
    "job.number, bank.name, job.method, job.kind, job.subject, job.state, job.version, job.tries, "
    "job.due_at, job.leased_until, job.worker, job.code, job.error, job.raw, job.created_at, job.updated_at"
)

# A job that is queued again goes on waiting, or gets another version while it runs; one that had failed waits again.
_QUEUE = """
INSERT INTO job (bank, number, method, kind, subject, state, due_at, created_at, updated_at)
VALUES (:bank, (SELECT coalesce(max(number), 0) + 1 FROM job WHERE bank = :bank),
        :method, :kind, :subject, 'waiting', :at, :at, :at)
ON CONFLICT (bank, method, kind, subject) DO UPDATE SET
  version = version + 1,
  updated_at = excluded.updated_at,
  due_at = CASE state WHEN 'failed' THEN excluded.due_at ELSE due_at END,
  state = CASE state WHEN 'failed' THEN 'waiting' ELSE state END
"""

# Sessions come before what belongs together, so that linking is done once for all of them.
_DUE = """
SELECT job.bank, job.number FROM job WHERE
  ((state = 'waiting' AND due_at <= CASE WHEN kind = :turns AND tries = 0 THEN :settled ELSE :now END)
   OR (state = 'running' AND leased_until <= :now))
  AND (:bank IS NULL OR bank = :bank)
  AND (:methods = '[]' OR method IN (SELECT value FROM json_each(:methods)))
ORDER BY kind = :link, due_at, bank, number LIMIT 1
"""


def queue(
    connection: sqlite3.Connection,
    bank: BankKey,
    wanted: Sequence[tuple[str, str, str]],
    at: datetime,
) -> None:
    """Queue jobs of (method, kind, subject)."""
    stored = to_stored(at)
    connection.executemany(
        _QUEUE,
        [
            {"bank": bank.number, "method": method, "kind": kind, "subject": subject, "at": stored}
            for method, kind, subject in wanted
        ],
    )


def set_methods(
    connection: sqlite3.Connection, bank: BankKey, methods: Sequence[str], at: datetime
) -> tuple[str, ...]:
    """Replace the bank's methods; returns the new ones, whose sessions are queued."""
    chosen = sorted(set(methods))
    added = tuple(name for name in chosen if name not in bank.methods)
    connection.execute(
        "UPDATE bank SET methods = ?, revision = revision + 1 WHERE number = ?",
        (json.dumps(chosen), bank.number),
    )
    connection.execute(
        "DELETE FROM job WHERE bank = ? AND method NOT IN (SELECT value FROM json_each(?))",
        (bank.number, json.dumps(chosen)),
    )
    for name in added:
        queue_sessions(connection, bank, name, at)
    return added


def queue_sessions(
    connection: sqlite3.Connection, bank: BankKey, method: str, at: datetime
) -> None:
    """Queue a job for each session of the bank."""
    names = connection.execute(
        "SELECT name FROM session WHERE bank = ? ORDER BY number", (bank.number,)
    ).fetchall()
    queue(connection, bank, [(method, TURNS, name) for (name,) in names], at)


def claim(
    connection: sqlite3.Connection,
    bank: BankKey | None,
    methods: Sequence[str],
    worker: str,
    times: tuple[datetime, datetime, float],
) -> Job | None:
    """Give the worker the first job that is due; `times` are now, settled before, and the lease in seconds."""
    now, settled, lease_s = times
    row = connection.execute(
        _DUE,
        {
            "turns": TURNS,
            "link": LINK,
            "now": to_stored(now),
            "settled": to_stored(settled),
            "bank": bank.number if bank else None,
            "methods": json.dumps(list(methods)),
        },
    ).fetchone()
    if row is None:
        return None
    connection.execute(
        "UPDATE job SET state = 'running', worker = ?, leased_until = ?, updated_at = ? "
        "WHERE bank = ? AND number = ?",
        (worker, to_stored(now + timedelta(seconds=lease_s)), to_stored(now), *row),
    )
    return _found(connection, "job.bank = ? AND job.number = ?", row, 1)[0]


def renew(connection: sqlite3.Connection, bank: BankKey, held: Claim, until: datetime) -> bool:
    """Move the end of the lease."""
    cursor = connection.execute(
        f"UPDATE job SET leased_until = ? WHERE {_HELD}",  # noqa: S608 (a constant)
        (to_stored(until), *_key(bank, held)),
    )
    return cursor.rowcount > 0


def finish(connection: sqlite3.Connection, bank: BankKey, held: Claim, version: int) -> bool:
    """Delete the job if nothing has been added to it, else let it wait."""
    gone = connection.execute(
        f"DELETE FROM job WHERE {_HELD} AND version = ?",  # noqa: S608 (a constant)
        (*_key(bank, held), version),
    )
    if gone.rowcount > 0:
        return True
    again = connection.execute(
        "UPDATE job SET state = 'waiting', worker = NULL, leased_until = NULL, tries = 0, "  # noqa: S608
        f"due_at = updated_at, code = '', error = '', raw = '' WHERE {_HELD}",
        _key(bank, held),
    )
    return again.rowcount > 0


def fail(
    connection: sqlite3.Connection,
    bank: BankKey,
    held: Claim,
    told: tuple[str, str, str],
    due_at: datetime | None,
) -> bool:
    """Record code, error and raw text; let the job wait until it is due, or leave it failed."""
    state = JobState.FAILED if due_at is None else JobState.WAITING
    cursor = connection.execute(
        "UPDATE job SET state = ?, tries = tries + 1, due_at = coalesce(?, due_at), worker = NULL, "  # noqa: S608
        f"leased_until = NULL, code = ?, error = ?, raw = ? WHERE {_HELD}",
        (state, None if due_at is None else to_stored(due_at), *told, *_key(bank, held)),
    )
    return cursor.rowcount > 0


def check_held(connection: sqlite3.Connection, bank: BankKey, held: Claim) -> None:
    """Refuse a worker whose job is another's by now.

    Raises:
        Conflict: it is.
    """
    found = connection.execute(
        f"SELECT 1 FROM job WHERE {_HELD}",  # noqa: S608 (a constant)
        _key(bank, held),
    ).fetchone()
    if found is None:
        raise Conflict(
            f"job {held.job} of bank {bank.name!r} is no longer this worker's; nothing was stored. "
            "Whoever has it goes on with it."
        )


def page(
    connection: sqlite3.Connection, bank: BankKey, states: Sequence[str], after: int, limit: int
) -> list[Job]:
    """Jobs in order of number."""
    return _found(
        connection,
        "job.bank = ? AND job.number > ? AND (? = '[]' OR job.state IN (SELECT value FROM json_each(?)))",
        (bank.number, after, *2 * (json.dumps(list(states)),)),
        limit,
    )


def retry(
    connection: sqlite3.Connection, bank: BankKey, numbers: Sequence[int], now: datetime
) -> int:
    """Make jobs due that do not run; those that have failed where no number is given."""
    # tries = 1: a job that was asked for does not wait for further turns.
    what = "UPDATE job SET state = 'waiting', tries = 1, due_at = ? WHERE bank = ? AND state"
    if numbers:
        cursor = connection.execute(
            f"{what} != 'running' AND number IN (SELECT value FROM json_each(?))",  # noqa: S608
            (to_stored(now), bank.number, json.dumps(list(numbers))),
        )
    else:
        cursor = connection.execute(f"{what} = 'failed'", (to_stored(now), bank.number))
    return cursor.rowcount


def blank(connection: sqlite3.Connection, bank: BankKey, sessions: Sequence[str]) -> None:
    """Remove what errors say of the sessions' turns, and of what was made of them."""
    connection.execute(
        "UPDATE job SET error = CASE error WHEN '' THEN '' ELSE 'see the code' END, raw = '' "
        "WHERE bank = ? AND (subject = '' OR subject IN (SELECT value FROM json_each(?)))",
        (bank.number, json.dumps(list(sessions))),
    )


_HELD = "bank = ? AND number = ? AND worker = ? AND state = 'running'"


def _key(bank: BankKey, held: Claim) -> tuple[int, int, str]:
    return bank.number, held.job, held.worker


def _found(
    connection: sqlite3.Connection, where: str, values: Sequence[Any], limit: int
) -> list[Job]:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM job JOIN bank ON bank.number = job.bank "  # noqa: S608 (constants)
        f"WHERE {where} ORDER BY job.number LIMIT ?",
        (*values, limit),
    )
    return [_job(row) for row in rows]


def _job(row: Sequence[Any]) -> Job:
    return Job(
        number=row[0],
        bank=row[1],
        method=row[2],
        kind=row[3],
        subject=row[4],
        state=JobState(row[5]),
        version=row[6],
        tries=row[7],
        due_at=from_stored(row[8]),
        leased_until=None if row[9] is None else from_stored(row[9]),
        worker=row[10],
        code=row[11],
        error=row[12],
        raw=row[13],
        created_at=from_stored(row[14]),
        updated_at=from_stored(row[15]),
    )
