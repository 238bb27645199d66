"""Derived records: what a method has learnt from turns with a language model, and the jobs that make it do so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from combray.model.ids import content_hash


class RecordKind(StrEnum):
    """What a derived record is."""

    FACT = "fact"
    EVENT = "event"
    PROFILE = "profile"


class Status(StrEnum):
    """Whether a record holds.

    ``superseded``: something has changed since. ``merged``: another record says it too, and has its turns. ``retracted``: it was wrong.
    """

    CURRENT = "current"
    SUPERSEDED = "superseded"
    MERGED = "merged"
    RETRACTED = "retracted"


class JobState(StrEnum):
    """How far a job has come; one that is done is deleted."""

    WAITING = "waiting"
    RUNNING = "running"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBy:
    """Who wrote a derived record.

    Attributes:
        method: name.
        prompt: hash of the prompt, or empty where none was used.
        model: name, or empty where none was asked.
    """

    method: str
    prompt: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedRecord:
    """A fact, an event or a profile, with where it comes from.

    Attributes:
        number: the store's, growing within the bank and never used twice.
        id: tagged content hash, see `record_id`.
        kind: what it is.
        method: that derived it.
        text: as written by the model.
        sources: ids of the turns it comes from, as they were said; one of no turn is read from records alone.
        members: ids of the records that were read to make it, the main one first; none of a fact.
        made_by: of the first unit that made it and is still there.
        recorded_at: aware; when it was first stored.
        retired_at: aware; when it became known that it no longer holds.
        valid_from: aware; since when it holds in the world, None where that is not known.
        valid_to: aware; until when it held in the world, None where it holds or that is not known.
        superseded_by: id of the record that holds instead, or empty.
        status: whether it holds.
        detail: JSON, the method's own.
    """

    number: int
    id: str
    kind: RecordKind
    method: str
    text: str
    sources: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    made_by: MadeBy
    recorded_at: datetime
    retired_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    superseded_by: str = ""
    status: Status = Status.CURRENT
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """That there is work for a method; what work is found out when it is done.

    Attributes:
        number: counts the jobs of the bank from 1.
        bank: name.
        method: that does it.
        kind: of work: ``turns`` (derive from a session) or ``link`` (put together what was derived).
        subject: name of the session, or empty.
        state: how far it has come.
        version: grows whenever the work is asked for again.
        tries: that have failed or were given up since it last went well.
        due_at: aware; not before.
        leased_until: aware; while it runs: until when it is the worker's own.
        worker: that runs it.
        code: of the last error, or empty.
        error: what happened, or empty.
        raw: the reply that did not fit, or empty.
        created_at: aware.
        updated_at: aware; when it was last asked for.
    """

    number: int
    bank: str
    method: str
    kind: str
    subject: str = ""
    state: JobState = JobState.WAITING
    version: int = 1
    tries: int = 0
    due_at: datetime
    leased_until: datetime | None = None
    worker: str | None = None
    code: str = ""
    error: str = ""
    raw: str = ""
    created_at: datetime
    updated_at: datetime


_TAGS = {RecordKind.FACT: "f1", RecordKind.EVENT: "e1", RecordKind.PROFILE: "p1"}


def record_id(kind: RecordKind, method: str, text: str) -> str:
    """The id of a record: the same text of the same method is the same record, whatever its white space.

    >>> record_id(RecordKind.FACT, "anchor", "Ann  likes tea ") == record_id(RecordKind.FACT, "anchor", "Ann likes tea")
    True
    """
    return content_hash(_TAGS[kind], method, " ".join(text.split()))
