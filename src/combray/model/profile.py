"""What lastingly holds of a person, or held on a day, with the evidence for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from combray.model.record import DerivedRecord
from combray.model.turn import Turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileEntry:
    """One version of a statement about a person: it holds on the days from `valid_from` on and before `valid_to`.

    Attributes:
        id: of the record that says it.
        method: that derived it.
        text: the statement.
        keywords: what it is about.
        valid_from: the first day on which it holds; None where that is not known.
        valid_to: the first day on which it holds no more; None of one that holds still.
        facts: that it was drawn from, in order of time.
        turns: that they come from, in order of time.
        earlier: versions that held before it, in order of time; they have none of their own.
    """

    id: str
    method: str
    text: str
    keywords: tuple[str, ...] = ()
    valid_from: date | None = None
    valid_to: date | None = None
    facts: tuple[DerivedRecord, ...] = ()
    turns: tuple[Turn, ...] = ()
    earlier: tuple[ProfileEntry, ...] = ()

    def json(self) -> dict[str, Any]:
        """The entry as JSON has it."""
        return {
            "id": self.id,
            "method": self.method,
            "text": self.text,
            "keywords": list(self.keywords),
            "valid_from": _day(self.valid_from),
            "valid_to": _day(self.valid_to),
            "facts": [_fact(fact) for fact in self.facts],
            "turns": [_turn(turn) for turn in self.turns],
            "earlier": [one.json() for one in self.earlier],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What holds of a person.

    Attributes:
        subject: the person's fullest name.
        at: the day that was asked about; None for now.
        entries: one for each statement, in order of the day from which it holds.
    """

    subject: str
    at: date | None = None
    entries: tuple[ProfileEntry, ...] = ()

    def __iter__(self) -> Iterator[ProfileEntry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def json(self) -> dict[str, Any]:
        """The profile as JSON has it: days as ISO dates, times as ISO 8601."""
        return {
            "subject": self.subject,
            "at": _day(self.at),
            "entries": [entry.json() for entry in self.entries],
        }


def _day(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _fact(fact: DerivedRecord) -> dict[str, Any]:
    since, until = fact.valid_from, fact.valid_to
    return {
        "id": fact.id,
        "text": fact.text,
        "status": str(fact.status),
        "valid_from": None if since is None else since.isoformat(),
        "valid_to": None if until is None else until.isoformat(),
        "turns": list(fact.sources),
    }


def _turn(turn: Turn) -> dict[str, Any]:
    return {
        "id": turn.id,
        "session": turn.session,
        "speaker": turn.speaker,
        "said_at": turn.said_at.isoformat(),
        "text": turn.text,
        "caption": turn.caption,
    }
