"""Jobs: queued with what they concern, held by one worker at a time, gone when done."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from combray.errors import Conflict
from combray.model import Job, JobState
from combray.model.time import from_stored, to_stored
from combray.store.derived import TURNS, Claim
from combray.store.rows import decoding
from combray.store.sqlite.banks import BankKey

_COLUMNS = (
    "job.number, bank.name, job.method, job.kind, job.subject, job.state, job.version, job.tries, "
    "job.due_at, job.leased_until, job.worker, job.code, job.error, job.raw, job.created_at, job.updated_at"
)

_HELD = "bank = ? AND number = ? AND worker = ? AND state = 'running'"

# A job that is asked for again goes on waiting, or gets another version while it runs; one that had failed waits again.
_AGAIN = """
UPDATE job SET
  version = version + 1,
  updated_at = :at,
  fresh_since = CASE WHEN :fresh THEN coalesce(fresh_since, :at) ELSE fresh_since END,
  due_at = CASE state WHEN 'waiting' THEN due_at ELSE :at END,
  state = CASE state WHEN 'failed' THEN 'waiting' ELSE state END
WHERE bank = :bank AND method = :method AND kind = :kind AND subject = :subject
"""
_NEW = """
INSERT INTO job (bank, number, method, kind, subject, state, due_at, fresh_since, created_at, updated_at)
VALUES (:bank, :number, :method, :kind, :subject, 'waiting', :at, CASE WHEN :fresh THEN :at END, :at, :at)
"""


def queue(
    connection: sqlite3.Connection,
    bank: BankKey,
    wanted: Iterable[tuple[str, str, str]],
    at: datetime,
    *,
    fresh: bool = False,
) -> None:
    """Ask for jobs of (method, kind, subject); `fresh` says that they concern new turns, which may be left to settle."""
    for method, kind, subject in wanted:
        row = {
            "bank": bank.number,
            "method": method,
            "kind": kind,
            "subject": subject,
            "at": to_stored(at),
            "fresh": fresh,
        }
        if connection.execute(_AGAIN, row).rowcount == 0:
            (number,) = connection.execute(
                "UPDATE bank SET last_job = last_job + 1 WHERE number = ? RETURNING last_job",
                (bank.number,),
            ).fetchone()
            connection.execute(_NEW, {**row, "number": number})


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
        f"code = '', error = '', raw = '' WHERE {_HELD}",
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
    due = None if due_at is None else to_stored(due_at)
    cursor = connection.execute(
        # New turns that came meanwhile are a reason to try again.
        "UPDATE job SET tries = tries + 1, worker = NULL, leased_until = NULL, code = ?, error = ?, raw = ?, "  # noqa: S608
        "state = CASE WHEN coalesce(?, fresh_since) IS NULL THEN 'failed' ELSE 'waiting' END, "
        f"due_at = coalesce(?, fresh_since, due_at) WHERE {_HELD}",
        (*told, due, due, *_key(bank, held)),
    )
    return cursor.rowcount > 0


def check_held(connection: sqlite3.Connection, bank: BankKey, method: str, held: Claim) -> None:
    """Refuse a worker whose job is another's by now, or of another method.

    Raises:
        Conflict: it is.
    """
    found = connection.execute(
        f"SELECT 1 FROM job WHERE {_HELD} AND method = ?",  # noqa: S608 (a constant)
        (*_key(bank, held), method),
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
    return found(
        connection,
        "job.bank = ? AND job.number > ? AND (? = '[]' OR job.state IN (SELECT value FROM json_each(?)))",
        (bank.number, after, *2 * (json.dumps(list(states)),)),
        limit,
    )


def retry(
    connection: sqlite3.Connection, bank: BankKey, numbers: Sequence[int], now: datetime
) -> int:
    """Make jobs due that do not run; those that have failed where no number is given."""
    which = (
        "state <> 'running' AND number IN (SELECT value FROM json_each(?))"
        if numbers
        else "state = 'failed' AND ? = '[]'"
    )
    cursor = connection.execute(
        "UPDATE job SET state = 'waiting', tries = 0, due_at = ?, fresh_since = NULL "  # noqa: S608
        f"WHERE bank = ? AND {which}",
        (to_stored(now), bank.number, json.dumps([int(number) for number in numbers])),
    )
    return cursor.rowcount


def after_forgetting(
    connection: sqlite3.Connection, bank: BankKey, sessions: Sequence[str], at: datetime
) -> int:
    """Ask for jobs of the sessions that are left and remove those of the others; returns how many.

    What errors say of the sessions' turns, and of what was made of them, goes too.
    """
    rows = connection.execute(
        "SELECT session.name FROM json_each(?) AS wanted "
        "CROSS JOIN session ON session.bank = ? AND session.name = wanted.value",
        (json.dumps(list(sessions)), bank.number),
    ).fetchall()
    left = [name for (name,) in rows]
    gone = connection.executemany(
        "DELETE FROM job WHERE bank = ? AND subject = ?",
        [(bank.number, name) for name in sessions if name not in set(left)],
    )
    connection.executemany(
        "UPDATE job SET error = '', raw = '' WHERE bank = ? AND subject = ?",
        [(bank.number, subject) for subject in ("", *left)],
    )
    queue(connection, bank, [(method, TURNS, name) for method in bank.methods for name in left], at)
    return max(gone.rowcount, 0)


def _key(bank: BankKey, held: Claim) -> tuple[int, int, str]:
    return bank.number, held.job, held.worker


def found(
    connection: sqlite3.Connection, where: str, values: Sequence[Any], limit: int
) -> list[Job]:
    """Jobs that satisfy a condition, in order of number."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM job JOIN bank ON bank.number = job.bank "  # noqa: S608 (constants)
        f"WHERE {where} ORDER BY job.number LIMIT ?",
        (*values, limit),
    )
    return [_job(row) for row in rows]


@decoding
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
