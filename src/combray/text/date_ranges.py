"""Expressions with two ends: "from 3 to 5 June", "between May and July 2023"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import cache

from combray.model import Granularity
from combray.text import date_words as words
from combray.text.calendar import Days, month
from combray.text.date_named import valid_day
from combray.text.date_reading import Reading


def range_of(reading: Reading) -> Days | None:
    """Both sides and all between, each lending the other what it lacks ("from 3 to 5 June")."""
    first, last = _side(reading, "a"), _side(reading, "b")
    month_number = first.month or last.month
    years = first.year or last.year
    if month_number is None:
        return _years(first.year, last.year)
    if (first.day is None) != (last.day is None):
        return None
    number = years or reading.today.year
    end = _filled(last, last.month or month_number, last.year or number)
    if end is None:
        return None
    if years is None and end.start > reading.today and not reading.future:
        number -= 1
        end = _filled(last, last.month or month_number, number)
    start = _filled(first, first.month or month_number, first.year or number)
    if start and end and start.start > end.start and first.year is None:
        start = _filled(first, first.month or month_number, number - 1)
    if start is None or end is None or start.start >= end.end:
        return None
    return Days(start=start.start, end=end.end, granularity=Granularity.RANGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    day: int | None
    month: int | None
    year: int | None


def _side(reading: Reading, name: str) -> _Side:
    text = reading[name]
    found = _side_pattern().search(text)
    named = words.months().get(found["month"].rstrip(".")) if found else None
    bare = (text[: found.start()] + text[found.end() :]) if found else text
    numbers = [int(n) for n in re.findall(r"\d+", bare)]
    return _Side(
        day=next((n for n in numbers if n < 32), None),
        month=named,
        year=next((n for n in numbers if n > 999), None),
    )


@cache
def _side_pattern() -> re.Pattern[str]:
    return words.compiled("(?P<month><MONTH>)")


def _filled(side: _Side, month_number: int, number: int) -> Days | None:
    if side.day is None:
        return month(date(number, month_number, 1))
    return valid_day(number, month_number, side.day)


def _years(first: int | None, last: int | None) -> Days | None:
    if first is None or last is None or first >= last:
        return None
    return Days(start=date(first, 1, 1), end=date(last + 1, 1, 1), granularity=Granularity.RANGE)
