"""What holds of any text at any time."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from combray.text import LightAnalyser
from combray.text.tokens import MAX_TOKEN_CHARS, tokens

OFFSETS = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(
    min_value=datetime(1, 1, 2),
    max_value=datetime(9999, 12, 30),
    timezones=OFFSETS,
)
ANY_TEXT = st.text(st.characters(codec=None), max_size=200)
PIECES = [
    "last",
    "next",
    "this",
    "past",
    "previous",
    "ago",
    "in",
    "on",
    "the",
    "of",
    "before",
    "after",
    "from",
    "to",
    "between",
    "and",
    "until",
    "week",
    "weekend",
    "month",
    "year",
    "decade",
    "day",
    "days",
    "weeks",
    "fortnight",
    "night",
    "monday",
    "Fri",
    "sun",
    "summer",
    "Winter",
    "May",
    "march",
    "june",
    "3",
    "07",
    "31st",
    "2nd",
    "29",
    "30",
    "2023",
    "1999",
    "0001",
    "-",
    "–",
    ",",
    "/",
    "2023-05-07",
    "5/7/2023",
    "christmas",
    "easter",
    "new",
    "year's",
    "eve",
    "first",
    "second",
    "a",
    "few",
    "two",
    "couple",
    "yesterday",
    "today",
    "early",
    "mid",
    "late",
    "'s",
    "hours",
    "ago",
    "will",
    "beginning",
    "end",
    "2024-02",
    "99",
    "00",
    "'",
    ".",
    "?",
    "Anna",
    "McGee",
    "NASA",
    "The",
    "I'm",
    "“",
    "”",
    '"',
    "&",
    "@",
]
DATE_LIKE = st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join)
TEXTS = ANY_TEXT | DATE_LIKE
NAMES = st.lists(st.text(max_size=8) | st.sampled_from(["Anna", "May"]), max_size=3)


@given(TEXTS, TIMES, NAMES)
@settings(max_examples=400, deadline=None)
def test_any_text_is_read_within_the_promises(text, said_at, people):
    (found,) = LightAnalyser().analyse([text], [said_at], people)

    assert (found,) == tuple(LightAnalyser().analyse([text], [said_at], people))
    for key in (*found.terms, *found.keys):
        assert 0 < len(key) <= MAX_TOKEN_CHARS
    assert list(found.keys) == sorted(set(found.keys))
    for span in found.spans:
        assert span.start.utcoffset() is not None
        assert span.start.astimezone(UTC) < span.end.astimezone(UTC)
        assert span.text in text
    places = [(mention.start, mention.end) for mention in found.mentions]
    assert all(text[m.start : m.end] == m.text != "" for m in found.mentions)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


@given(ANY_TEXT)
@settings(max_examples=300, deadline=None)
def test_tokens_are_never_empty_or_too_long_and_survive_a_second_pass(text):
    found = tokens(text)
    assert all(0 < len(token) <= MAX_TOKEN_CHARS for token in found)
    assert not any(char.isspace() for token in found for char in token)


@given(st.text(st.characters(categories=["L", "N", "Zs"]), max_size=60))
@settings(deadline=None)
def test_case_does_not_matter_to_tokens(text):
    if text.upper().lower() == text.lower():
        assert tokens(text.upper()) == tokens(text.lower())
