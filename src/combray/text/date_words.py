"""The words of English date expressions, and the pieces of patterns made of them.

Patterns are written with placeholders in angle brackets (``<MONTH>``) and run over lower-cased text with straight
apostrophes. Runs of white space are bounded, so that no pattern is more than linear in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from combray.text.calendar import DAY, easter, nth_weekday

_PLACEHOLDER = re.compile(r"<([A-Z_]+)>")
_GROUP_NAME = re.compile(r"\(\?P<\w+>")


@dataclass(frozen=True, slots=True, kw_only=True)
class Holiday:
    """A day with a name.

    Attributes:
        rule: ``{"on": "MM-DD"}``, ``{"nth": [month, weekday, n]}`` or ``{"easter": days after it}``.
        not_before: words that make a phrase of another meaning with it ("Christmas tree").
    """

    rule: Mapping[str, Any]
    not_before: frozenset[str]

    def in_year(self, number: int) -> date:
        """Its date in that year."""
        if "on" in self.rule:
            return date.fromisoformat(f"{number:04d}-{self.rule['on']}")
        if "nth" in self.rule:
            return nth_weekday(number, *self.rule["nth"])
        return easter(number) + int(self.rule["easter"]) * DAY


@cache
def _listed() -> dict[str, Any]:
    text = files("combray.text").joinpath("data/dates.json").read_text("utf-8")
    return dict(json.loads(text))


def _numbered(lists: Iterable[str], first: int) -> dict[str, int]:
    return {name: i for i, names in enumerate(lists, first) for name in names.split("|")}


@cache
def months() -> Mapping[str, int]:
    """Number, from 1, by name or short name."""
    return _numbered(_listed()["months"], 1)


@cache
def weekdays() -> Mapping[str, int]:
    """Number, Monday is 0, by name or short name."""
    return _numbered(_listed()["weekdays"], 0) | _numbered(_listed()["short_weekdays"], 0)


@cache
def short_weekdays() -> frozenset[str]:
    """Short names, which are words of their own too ("sun", "wed")."""
    return frozenset(_numbered(_listed()["short_weekdays"], 0))


@cache
def also_words() -> frozenset[str]:
    """Names of months that mean something else in lower case ("may", "march")."""
    return frozenset(_listed()["also_words"])


@cache
def seasons() -> Mapping[str, int]:
    """First month by name."""
    return dict(_listed()["seasons"])


@cache
def ordinals() -> Mapping[str, int]:
    """Place from 1 (−1 for the last) by word."""
    return dict(_listed()["ordinals"])


@cache
def holidays() -> Mapping[str, Holiday]:
    """Named days, by name."""
    return {
        name: Holiday(
            rule=entry, not_before=frozenset(entry.get("not_before", "").split("|")) - {""}
        )
        for entry in _listed()["holidays"]
        for name in entry["names"].split("|")
    }


def amount(words: str) -> tuple[int, int]:
    """Least and most that a number in words or digits means ("a few": 3 to 5)."""
    words = " ".join(words.split())
    if words in _listed()["vague_numbers"]:
        low, high = _listed()["vague_numbers"][words]
        return low, high
    n = _listed()["numbers"].get(words) or int(words)
    return n, n


def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern with its placeholders filled in."""
    return re.compile(filled(pattern))


def filled(pattern: str) -> str:
    """The source of the pattern with its placeholders filled in."""
    while _PLACEHOLDER.search(pattern):
        pattern = _PLACEHOLDER.sub(lambda match: _pieces()[match.group(1)], pattern)
    return pattern


def unnamed(pattern: str) -> str:
    """The pattern without group names, so that it can stand in another one more than once."""
    return _GROUP_NAME.sub("(?:", pattern)


def any_of(words: Iterable[str], after: str = "") -> str:
    """An alternation, longest first; white space matches up to three of it."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return (
        "(?:"
        + "|".join(re.escape(w).replace(r"\ ", r"\s{1,3}") + after for w in longest_first)
        + ")"
    )


@cache
def _pieces() -> dict[str, str]:
    numbers = [*_listed()["numbers"], *_listed()["vague_numbers"]]
    counts = [word for word in numbers if word not in ("a", "an", "couple")]
    return {
        "S": r"\s{1,3}",
        "END": r"(?!\w)",
        "MONTH": any_of(months(), r"\.?") + "<END>",
        "DAY": r"(?P<day>3[01]|[12]\d|0?[1-9])(?P<suffix>st|nd|rd|th)?(?![\w%]|[:.,/]\d)",
        "YEAR": r"(?:1[5-9]|20|21)\d\d(?!\w|[-/:.,]\d)",
        "OF_YEAR": r"(?:,?<S>(?:of<S>|in<S>)?(?:(?P<year><YEAR>)|'(?P<short_year>\d\d)<END>))",
        "WEEKDAY_STEM": any_of(_numbered(_listed()["weekdays"], 0)),
        "WEEKDAY": "<WEEKDAY_STEM><END>",
        "ANY_WEEKDAY": any_of(weekdays()) + "<END>",
        "ON_WEEKDAY": r"(?:<ANY_WEEKDAY>\.?,?<S>(?:the<S>)?)?",
        "SEASON": any_of(seasons()) + "<END>",
        "HOLIDAY": any_of(holidays()) + "<END>",
        "ORDINAL": any_of(ordinals()),
        "NUMBER": r"(?:\d{1,3}|" + any_of(numbers) + ")<END>",
        "COUNT": r"(?:\d{1,3}|" + any_of(counts) + ")<END>",
        "UNIT": r"(?P<unit>day|weekend|week|fortnight|month|year|decade)s?<END>",
        "TIME_OF_DAY": r"(?:<S>(?:morning|afternoon|evening|night)<END>)?",
        "PART": r"(?:(?P<part>early|mid|late)(?:<S>|-)(?:in<S>)?"
        r"|(?:the<S>)?(?P<stretch>beginning|start|middle|end)<S>of<S>(?:the<S>year<S>)?)",
    }
