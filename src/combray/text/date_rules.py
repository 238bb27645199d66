"""What each kind of date expression means, as days.

A rule is a pattern and a function from its match to `Days`, or to None where the words turn out to mean something
else ("this may be", "Christmas tree"). Without a year or a direction an expression means the past, as talk in a
memory mostly does, unless its sentence speaks of the future.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache

from combray.model import Granularity
from combray.text import date_words as words
from combray.text.calendar import (
    DAY,
    WEEK,
    Days,
    containing,
    day,
    month,
    nth_weekday,
    season,
    shift,
    shift_months,
    week,
    weekday_after,
    weekday_before,
    weekend,
    year,
)

_FUTURE = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plan|plans|planning|upcoming|coming up|looking forward|can't wait"
    r"|scheduled|booked for|hope to|hoping to|due|see you)\b|'ll\b"
)
_SENTENCE_END = re.compile(r"[.!?\n]\s")
_BEFORE_CHARS = 80
_AFTER_CHARS = 60
_LEAP_CYCLE = 8
_SUNDAY = 6
_STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "next": 1, "coming": 1, "upcoming": 1}
_THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_NOT_ONE_DAY = re.compile(r"\b(?:every|each|most|all|any|black|ash|good)\s$")
_DATE_PREPOSITION = re.compile(r"\b(?:on|by|since|until|till|from|before|after|for|of|,)\s{1,3}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One match in its text.

    Attributes:
        match: over the lower-cased text.
        text: as written; the same length.
        today: the local day it was said.
    """

    match: re.Match[str]
    text: str
    today: date

    def __getitem__(self, group: str) -> str:
        """What the group matched, without a final full stop; empty where it did not."""
        found = self.match.groupdict().get(group)
        return found.rstrip(".") if found else ""

    @property
    def before(self) -> str:
        """The lower-cased text right before the match."""
        return self.match.string[max(0, self.match.start() - 16) : self.match.start()]

    @property
    def future(self) -> bool:
        """Whether the sentence speaks of the future."""
        lowered, start, end = self.match.string, self.match.start(), self.match.end()
        left = _SENTENCE_END.split(lowered[max(0, start - _BEFORE_CHARS) : start])[-1]
        right = _SENTENCE_END.split(lowered[end : end + _AFTER_CHARS])[0]
        return bool(_FUTURE.search(left) or _FUTURE.search(right))

    def titled(self, group: str) -> bool:
        """Whether the group is written with one capital first."""
        start, end = self.match.span(group)
        written = self.text[start:end]
        return written[:1].isupper() and not written[1:2].isupper()


Resolve = Callable[[Reading], Days | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A pattern, filled in and compiled, and what its match means.

    Attributes:
        pattern: over lower-cased text.
        resolve: the days, or None where it is no date after all; None itself where dateparser knows.
    """

    pattern: re.Pattern[str]
    resolve: Resolve | None


def _year_of(reading: Reading) -> int | None:
    if reading["year"]:
        return int(reading["year"])
    return 2000 + int(reading["short_year"]) if reading["short_year"] else None


def _named_month(reading: Reading, group: str = "month") -> int | None:
    """The month's number, unless the word may well be another one ("this may be")."""
    name = reading[group]
    return (
        None if name in words.also_words() and not reading.titled(group) else words.months()[name]
    )


def _iso_day(reading: Reading) -> Days | None:
    return _valid_day(int(reading["year"]), int(reading["month"]), int(reading["day"]))


def _valid_day(number: int, month_number: int, day_number: int) -> Days | None:
    try:
        return day(date(number, month_number, day_number))
    except ValueError:
        return None


def _iso_month(reading: Reading) -> Days | None:
    return month(date(int(reading["year"]), int(reading["month"]), 1))


def _month_day(reading: Reading) -> Days | None:
    sure = reading["suffix"] or reading["year"] or _DATE_PREPOSITION.search(reading.before)
    month_number = words.months()[reading["month"]] if sure else _named_month(reading)
    if month_number is None:
        return None
    number = _year_of(reading)
    if number is not None:
        return _valid_day(number, month_number, int(reading["day"]))
    return _nearest_day(reading, month_number, int(reading["day"]))


def _nearest_day(reading: Reading, month_number: int, day_number: int) -> Days | None:
    step = 1 if reading.future else -1
    for number in range(reading.today.year, reading.today.year + step * (_LEAP_CYCLE + 1), step):
        found = _valid_day(number, month_number, day_number)
        if found and (found.start - reading.today) * step >= 0 * DAY:
            return found
    return None


def _month_year(reading: Reading) -> Days | None:
    number = _year_of(reading)
    if number is None:
        number = reading.today.year + _STEPS[reading["which"]]
    return _part(reading, month(date(number, words.months()[reading["month"]], 1)))


def _bare_month(reading: Reading) -> Days | None:
    said_in = reading["lead"] == "in"
    month_number = words.months()[reading["month"]] if said_in else _named_month(reading)
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


def _year(reading: Reading) -> Days | None:
    return _part(reading, year(int(reading["year"])))


def _decade(reading: Reading) -> Days | None:
    digits = reading["decade"]
    first = int(digits) if len(digits) == len("1990") else _century(int(digits), reading.today.year)
    return Days(start=date(first, 1, 1), end=date(first + 10, 1, 1), granularity=Granularity.RANGE)


def _century(decade: int, now: int) -> int:
    first = now // 100 * 100 + decade
    return first if first <= now else first - 100


def _season_of_year(reading: Reading) -> Days | None:
    number = _year_of(reading)
    if number is None:
        number = reading.today.year + _STEPS[reading["which"]]
    return season(words.seasons()[reading["season"]], number)


_DAY_WORDS = {
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "before yesterday": -2,
    "after tomorrow": 2,
}


def _day_word(reading: Reading) -> Days | None:
    return day(reading.today + _DAY_WORDS[" ".join(reading["word"].split())] * DAY)


def _ago(reading: Reading) -> Days | None:
    return _distant(reading, -1)


def _ahead(reading: Reading) -> Days | None:
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


def _weekdays_ago(reading: Reading) -> Days | None:
    n = words.amount(reading["n"])[1]
    last = weekday_before(reading.today, words.weekdays()[reading["weekday"]])
    return day(last - (n - 1) * WEEK)


def _last_n(reading: Reading) -> Days | None:
    """The units up to today ("the last two weeks"), or from today on ("the next three days")."""
    n = words.amount(reading["n"])[1] if reading["n"] else 1
    step = _STEPS[reading["which"]]
    far = shift(reading.today, step * n, reading["unit"])
    start, last = min(far, reading.today), max(far, reading.today)
    return Days(start=start, end=last + DAY, granularity=Granularity.RANGE)


def _beside_last(reading: Reading) -> Days | None:
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


def _which_unit(reading: Reading) -> Days | None:
    step, what = _STEPS[reading["which"]], reading["what"]
    if reading["nearer"]:
        step = _STEPS[reading["nearer"]]
    if what in ("night", "evening"):
        return day(reading.today + step * DAY) if step < 1 else None
    if what in ("morning", "afternoon"):
        return day(reading.today) if step == 0 else None
    return containing(shift(reading.today, step, what), what)


def _the_weekend(reading: Reading) -> Days | None:
    today = reading.today
    ended = weekend(today) if reading.future else weekend(today - WEEK)
    return weekend(today) if today.weekday() == _SUNDAY else ended


def _which_weekday(reading: Reading) -> Days | None:
    name = reading["weekday"]
    if name in words.short_weekdays() and not reading.titled("weekday"):
        return None
    weekday, today = words.weekdays()[name], reading.today
    which = reading["nearer"] or reading["which"]
    if which in ("last", "past", "previous"):
        return day(weekday_before(today, weekday))
    if which in ("coming", "upcoming"):
        return day(weekday_after(today, weekday))
    monday = week(today).start + _STEPS[which] * WEEK
    return day(monday + weekday * DAY)


def _which_month(reading: Reading) -> Days | None:
    month_number = _named_month(reading)
    if month_number is None:
        return None
    step, today = _STEPS[reading["nearer"] or reading["which"]], reading.today
    if step < 0:
        return month(date(today.year - (month_number >= today.month), month_number, 1))
    return month(date(today.year + (step > 0 and month_number <= today.month), month_number, 1))


def _which_season(reading: Reading) -> Days | None:
    first_month, today = words.seasons()[reading["season"]], reading.today
    step = _STEPS[reading["nearer"] or reading["which"]]
    if step < 0:
        return _last_season(first_month, today)
    found = season(first_month, today.year - 1)
    if step == 0:
        return found if today < found.end else season(first_month, today.year)
    while found.start <= today:
        found = season(first_month, found.start.year + 1)
    return found


def _weekday(reading: Reading) -> Days | None:
    name = reading["weekday"]
    if name in words.short_weekdays() and not reading.titled("weekday"):
        return None
    if _NOT_ONE_DAY.search(reading.before) and not reading["lead"]:
        return None
    weekday = words.weekdays()[name]
    nearest = weekday_after if reading.future else weekday_before
    return day(nearest(reading.today, weekday))


def _holiday(reading: Reading) -> Days | None:
    holiday = words.holidays()[" ".join(reading["holiday"].split())]
    following = re.match(r"\s{0,3}(\w+)", reading.match.string[reading.match.end() :][:32])
    if following and following.group(1) in holiday.not_before:
        return None
    today, which = reading.today, reading["which"]
    number = _year_of(reading)
    if number is None and reading["relative"]:
        number = today.year + _STEPS[reading["relative"]]
    if number is not None or which == "this":
        return day(holiday.in_year(today.year if number is None else number))
    ahead = which in ("next", "coming") or (not which and reading.future)
    years = range(today.year, today.year + 2) if ahead else range(today.year, today.year - 2, -1)
    days = (holiday.in_year(number) for number in years)
    strictly = bool(which)
    return next(
        (
            day(at)
            for at in days
            if (at > today if ahead else at < today) or (at == today and not strictly)
        ),
        None,
    )


def _day_of_month(reading: Reading) -> Days | None:
    today, number = reading.today, int(reading["day"][:-2])
    step = 1 if reading.future else -1
    for n in range(3):  # no two months that follow each other lack the same day
        first = shift_months(today.replace(day=1), n * step)
        found = _valid_day(first.year, first.month, number)
        if found and (found.start - today) * step >= 0 * DAY:
            return found
    return None


def _nth_of_month(reading: Reading) -> Days | None:
    n, what = words.ordinals()[reading["ordinal"]], reading["what"]
    whole = _month_year(reading) if _year_of(reading) else _bare_month(reading)
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


def _beside_date(reading: Reading) -> Days | None:
    """A day or week by a date beside it: "the Sunday before 25 May 2023", "the week of 3 July"."""
    other = absolute(reading)
    if other is None:
        return None
    what, sign = reading["what"], 1 if reading["side"] in ("after", "following") else -1
    at = other.start if sign < 0 or reading["side"] == "of" else other.end - DAY
    if reading["side"] == "of":
        return containing(at, what) if what in ("week", "weekend") else None
    if reading["n"]:
        return containing(shift(at, sign * words.amount(reading["n"])[1], what), what)
    if what in words.weekdays():
        nearest = weekday_before if sign < 0 else weekday_after
        return day(nearest(at, words.weekdays()[what]))
    return containing(shift(at, sign, what), what)


def absolute(reading: Reading) -> Days | None:
    """What the group ``date`` of the match means by itself."""
    start, end = reading.match.span("date")
    for rule in absolute_rules():
        found = rule.pattern.match(reading.match.string, start)
        if found and found.end() == end and rule.resolve:
            return rule.resolve(Reading(match=found, text=reading.text, today=reading.today))
    return None


def _range(reading: Reading) -> Days | None:
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
    return _valid_day(number, month_number, side.day)


def _years(first: int | None, last: int | None) -> Days | None:
    if first is None or last is None or first >= last:
        return None
    return Days(start=date(first, 1, 1), end=date(last + 1, 1, 1), granularity=Granularity.RANGE)


_ISO_DAY = (
    r"(?P<year>(?:1[5-9]|20|21)\d\d)[-/](?P<month>0[1-9]|1[0-2])[-/](?P<day>3[01]|[12]\d|0[1-9])"
    r"(?:[t ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?z?)?(?![-/\w])"
)
_ISO_MONTH = r"(?P<year>(?:1[5-9]|20|21)\d\d)-(?P<month>0[1-9]|1[0-2])(?![-/\w])"
_DAY_MONTH = r"<ON_WEEKDAY>(?:the<S>)?<DAY>(?:<S>|-)?(?:of<S>)?(?P<month><MONTH>)<OF_YEAR>?"
_MONTH_DAY = (
    r"<ON_WEEKDAY>(?P<month><MONTH>)<S>(?:the<S>)?<DAY>"
    r"(?!<S>(?:of<S>(?:us|them|you)|people|more|other|guests|friends|times|days|weeks|hours|minutes)\b)<OF_YEAR>?"
)
_MONTH_YEAR = (
    r"<PART>?(?P<month><MONTH>)(?:<OF_YEAR>|,?<S>(?:of<S>)?(?P<which>last|this|next)<S>year<END>)"
)
_HOLIDAY = (
    r"(?:(?P<which>last|this|next|past)<S>)?(?P<holiday><HOLIDAY>)"
    r"(?:<OF_YEAR>|,?<S>(?:of<S>)?(?P<relative>last|this|next)<S>year<END>)?"
)
_DATE_SIDE = (
    r"(?:(?:the<S>)?<DAY>(?:<S>(?:of<S>)?<MONTH>)?|<MONTH>(?:<S><DAY>)?)(?:,?<S><YEAR>)?|<YEAR>"
)
_WHICH = (
    r"(?P<which>last|previous|past|this|next|coming|upcoming)(?:<S>(?P<nearer>past|coming))?<S>"
)
_IN = r"(?P<lead>in|since|until|till|by|during|around|of|through|before|after|for|from|back<S>in)"
_NOT_A_VERB = r"(?!<S>(?:be|not|have|help|sound|seem|come|take|cause|never|also|well|just|look|feel|on<S>(?:washington|for))\b)"


@cache
def absolute_rules() -> tuple[Rule, ...]:
    """Expressions that name a day or a month themselves."""
    table: tuple[tuple[str, Resolve], ...] = (
        (_ISO_DAY, _iso_day),
        (_ISO_MONTH, _iso_month),
        (_DAY_MONTH, _month_day),
        (_MONTH_DAY, _month_day),
        (_MONTH_YEAR, _month_year),
        (_HOLIDAY, _holiday),
    )
    return tuple(Rule(pattern=words.compiled(p), resolve=resolve) for p, resolve in table)


@cache
def rules() -> tuple[Rule, ...]:
    """All rules; where two match at one place, the earlier one counts."""
    side = words.unnamed(words.filled(_DATE_SIDE))
    a_date = words.unnamed(words.filled("|".join((_DAY_MONTH, _MONTH_DAY, _MONTH_YEAR, _HOLIDAY))))
    a_date = rf"(?:\d{{4}}-\d\d-\d\d|{a_date})"
    number = r"(?:(?P<low><NUMBER>)(?:<S>(?:or|to)<S>|-))?(?P<n><NUMBER>)(?:<S>or<S>so)?<S>"
    table: tuple[tuple[str, Resolve | None], ...] = (
        (
            rf"(?:from|between)<S>(?P<a>{side})\s{{0,3}}(?:to|until|till|through|and|-|–)\s{{0,3}}(?P<b>{side})",
            _range,
        ),
        (rf"(?P<a>{side})\s{{0,3}}(?:to|through|-|–)\s{{0,3}}(?P<b>{side})", _range),
        (
            rf"(?:the<S>)?(?:(?P<n><COUNT>|a|an)<S>)?(?P<what><WEEKDAY_STEM>|day|weekend|week|month|year)s?<S>"
            rf"(?P<side>before|after|following|of)<S>(?P<date>{a_date})",
            _beside_date,
        ),
        (
            r"(?:the<S>)?(?P<what><WEEKDAY>|<SEASON>|weekend|week|month|year|night)<S>before<S>last<END>",
            _beside_last,
        ),
        (r"(?:the<S>)?day<S>(?P<word>before<S>yesterday|after<S>tomorrow)<END>", _day_word),
        (r"(?P<word>yesterday|today|tonight|tomorrow)<END><TIME_OF_DAY>", _day_word),
        (r"(?P<n><NUMBER>)<S>(?P<weekday><WEEKDAY_STEM>)s?<S>ago<END>", _weekdays_ago),
        (
            r"(?:<NUMBER><S>(?:year|month|week|day|hour|minute)s?(?:,?<S>and<S>|,<S>|<S>)){1,3}"
            r"(?:\d{1,3}|an?)<S>(?:month|week|day|hour|minute)s?<S>ago<END>",
            None,
        ),
        (rf"{number}<UNIT><S>(?:ago|back)<END>", _ago),
        (r"(?:\d{1,3}|half<S>an|an?)<S>(?:hour|minute)s?<S>ago<END>", None),
        (rf"in<S>{number}<UNIT>(?P<sure>'?<S>time<END>)?(?!<S>of\b)", _ahead),
        (rf"{number}<UNIT><S>(?P<sure>from<S>(?:now|today))<END>", _ahead),
        (
            r"(?:the<S>)?(?P<which>last|past|previous|next|coming)<S>(?P<n><COUNT>)<S><UNIT>",
            _last_n,
        ),
        (r"the<S>(?P<which>past)<S>(?P<unit>week|month|year|decade)<END>", _last_n),
        (r"(?P<which>last|past|next)<S>(?P<unit>decade)<END>", _last_n),
        (
            r"(?:the<S>)?(?P<ordinal><ORDINAL>)<S>(?P<what><WEEKDAY>|day|weekend|week)<S>(?:of|in)<S>"
            r"(?P<month><MONTH>)<OF_YEAR>?",
            _nth_of_month,
        ),
        (
            rf"{_WHICH}(?P<what>weekend|week|month|year|night|evening|morning|afternoon)<END>",
            _which_unit,
        ),
        (r"(?P<lead>over|during)<S>the<S>weekend<END>", _the_weekend),
        (rf"{_WHICH}(?P<weekday><ANY_WEEKDAY>)<TIME_OF_DAY>", _which_weekday),
        (rf"{_WHICH}(?P<month><MONTH>)(?!,?<S>\d){_NOT_A_VERB}", _which_month),
        (rf"{_WHICH}(?P<season><SEASON>)", _which_season),
        (
            r"(?:early|mid|late)?[- ]?(?P<season><SEASON>)(?:<OF_YEAR>|<S>(?:of<S>)?(?P<which>last|this|next)<S>year<END>)",
            _season_of_year,
        ),
        (r"<DAY>-<MONTH>-<YEAR>", None),
        *(
            (rule, resolve)
            for rule, resolve in (
                (_ISO_DAY, _iso_day),
                (_ISO_MONTH, _iso_month),
                (_DAY_MONTH, _month_day),
                (_MONTH_DAY, _month_day),
                (_MONTH_YEAR, _month_year),
                (_HOLIDAY, _holiday),
            )
        ),
        (rf"{_IN}<S><PART>?(?P<month><MONTH>)(?!,?<S>\d)", _bare_month),
        (r"<PART>(?P<month><MONTH>)(?!,?<S>\d)", _bare_month),
        (
            rf"{_IN}<S>(?:the<S>year<S>)?<PART>?(?P<year><YEAR>)(?!<S>(?:people|dollars|words|times|miles|steps)\b)",
            _year,
        ),
        (r"<PART>(?P<year><YEAR>)", _year),
        (r"the<S>year<S>(?P<year><YEAR>)", _year),
        (r"(?:the<S>)?(?:early<S>|late<S>|mid-)?(?P<decade>(?:1[5-9]|20)\d0)s<END>", _decade),
        (r"the<S>(?:early<S>|late<S>|mid-)?'?(?P<decade>[1-9]0)s<END>", _decade),
        (r"(?P<lead>on)<S>(?P<weekday><ANY_WEEKDAY>)<TIME_OF_DAY>(?!<S>school)", _weekday),
        (r"(?P<weekday><WEEKDAY>)<TIME_OF_DAY>(?!<S>school)", _weekday),
        (
            r"(?:0?[1-9]|[12]\d|3[01])[./](?:0?[1-9]|[12]\d|3[01])[./](?:19|20)\d\d(?!\w|[-/.]\d)",
            None,
        ),
        (
            r"(?P<lead>on)<S>the<S>(?P<day>[12]?\dth|[23]?1st|2?2nd|2?3rd|30th)"
            r"(?!\w|<S>(?:of|floor|street|avenue|day|time|hole|page|anniversary)\b)",
            _day_of_month,
        ),
    )
    return tuple(Rule(pattern=words.compiled(p), resolve=resolve) for p, resolve in table)
