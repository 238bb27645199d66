"""Arithmetic of days, weeks, months, seasons and holidays, without a clock or a zone.

Weeks begin on Monday; seasons are those of the northern hemisphere and begin with March, June, September, December.
"""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date, timedelta

from combray.model import Granularity

DAY = timedelta(days=1)
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Days:
    """A half-open run of days.

    Attributes:
        start: first day.
        end: the day after the last.
        granularity: how precise the expression behind it was.
    """

    start: date
    end: date
    granularity: Granularity


def day(at: date) -> Days:
    """That day."""
    return Days(start=at, end=at + DAY, granularity=Granularity.DAY)


def week(at: date) -> Days:
    """The week, Monday to Sunday, that holds the day."""
    start = at - at.weekday() * DAY
    return Days(start=start, end=start + WEEK, granularity=Granularity.WEEK)


def weekend(at: date) -> Days:
    """Saturday and Sunday of the week that holds the day."""
    monday = week(at).start
    return Days(start=monday + 5 * DAY, end=monday + WEEK, granularity=Granularity.RANGE)


def month(at: date) -> Days:
    """The calendar month that holds the day."""
    start = at.replace(day=1)
    return Days(start=start, end=shift_months(start, 1), granularity=Granularity.MONTH)


def year(number: int) -> Days:
    """That calendar year."""
    return Days(start=date(number, 1, 1), end=date(number + 1, 1, 1), granularity=Granularity.YEAR)


def season(first_month: int, number: int) -> Days:
    """The three months from that month of that year; winter runs into the next year."""
    start = date(number, first_month, 1)
    return Days(start=start, end=shift_months(start, 3), granularity=Granularity.SEASON)


def shift_months(at: date, n: int) -> date:
    """The same day n months later, or the last day of that month where it is shorter.

    >>> shift_months(date(2023, 3, 31), -1)
    datetime.date(2023, 2, 28)
    """
    months = at.year * 12 + at.month - 1 + n
    number, index = divmod(months, 12)
    return date(number, index + 1, min(at.day, calendar.monthrange(number, index + 1)[1]))


def shift(at: date, n: int, unit: str) -> date:
    """The day n units later; the unit is ``day``, ``week``, ``weekend``, ``fortnight``, ``month``, ``year`` or ``decade``."""
    if unit in ("month", "year", "decade"):
        return shift_months(at, n * {"month": 1, "year": 12, "decade": 120}[unit])
    return at + n * {"day": DAY, "week": WEEK, "weekend": WEEK, "fortnight": 2 * WEEK}[unit]


def containing(at: date, unit: str) -> Days:
    """The calendar unit that holds the day (a fortnight is the week, a decade the year)."""
    if unit == "day":
        return day(at)
    if unit == "weekend":
        return weekend(at)
    if unit in ("week", "fortnight"):
        return week(at)
    return month(at) if unit == "month" else year(at.year)


def weekday_before(at: date, weekday: int) -> date:
    """The last such weekday strictly before the day; Monday is 0."""
    return at - ((at.weekday() - weekday - 1) % 7 + 1) * DAY


def weekday_after(at: date, weekday: int) -> date:
    """The first such weekday strictly after the day; Monday is 0."""
    return at + ((weekday - at.weekday() - 1) % 7 + 1) * DAY


def nth_weekday(number: int, month_number: int, weekday: int, n: int) -> date:
    """The n-th such weekday of the month, from 1; the last for −1.

    >>> nth_weekday(2023, 11, 3, 4)
    datetime.date(2023, 11, 23)
    """
    first = date(number, month_number, 1)
    if n < 0:
        return weekday_before(shift_months(first, 1), weekday)
    return weekday_after(first - DAY, weekday) + (n - 1) * WEEK


def easter(number: int) -> date:
    """Easter Sunday of the Gregorian calendar.

    >>> easter(2023)
    datetime.date(2023, 4, 9)

    Source:
        The anonymous Gregorian computus (Nature, 20 April 1876), as commonly printed.
    """
    a, (b, c) = number % 19, divmod(number, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (a + 11 * h) // 319
    r = (2 * e + 2 * i - k - h + m + 32) % 7
    n = (h - m + r + 90) // 25
    return date(number, n, (h - m + r + n + 19) % 32)
