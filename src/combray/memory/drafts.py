"""From what a client hands in to turns with ids.

A turn's identity is the client's id within its session, or else its content, the time the client gave and its
count among equals; see `combray.model.ids`. Turns without id and time get their identity from the order of the
session (`combray.memory.alignment`), so that a client may send its transcript again and again: only the new tail
is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime
from typing import Any

from combray.errors import InvalidInput
from combray.model import Role, Turn, TurnDraft, aware
from combray.model.ids import content_key, turn_id_from_client, turn_id_from_content
from combray.model.query import as_list
from combray.model.time import to_stored, zone
from combray.model.turn import MAX_TURN_BYTES, as_role, checked_json, checked_new_name, storable

DraftLike = str | TurnDraft | Mapping[str, Any]
"""What stands for a turn: its text, a draft, or a mapping with the fields of `TurnDraft` (a chat message's
``content`` does for ``text``)."""

_FIELDS = frozenset(field.name for field in fields(TurnDraft))


def as_draft(value: DraftLike) -> TurnDraft:
    """The draft that the value stands for.

    Raises:
        InvalidInput: it is none of the accepted kinds, or a mapping with an unknown field or without text.
    """
    if isinstance(value, TurnDraft):
        return value
    if isinstance(value, str):
        return TurnDraft(text=value)
    if isinstance(value, Mapping):
        return _of_mapping(value)
    raise InvalidInput(f"a turn is a text, a TurnDraft or a mapping, not {type(value).__name__}.")


def _of_mapping(value: Mapping[str, Any]) -> TurnDraft:
    given = dict(value)
    if "text" not in given and isinstance(given.get("content"), str):
        given["text"] = given.pop("content")
    unknown = set(given) - _FIELDS
    if not unknown and isinstance(given.get("text"), str):
        return TurnDraft(**given)
    problem = (
        f"a turn needs a text and may have {', '.join(sorted(_FIELDS - {'text'}))}; "
        f"got {', '.join(map(str, value)) or 'nothing'}."
    )
    if "content" in value:
        problem += " Chat messages with parts, names or tool calls become turns by combray.importers.from_messages."
    raise InvalidInput(problem)


def session_of_day(said_at: date | str | None, zone_name: str, now: datetime) -> str:
    """The session of turns that name none: the day they were said on, in the bank's zone."""
    where = zone(zone_name)
    when = now if said_at is None else aware(said_at, where)
    try:
        return when.astimezone(where).date().isoformat()
    except OverflowError:  # at either end of the calendar, as seen from the bank's zone
        return when.date().isoformat()


def checked(draft: TurnDraft) -> TurnDraft:
    """The draft with storable text and a speaker.

    Raises:
        InvalidInput: nothing was said, too much was said, or a name cannot be one.
    """
    for what, value in (("text", draft.text), ("caption", draft.caption or "")):
        if not isinstance(value, str):
            raise InvalidInput(f"a turn's {what} must be text, not {type(value).__name__}.")
    text, caption = storable(draft.text), storable(draft.caption) if draft.caption else None
    if not text.strip() and not (caption and caption.strip()):
        raise InvalidInput(
            "a turn needs a text (or a caption): there is nothing to remember in an empty one."
        )
    size = len(text.encode()) + len((caption or "").encode())
    if size > MAX_TURN_BYTES:
        raise InvalidInput(
            f"a turn of {size} bytes is longer than {MAX_TURN_BYTES}; split it, or store a reference to it."
        )
    role = as_role(draft.role or Role.USER)
    return replace(
        draft,
        text=text,
        caption=caption,
        role=role,
        speaker=checked_new_name(draft.speaker or role.value, "a speaker's name"),
        id=None if draft.id is None else checked_new_name(str(draft.id), "a turn's id"),
        tags=tuple(sorted({checked_new_name(tag, "a tag") for tag in as_list(draft.tags, "tags")})),
        metadata=checked_json(draft.metadata, "a turn's metadata"),
    )


def contents(drafts: Sequence[TurnDraft]) -> list[str]:
    """The content key of each checked draft."""
    return [content_key(d.speaker or "", str(d.role), d.text, d.caption) for d in drafts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Where and when drafts become turns.

    Attributes:
        session: name of their session.
        zone: IANA name that naive times are read in.
        now: what stands in for a missing time, and when they are stored.
    """

    session: str
    zone: str
    now: datetime


def without_identity(drafts: Sequence[TurnDraft]) -> list[int]:
    """Indices of the drafts whose identity depends on what the session holds already."""
    return [i for i, draft in enumerate(drafts) if draft.id is None and draft.said_at is None]


def to_turns(
    drafts: Sequence[TurnDraft], keys: Sequence[str], untimed: Mapping[int, str], moment: Moment
) -> list[Turn]:
    """Turns with ids, in order.

    Args:
        drafts: checked.
        keys: content key of each.
        untimed: id of each draft that has neither id nor time, by its index.
        moment: where and when.
    """
    timed: Counter[tuple[str, str]] = Counter()
    turns = []
    for i, (draft, key) in enumerate(zip(drafts, keys, strict=True)):
        said_at = None if draft.said_at is None else aware(draft.said_at, zone(moment.zone))
        if draft.id is not None:
            turn_id = turn_id_from_client(moment.session, draft.id)
        elif said_at is None:
            turn_id = untimed[i]
        else:
            stored = to_stored(said_at)
            timed[key, stored] += 1
            turn_id = turn_id_from_content(moment.session, key, stored, timed[key, stored])
        turns.append(_turn(draft, turn_id, key, said_at or moment.now, moment))
    return turns


def _turn(draft: TurnDraft, turn_id: str, key: str, said_at: datetime, moment: Moment) -> Turn:
    expires = None if draft.expires_at is None else aware(draft.expires_at, zone(moment.zone))
    return Turn(
        id=turn_id,
        session=moment.session,
        speaker=draft.speaker or str(draft.role),
        role=Role(draft.role or Role.USER),
        text=draft.text,
        said_at=said_at,
        caption=draft.caption,
        client_id=draft.id,
        content=key,
        metadata=draft.metadata,
        tags=tuple(draft.tags),
        expires_at=expires,
        stored_at=moment.now,
    )
