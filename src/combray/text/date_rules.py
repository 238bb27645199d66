"""What each kind of date expression means, as days.

A rule is a pattern and a function from its match to `Days`, or to None where the words turn out to mean something
else ("this may be", "Christmas tree"). Without a year or a direction an expression means the past, as talk in a
memory mostly does, unless its sentence speaks of the future.
"""

from __future__ import annotations

from functools import cache

from combray.text import date_words as words
from combray.text.calendar import DAY, Days, containing, day, shift, weekday_after, weekday_before
from combray.text.date_named import (
    bare_month,
    day_of_month,
    decade,
    holiday,
    iso_day,
    iso_month,
    month_day,
    month_year,
    nth_of_month,
    season_of_year,
    year_named,
)
from combray.text.date_ranges import range_of
from combray.text.date_reading import Reading, Resolve, Rule
from combray.text.date_relative import (
    ago,
    ahead,
    beside_last,
    day_word,
    last_n,
    the_weekend,
    weekday_named,
    weekdays_ago,
    which_month,
    which_season,
    which_unit,
    which_weekday,
)


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
_NO_YEAR = r"(?!,?<S>(?:\d|(?:of<S>)?(?:last|this|next)<S>year<END>))"
_NOT_A_VERB = r"(?!<S>(?:be|not|have|help|sound|seem|come|take|cause|never|also|well|just|look|feel|on<S>(?:washington|for))\b)"


@cache
def absolute_rules() -> tuple[Rule, ...]:
    """Expressions that name a day or a month themselves."""
    table: tuple[tuple[str, Resolve], ...] = (
        (_ISO_DAY, iso_day),
        (_ISO_MONTH, iso_month),
        (_DAY_MONTH, month_day),
        (_MONTH_DAY, month_day),
        (_MONTH_YEAR, month_year),
        (_HOLIDAY, holiday),
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
            range_of,
        ),
        (rf"(?P<a>{side})\s{{0,3}}(?:to|through|-|–)\s{{0,3}}(?P<b>{side})", range_of),
        (
            rf"(?:the<S>)?(?:(?P<n><COUNT>|a|an)<S>)?(?P<what><WEEKDAY_STEM>|day|weekend|week|month|year)s?<S>"
            rf"(?P<side>before|after|following|of)<S>(?P<date>{a_date})",
            _beside_date,
        ),
        (
            r"(?:the<S>)?(?P<what><WEEKDAY>|<SEASON>|weekend|week|month|year|night)<S>before<S>last<END>",
            beside_last,
        ),
        (r"(?:the<S>)?day<S>(?P<word>before<S>yesterday|after<S>tomorrow)<END>", day_word),
        (r"(?P<word>yesterday|today|tonight|tomorrow)<END><TIME_OF_DAY>", day_word),
        (r"(?P<n><NUMBER>)<S>(?P<weekday><WEEKDAY_STEM>)s?<S>ago<END>", weekdays_ago),
        (
            r"(?:<NUMBER><S>(?:year|month|week|day|hour|minute)s?(?:,?<S>and<S>|,<S>|<S>)){1,3}"
            r"(?:\d{1,3}|an?)<S>(?:month|week|day|hour|minute)s?<S>ago<END>",
            None,
        ),
        (rf"{number}<UNIT><S>(?:ago|back)<END>", ago),
        (r"(?:\d{1,3}|half<S>an|an?)<S>(?:hour|minute)s?<S>ago<END>", None),
        (rf"in<S>{number}<UNIT>(?P<sure>'?<S>time<END>)?(?!<S>of\b)", ahead),
        (rf"{number}<UNIT><S>(?P<sure>from<S>(?:now|today))<END>", ahead),
        (
            r"(?:the<S>)?(?P<which>last|past|previous|next|coming)<S>(?P<n><COUNT>)<S><UNIT>",
            last_n,
        ),
        (r"the<S>(?P<which>past)<S>(?P<unit>week|month|year|decade)<END>", last_n),
        (r"(?P<which>last|past|next)<S>(?P<unit>decade)<END>", last_n),
        (
            r"(?:the<S>)?(?P<ordinal><ORDINAL>)<S>(?P<what><WEEKDAY>|day|weekend|week)<S>(?:of|in)<S>"
            r"(?P<month><MONTH>)<OF_YEAR>?",
            nth_of_month,
        ),
        (
            rf"{_WHICH}(?P<what>weekend|week|month|year|night|evening|morning|afternoon)<END>",
            which_unit,
        ),
        (r"(?P<lead>over|during)<S>the<S>weekend<END>", the_weekend),
        (rf"{_WHICH}(?P<weekday><ANY_WEEKDAY>)<TIME_OF_DAY>", which_weekday),
        (rf"{_WHICH}(?P<month><MONTH>)(?!,?<S>\d){_NOT_A_VERB}", which_month),
        (rf"{_WHICH}(?P<season><SEASON>)", which_season),
        (
            r"(?:early|mid|late)?[- ]?(?P<season><SEASON>)(?:<OF_YEAR>|<S>(?:of<S>)?(?P<which>last|this|next)<S>year<END>)",
            season_of_year,
        ),
        (r"<DAY>-<MONTH>-<YEAR>", None),
        *(
            (rule, resolve)
            for rule, resolve in (
                (_ISO_DAY, iso_day),
                (_ISO_MONTH, iso_month),
                (_DAY_MONTH, month_day),
                (_MONTH_DAY, month_day),
                (_MONTH_YEAR, month_year),
                (_HOLIDAY, holiday),
            )
        ),
        (rf"{_IN}<S><PART>?(?P<month><MONTH>){_NO_YEAR}", bare_month),
        (rf"<PART>(?P<month><MONTH>){_NO_YEAR}", bare_month),
        (
            rf"{_IN}<S>(?:the<S>year<S>)?<PART>?(?P<year><YEAR>)(?!<S>(?:people|dollars|words|times|miles|steps)\b)",
            year_named,
        ),
        (r"<PART>(?P<year><YEAR>)", year_named),
        (r"the<S>year<S>(?P<year><YEAR>)", year_named),
        (r"(?:the<S>)?(?:early<S>|late<S>|mid-)?(?P<decade>(?:1[5-9]|20)\d0)s<END>", decade),
        (r"the<S>(?:early<S>|late<S>|mid-)?'?(?P<decade>[1-9]0)s<END>", decade),
        (r"(?P<lead>on)<S>(?P<weekday><ANY_WEEKDAY>)<TIME_OF_DAY>(?!<S>school)", weekday_named),
        (r"(?P<weekday><WEEKDAY>)<TIME_OF_DAY>(?!<S>school)", weekday_named),
        (
            r"(?:0?[1-9]|[12]\d|3[01])[./](?:0?[1-9]|[12]\d|3[01])[./](?:19|20)\d\d(?!\w|[-/.]\d)",
            None,
        ),
        (
            r"(?P<lead>on)<S>the<S>(?P<day>[12]?\dth|[23]?1st|2?2nd|2?3rd|30th)"
            r"(?!\w|<S>(?:of|floor|street|avenue|day|time|hole|page|anniversary)\b)",
            day_of_month,
        ),
    )
    return tuple(Rule(pattern=words.compiled(p), resolve=resolve) for p, resolve in table)
