"""What can be noted of a fact without a model: its people, keywords and time, and whether it belongs in a profile.

It stands in where a model leaves out what it was asked for, and where facts come without notes. A fact is noted from its own text
alone: the same fact has the same notes whatever stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from combray.methods.atom.keywords import normalised
from combray.methods.atom.wordings import (
    AUXILIARIES,
    BEFORE_A_NAME,
    GENERIC,
    LASTING,
    LY_NOUNS,
    NOUN_AFTER_TO,
    SINGULARS,
    SUBJECTS,
)
from combray.model import Analysis, FactNotes, Mention, TimeSpan
from combray.text.base import Analyser
from combray.text.lemmas import keyword, stop_words
from combray.text.names import may_be_same, name_words
from combray.text.tokens import tokens

MAX_KEYWORDS = 5

_NAMED = "\x00"
"""Stands in the text where a person is named."""
_PARTS = re.compile(rf"{_NAMED}|[^\W\d_](?:[^\W_]|['’](?=[^\W_]))*|\d\S*|[^\w\s]")
_TIMES = ("DATE", "TIME")
_DAY = len("2023-05-07")
_SHORTEST_KEYWORD = 3
_ACTS = re.compile(
    r"['’]s\b| (?:has|had|will|would|can|could|does|did|(?!is\b|was\b)[a-z]+(?:[^s]s|ed))\b"
)
_RELATION_BEFORE = re.compile(rf"(?:{BEFORE_A_NAME}),? $", re.IGNORECASE)
_FULL_NAME = re.compile(r"[^\W\d_]+\.?(?: [^\W\d_]+\.?){0,2}")


def local_notes(
    facts: Sequence[str],
    said_at: Sequence[datetime],
    analyser: Analyser,
    people: Sequence[str] = (),
) -> list[FactNotes]:
    """The notes of each fact, in order.

    Args:
        facts: texts.
        said_at: aware, one per fact; what "last week" is measured from.
        analyser: the bank's.
        people: names known to be people, such as the speakers.

    Source:
        AtomMem, section 3.2 (metadata).  Deviation: by rules instead of a model; a fact's time is one that its text names.
    """
    found = analyser.analyse(facts, said_at, people)
    return [_notes(text, one, people) for text, one in zip(facts, found, strict=True)]


def _notes(text: str, analysis: Analysis, known: Sequence[str]) -> FactNotes:
    persons = [mention for mention in analysis.mentions if _is_person(text, mention, known)]
    people = tuple(dict.fromkeys(name for one in persons for name in _names_in(one, known)))
    about = _told_time(analysis.spans)
    return FactNotes(
        people=people,
        keywords=normalised(
            _keywords(text, analysis, persons), MAX_KEYWORDS, leave_out=(*people, *known)
        ),
        about=about,
        # What a day is told of happened on it.
        lasting=len(about) < _DAY and bool(people) and bool(LASTING.search(text)),
    )


def _is_person(text: str, mention: Mention, known: Iterable[str]) -> bool:
    """Whether the mention names a person: known, tagged as one, short for a known one, or worded as one.

    A capitalised word of unknown kind is a person where somebody owns or does something ("Rob's", "Rob called"), or where it
    follows what a person is to another ("her friend Rob").
    """
    if mention.label == "PERSON":
        return True
    if mention.label != "NAME" or not _FULL_NAME.fullmatch(mention.text):
        return False
    if any(may_be_same(mention.text, name) for name in known):
        return True
    if mention.text.isupper():
        return False
    before, after = text[: mention.start], text[mention.end :]
    acts = (
        not before.rstrip() or before.rstrip()[-1:] in ".,;" or before.endswith((" that ", " and "))
    )
    return bool(_RELATION_BEFORE.search(before)) or (acts and bool(_ACTS.match(after)))


def _names_in(mention: Mention, known: Sequence[str]) -> list[str]:
    """The known people that the mention names, or the mention as it is."""
    words = name_words(mention.text)
    return [name for name in known if set(name_words(name)) & set(words)] or [mention.text]


def _told_time(spans: Sequence[TimeSpan]) -> str:
    """The time that a fact tells of: one with its month and year, else the first that comes down to a year."""
    dates = [_partial(span) for span in sorted(spans, key=lambda span: not span.explicit)]
    return next((date for date in dates if date), "")


def _partial(span: TimeSpan) -> str:
    """The day, month or year that the span lies in; empty where it is longer.

    A week is its month, or its year where it is in two months: what a partial date cannot say is left out, never guessed.
    """
    first, last = span.start.date(), (span.end - timedelta(microseconds=1)).date()
    if first == last:
        return first.isoformat()
    if first.year != last.year:
        return ""
    return first.isoformat()[:7] if first.month == last.month else f"{first.year:04}"


def _keywords(text: str, analysis: Analysis, persons: Collection[Mention]) -> list[str]:
    """Named things, then nouns that end a phrase, then other nouns; each in order."""
    named = [m for m in analysis.mentions if m not in persons and m.label not in _TIMES]
    bare = _blanked(text, analysis.mentions, persons)
    heads: list[str] = []
    others: list[str] = []
    keys = set(analysis.keys)
    for word, ends in _nouns(bare, keys):
        (heads if ends else others).append(word)
    return [*(mention.text for mention in named), *heads, *others]


def _blanked(text: str, mentions: Sequence[Mention], persons: Collection[Mention]) -> str:
    parts, at = [], 0
    for mention in mentions:
        parts += [text[at : mention.start], f" {_NAMED if mention in persons else '.'} "]
        at = max(at, mention.end)
    return "".join([*parts, text[at:]])


def _nouns(text: str, keys: Collection[str]) -> Iterator[tuple[str, bool]]:
    """Words that look like nouns, singular, and whether each ends a phrase.

    Rules of position and ending, for an analyser that knows no parts of speech: what follows a subject, an auxiliary or "to" is a
    verb, what ends in -ed or -ly none either.
    """
    words = [part.lower() for part in _PARTS.findall(text)]
    before, second = "", ""
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else "."
        if _may_be_noun(word, before, second) and _has_key(word, keys):
            yield singular(word), not _is_content(following)
        before, second = word, before


def _may_be_noun(word: str, before: str, second: str) -> bool:
    if not _is_content(word) or len(word) < _SHORTEST_KEYWORD or word in GENERIC:
        return False
    if word.endswith("ed") or (word.endswith("ly") and word not in LY_NOUNS):
        return False
    if before == "to":
        return second in NOUN_AFTER_TO
    if before in AUXILIARIES:
        return word.endswith("ing")
    return before not in SUBJECTS


def _is_content(word: str) -> bool:
    return word[0].isalpha() and word not in stop_words()


def _has_key(word: str, keys: Collection[str]) -> bool:
    return word in keys or singular(word) in keys or any(keyword(t) in keys for t in tokens(word))


def singular(word: str) -> str:
    """The singular of an English noun, by a short list and its ending.

    >>> [singular(word) for word in ("hobbies", "classes", "bowls", "glass", "tennis", "movies", "children")]
    ['hobby', 'class', 'bowl', 'glass', 'tennis', 'movie', 'child']
    """
    word = re.sub(r"['’]s?$", "", word)
    if word in SINGULARS:
        return SINGULARS[word]
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")
