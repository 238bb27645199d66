"""From what a client hands in to turns with ids.

A turn's identity is the client's id within its session, or else its content, the time the client gave and its
count among equals; see `combray.model.ids`. Turns without id and time get their identity from the order of the
session, so that a client may send its whole transcript again and again: only the new tail is new.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from combray.errors import InvalidInput
from combray.model import Role, Turn, TurnDraft, aware
from combray.model.ids import content_key, turn_id_from_client, turn_id_from_content
from combray.model.time import to_stored, zone
from combray.model.turn import MAX_TURN_BYTES, checked_json, checked_name, storable
from combray.store.base import SessionState

DraftLike = str | TurnDraft | Mapping[str, Any]
"""What stands for a turn: its text, a draft, or a mapping with the fields of `TurnDraft`."""

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
        unknown = set(value) - _FIELDS
        if unknown or not isinstance(value.get("text"), str):
            raise InvalidInput(
                f"a turn needs a text and may have {', '.join(sorted(_FIELDS - {'text'}))}; "
                f"got {', '.join(map(str, value)) or 'nothing'}."
            )
        return TurnDraft(**value)
    raise InvalidInput(f"a turn is a text, a TurnDraft or a mapping, not {type(value).__name__}.")


def session_of_day(said_at: datetime | str | None, zone_name: str, now: datetime) -> str:
    """The session of turns that name none: the day they were said on, in the bank's zone."""
    where = zone(zone_name)
    when = now if said_at is None else aware(said_at, where)
    return when.astimezone(where).date().isoformat()


def checked(draft: TurnDraft) -> TurnDraft:
    """The draft with storable text and a speaker.

    Raises:
        InvalidInput: nothing was said, too much was said, or a name cannot be one.
    """
    if not isinstance(draft.text, str):
        raise InvalidInput(f"a turn's text must be text, not {type(draft.text).__name__}.")
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
    role = _role(draft.role or Role.USER)
    return replace(
        draft,
        text=text,
        caption=caption,
        role=role,
        speaker=checked_name(draft.speaker or role.value, "a speaker's name"),
        id=None if draft.id is None else checked_name(str(draft.id), "a turn's id"),
        tags=tuple(sorted({checked_name(tag, "a tag") for tag in _tags(draft.tags)})),
        metadata=checked_json(draft.metadata, "a turn's metadata"),
    )


def _role(value: object) -> Role:
    try:
        return Role(str(value).lower())
    except ValueError as error:
        raise InvalidInput(
            f"{value!r} is not a role; use one of {', '.join(role.value for role in Role)}."
        ) from error


def _tags(tags: Iterable[str]) -> Iterable[str]:
    return [tags] if isinstance(tags, str) else tags


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


def depends_on_order(drafts: Sequence[TurnDraft]) -> bool:
    """Whether some identity depends on what the session holds already."""
    return any(draft.id is None and draft.said_at is None for draft in drafts)


def to_turns(drafts: Sequence[TurnDraft], moment: Moment, held: SessionState) -> list[Turn]:
    """Turns with ids, in order.

    Args:
        drafts: checked.
        moment: where and when.
        held: what the session holds; decides whether untimed drafts are its transcript sent again (they
            agree with its beginning as far as both go) or its continuation.
    """
    keys = contents(drafts)
    overlap = min(len(keys), held.n_turns)
    resent = tuple(keys[:overlap]) == tuple(held.head[:overlap])
    timed: Counter[tuple[str, str]] = Counter()
    untimed: Counter[str] = Counter({} if resent else dict(held.counts))
    turns = []
    for draft, key in zip(drafts, keys, strict=True):
        said_at = None if draft.said_at is None else aware(draft.said_at, zone(moment.zone))
        if draft.id is not None:
            turn_id = turn_id_from_client(moment.session, draft.id)
        elif said_at is None:
            untimed[key] += 1
            turn_id = turn_id_from_content(moment.session, key, None, untimed[key])
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
