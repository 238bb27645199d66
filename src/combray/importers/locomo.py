"""The LoCoMo release: conversations of two people over months, in numbered and dated sessions.

A turn's id is its ``dia_id``; its caption is ``blip_caption``, which a participant would have seen. ``query`` is
the generator's search string and can contain answers; ``observation``, ``event_summary`` and
``session_summary`` are annotations: none of them is read. Sessions that have a date and no turns are skipped.

Source:
    Maharana et al. 2024, "Evaluating Very Long-Term Conversational Memory of LLM Agents"; the layout of the
    released ``locomo10.json``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from combray.importers.base import (
    ImportedSession,
    Place,
    kind,
    mapping,
    optional_text,
    read_document,
    text_field,
)
from combray.model import Role, Session, TurnDraft

NAME = "locomo"
DATE_FORMAT = "%I:%M %p on %d %B, %Y"

_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D\d+:\d+")


def looks_like(record: object) -> bool:
    """Whether the record is a conversation of a LoCoMo file."""
    return isinstance(record, dict) and "sample_id" in record and "conversation" in record


def read(path: Path) -> Iterator[ImportedSession]:
    """The sessions of all conversations, in order; named ``<sample_id>/session_<n>``.

    Raises:
        BadImport: the file is not a LoCoMo release; the message names the place.
    """
    for record, place in records(path):
        yield from sessions_of(record, place)


def records(path: Path) -> Iterator[tuple[dict[str, Any], Place]]:
    """The file's conversations as they stand, each with its place.

    Raises:
        BadImport: not an array of conversations.
    """
    document = read_document(path)
    whole = Place(path=path)
    if isinstance(document, dict):
        document = [document]
    if not isinstance(document, list) or not document:
        whole.fail(f"a LoCoMo file is a non-empty array of conversations, not {kind(document)}.")
    for number, item in enumerate(document, 1):
        place = whole.within(f"conversation {number}")
        record = mapping(item, place, "a conversation")
        text_field(record, "sample_id", place)
        yield record, place


def sessions_of(record: dict[str, Any], place: Place) -> list[ImportedSession]:
    """The sessions of one conversation that have turns, by number.

    Raises:
        BadImport: a turn, an id or a date is not as in the release.
    """
    conversation = mapping(record.get("conversation"), place, "'conversation'")
    numbers = sorted(int(m[1]) for key in conversation if (m := _SESSION.fullmatch(key)))
    found = []
    for number in numbers:
        inner = place.within(f"session_{number}")
        turns = conversation[f"session_{number}"]
        if not isinstance(turns, list):
            inner.fail(f"a session must be an array of turns, not {kind(turns)}.")
        if turns:
            date = text_field(conversation, f"session_{number}_date_time", inner)
            name = f"{record['sample_id']}/session_{number}"
            found.append(_session(name, turns, session_date(date, inner), inner))
    return found


def session_date(text: str, place: Place) -> datetime:
    """The naive time of a session, such as ``1:56 pm on 8 May, 2023``.

    Raises:
        BadImport: it is written in another way.
    """
    try:
        return datetime.strptime(text, DATE_FORMAT)  # noqa: DTZ007 — read in the bank's zone
    except ValueError:
        place.fail(f"the date {text!r} is not like '1:56 pm on 8 May, 2023'.")


def _session(name: str, turns: list[Any], said_at: datetime, place: Place) -> ImportedSession:
    drafts = [
        _turn(turn, said_at, place.within(f"turn {number}")) for number, turn in enumerate(turns, 1)
    ]
    ids = [draft.id for draft in drafts]
    if len(set(ids)) != len(ids):
        place.fail("two turns have the same dia_id.")
    return ImportedSession(session=Session(name=name, source=NAME), turns=drafts)


def _turn(value: object, said_at: datetime, place: Place) -> TurnDraft:
    turn = mapping(value, place, "a turn")
    dia_id = text_field(turn, "dia_id", place)
    if not _TURN_ID.fullmatch(dia_id):
        place.fail(f"the dia_id {dia_id!r} is not like 'D1:3'.")
    caption = optional_text(turn, "blip_caption", place)
    text = text_field(turn, "text", place)
    if not text.strip() and not caption:
        place.fail("a turn has neither text nor a caption.")
    return TurnDraft(
        id=dia_id,
        speaker=text_field(turn, "speaker", place),
        role=Role.USER,
        text=text,
        caption=caption,
        said_at=said_at,
    )
