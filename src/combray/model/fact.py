"""What is noted of a fact beside its text: whom and what it concerns, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from combray.model.time import Granularity, TimeSpan

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


def partial_date(text: object) -> str:
    """The text where it is ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD`` of the calendar, else empty: never a guess.

    >>> partial_date(" 2023-05 "), partial_date("2023-02-30"), partial_date("last May"), partial_date(None)
    ('2023-05', '', '', '')
    """
    span = span_of(text.strip()) if isinstance(text, str) else None
    return span.text if span is not None else ""


def span_of(about: str) -> TimeSpan | None:
    """The year, month or day of a partial date, in UTC; None where it is none.

    >>> span_of("2023-12").end.isoformat()
    '2024-01-01T00:00:00+00:00'
    """
    found = _PARTIAL.fullmatch(about)
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        start = datetime(year or 0, month or 1, day or 1, tzinfo=UTC)
        if month is None:
            end, granularity = start.replace(year=start.year + 1), Granularity.YEAR
        elif day is None:
            later = start.month // 12
            end = start.replace(year=start.year + later, month=start.month % 12 + 1)
            granularity = Granularity.MONTH
        else:
            end, granularity = (
                datetime.fromordinal(start.toordinal() + 1).replace(tzinfo=UTC),
                Granularity.DAY,
            )
    except (ValueError, OverflowError):
        return None
    return TimeSpan(start=start, end=end, granularity=granularity, text=about, explicit=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactNotes:
    """The detail of a fact, as stored in `DerivedRecord.detail`.

    Attributes:
        people: full names, as the fact has them.
        keywords: what it is about, lower case, at most five.
        about: when what it tells was so: a partial date, or empty.
        lasting: whether it tells something that belongs in a profile.
        entities: other named things.
        location: where, or empty.
        topic: in a few words, or empty.
    """

    people: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    about: str = ""
    lasting: bool = False
    entities: tuple[str, ...] = ()
    location: str = ""
    topic: str = ""

    @property
    def span(self) -> TimeSpan | None:
        """The time of `about`, or None."""
        return span_of(self.about)

    def detail(self) -> dict[str, Any]:
        """As JSON, without what is empty."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: [*value] if isinstance(value, tuple) else value
            for name, value in values.items()
            if value
        }

    @classmethod
    def of(cls, detail: Mapping[str, Any]) -> FactNotes:
        """The notes in a record's detail; what is not as it should be counts as empty."""
        return cls(
            people=_texts(detail.get("people")),
            keywords=_texts(detail.get("keywords")),
            about=partial_date(detail.get("about")),
            lasting=detail.get("lasting") is True,
            entities=_texts(detail.get("entities")),
            location=_text(detail.get("location")),
            topic=_text(detail.get("topic")),
        )


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return ()
    return tuple(text for text in map(_text, value) if text)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
