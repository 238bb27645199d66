"""Chat messages in the shape of OpenAI's API: an array of them, JSON Lines of them, or conversations.

What is read
    One JSON document: an array of messages, a conversation ``{"messages": [...]}``, or an array of conversations.
    JSON Lines: a message a line (one session, named after the file), or a conversation a line.
    A conversation may have ``id``, ``title``, ``created`` (or one of the time names below) and ``metadata``.

How it is normalised
    Roles: ``developer`` becomes system and ``function`` tool; one that we do not know becomes other, and stays
    in the metadata.
    Content parts: texts (and refusals) are joined by line feeds; images become the caption ``image`` (``2 images``),
    their web addresses go to the metadata ``images``, inline bytes are dropped; an audio part's transcript is text;
    the types of parts of other kinds are listed in the metadata ``left_out``.
    Tool calls become lines ``call name(arguments)`` after the text, and stay whole in the metadata.
    Times: `TIME_KEYS`, as ISO 8601 or seconds since 1970 (milliseconds from 1e11 on). A message without one was said
    when the message before it was, the first when its conversation was made; one before any time has none.
    A message without any content is left out.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, TypeGuard

from combray.errors import InvalidInput
from combray.importers.base import (
    ImportedSession,
    Place,
    kind,
    mapping,
    optional_text,
    parse_json,
    read_document,
    read_lines,
    text_field,
)
from combray.model import Role, Session, TurnDraft

NAME = "openai"
TIME_KEYS = ("created_at", "timestamp", "said_at", "at", "created", "create_time", "date")
"""Names under which a time is looked for, the first that is there."""

_ROLES = {
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_IMAGE_PARTS = {"image_url", "input_image", "image"}
_KEPT = ("tool_calls", "function_call", "tool_call_id")
_MILLISECONDS_FROM = 1e11  # as seconds this is the year 5138, as milliseconds 1973


def looks_like(record: object) -> bool:
    """Whether the record is a message or a conversation."""
    return isinstance(record, dict) and ("role" in record or is_conversation(record))


def is_conversation(record: object) -> TypeGuard[dict[str, Any]]:
    """Whether the record has messages of its own."""
    return isinstance(record, dict) and isinstance(record.get("messages"), list)


def read(path: Path) -> Iterator[ImportedSession]:
    """The sessions of the file, in order; a session without any content is left out.

    A session is named by its conversation's ``id``, else after the file: ``<stem>``, or ``<stem>-<n>`` for the n-th
    of several conversations.

    Raises:
        BadImport: the file is not such messages; the message names the place.
    """
    sessions = _of_lines(path) if _is_lines(path) else _of_document(path)
    return (session for session in sessions if session.turns)


def from_messages(messages: Iterable[Mapping[str, Any]]) -> list[TurnDraft]:
    """Chat messages of a running program as turns, ready for `BankMemory.remember`; normalised as above.

    Times are left as they are: messages without them are told apart by their order.

    Raises:
        BadImport: one of them is no message; names which.
    """
    if not isinstance(messages, Iterable) or isinstance(messages, str | bytes | Mapping):
        raise InvalidInput(f"messages must be a list of mappings, not {messages!r}.")
    whole = Place(path=Path("messages"))
    drafts = (
        _turn(mapping(message, place, "a message"), place)
        for message, place in _numbered(list(messages), whole)
    )
    return [draft for draft in drafts if draft is not None]


def time_of(record: Mapping[str, Any], place: Place) -> datetime | None:
    """The first time the record gives: aware from a number, as written (perhaps naive) from ISO 8601.

    Raises:
        BadImport: it is neither.
    """
    for key in TIME_KEYS:
        value = record.get(key)
        if value is not None:
            return _time(value, key, place)
    return None


def _is_lines(path: Path) -> bool:
    """Whether the first line alone is an object, and either another follows or the file is named .jsonl."""
    head = list(itertools.islice(read_lines(path), 2))
    if not head:
        Place(path=path).fail("there is nothing in it.")
    try:
        first = json.loads(head[0][1].removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return path.suffix in {".jsonl", ".ndjson"}
    return isinstance(first, dict) and (len(head) > 1 or not is_conversation(first))


def _of_lines(path: Path) -> Iterator[ImportedSession]:
    lines = (
        (parse_json(raw, Place(path=path, line=number)), Place(path=path, line=number))
        for number, raw in read_lines(path)
    )
    first, place = next(lines)
    everything = itertools.chain([(first, place)], lines)
    if is_conversation(first):
        for number, (record, where) in enumerate(everything, 1):
            yield _conversation(record, f"{path.stem}-{number}", where)
    else:
        yield _session(Session(name=path.stem, source=NAME), everything)


def _of_document(path: Path) -> Iterator[ImportedSession]:
    document = read_document(path)
    whole = Place(path=path)
    if is_conversation(document):
        yield _conversation(document, path.stem, whole)
        return
    if not isinstance(document, list) or not document:
        whole.fail(
            f"expected a non-empty array of messages or conversations, not {kind(document)}."
        )
    if is_conversation(document[0]):
        for number, record in enumerate(document, 1):
            place = whole.within(f"conversation {number}")
            yield _conversation(record, f"{path.stem}-{number}", place)
    else:
        yield _session(Session(name=path.stem, source=NAME), _numbered(document, whole))


def _conversation(record: object, fallback: str, place: Place) -> ImportedSession:
    if not is_conversation(record):
        place.fail("every record must be a conversation with 'messages', as the first one is.")
    created = time_of(record, place)
    start = created
    metadata = mapping(record.get("metadata") or {}, place, "'metadata'")
    if created is not None and created.tzinfo is None:
        metadata = {**metadata, "created": created.isoformat()}
        created = None
    session = Session(
        name=_name(record.get("id"), place) or fallback,
        title=optional_text(record, "title", place),
        started_at=created,
        source=NAME,
        metadata=metadata,
    )
    return _session(session, _numbered(record["messages"], place), start)


def _numbered(messages: list[Any], place: Place) -> Iterator[tuple[Any, Place]]:
    for number, message in enumerate(messages, 1):
        yield message, place.within(f"message {number}")


def _session(
    session: Session, messages: Iterable[tuple[Any, Place]], start: datetime | None = None
) -> ImportedSession:
    drafts = (_turn(mapping(value, place, "a message"), place) for value, place in messages)
    turns = [draft for draft in drafts if draft is not None]
    n_carried = 0
    time: datetime | date | str | None = start
    for i, turn in enumerate(turns):
        if turn.said_at is None and time is not None:
            turns[i] = replace(turn, said_at=time)
            n_carried += 1
        time = turns[i].said_at
    return ImportedSession(session=session, turns=turns, n_carried=n_carried)


def _turn(message: dict[str, Any], place: Place) -> TurnDraft | None:
    said_as = text_field(message, "role", place).strip()
    if not said_as:
        place.fail("'role' is empty.")
    role = _ROLES.get(said_as.lower(), Role.OTHER)
    content = _content(message.get("content"), place)
    text = "\n".join([*content.texts, *_calls(message, place)])
    if not text.strip() and content.caption is None:
        return None
    return TurnDraft(
        id=_name(message.get("id"), place),
        speaker=optional_text(message, "name", place),
        role=role,
        text=text,
        caption=content.caption,
        said_at=time_of(message, place),
        metadata=content.metadata
        | {key: message[key] for key in _KEPT if message.get(key)}
        | ({"role": said_as} if role is Role.OTHER else {}),
    )


@dataclass(slots=True)
class _Content:
    """What the parts of a message add up to."""

    texts: list[str] = field(default_factory=list)
    n_images: int = 0
    images: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def caption(self) -> str | None:
        if not self.n_images:
            return None
        return "image" if self.n_images == 1 else f"{self.n_images} images"

    @property
    def metadata(self) -> dict[str, Any]:
        found = {"images": self.images, "left_out": self.left_out}
        return {name: value for name, value in found.items() if value}

    def add(self, part: object, place: Place) -> None:
        if isinstance(part, str):
            self.texts.append(part)
            return
        record = mapping(part, place, "a part")
        type_of = text_field(record, "type", place)
        if type_of in _TEXT_PARTS:
            self.texts.append(text_field(record, _TEXT_PARTS[type_of], place))
        elif type_of in _IMAGE_PARTS:
            self.n_images += 1
            self.images += _web_address(record)
        elif transcript := _transcript(record):
            self.texts.append(transcript)
        else:
            self.left_out.append(type_of)


def _content(value: object, place: Place) -> _Content:
    if value is None or isinstance(value, str):
        return _Content(texts=[value] if value else [])
    if not isinstance(value, list):
        place.fail(f"'content' must be text or an array of parts, not {kind(value)}.")
    content = _Content()
    for number, part in enumerate(value, 1):
        content.add(part, place.within(f"part {number}"))
    return content


def _web_address(part: Mapping[str, Any]) -> list[str]:
    address = part.get("image_url")
    if isinstance(address, dict):
        address = address.get("url")
    return [address] if isinstance(address, str) and not address.startswith("data:") else []


def _transcript(part: Mapping[str, Any]) -> str:
    inner = part.get("input_audio") if isinstance(part.get("input_audio"), dict) else part
    transcript = inner.get("transcript") if inner else None
    return transcript if isinstance(transcript, str) else ""


def _calls(message: Mapping[str, Any], place: Place) -> list[str]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        place.fail(f"'tool_calls' must be an array, not {kind(calls)}.")
    functions = [
        mapping(call, place, "a tool call").get("function") or call.get("custom") or call
        for call in calls
    ]
    if message.get("function_call"):
        functions.append(message["function_call"])
    return [_call(mapping(function, place, "a function call")) for function in functions]


def _call(function: Mapping[str, Any]) -> str:
    arguments = function.get("arguments", function.get("input", ""))
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return f"call {function.get('name', 'unnamed')}({arguments})"


def _name(value: object, place: Place) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        place.fail(f"'id' must be text or a whole number, not {kind(value)}.")
    return str(value)


def _time(value: object, key: str, place: Place) -> datetime:
    time = _from_number(value) if _is_number(value) else _from_iso(value)
    if time is None:
        place.fail(f"{key!r} is {value!r}: neither ISO 8601 nor seconds since 1970.")
    return time


def _is_number(value: object) -> bool:
    """A number, or digits that are too long for a date such as 20230508."""
    if isinstance(value, str):
        return bool(re.fullmatch(r"\d{9,}(\.\d+)?", value.strip()))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _from_number(value: object) -> datetime | None:
    try:
        number = float(str(value))
        seconds = number / 1000 if abs(number) >= _MILLISECONDS_FROM else number
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _from_iso(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value.strip()) if isinstance(value, str) else None
    except ValueError:
        return None
