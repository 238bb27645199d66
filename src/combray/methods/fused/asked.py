"""What the query asks about: which people, which words, which time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from combray.index.lexical import Matches, idf
from combray.index.view import BankView
from combray.model import Query, TimeSpan
from combray.model.time import to_micros
from combray.model.turn import ROLE_NAMES
from combray.text.lemmas import stem, stop_words
from combray.text.questions import asks_what_was_said, subject_terms
from combray.text.tokens import tokens

_CAPITALISED = re.compile(r"\b[^\W\d_a-z][^\W\d_]{2,}\b")
_SENTENCE_END = re.compile(r"[.!?]+(?:\s|$)|\n+")
_WEEK_MICROS = 7 * 24 * 3600 * 1_000_000


@lru_cache(maxsize=256)
def name_terms(speakers: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    """The terms of each speaker's name; empty for those who are only called by a role."""
    return tuple(
        frozenset() if name.lower() in ROLE_NAMES else frozenset(map(stem, tokens(name)))
        for name in speakers
    )


def named_speakers(text: str, speakers: tuple[str, ...]) -> list[int]:
    """The speakers that the query names, also by the beginning of a name ("Mel")."""
    words = {stem(word) for word in tokens(text)}
    beginnings = tuple(word.lower() for word in _CAPITALISED.findall(text))
    return [
        i
        for i, names in enumerate(name_terms(speakers))
        if names & words or any(name.startswith(beginnings) for name in names)
    ]


def spoken_by(text: str, view: BankView) -> NDArray[np.float64]:
    """1 for the turns of the people the query names, unless it names all of them; shape (n,)."""
    speakers = view.columns.speakers
    named = named_speakers(text, speakers)
    people = sum(bool(names) for names in name_terms(speakers))
    if not named or len(named) >= people:
        return np.zeros(view.n)
    return np.isin(view.columns.speaker, named).astype(np.float64)


def is_message(text: str) -> bool:
    """Whether the query is several sentences: a turn of a dialogue that goes on, rather than one question."""
    return sum(len(part.split()) >= 2 for part in _SENTENCE_END.split(text)) > 1


def time_alone(query: Query, view: BankView) -> float:
    """How much the time is all that a question asks for, 0…1.

    1 where it names a time and no subject, 1/2 with one term more, 1/3 with two; 0 without a time.
    """
    if not query.analysis.spans:
        return 0.0
    names = frozenset[str]().union(*name_terms(view.columns.speakers))
    return 1.0 / (1 + len(subject_terms(query.analysis, names)))


def said_in_time(query: Query, view: BankView) -> NDArray[np.float64]:
    """How near each turn is to the times of the query, shape (n,).

    1 for turns said within a span, falling off by e a week after it, since what happened is told afterwards. A question
    about what was said has no such tail: what was said then was said then. A time whose year was only assumed is that of
    the last year before in which there are turns, where there are none in the assumed one.
    """
    tail = not asks_what_was_said(query.text)
    said_at = view.columns.said_at
    spans = [_in_year_with_turns(span, said_at) for span in query.analysis.spans]
    return in_time(spans, said_at, tail=tail)


def _in_year_with_turns(span: TimeSpan, said_at: NDArray[np.int64]) -> TimeSpan:
    if not span.year_assumed or _has_turns(span, said_at):
        return span
    year = span.start.year
    years = np.unique(said_at.astype("datetime64[us]").astype("datetime64[Y]").astype(int)) + 1970
    # A year begins up to a day earlier in the span's zone than in UTC.
    for earlier in sorted(
        {n for y in years.tolist() for n in (y, y + 1) if n < year}, reverse=True
    ):
        with suppress(ValueError):  # 29 February
            moved = replace(
                span,
                start=span.start.replace(year=earlier),
                end=span.end.replace(year=span.end.year - year + earlier),
            )
            if _has_turns(moved, said_at):
                return moved
    return span


def _has_turns(span: TimeSpan, said_at: NDArray[np.int64]) -> bool:
    within = (said_at >= to_micros(span.start)) & (said_at < to_micros(span.end))
    return bool(within.any())


def in_time(
    spans: Sequence[TimeSpan], said_at: NDArray[np.int64], *, tail: bool
) -> NDArray[np.float64]:
    """1 for turns said within a span; with a tail, falling off by e a week after it."""
    near = np.zeros(len(said_at))
    for span in spans:
        start, end = to_micros(span.start), to_micros(span.end)
        late = np.exp(-np.maximum(said_at - end, 0) / _WEEK_MICROS) if tail else said_at < end
        np.maximum(near, np.where(said_at >= start, late, 0.0), out=near)
    return near


def token_weights(query: Query, found: Matches, view: BankView, stop: float) -> NDArray[np.float32]:
    """How much each token of the query counts in late interaction, shape (t,), adding up to 1.

    A term counts its idf over the square root of its number of pieces; half of that where the bank does not know
    it, since then no turn can be told by it; a stop word counts `stop`. A speaker's name is as common as the
    speaker's turns.
    """
    words = query.token_words
    df = dict(zip(found.terms, found.df.tolist(), strict=True))
    turns = _turns_by_name(view)
    weights = np.empty(len(words), dtype=np.float32)
    for i, word in enumerate(words):
        term = stem(word)
        if word in stop_words() or len(word) == 1:
            weights[i] = stop
            continue
        count = max(df.get(term, 0), turns.get(term, 0))
        share = float(idf(np.array(count), view.n)) * (1.0 if count else 0.5)
        weights[i] = share / np.sqrt(_run_length(words, i))
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(words), 1 / max(len(words), 1), np.float32)


def _run_length(words: Sequence[str], i: int) -> int:
    """Number of pieces of the word at i: equal neighbours."""
    first = last = i
    while first > 0 and words[first - 1] == words[i]:
        first -= 1
    while last + 1 < len(words) and words[last + 1] == words[i]:
        last += 1
    return last - first + 1


def _turns_by_name(view: BankView) -> dict[str, int]:
    names = name_terms(view.columns.speakers)
    if not any(names):
        return {}
    counts = np.bincount(view.columns.speaker, minlength=len(names)).tolist()
    turns: dict[str, int] = {}
    for own, count in zip(names, counts, strict=True):
        for name in own:
            turns[name] = turns.get(name, 0) + count
    return turns
