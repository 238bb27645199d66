"""What expressions mean when said on Thursday, 25 May 2023, at 14:30 in Paris."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from combray.model import Granularity
from combray.text.dates import MAX_DATES, find_dates

PARIS = ZoneInfo("Europe/Paris")
SAID = datetime(2023, 5, 25, 14, 30, tzinfo=PARIS)

EXPRESSIONS = [
    # text, expression, first day, day after the last, granularity
    ("I went there yesterday.", "yesterday", "2023-05-24", "2023-05-25", "day"),
    ("Today was fine", "Today", "2023-05-25", "2023-05-26", "day"),
    ("See you tonight", "tonight", "2023-05-25", "2023-05-26", "day"),
    ("Leaving tomorrow morning!", "tomorrow morning", "2023-05-26", "2023-05-27", "day"),
    ("the day before yesterday", "the day before yesterday", "2023-05-23", "2023-05-24", "day"),
    ("the day after tomorrow", "the day after tomorrow", "2023-05-27", "2023-05-28", "day"),
    ("I ran this morning", "this morning", "2023-05-25", "2023-05-26", "day"),
    ("we talked last night", "last night", "2023-05-24", "2023-05-25", "day"),
    ("Last Friday I met her", "Last Friday", "2023-05-19", "2023-05-20", "day"),
    ("Last Fri I met her", "Last Fri", "2023-05-19", "2023-05-20", "day"),
    ("last Thursday", "last Thursday", "2023-05-18", "2023-05-19", "day"),
    ("this Friday", "this Friday", "2023-05-26", "2023-05-27", "day"),
    ("this past Friday", "this past Friday", "2023-05-19", "2023-05-20", "day"),
    ("next Friday", "next Friday", "2023-06-02", "2023-06-03", "day"),
    ("on Wednesday evening we sang", "Wednesday evening", "2023-05-24", "2023-05-25", "day"),
    ("on Sat we played", "Sat", "2023-05-20", "2023-05-21", "day"),
    ("Friday was nice", "Friday", "2023-05-19", "2023-05-20", "day"),
    ("I will leave on Friday", "Friday", "2023-05-26", "2023-05-27", "day"),
    ("the Friday before last", "the Friday before last", "2023-05-12", "2023-05-13", "day"),
    ("two Fridays ago", "two Fridays ago", "2023-05-12", "2023-05-13", "day"),
    ("three days ago", "three days ago", "2023-05-22", "2023-05-23", "day"),
    ("10 days ago", "10 days ago", "2023-05-15", "2023-05-16", "day"),
    ("a couple of days ago", "a couple of days ago", "2023-05-23", "2023-05-24", "day"),
    ("a few days ago", "a few days ago", "2023-05-20", "2023-05-23", "range"),
    ("2-3 days ago", "2-3 days ago", "2023-05-22", "2023-05-24", "range"),
    ("last week was fun", "last week", "2023-05-15", "2023-05-22", "week"),
    ("earlier this week", "this week", "2023-05-22", "2023-05-29", "week"),
    ("next week", "next week", "2023-05-29", "2023-06-05", "week"),
    ("two weeks ago", "two weeks ago", "2023-05-08", "2023-05-15", "week"),
    ("two or three weeks ago", "two or three weeks ago", "2023-05-01", "2023-05-15", "range"),
    ("the week before last", "the week before last", "2023-05-08", "2023-05-15", "week"),
    ("in March last year", "March last year", "2022-03-01", "2022-04-01", "month"),
    ("since July of last year", "July of last year", "2022-07-01", "2022-08-01", "month"),
    ("last weekend", "last weekend", "2023-05-20", "2023-05-22", "range"),
    ("this past weekend", "this past weekend", "2023-05-20", "2023-05-22", "range"),
    ("this weekend", "this weekend", "2023-05-27", "2023-05-29", "range"),
    ("over the weekend we ran", "the weekend", "2023-05-20", "2023-05-22", "range"),
    ("two weekends ago", "two weekends ago", "2023-05-13", "2023-05-15", "range"),
    ("the weekend before last", "the weekend before last", "2023-05-13", "2023-05-15", "range"),
    ("the last two weeks", "the last two weeks", "2023-05-11", "2023-05-26", "range"),
    ("over the past month", "the past month", "2023-04-25", "2023-05-26", "range"),
    ("the next 3 days", "the next 3 days", "2023-05-25", "2023-05-29", "range"),
    ("last month", "last month", "2023-04-01", "2023-05-01", "month"),
    ("next month", "next month", "2023-06-01", "2023-07-01", "month"),
    ("a month ago", "a month ago", "2023-04-01", "2023-05-01", "month"),
    ("in May 2023", "May 2023", "2023-05-01", "2023-06-01", "month"),
    ("in May", "May", "2023-05-01", "2023-06-01", "month"),
    ("in june", "june", "2022-06-01", "2022-07-01", "month"),
    ("We will marry in June", "June", "2023-06-01", "2023-07-01", "month"),
    ("last May", "last May", "2022-05-01", "2022-06-01", "month"),
    ("May last year", "May last year", "2022-05-01", "2022-06-01", "month"),
    ("early May 2023", "early May 2023", "2023-05-01", "2023-05-11", "range"),
    ("mid-April", "mid-April", "2023-04-11", "2023-04-21", "range"),
    ("the end of March", "the end of March", "2023-03-21", "2023-04-01", "range"),
    ("2023-05", "2023-05", "2023-05-01", "2023-06-01", "month"),
    ("on 7 May", "7 May", "2023-05-07", "2023-05-08", "day"),
    ("May 7th was great", "May 7th", "2023-05-07", "2023-05-08", "day"),
    ("the 7th of May", "the 7th of May", "2023-05-07", "2023-05-08", "day"),
    ("May 7th, 2023", "May 7th, 2023", "2023-05-07", "2023-05-08", "day"),
    ("Sunday, May 7, 2023", "Sunday, May 7, 2023", "2023-05-07", "2023-05-08", "day"),
    ("7 May 2023", "7 May 2023", "2023-05-07", "2023-05-08", "day"),
    ("Dec. 5, 2021", "Dec. 5, 2021", "2021-12-05", "2021-12-06", "day"),
    ("7-May-2023", "7-May-2023", "2023-05-07", "2023-05-08", "day"),
    ("7th of May '23", "7th of May '23", "2023-05-07", "2023-05-08", "day"),
    ("on may 7 we left", "may 7", "2023-05-07", "2023-05-08", "day"),
    ("8 August", "8 August", "2022-08-08", "2022-08-09", "day"),
    ("We are going to move on 8 August", "8 August", "2023-08-08", "2023-08-09", "day"),
    ("29 February", "29 February", "2020-02-29", "2020-03-01", "day"),
    ("on the 7th", "the 7th", "2023-05-07", "2023-05-08", "day"),
    ("on the 31st", "the 31st", "2023-03-31", "2023-04-01", "day"),
    ("2023-05-07", "2023-05-07", "2023-05-07", "2023-05-08", "day"),
    ("2023/05/07", "2023/05/07", "2023-05-07", "2023-05-08", "day"),
    ("2023-05-07T13:00:00Z", "2023-05-07T13:00:00Z", "2023-05-07", "2023-05-08", "day"),
    ("5/7/2023", "5/7/2023", "2023-05-07", "2023-05-08", "day"),
    ("7.5.2023", "7.5.2023", "2023-05-07", "2023-05-08", "day"),
    ("3 hours ago", "3 hours ago", "2023-05-25", "2023-05-26", "day"),
    ("20 hours ago", "20 hours ago", "2023-05-24", "2023-05-25", "day"),
    ("1 year and 2 months ago", "1 year and 2 months ago", "2022-03-25", "2022-03-26", "day"),
    ("the week of July 3", "the week of July 3", "2022-06-27", "2022-07-04", "week"),
    ("the week of 3 July 2023", "the week of 3 July 2023", "2023-07-03", "2023-07-10", "week"),
    (
        "the weekend of 3 June 2023",
        "the weekend of 3 June 2023",
        "2023-06-03",
        "2023-06-05",
        "range",
    ),
    (
        "the Sunday before 25 May 2023",
        "the Sunday before 25 May 2023",
        "2023-05-21",
        "2023-05-22",
        "day",
    ),
    (
        "the week before 9 June, 2023",
        "the week before 9 June, 2023",
        "2023-05-29",
        "2023-06-05",
        "week",
    ),
    ("two days after Christmas", "two days after Christmas", "2022-12-27", "2022-12-28", "day"),
    (
        "the first weekend of June 2023",
        "the first weekend of June 2023",
        "2023-06-03",
        "2023-06-05",
        "range",
    ),
    (
        "the second Friday of June 2023",
        "the second Friday of June 2023",
        "2023-06-09",
        "2023-06-10",
        "day",
    ),
    ("the last day of April", "the last day of April", "2023-04-30", "2023-05-01", "day"),
    ("the last week of April", "the last week of April", "2023-04-24", "2023-05-01", "week"),
    ("the second week of May", "the second week of May", "2023-05-08", "2023-05-15", "week"),
    ("from 3 to 5 May", "from 3 to 5 May", "2023-05-03", "2023-05-06", "range"),
    ("3-5 June 2023", "3-5 June 2023", "2023-06-03", "2023-06-06", "range"),
    ("June 3–5, 2023", "June 3–5, 2023", "2023-06-03", "2023-06-06", "range"),
    (
        "from May 3 to June 5, 2022",
        "from May 3 to June 5, 2022",
        "2022-05-03",
        "2022-06-06",
        "range",
    ),
    ("between May and July 2023", "between May and July 2023", "2023-05-01", "2023-08-01", "range"),
    ("between 2019 and 2021", "between 2019 and 2021", "2019-01-01", "2022-01-01", "range"),
    (
        "from December to February 2023",
        "from December to February 2023",
        "2022-12-01",
        "2023-03-01",
        "range",
    ),
    ("last summer", "last summer", "2022-06-01", "2022-09-01", "season"),
    ("last winter", "last winter", "2022-12-01", "2023-03-01", "season"),
    ("this spring", "this spring", "2023-03-01", "2023-06-01", "season"),
    ("next summer", "next summer", "2023-06-01", "2023-09-01", "season"),
    ("the summer before last", "the summer before last", "2021-06-01", "2021-09-01", "season"),
    ("the fall of 2021", "fall of 2021", "2021-09-01", "2021-12-01", "season"),
    ("in 2022", "2022", "2022-01-01", "2023-01-01", "year"),
    ("last year", "last year", "2022-01-01", "2023-01-01", "year"),
    ("ten years ago", "ten years ago", "2013-01-01", "2014-01-01", "year"),
    ("late 2021", "late 2021", "2021-09-01", "2022-01-01", "range"),
    ("the 1980s", "the 1980s", "1980-01-01", "1990-01-01", "range"),
    ("in the 90s", "the 90s", "1990-01-01", "2000-01-01", "range"),
    ("Christmas was quiet", "Christmas", "2022-12-25", "2022-12-26", "day"),
    ("last Christmas", "last Christmas", "2022-12-25", "2022-12-26", "day"),
    ("next Christmas", "next Christmas", "2023-12-25", "2023-12-26", "day"),
    ("Thanksgiving 2021", "Thanksgiving 2021", "2021-11-25", "2021-11-26", "day"),
    ("Halloween last year", "Halloween last year", "2022-10-31", "2022-11-01", "day"),
    ("Easter", "Easter", "2023-04-09", "2023-04-10", "day"),
    ("Mother’s Day", "Mother’s Day", "2023-05-14", "2023-05-15", "day"),
    ("New Year's Eve", "New Year's Eve", "2022-12-31", "2023-01-01", "day"),
    ("two weeks from now", "two weeks from now", "2023-06-05", "2023-06-12", "week"),
    ("I'm going to Rome in two weeks", "in two weeks", "2023-06-05", "2023-06-12", "week"),
]

NOT_DATES = [
    "May I ask something?",
    "it may be late",
    "This may be good",
    "MAY WE GO",
    "we march on",
    "the march on Washington",
    "we marched for hours",
    "sun is hot",
    "The Sun was bright",
    "she sat down and wed him",
    "a second thought",
    "wait a second",
    "second, I like it",
    "I am 25 and have 3 kids",
    "it costs $1,200 and weighs 3.5 kg",
    "call 555-0101",
    "version 2.0.1",
    "at 7:30 sharp",
    "open 24/7",
    "1/2 cup of sugar",
    "2023-13-45",
    "30/02/2023",
    "every Friday we swim",
    "a Black Friday sale",
    "on Mondays",
    "the christmas tree",
    "an Easter egg hunt",
    "May 7 people came",
    "may 7 we went",
    "fall down and spring back",
    "a winter coat",
    "in two weeks I finished it",
    "two days later",
    "my 18th birthday",
    "the 21st century",
    "on the 5th floor",
    "since we last talked",
    "the next step",
    "standing next to it",
    "a while ago",
    "soon, recently, someday",
    "in 2022 people came",
    "QX-2023-4471",
    "good day to you",
    "May's cat and June's dog",
    "April is my sister",
    "",
]

NAMES_MONTH_AND_YEAR = [
    ("in May 2023", True),
    ("7 May 2023", True),
    ("May 7th, 2023", True),
    ("2023-05-07", True),
    ("2023-05", True),
    ("between May and July 2023", True),
    ("the Sunday before 25 May 2023", True),
    ("early May 2023", True),
    ("7-May-2023", True),
    ("7 May", False),
    ("in May", False),
    ("in 2023", False),
    ("last week", False),
    ("summer 2023", False),
    ("Christmas 2023", False),
    ("5/7/2023", False),
    ("7 May '23", False),
    ("May last year", False),
]


@pytest.mark.parametrize(("text", "expression", "first", "after", "granularity"), EXPRESSIONS)
def test_an_expression_means_these_days(text, expression, first, after, granularity):
    (found,) = find_dates(text, SAID)

    assert found.mention.text == found.span.text == expression
    assert text[found.mention.start : found.mention.end] == expression
    assert found.mention.label == "DATE"
    assert found.span.start == datetime.fromisoformat(first).replace(tzinfo=PARIS)
    assert found.span.end == datetime.fromisoformat(after).replace(tzinfo=PARIS)
    assert found.span.granularity is Granularity(granularity)


@pytest.mark.parametrize("text", NOT_DATES)
def test_words_that_only_look_like_dates_are_left_alone(text):
    assert find_dates(text, SAID) == []


@pytest.mark.parametrize(("text", "explicit"), NAMES_MONTH_AND_YEAR)
def test_only_a_written_month_with_a_four_digit_year_is_explicit(text, explicit):
    (found,) = find_dates(text, SAID)
    assert found.span.explicit is explicit


def test_expressions_come_in_order_and_do_not_overlap():
    found = find_dates("Yesterday, last week and on 7 May 2023; tomorrow too.", SAID)
    assert [one.span.text for one in found] == ["Yesterday", "last week", "7 May 2023", "tomorrow"]


def test_a_day_is_midnight_to_midnight_in_the_speakers_zone():
    kiritimati = timezone(timedelta(hours=14))
    (found,) = find_dates("today", datetime(2023, 5, 25, 0, 30, tzinfo=kiritimati))
    assert found.span.start == datetime(2023, 5, 24, 10, tzinfo=UTC)


def test_a_day_on_which_the_clocks_change_has_23_hours():
    (found,) = find_dates("today", datetime(2023, 3, 26, 12, tzinfo=PARIS))
    assert found.span.end.astimezone(UTC) - found.span.start.astimezone(UTC) == timedelta(hours=23)


@pytest.mark.parametrize(
    ("said", "first"), [("2023-05-27", "2023-05-20"), ("2023-05-28", "2023-05-20")]
)
def test_last_weekend_said_on_a_weekend_is_the_one_before(said, first):
    (found,) = find_dates("last weekend", datetime.fromisoformat(said).replace(tzinfo=UTC))
    assert found.span.start.date().isoformat() == first


def test_last_friday_said_on_a_friday_is_a_week_ago():
    (found,) = find_dates("last Friday", datetime(2023, 5, 26, 9, tzinfo=UTC))
    assert found.span.start.date().isoformat() == "2023-05-19"


def test_this_winter_in_january_is_the_one_that_began_in_december():
    (found,) = find_dates("this winter", datetime(2023, 1, 10, tzinfo=UTC))
    assert found.span.start.date().isoformat() == "2022-12-01"


@pytest.mark.parametrize(
    "text", ["ten years ago", "999 decades ago", "the last 30 years", "last year"]
)
def test_times_before_the_year_1_are_left_out(text):
    assert find_dates(text, datetime(1, 1, 1, 12, tzinfo=UTC)) == []


@pytest.mark.parametrize("text", ["next year", "tomorrow", "this month"])
def test_times_after_the_year_9999_are_left_out(text):
    assert find_dates(text, datetime(9999, 12, 31, 12, tzinfo=UTC)) == []


def test_a_log_full_of_dates_gives_no_more_than_the_bound():
    assert len(find_dates("2023-05-07 started\n" * 2000, SAID)) == MAX_DATES


@pytest.mark.parametrize(
    "unit", ["1 ", "last ", "from 3 ", "in two weeks ", "2023-", "the ", "between May ", "a ", " "]
)
def test_a_long_text_is_read_in_linear_time(unit):
    text = unit * (100_000 // len(unit))
    start = datetime.now(UTC)
    find_dates(text, SAID)
    assert datetime.now(UTC) - start < timedelta(seconds=5)


def test_dateparser_is_not_imported_before_an_expression_needs_it():
    code = (
        "import sys; from datetime import datetime, UTC; from combray.text import LightAnalyser\n"
        "LightAnalyser().analyse(['last Friday and 7 May 2023'], [datetime.now(UTC)])\n"
        "print('dateparser' in sys.modules)\n"
        "LightAnalyser().analyse(['3 hours ago'], [datetime.now(UTC)])\n"
        "print('dateparser' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    ("text", "assumed"),
    [
        ("What happened in March?", True),
        ("What happened at the end of March?", True),
        ("Where were we on 7 June?", True),
        ("Who came at Christmas?", True),
        ("What happened in March 2022?", False),
        ("What happened in March last year?", False),
        ("What happened last March?", False),
        ("What happened last Christmas?", False),
        ("Who came on 7 May '22?", False),
        ("What did I do on 2023-03-04?", False),
        ("What happened last week?", False),
        ("What happened in 2022?", False),
        ("What will we do in March?", False),
    ],
)
def test_a_year_that_nobody_named_is_known_to_be_assumed(text, assumed):
    (found,) = find_dates(text, SAID)
    assert found.span.year_assumed == assumed
