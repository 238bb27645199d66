"""Banks, sessions and turns: the evidence.

A turn is one utterance as said. Its text is kept byte for byte, with two documented exceptions that no
database can hold: lone surrogates and NUL characters become U+FFFD.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from combray.errors import InvalidInput
from combray.model.characters import CONTROL, HIDING, is_visible

MAX_TURN_BYTES = 4 * 1024 * 1024
"""Longest text of one turn, in UTF-8 bytes: room for any document, not for a file by mistake."""

MAX_NAME_CHARS = 256
"""Longest name of a bank, session, speaker or tag, in characters."""

_UNDESCRIBED = re.compile(r"image|\d+ images")
"""The caption of images of which nothing is known but that they were there."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

_CONTROL = re.compile(f"[{CONTROL}]")

_MISLEADING = re.compile("[\u061c\u200e\u200f" + HIDING + "]")
"""What turns the direction of text or cannot be seen; joiners are left, being parts of words."""


class Role(StrEnum):
    """Who speaks, in the words of chat interfaces."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"
    OTHER = "other"


def as_role(value: object) -> Role:
    """The role of that name, in any case.

    Raises:
        InvalidInput: no role has that name.
    """
    try:
        return Role(str(value).lower())
    except ValueError as error:
        raise InvalidInput(
            f"{value!r} is not a role; use one of {', '.join(role.value for role in Role)}."
        ) from error


ROLE_NAMES = frozenset(role.value for role in Role)
"""Names of speakers who have none of their own."""


def storable(text: str) -> str:
    """The text with lone surrogates and NULs replaced by U+FFFD; any other text unchanged."""
    return _UNSTORABLE.sub("\ufffd", text)


def checked_name(value: object, what: str) -> str:
    """The name, if something stored can have it; a new one also passes `checked_new_name`.

    Raises:
        InvalidInput: not text, empty, too long, or with characters that no name may have.
    """
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"{what} must be a non-empty text, not {value!r}.")
    if len(value) > MAX_NAME_CHARS:
        raise InvalidInput(
            f"{what} has {len(value)} characters; at most {MAX_NAME_CHARS} are allowed."
        )
    if _UNSTORABLE.search(value) or any(ord(char) < 32 for char in value):
        raise InvalidInput(f"{what} {value!r} holds control characters or lone surrogates.")
    return value


def checked_new_name(value: object, what: str) -> str:
    """The name of something new, if a reader can see that it is one.

    Raises:
        InvalidInput: see `checked_name`; or it holds control characters of any kind, or nothing that can be seen.
    """
    name = checked_name(value, what)
    if _CONTROL.search(name):
        raise InvalidInput(f"{what} {name!a} holds control characters; leave them out.")
    if not is_visible(name):
        raise InvalidInput(f"{what} {name!a} has no character that can be seen; choose another.")
    return name


def checked_bank_name(value: object) -> str:
    """The name of a new bank: one that cannot be mistaken for another by eye.

    Raises:
        InvalidInput: see `checked_new_name`; or it holds unseen characters, or begins or ends with white space.
    """
    name = checked_new_name(value, "a bank's name")
    if name != name.strip() or _MISLEADING.search(name):
        raise InvalidInput(
            f"a bank's name {name!a} begins or ends with white space, or holds characters that cannot be "
            "seen; leave them out."
        )
    return name


def checked_json(value: Mapping[str, Any], what: str) -> dict[str, Any]:
    """A plain copy of the mapping, if JSON can hold it.

    Raises:
        InvalidInput: a value is not JSON (or NaN or infinite, which JSON lacks).
    """
    try:
        return dict(
            json.loads(storable(json.dumps(dict(value), ensure_ascii=False, allow_nan=False)))
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{what} must be JSON: {error}.") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """The isolation unit: one bank's records never meet another's.

    Attributes:
        name: unique in the store.
        zone: IANA name of the zone that naive times are read in.
        analyser: id of the text analyser that made its postings.
        embedder: id of the model of its vectors, or None while it has none.
        dimension: length of its vectors, 0 without.
        created_at: aware.
        revision: grows with every commit.
        erase_epoch: grows with every deletion; derived copies older than it must go.
        n_turns: number of stored turns.
        n_sessions: number of sessions.
        methods: names of the methods that derive records from its turns, sorted.
    """

    name: str
    zone: str = "UTC"
    analyser: str
    embedder: str | None = None
    dimension: int = 0
    created_at: datetime
    revision: int = 0
    erase_epoch: int = 0
    n_turns: int = 0
    n_sessions: int = 0
    methods: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Laxer than for a new bank: one that is in a file must open under whatever name it has.
        if not isinstance(self.name, str) or not self.name or _UNSTORABLE.search(self.name):
            raise InvalidInput(f"a bank's name must be a non-empty text, not {self.name!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Turns that belong together: one conversation, or one day of it.

    Attributes:
        name: unique in its bank; the client's own id for it.
        title: what it is called, if anything.
        started_at: aware; that of the earliest turn where the client gave none.
        source: where it came from (an importer's name, an application).
        metadata: JSON.
        n_turns: number of stored turns.
    """

    name: str
    title: str | None = None
    started_at: datetime | None = None
    source: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    n_turns: int = 0

    def __post_init__(self) -> None:
        checked_name(self.name, "a session's name")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnDraft:
    """A turn as a client hands it in; `Memory` makes a `Turn` of it.

    Attributes:
        text: what was said, verbatim; may be empty only beside a caption.
        speaker: name of the speaker; the role's name where not given.
        role: who speaks.
        said_at: when, as a datetime, a date (its midnight) or ISO 8601; naive is read in the bank's zone; None
            means now.
        caption: description of an image that was shown with it.
        id: the client's own id, unique in the session.
        metadata: JSON.
        tags: names to filter by; one may stand without a list.
        expires_at: from then on, by the clock, it is neither ranked nor shown beside a hit; its bytes stay until
            it is forgotten.
    """

    text: str
    speaker: str | None = None
    role: Role | str | None = None
    said_at: datetime | date | str | None = None
    caption: str | None = None
    id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    expires_at: datetime | date | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One utterance as said, verbatim and immutable.

    Attributes:
        id: tagged content hash (``t1:…``), see `combray.model.ids`.
        session: name of its session.
        position: place in its session by arrival, from 0; fixed for ever.
        speaker: name of the speaker.
        role: who speaks.
        text: verbatim.
        said_at: aware, in the offset it was given with.
        caption: description of an image shown with it.
        client_id: the client's own id, if it gave one.
        content: `combray.model.ids.content_key`.
        metadata: JSON.
        tags: sorted, unique.
        expires_at: aware; not recalled from then on, though its bytes stay until it is forgotten.
        stored_at: aware; when it became durable.
    """

    id: str
    session: str
    position: int = -1
    speaker: str
    role: Role
    text: str
    said_at: datetime
    caption: str | None = None
    client_id: str | None = None
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    expires_at: datetime | None = None
    stored_at: datetime

    @property
    def spoken(self) -> str:
        """Text and caption: what the listener heard and saw."""
        if not self.caption:
            return self.text
        shown = self.caption if _UNDESCRIBED.fullmatch(self.caption) else f"image: {self.caption}"
        return f"{self.text} [{shown}]" if self.text else f"[{shown}]"
