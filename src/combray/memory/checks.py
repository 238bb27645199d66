"""What callers hand in, checked before anything is done with it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TypeVar

from combray.errors import InvalidInput
from combray.model import Session, Turn, aware
from combray.model.ids import content_key, turn_id_from_client
from combray.model.query import as_list
from combray.model.turn import checked_json, storable

T = TypeVar("T")


def whole_number(value: object, what: str, *, least: int = 1) -> int:
    """The value as an int; numpy's integers count, truth values, floats and digits do not.

    Raises:
        InvalidInput: it is no whole number, or too small.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # whatever has no index is refused
    except TypeError as error:
        raise InvalidInput(f"{what} must be a whole number, not {value!r}.") from error
    if isinstance(value, bool):
        raise InvalidInput(f"{what} must be a whole number, not {value!r}.")
    if number < least:
        raise InvalidInput(f"{what} must be at least {least}, not {number}.")
    return number


def optional_number(value: object, what: str) -> int | None:
    """The same, or None where nothing was given."""
    return None if value is None else whole_number(value, what)


def text(value: object, what: str) -> str:
    """The value, if it is text.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {value!r}.")
    return value


def ids(value: object, what: str) -> Sequence[str]:
    """Ids in order; one may stand without a list.

    Raises:
        InvalidInput: there is something else among them.
    """
    return [text(one, "a turn's id") for one in as_list(value, what)]


def session(value: object) -> Session | None:
    """The session that a name or a `Session` stands for.

    Raises:
        InvalidInput: it is neither.
    """
    if value is None:
        return value
    if isinstance(value, Session):
        return _storable(value)
    if isinstance(value, str):
        return Session(name=value)
    raise InvalidInput(f"a session is a name or a Session, not {value!r}.")


def sound_turns(value: object) -> list[Turn]:
    """The turns, if each is what its ids say.

    Raises:
        InvalidInput: one is no `Turn`, or its content hash or id is of something else.
    """
    if not isinstance(value, Iterable):
        raise InvalidInput(f"turns must be a list of Turn, not {value!r}.")
    turns: list[Turn] = []
    for turn in value:
        if not isinstance(turn, Turn):
            raise InvalidInput(f"turns must be a list of Turn, not of {type(turn).__name__}.")
        if turn.content != content_key(turn.speaker, str(turn.role), turn.text, turn.caption):
            raise InvalidInput(
                f"turn {turn.id} of session {turn.session!r} is not what its content hash says; it was changed or "
                "damaged. Nothing of this batch was stored."
            )
        named = turn.client_id is not None
        if named and turn.id != turn_id_from_client(turn.session, str(turn.client_id)):
            raise InvalidInput(
                f"turn {turn.client_id!r} of session {turn.session!r} has an id of another turn, {turn.id}. Nothing "
                "of this batch was stored."
            )
        turns.append(turn)
    return turns


def _storable(session: Session) -> Session:
    for what, value in (("title", session.title), ("source", session.source)):
        if value is not None:
            text(value, f"a session's {what}")
    at = session.started_at
    if at is not None and (not isinstance(at, datetime) or at.utcoffset() is None):
        raise InvalidInput(f"a session's started_at must be an aware datetime, not {at!r}.")
    return replace(
        session,
        title=None if session.title is None else storable(session.title),
        source=None if session.source is None else storable(session.source),
        started_at=None if at is None else aware(at, UTC),
        metadata=checked_json(session.metadata, "a session's metadata"),
    )


def made(value: T, what: str, *needed: str) -> T:
    """The part, if it looks like one.

    Raises:
        InvalidInput: it lacks what such a part must have.
    """
    if not all(hasattr(value, name) for name in needed):
        raise InvalidInput(f"{value!r} is not {what}; pass one, or its name.")
    return value
