"""Expressions that count from now: "yesterday", "two weeks ago", "last Friday", "the summer before last"."""

from __future__ import annotations

import re
from datetime import date

from combray.model import Granularity
from combray.text import date_words as words
from combray.text.calendar import (
    DAY,
    WEEK,
    Days,
    containing,
    day,
    month,
    season,
    shift,
    week,
    weekday_after,
    weekday_before,
    weekend,
)
from combray.text.date_named import named_month
from combray.text.date_reading import STEPS, Reading

_SUNDAY = 6
_NOT_ONE_DAY = re.compile(r"\b(?:every|each|most|all|any|black|ash|good)\s$")


_DAY_WORDS = {
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "before yesterday": -2,
    "after tomorrow": 2,
}


def day_word(reading: Reading) -> Days | None:
    """Such as "yesterday", "tonight", "the day after tomorrow"."""
    return day(reading.today + _DAY_WORDS[" ".join(reading["word"].split())] * DAY)


def ago(reading: Reading) -> Days | None:
    """Such as "two weeks ago", "a few days back"."""
    return _distant(reading, -1)


def ahead(reading: Reading) -> Days | None:
    """Such as "in two weeks" (where the sentence speaks of the future), "two weeks from now"."""
    sure = reading["sure"] or reading.future
    return _distant(reading, 1) if sure else None


def _distant(reading: Reading, sign: int) -> Days | None:
    low, high = words.amount(reading["n"])
    if reading["low"]:
        low = words.amount(reading["low"])[0]
    unit = reading["unit"]
    if low == high:
        return containing(shift(reading.today, sign * low, unit), unit)
    ends = sorted(shift(reading.today, sign * n, unit) for n in (low, high))
    first, last = containing(ends[0], unit), containing(ends[1], unit)
    return Days(start=first.start, end=last.end, granularity=Granularity.RANGE)


def weekdays_ago(reading: Reading) -> Days | None:
    """Such as "two Fridays ago"."""
    n = words.amount(reading["n"])[1]
    last = weekday_before(reading.today, words.weekdays()[reading["weekday"]])
    return day(last - (n - 1) * WEEK)


def last_n(reading: Reading) -> Days | None:
    """The units up to today ("the last two weeks"), or from today on ("the next three days")."""
    n = words.amount(reading["n"])[1] if reading["n"] else 1
    step = STEPS[reading["which"]]
    far = shift(reading.today, step * n, reading["unit"])
    start, last = min(far, reading.today), max(far, reading.today)
    return Days(start=start, end=last + DAY, granularity=Granularity.RANGE)


def beside_last(reading: Reading) -> Days | None:
    """A step further back: "the week before last"."""
    what = reading["what"]
    if what in words.weekdays():
        return day(weekday_before(reading.today, words.weekdays()[what]) - WEEK)
    if what in words.seasons():
        latest = _last_season(words.seasons()[what], reading.today)
        return season(latest.start.month, latest.start.year - 1)
    if what == "night":
        return day(reading.today - 2 * DAY)
    return containing(shift(reading.today, -2, what), what)


def _last_season(first_month: int, today: date) -> Days:
    found = season(first_month, today.year)
    while found.end > today:
        found = season(first_month, found.start.year - 1)
    return found


def which_unit(reading: Reading) -> Days | None:
    """Such as "last week", "this morning", "next year"."""
    step, what = STEPS[reading["which"]], reading["what"]
    if reading["nearer"]:
        step = STEPS[reading["nearer"]]
    if what in ("night", "evening"):
        return day(reading.today + step * DAY) if step < 1 else None
    if what in ("morning", "afternoon"):
        return day(reading.today) if step == 0 else None
    return containing(shift(reading.today, step, what), what)


def the_weekend(reading: Reading) -> Days | None:
    """Such as "over the weekend"."""
    today = reading.today
    ended = weekend(today) if reading.future else weekend(today - WEEK)
    return weekend(today) if today.weekday() == _SUNDAY else ended


def which_weekday(reading: Reading) -> Days | None:
    """Such as "last Friday" (the nearest before today), "next Friday" (of next week)."""
    name = reading["weekday"]
    if name in words.short_weekdays() and not reading.titled("weekday"):
        return None
    weekday, today = words.weekdays()[name], reading.today
    which = reading["nearer"] or reading["which"]
    if which in ("last", "past", "previous"):
        return day(weekday_before(today, weekday))
    if which in ("coming", "upcoming"):
        return day(weekday_after(today, weekday))
    monday = week(today).start + STEPS[which] * WEEK
    return day(monday + weekday * DAY)


def which_month(reading: Reading) -> Days | None:
    """Such as "last May", "next May"."""
    month_number = named_month(reading)
    if month_number is None:
        return None
    step, today = STEPS[reading["nearer"] or reading["which"]], reading.today
    if step < 0:
        return month(date(today.year - (month_number >= today.month), month_number, 1))
    return month(date(today.year + (step > 0 and month_number <= today.month), month_number, 1))


def which_season(reading: Reading) -> Days | None:
    """Such as "last summer" (one that is over), "this summer", "next summer"."""
    first_month, today = words.seasons()[reading["season"]], reading.today
    step = STEPS[reading["nearer"] or reading["which"]]
    if step < 0:
        return _last_season(first_month, today)
    found = season(first_month, today.year - 1)
    if step == 0:
        return found if today < found.end else season(first_month, today.year)
    while found.start <= today:
        found = season(first_month, found.start.year + 1)
    return found


def weekday_named(reading: Reading) -> Days | None:
    """Such as "Friday was nice", "on Sat"."""
    name = reading["weekday"]
    if name in words.short_weekdays() and not reading.titled("weekday"):
        return None
    if _NOT_ONE_DAY.search(reading.before) and not reading["lead"]:
        return None
    weekday = words.weekdays()[name]
    nearest = weekday_after if reading.future else weekday_before
    return day(nearest(reading.today, weekday))
