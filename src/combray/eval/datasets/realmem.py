"""RealMem: five people and their assistant over months; questions with the sessions that hold the evidence.

A question sees only the sessions before the one it is asked in. The first two people (in order of name) may be
used to choose constants, the other three confirm. A turn without text (there are two, of the assistant) is left out,
and a session dated before the one in front of it takes that one's day.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from combray.eval.datasets.base import BankData, Dataset, Question, Split, file_sha256, locate
from combray.importers.base import (
    BadImport,
    ImportedSession,
    Place,
    kind,
    mapping,
    read_document,
    text_field,
)
from combray.model import Role, Session, TurnDraft

TUNED_BANKS = ("Adeleke_Okonjo", "Ethan_Hunt")
"""Constants may be chosen on these people; the others confirm."""


def realmem(path: Path | str | None = None) -> Dataset:
    """The benchmark, a bank for each person, in order of name.

    Args:
        path: a folder of the five files, or a data folder with ``realmem/``.

    Raises:
        NotFound: there is no such folder.
        BadImport: a file is not laid out as expected; names the place.
    """
    folder = locate(path, "realmem", ".")
    files = sorted(folder.glob("*.json")) if folder.is_dir() else [folder]
    if not files:
        raise BadImport(folder, "there are no files ending in .json in it.")
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.name} {file_sha256(file)}\n".encode())
    notes = {"empty_turns_left_out": 0, "backward_dates_moved": 0}
    banks = tuple(_bank(file, notes) for file in files)
    return Dataset(name="realmem", sha256=digest.hexdigest(), banks=banks, notes=notes)


def day(text: str, place: Place) -> datetime:
    """The naive midnight of a day such as ``2025-12-15 (Monday)``.

    Raises:
        BadImport: it is written in another way.
    """
    try:
        return datetime.strptime(text, "%Y-%m-%d (%A)")  # noqa: DTZ007 — read in the bank's zone
    except ValueError:
        place.fail(f"the day {text!r} is not like '2025-12-15 (Monday)'.")


def _bank(file: Path, notes: dict[str, int]) -> BankData:
    whole = Place(path=file)
    record = mapping(read_document(file), whole, "a person's file")
    split: Split = "tuned" if file.stem in TUNED_BANKS else "held_out"
    return BankData(
        name=file.stem,
        sessions=tuple(_sessions(_array(record, "turns", whole), whole, notes)),
        questions=tuple(
            _question(value, whole.within(f"question {number}"), split)
            for number, value in enumerate(_array(record, "questions", whole), 1)
        ),
    )


def _sessions(turns: list[Any], whole: Place, notes: dict[str, int]) -> list[ImportedSession]:
    sessions: dict[str, list[TurnDraft]] = {}
    for number, value in enumerate(turns, 1):
        place = whole.within(f"turn {number}")
        turn = mapping(value, place, "a turn")
        drafts = sessions.setdefault(text_field(turn, "session", place), [])
        draft = _turn(turn, place)
        if draft.text.strip():
            drafts.append(draft)
        else:
            notes["empty_turns_left_out"] += 1
    return [
        ImportedSession(session=Session(name=name, source="realmem"), turns=drafts)
        for name, drafts in _in_order(sessions, notes).items()
    ]


def _in_order(
    sessions: dict[str, list[TurnDraft]], notes: dict[str, int]
) -> dict[str, list[TurnDraft]]:
    """The sessions that have turns, none dated before the one in front of it.

    The file's order is the order in time: a question sees the sessions in front of the one it is asked in. Where
    a date runs backwards (one person's sessions carry the same early day again and again) it is a placeholder, and
    the day of the session in front stands in for it.
    """
    ordered: dict[str, list[TurnDraft]] = {}
    latest: datetime | None = None
    for name, drafts in sessions.items():
        if not drafts:
            continue
        said_at = drafts[0].said_at
        assert isinstance(said_at, datetime)
        if latest is not None and said_at < latest:
            notes["backward_dates_moved"] += 1
            drafts = [replace(draft, said_at=latest) for draft in drafts]
        else:
            latest = said_at
        ordered[name] = drafts
    return ordered


def _turn(turn: dict[str, Any], place: Place) -> TurnDraft:
    role = text_field(turn, "role", place)
    if role not in {Role.USER, Role.ASSISTANT}:
        place.fail(f"the role {role!r} is neither user nor assistant.")
    return TurnDraft(
        id=text_field(turn, "id", place),
        speaker=text_field(turn, "speaker", place),
        role=Role(role),
        text=text_field(turn, "text", place),
        said_at=day(text_field(turn, "at", place), place),
    )


def _question(value: object, place: Place, split: Split) -> Question:
    item = mapping(value, place, "a question")
    gold = _array(item, "evidence_sessions", place)
    if not gold or not all(isinstance(name, str) for name in gold):
        place.fail("'evidence_sessions' must name at least one session.")
    return Question(
        id=text_field(item, "id", place),
        text=text_field(item, "question", place),
        category=text_field(item, "category", place),
        gold_sessions=frozenset(gold),
        asked_at=day(text_field(item, "at", place), place),
        before_session=text_field(item, "asked_in", place),
        split=split,
    )


def _array(record: dict[str, Any], key: str, place: Place) -> list[Any]:
    value = record.get(key)
    if not isinstance(value, list):
        place.fail(f"{key!r} must be an array, not {kind(value)}.")
    return value
