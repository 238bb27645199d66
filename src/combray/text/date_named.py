"""Expressions that name their day, month, season or year: "7 May 2023", "in May", "Easter", "the 1980s"."""

from __future__ import annotations

import re
from datetime import date

from combray.model import Granularity
from combray.text import date_words as words
from combray.text.calendar import (
    DAY,
    WEEK,
    Days,
    day,
    month,
    nth_weekday,
    season,
    shift_months,
    week,
    weekend,
    year,
)
from combray.text.date_reading import STEPS, Reading

_LEAP_CYCLE = 8
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_DATE_PREPOSITION = re.compile(r"\b(?:on|by|since|until|till|from|before|after|for|of|,)\s{1,3}$")


def year_of(reading: Reading) -> int | None:
    """The year that is written, in four digits or two ("'23"); None where none is."""
    if reading["year"]:
        return int(reading["year"])
    return 2000 + int(reading["short_year"]) if reading["short_year"] else None


def named_month(reading: Reading, group: str = "month") -> int | None:
    """The month's number, unless the word may well be another one ("this may be")."""
    name = reading[group]
    return (
        None if name in words.also_words() and not reading.titled(group) else words.months()[name]
    )


def iso_day(reading: Reading) -> Days | None:
    """``2023-05-07``."""
    return valid_day(int(reading["year"]), int(reading["month"]), int(reading["day"]))


def valid_day(number: int, month_number: int, day_number: int) -> Days | None:
    """That day; None where the calendar lacks it."""
    try:
        return day(date(number, month_number, day_number))
    except ValueError:
        return None


def iso_month(reading: Reading) -> Days | None:
    """``2023-05``."""
    return month(date(int(reading["year"]), int(reading["month"]), 1))


def month_day(reading: Reading) -> Days | None:
    """Such as "7 May", "May 7th, 2023"."""
    sure = reading["suffix"] or reading["year"] or _DATE_PREPOSITION.search(reading.before)
    month_number = words.months()[reading["month"]] if sure else named_month(reading)
    if month_number is None:
        return None
    number = year_of(reading)
    if number is not None:
        return valid_day(number, month_number, int(reading["day"]))
    return _nearest_day(reading, month_number, int(reading["day"]))


def _nearest_day(reading: Reading, month_number: int, day_number: int) -> Days | None:
    step = 1 if reading.future else -1
    for number in range(reading.today.year, reading.today.year + step * (_LEAP_CYCLE + 1), step):
        found = valid_day(number, month_number, day_number)
        if found and (found.start - reading.today) * step >= 0 * DAY:
            return found
    return None


def month_year(reading: Reading) -> Days | None:
    """Such as "May 2023", "early May 2023", "May last year"."""
    number = year_of(reading)
    if number is None:
        number = reading.today.year + STEPS[reading["which"]]
    return _part(reading, month(date(number, words.months()[reading["month"]], 1)))


def bare_month(reading: Reading) -> Days | None:
    """Such as "in May", "the end of March": the one in or before now, unless the sentence speaks of the future."""
    said_in = reading["lead"] == "in"
    month_number = words.months()[reading["month"]] if said_in else named_month(reading)
    if month_number is None:
        return None
    today = reading.today
    step = 1 if month_number < today.month and reading.future else 0
    step = -1 if month_number > today.month and not reading.future else step
    return _part(reading, month(date(today.year + step, month_number, 1)))


def _part(reading: Reading, whole: Days) -> Days:
    """The first, middle or last third of the days, where the expression says so."""
    word = reading["part"] or reading["stretch"]
    if not word:
        return whole
    third = _THIRDS[word]
    if whole.granularity is Granularity.YEAR:
        cuts = [shift_months(whole.start, n) for n in (0, 4, 8)] + [whole.end]
    else:
        cuts = [whole.start, whole.start + 10 * DAY, whole.start + 20 * DAY, whole.end]
    return Days(start=cuts[third], end=cuts[third + 1], granularity=Granularity.RANGE)


def year_named(reading: Reading) -> Days | None:
    """Such as "in 2022", "late 2021"."""
    return _part(reading, year(int(reading["year"])))


def decade(reading: Reading) -> Days | None:
    """Such as "the 1980s", "the 90s"."""
    digits = reading["decade"]
    first = int(digits) if len(digits) == len("1990") else _century(int(digits), reading.today.year)
    return Days(start=date(first, 1, 1), end=date(first + 10, 1, 1), granularity=Granularity.RANGE)


def _century(decade: int, now: int) -> int:
    first = now // 100 * 100 + decade
    return first if first <= now else first - 100


def season_of_year(reading: Reading) -> Days | None:
    """Such as "summer 2022", "the fall of last year"."""
    number = year_of(reading)
    if number is None:
        number = reading.today.year + STEPS[reading["which"]]
    return season(words.seasons()[reading["season"]], number)


def holiday(reading: Reading) -> Days | None:
    """Such as "Christmas", "last Easter", "Thanksgiving 2021"."""
    named = words.holidays()[" ".join(reading["holiday"].split())]
    following = re.match(r"\s{0,3}(\w+)", reading.match.string[reading.match.end() :][:32])
    if following and following.group(1) in named.not_before:
        return None
    today, which = reading.today, reading["which"]
    number = year_of(reading)
    if number is None and reading["relative"]:
        number = today.year + STEPS[reading["relative"]]
    if number is not None or which == "this":
        return day(named.in_year(today.year if number is None else number))
    ahead = which in ("next", "coming") or (not which and reading.future)
    years = range(today.year, today.year + 2) if ahead else range(today.year, today.year - 2, -1)
    days = (named.in_year(number) for number in years)
    strictly = bool(which)
    return next(
        (
            day(at)
            for at in days
            if (at > today if ahead else at < today) or (at == today and not strictly)
        ),
        None,
    )


def day_of_month(reading: Reading) -> Days | None:
    """Such as "on the 7th"."""
    today, number = reading.today, int(reading["day"][:-2])
    step = 1 if reading.future else -1
    for n in range(3):  # no two months that follow each other lack the same day
        first = shift_months(today.replace(day=1), n * step)
        found = valid_day(first.year, first.month, number)
        if found and (found.start - today) * step >= 0 * DAY:
            return found
    return None


def nth_of_month(reading: Reading) -> Days | None:
    """Such as "the first weekend of June 2023", "the last day of April"."""
    n, what = words.ordinals()[reading["ordinal"]], reading["what"]
    whole = month_year(reading) if year_of(reading) else bare_month(reading)
    if whole is None:
        return None
    if what in words.weekdays():
        at = nth_weekday(whole.start.year, whole.start.month, words.weekdays()[what], n)
        return day(at)
    if what == "day":
        return day(whole.start + (n - 1) * DAY if n > 0 else whole.end - DAY)
    if what == "weekend":
        return weekend(nth_weekday(whole.start.year, whole.start.month, 5, n))
    first = nth_weekday(whole.start.year, whole.start.month, 0, n)
    return week(whole.start + (n - 1) * WEEK if n > 0 else first)
