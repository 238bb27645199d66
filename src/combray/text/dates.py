"""Date expressions in turns and questions, resolved against the time they were said.

Guarded rules of our own find the expressions ("last Friday", "7 May", "two weeks ago") and compute what they mean;
`dateparser` is asked only about the few found ones that the rules do not compute ("3 hours ago", "5/7/2023"), never
to search. Spans are half-open and in the zone of the anchor: a day is midnight to midnight there, and weeks begin on
Monday. English only.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache

from combray.model import Mention, TimeSpan
from combray.text import date_words as words
from combray.text.calendar import Days, day
from combray.text.date_reading import Reading, Rule
from combray.text.date_rules import rules

MAX_DATES = 256
"""Most date expressions that are read in one text: a calendar or a log has more than anybody asks for."""

_MAYBE = re.compile(
    r"\d|(?:hour|minute)s? ago|day|week|month|year|decade|night|morning|afternoon|evening|tomorrow|summer|winter|spring|autumn|fall"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|christmas|xmas|halloween|thanksgiving|easter|juneteenth"
    r"|valentine|april fool|fourth of july|\bon (?:mon|tue|wed|thu|fri|sat|sun)|(?:last|this|next|past|coming) (?:mon|tue|wed|thu|fri|sat|sun)"
)
_UPPER_TO_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)} | {0x2019: "'"}
_LEADING = re.compile(r"on\s+the\s+")
_TELL_YEAR = ("year", "short_year", "which", "relative")
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDate:
    """A date expression and what it means.

    Attributes:
        mention: where it stands, labelled ``DATE``.
        span: what it means.
    """

    mention: Mention
    span: TimeSpan


def find_dates(text: str, anchor: datetime) -> list[FoundDate]:
    """The date expressions of a text, in order, without overlaps; at most `MAX_DATES`.

    Expressions that mean no time after 0001 and before 9999 are left out, as are vague ones ("soon", "recently").

    Args:
        text: any text.
        anchor: aware; the time that "yesterday" is measured from, in the speaker's zone.
    """
    lowered = text.translate(_UPPER_TO_LOWER)
    if not _MAYBE.search(lowered):
        return []
    found: list[FoundDate] = []
    position = 0
    while len(found) < MAX_DATES and (place := _anywhere().search(lowered, position)):
        one = _read(place, text, anchor)
        position = one.mention.end if one else place.start() + 1
        if one:
            found.append(one)
    return found


def _read(place: re.Match[str], text: str, anchor: datetime) -> FoundDate | None:
    """What stands at the place by the first rule that makes sense of it."""
    first = int((place.lastgroup or "r0")[1:])
    for rule in rules()[first:]:
        match = rule.pattern.match(place.string, place.start())
        if match is None:
            continue
        reading = Reading(match=match, text=text, today=anchor.date())
        days = _days(rule, reading, anchor)
        span = _span(days, reading, anchor) if days else None
        if span:
            end = match.end()
            start = end - len(span.text)
            return FoundDate(
                mention=Mention(text=span.text, label="DATE", start=start, end=end), span=span
            )
    return None


def _days(rule: Rule, reading: Reading, anchor: datetime) -> Days | None:
    try:
        return rule.resolve(reading) if rule.resolve else _by_dateparser(reading, anchor)
    except (ValueError, OverflowError):  # before year 1 or after 9999
        return None


def _span(days: Days, reading: Reading, anchor: datetime) -> TimeSpan | None:
    start, end = reading.match.span()
    if reading["lead"]:
        start = reading.match.end("lead")
        start += len(reading.text[start:end]) - len(reading.text[start:end].lstrip())
    lowered = reading.match.string[start:end]
    try:
        return TimeSpan(
            start=_midnight(days.start, anchor),
            end=_midnight(days.end, anchor),
            granularity=days.granularity,
            text=reading.text[start:end],
            explicit=bool(_explicit().search(lowered)),
            year_assumed=_assumes_year(reading),
        )
    except OverflowError:
        return None


def _assumes_year(reading: Reading) -> bool:
    named = reading["month"] or reading["holiday"]
    told = any(reading[group] for group in _TELL_YEAR)
    return bool(named) and not told and not reading.future


def _midnight(at: date, anchor: datetime) -> datetime:
    midnight = datetime.combine(at, time.min, tzinfo=anchor.tzinfo)
    midnight.astimezone(UTC)  # raises where UTC would leave the years 1 to 9999
    return midnight


@cache
def _explicit() -> re.Pattern[str]:
    """Month and four-digit year, both written."""
    year = r"(?:1[5-9]|20|21)\d\d"
    return words.compiled(rf"(?<!\w)<MONTH>.*(?<!\d){year}(?!\d)|{year}[-/]\d\d")


def _by_dateparser(reading: Reading, anchor: datetime) -> Days | None:
    import dateparser  # its import takes longer than all our own

    text = reading.match.group()
    settings = {
        "RELATIVE_BASE": anchor.replace(tzinfo=None),
        "PREFER_DATES_FROM": "past",
        "DATE_ORDER": "DMY" if "." in text else "MDY",
    }
    with _LOCK:  # its settings and locale caches are shared
        found = dateparser.parse(_LEADING.sub("", text), languages=["en"], settings=settings)
    return day(found.date()) if found else None


@cache
def _anywhere() -> re.Pattern[str]:
    """All rules as one pattern, so that a text is passed once; the rule's number is the name of its group."""
    sources = (words.unnamed(rule.pattern.pattern) for rule in rules())
    numbered = "|".join(f"(?P<r{i}>{source})" for i, source in enumerate(sources))
    return re.compile(rf"(?<!\w)(?<!\d[-/.,:])(?:{numbered})")
