"""Rows of the database and the values they stand for; the same for every dialect.

Times are stored as UTC text of fixed width beside the offset they were given in. Text goes in as it is; what
no database can hold (`combray.model.turn.storable`) is refused here, since the caller has replaced it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from combray.errors import InvalidInput, NotOurFile
from combray.model import Bank, Role, Session, Status, Turn
from combray.model.time import from_stored, offset_of, to_stored
from combray.store.base import TurnRow
from combray.store.derived import Derivation, UnitRow

SHIFT = 32
"""A document number is ``bank << SHIFT | n``; likewise sessions, and vectors by space."""

LAST = (1 << SHIFT) - 1
"""The highest n that a bank can give."""

MAX_BANKS = 2**31 - 1

MAX_DIMENSION = 1 << 16
"""Longer vectors than any embedder makes (the longest known have 12,288 numbers) are damage."""

BANK_COLUMNS = "name, zone, analyser, embedder, dimension, created_at, revision, erase_epoch, n_turns, n_sessions, methods"

SESSION_COLUMNS = (
    "name, title, source, coalesce(started_at, first_at), "
    "CASE WHEN started_at IS NULL THEN first_offset ELSE started_offset END, metadata, n_turns"
)

TURN_COLUMNS = (
    "turn.doc, turn.id, session.name, turn.position, turn.speaker, turn.role, turn.text, turn.said_at, "
    "turn.said_offset, turn.caption, turn.client_id, turn.content, turn.metadata, turn.tags, "
    "turn.expires_at, turn.expires_offset, turn.stored_at"
)

Terms = dict[str, dict[str, int]]
"""Occurrences by kind and term."""

P = ParamSpec("P")
T = TypeVar("T")


def decoding(read: Callable[P, T]) -> Callable[P, T]:
    """The function, for one that reads values out of rows: what cannot be read is damage.

    Raises:
        NotOurFile: (the function, when called) a row does not hold what was stored.
    """

    @wraps(read)
    def reading(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (ValueError, LookupError, TypeError, AttributeError, OverflowError) as error:
            raise NotOurFile(
                f"the database is damaged: a row cannot be read ({error}). `combray doctor` says more; put back a copy."
            ) from error

    return reading


@decoding
def bank_of(row: Sequence[Any]) -> Bank:
    """The bank behind a row of `BANK_COLUMNS`."""
    return Bank(
        name=row[0],
        zone=row[1],
        analyser=row[2],
        embedder=row[3],
        dimension=row[4],
        created_at=from_stored(row[5]),
        revision=row[6],
        erase_epoch=row[7],
        n_turns=row[8],
        n_sessions=row[9],
        methods=methods_of(row[10]),
    )


@decoding
def methods_of(text: str) -> tuple[str, ...]:
    """The methods behind a bank's column."""
    return tuple(json.loads(text)) if text != "[]" else ()


@decoding
def session_of(row: Sequence[Any]) -> Session:
    """The session behind a row of `SESSION_COLUMNS`."""
    return Session(
        name=row[0],
        title=row[1],
        source=row[2],
        started_at=_time(row[3], row[4]),
        metadata=metadata_of(row[5]),
        n_turns=row[6],
    )


@decoding
def turn_of(row: Sequence[Any]) -> Turn:
    """The turn behind a row of `TURN_COLUMNS`."""
    return Turn(
        id=row[1],
        session=row[2],
        position=row[3],
        speaker=row[4],
        role=Role(row[5]),
        text=row[6],
        said_at=from_stored(row[7], row[8]),
        caption=row[9],
        client_id=row[10],
        content=row[11],
        metadata=metadata_of(row[12]) if row[12] != "{}" else {},
        tags=tuple(tags_of(row[13])) if row[13] != "[]" else (),
        expires_at=_time(row[14], row[15]),
        stored_at=from_stored(row[16]),
    )


@decoding
def terms_of(text: str) -> Terms:
    """The occurrences behind an analysis."""
    return {kind: dict(counts) for kind, counts in json.loads(text).items()}


@decoding
def metadata_of(text: str) -> dict[str, Any]:
    """The JSON object behind a column."""
    return dict(json.loads(text))


@decoding
def tags_of(text: str) -> list[str]:
    """The tags behind a turn's column."""
    return [str(tag) for tag in json.loads(text)]


def turn_values(row: TurnRow) -> tuple[Any, ...]:
    """What the turn itself brings to its row: all columns from ``n_terms`` on.

    Raises:
        InvalidInput: a time is naive.
    """
    turn = row.turn
    said_at, said_offset = time_values(turn.said_at)
    expires_at, expires_offset = time_values(turn.expires_at)
    stored_at, _ = time_values(turn.stored_at)
    return (
        row.n_terms,
        int(row.question),
        said_at,
        said_offset,
        expires_at,
        expires_offset,
        stored_at,
        str(turn.role),
        turn.speaker,
        turn.id,
        turn.content,
        turn.client_id,
        as_json(sorted(set(turn.tags))),
        as_json(dict(turn.metadata)),
        turn.caption,
        turn.text,
    )


def time_values(value: datetime | None) -> tuple[str | None, int]:
    """Stored text and offset of a time; (None, 0) of none.

    Raises:
        InvalidInput: the time is naive.
    """
    if value is None:
        return None, 0
    if value.tzinfo is None:
        raise InvalidInput(f"{value!r} is naive; a stored time must be aware.")
    if value.tzinfo is UTC:
        return to_stored(value), 0
    return to_stored(value), offset_of(value)


def postings_of(row: TurnRow) -> Terms:
    """The postings of a row, checked.

    Raises:
        InvalidInput: a count is below one, or the ``term`` counts do not add up to `n_terms`.
    """
    terms = {kind: dict(counts) for kind, counts in row.postings.items() if counts}
    for kind, counts in terms.items():
        if min(counts.values()) < 1:
            raise InvalidInput(f"a {kind} of turn {row.turn.id} occurs less than once.")
        if any("\0" in term for term in counts):
            raise InvalidInput(f"a {kind} of turn {row.turn.id} holds a NUL character.")
    total = sum(terms.get("term", {}).values())
    if total != row.n_terms:
        raise InvalidInput(
            f"turn {row.turn.id} says it has {row.n_terms} terms, but its postings count {total}."
        )
    return terms


def check_derivation(derivation: Derivation) -> None:
    """Refuse what contradicts itself.

    Raises:
        InvalidInput: a unit reads nothing, makes or closes records before it is done, or may have less than nothing left
            to read; a record has no source, one that its unit did not read, or a vector of an embedder that is not named; a
            closing is of a record that its unit did not read, or says that it holds; an edge leads to where it begins.
    """
    for unit in derivation.units:
        if not unit.turns and not unit.inputs:
            raise InvalidInput(f"unit {unit.key} reads neither turns nor records.")
        if (unit.records or unit.closes) and not unit.done:
            raise InvalidInput(f"unit {unit.key} is not done, and yet it makes or closes records.")
        if unit.least_inputs < 0:
            raise InvalidInput(f"unit {unit.key} has least_inputs below 0.")
        _check_closings(unit)
        for row in unit.records:
            if not row.sources or not set(row.sources) <= set(unit.turns):
                raise InvalidInput(
                    f"record {row.id} must have a source, and each source must be a turn that its unit has read."
                )
            if row.vector is not None and derivation.embedder is None:
                raise InvalidInput(f"name the embedder that made the vector of record {row.id}.")
    if any(edge.a == edge.b for edge in derivation.edges):
        raise InvalidInput("an edge links a record to another one, not to itself.")


def _check_closings(unit: UnitRow) -> None:
    closed = [closing.record for closing in unit.closes]
    if not set(closed) <= set(unit.inputs) or len(set(closed)) < len(closed):
        raise InvalidInput(
            f"unit {unit.key} may close the records that it has read, each of them once."
        )
    if any(closing.status is Status.CURRENT for closing in unit.closes):
        raise InvalidInput(
            f"unit {unit.key} closes a record, and yet says that it holds; name another status."
        )


def as_json(value: Mapping[str, Any] | Sequence[Any]) -> str:
    """Compact JSON, readable in the file.

    Raises:
        InvalidInput: the value is not JSON.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"not JSON: {error}.") from error


def _time(text: str | None, offset: int) -> datetime | None:
    return None if text is None else from_stored(text, offset)
