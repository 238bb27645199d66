"""The dates of a unit and of its sources: which of the first follow from the second."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property

from combray.model import Granularity, TimeSpan, Turn
from combray.text.base import Analyser
from combray.text.date_words import months, weekdays
from combray.text.tokens import tokens

_MAX_DAYS = 20
"""Days that a unit's dates are read from: more than a window has in any conversation."""

_EDGE = re.compile(
    r"\b(?:week|weekend|days?|night|season|holidays?)\s+(?:of|from|starting|beginning|before|after|ending)\s*(?:on\s*)?$"
    r"|\b(?:between|from|to|until|till|through|and|around|about|circa|near|early|mid|late|by|before|after)\s*(?:on\s*)?$"
    r"|[-–—]\s*$",
    re.IGNORECASE,
)
"""Before a day that stands for the stretch it begins or ends."""

_COUNTED_FROM = re.compile(
    r"\b(?:before|after|since|as of|until|till|by|said|told|asked|mentioned|wrote)\s+(?:\w+\s+)?(?:on\s+)?$",
    re.IGNORECASE,
)
"""Before the day something was said, which need not be the day it was so."""

_SOME = re.compile(
    r"(?:an?\s+|the\s+)?(?P<some>(?:few|couple of|several|some|many)\s+\w+)\s+(?:before|after)\s+(?P<day>.+)",
    re.IGNORECASE,
)

_RELATIVE = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|last|next|this|past|coming)\b", re.IGNORECASE
)
_YEAR_OR_RELATIVE = re.compile(rf"\d{{4}}|{_RELATIVE.pattern}", re.IGNORECASE)
_CALENDAR = frozenset({Granularity.DAY, Granularity.MONTH})
_ROUGH = frozenset({Granularity.WEEK, Granularity.SEASON, Granularity.RANGE})
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Times:
    """When turns were said, and the times that they speak of.

    Attributes:
        days: on which they were said.
        spans: that they speak of.
        text: what they say, in lower case.
    """

    days: tuple[date, ...]
    spans: tuple[TimeSpan, ...]
    text: str

    @classmethod
    def of(cls, turns: Sequence[Turn], analyser: Analyser) -> Times:
        """Those of the turns."""
        found = analyser.analyse([turn.spoken for turn in turns], [turn.said_at for turn in turns])
        return cls(
            tuple(dict.fromkeys(turn.said_at.date() for turn in turns)),
            tuple(span for analysis in found for span in analysis.spans),
            "\n".join(turn.spoken for turn in turns).casefold(),
        )

    @cached_property
    def years(self) -> frozenset[str]:
        """That the turns speak of, or were said in."""
        ends = [day for span in self.spans for day in (span.start.date(), _last(span))]
        return frozenset(str(day.year) for day in (*self.days, *ends))

    def names(self, token: str) -> bool:
        """Whether the token is a weekday or month of one of the times."""
        ends = [day for span in self.spans for day in (span.start.date(), _last(span))]
        days = [*self.days, *ends]
        month, weekday = months().get(token), weekdays().get(token)
        return any(day.month == month or day.weekday() == weekday for day in days)

    def tell(self, span: TimeSpan, text: str = "") -> bool:
        """Whether a date of a unit follows: it is, or is vaguer than, one that the turns speak of, or is when they were said.

        Args:
            span: the date.
            text: that it stands in.
        """
        if span.text and _stands_in(span.text.casefold(), self.text):
            return True
        first, last = span.start.date(), _last(span)
        if any(first <= one.start.date() and _last(one) <= last for one in self.spans):
            return True
        if any(first <= day <= last for day in self.days) and (
            not self.spans or (first == last and _before(_COUNTED_FROM, span, text))
        ):
            return True
        if self._roughly(span):
            return True
        return any(
            self._edge(span, one, text)
            or self._of_some_year(span, one)
            # "a few days ago" and "a few days before 8 May" are no exact days.
            or (span.granularity == one.granularity == Granularity.RANGE and span.overlaps(one))
            for one in self.spans
        )

    def _of_some_year(self, span: TimeSpan, other: TimeSpan) -> bool:
        """Whether it is a day or month that was said without its year, in a year around."""
        if _YEAR_OR_RELATIVE.search(other.text) or other.granularity not in _CALENDAR:
            return False
        ours, theirs = (span.start.date(), _last(span)), (other.start.date(), _last(other))
        near = any(abs(ours[0].year - day.year) <= 1 for day in self.days)
        # The last day of February differs from year to year.
        same = all(
            (a.month, min(a.day, 28)) == (b.month, min(b.day, 28))
            for a, b in zip(ours, theirs, strict=True)
        )
        return near and same

    def _roughly(self, span: TimeSpan) -> bool:
        """Whether it is "a few weeks before 8 May 2023", of which the turns say "a few weeks" on that day."""
        found = _SOME.fullmatch(span.text)
        return (
            found is not None
            and _stands_in(found["some"].casefold(), self.text)
            and any(_says_day(found["day"], day) for day in self.days)
        )

    @staticmethod
    def _edge(span: TimeSpan, other: TimeSpan, text: str) -> bool:
        """Whether the date is the first or last day of a rough time, and said as such."""
        if other.granularity not in _ROUGH:
            return False
        first, last = span.start.date(), _last(span)
        inside = other.start.date() <= first and last <= _last(other)
        if not inside or (first != other.start.date() and last != _last(other)):
            return False
        return any(
            _EDGE.search(text, 0, found.start())
            for found in re.finditer(re.escape(span.text), text)
        )


def dates_in(text: str, turns: Sequence[Turn], analyser: Analyser) -> list[TimeSpan]:
    """The dates of a unit, each as read from the day of one of the turns: the first on which they tell it, or the first."""
    readings = [_spans(text, at, analyser) for at in _anchors(turns)]
    if not readings:
        return []
    first, *others = readings
    if not others or not first:
        return first
    found = []
    times = Times.of(turns, analyser)
    for place, span in enumerate(first):
        same = [reading[place] for reading in readings if len(reading) == len(first)]
        found.append(next((one for one in same if times.tell(one, text)), span))
    return found


def absolute(text: str, at: datetime, analyser: Analyser) -> dict[tuple[date, date], str]:
    """First and last day of the text's dates that do not depend on when it was said, each with its expression."""
    return {
        (span.start.date(), _last(span)): span.text
        for span in _spans(text, at, analyser)
        if not _RELATIVE.search(span.text)
    }


def without(text: str, expressions: Iterable[str]) -> str:
    """The text without those expressions."""
    for expression in sorted(expressions, key=len, reverse=True):
        text = text.replace(expression, " ")
    return text


def dated(text: str, spans: Iterable[TimeSpan]) -> str:
    """The text with the date behind each relative expression.

    >>> from combray.model import span_of
    >>> from dataclasses import replace
    >>> dated("Ann left yesterday.", [replace(span_of("2023-05-07"), text="yesterday", explicit=False)])
    'Ann left yesterday (2023-05-07).'
    """
    for span in {span.text: span for span in spans}.values():
        if not span.explicit and _RELATIVE.search(span.text):
            text = re.sub(rf"{re.escape(span.text)}\b(?! \()", f"{span.text} ({iso(span)})", text)
    return text


def iso(span: TimeSpan) -> str:
    """The time as YYYY, YYYY-MM or YYYY-MM-DD; first and last day where it is none of these."""
    exact = partial(span)
    return exact or f"{span.start.date().isoformat()} to {_last(span).isoformat()}"


def partial(span: TimeSpan) -> str:
    """The time as a partial date; empty where it is a stretch that no such date names."""
    first, last = span.start.date(), _last(span)
    if first == last:
        return first.isoformat()
    if (first.day, (last + _DAY).day) != (1, 1):
        return ""
    if (first.year, first.month) == (last.year, last.month):
        return first.isoformat()[:7]
    if first.year == last.year and (first.month, last.month) == (1, 12):
        return first.isoformat()[:4]
    return ""


def _before(pattern: re.Pattern[str], span: TimeSpan, text: str) -> bool:
    """Whether the pattern ends where the date stands in the text."""
    places = re.finditer(re.escape(span.text), text) if span.text else ()
    return any(pattern.search(text, 0, place.start()) for place in places)


def _says_day(text: str, day: date) -> bool:
    """Whether the text is that day, in words or figures."""
    words = set(tokens(text))
    named = {name for name, number in months().items() if number == day.month}
    return text == day.isoformat() or (
        {str(day.day), str(day.year)} <= words and bool(words & named)
    )


def _stands_in(part: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text) is not None


def _last(span: TimeSpan) -> date:
    return (span.end - timedelta(microseconds=1)).date()


def _anchors(turns: Sequence[Turn]) -> list[datetime]:
    found: dict[date, datetime] = {}
    for turn in turns:
        found.setdefault(turn.said_at.date(), turn.said_at)
    return list(found.values())[:_MAX_DAYS]


def _spans(text: str, at: datetime, analyser: Analyser) -> list[TimeSpan]:
    (found,) = analyser.analyse([text], [at])
    return list(found.spans)
