"""Claiming: which job is next, and giving it to one worker."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from combray.model import Job
from combray.model.time import to_stored
from combray.store.derived import LINK
from combray.store.rows import MAX_BANKS
from combray.store.sqlite.banks import BankKey
from combray.store.sqlite.jobs import found

_READY = """
SELECT number FROM job WHERE bank = :bank AND state <> 'failed' AND ready_at <= :now
  AND (kind = :link) = :linking
  AND (state = 'running' OR fresh_since IS NULL OR :settled IS NULL OR fresh_since <= :settled)
  AND (:methods = '[]' OR method IN (SELECT value FROM json_each(:methods)))
ORDER BY ready_at, number LIMIT 1
"""

# One who took a job and never came back counts as a failed try, or a job that kills its worker would do so for ever.
_TAKE = """
UPDATE job SET
  tries = tries + (state = 'running'),
  code = CASE state WHEN 'running' THEN 'abandoned' ELSE code END,
  error = CASE state WHEN 'running' THEN 'the worker that had taken it did not come back.' ELSE error END,
  state = 'running', worker = :worker, leased_until = :until, fresh_since = NULL
WHERE bank = :bank AND number = :number
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which jobs a worker takes.

    Attributes:
        now: stored form of the time.
        settled: stored form of the time before which new turns have settled, or None.
        methods: JSON list of names, empty for all.
    """

    now: str
    settled: str | None
    methods: str


def ready(
    connection: sqlite3.Connection, bank: BankKey | None, wanted: Wanted
) -> tuple[int, int] | None:
    """Number of the bank and of the job that is to be taken next."""
    if bank is not None:
        number = _ready_in(connection, bank.number, wanted)
        return None if number is None else (bank.number, number)
    served = connection.execute("SELECT bank FROM last_claim").fetchone()
    for candidate in _banks_after(connection, served[0] if served else 0):
        number = _ready_in(connection, candidate, wanted)
        if number is not None:
            return candidate, number
    return None


def take(
    connection: sqlite3.Connection, place: tuple[int, int], worker: str, until: datetime
) -> Job:
    """Give the worker the job."""
    bank, number = place
    connection.execute(
        _TAKE, {"bank": bank, "number": number, "worker": worker, "until": to_stored(until)}
    )
    connection.execute(
        "INSERT INTO last_claim VALUES (1, ?) ON CONFLICT DO UPDATE SET bank = excluded.bank",
        (bank,),
    )
    return found(connection, "job.bank = ? AND job.number = ?", place, 1)[0]


def _ready_in(connection: sqlite3.Connection, bank: int, wanted: Wanted) -> int | None:
    # Sessions come before what belongs together, so that linking is done once for all of them.
    for linking in (0, 1):
        row = connection.execute(
            _READY,
            {
                "bank": bank,
                "now": wanted.now,
                "settled": wanted.settled,
                "methods": wanted.methods,
                "link": LINK,
                "linking": linking,
            },
        ).fetchone()
        if row is not None:
            return int(row[0])
    return None


def _banks_after(connection: sqlite3.Connection, served: int) -> Iterator[int]:
    """Banks with jobs, from the one after `served` around to itself."""
    for first, last in ((served, MAX_BANKS), (0, served)):
        bank = first
        while row := connection.execute(
            "SELECT bank FROM job WHERE bank > ? AND bank <= ? AND state <> 'failed' "
            "ORDER BY bank LIMIT 1",
            (bank, last),
        ).fetchone():
            bank = row[0]
            yield bank
