"""The default analyser: rules and a stemmer, no model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from combray.errors import InvalidInput
from combray.model import Analysis, Mention
from combray.text.dates import find_dates
from combray.text.entities import entity_key, find_mentions
from combray.text.lemmas import keyword, stem, stop_words
from combray.text.questions import asks, asks_for_a_set
from combray.text.tokens import tokens


class LightAnalyser:
    """Stems, light entities and dates, at thousands of turns a second.

    Args:
        function_words: keep stop words among the terms, as a faithful EdgeMem needs; without them plain BM25 finds
            more (`docs/adr/0007-analysers.md`) and the postings are half as many.
    """

    def __init__(self, *, function_words: bool = False) -> None:
        self._function_words = function_words

    @property
    def id(self) -> str:
        """``light:1``, or ``light:1+function-words``."""
        return "light:1+function-words" if self._function_words else "light:1"

    def analyse(
        self, texts: Sequence[str], said_at: Sequence[datetime], people: Sequence[str] = ()
    ) -> list[Analysis]:
        """The analysis of each text, in order; see `combray.text.base.Analyser`.

        Raises:
            InvalidInput: not one aware time per text.
        """
        check_times(texts, said_at)
        return [self._analysis(text, at, people) for text, at in zip(texts, said_at, strict=True)]

    def analyse_query(self, text: str, now: datetime, people: Sequence[str] = ()) -> Analysis:
        """The analysis of one question, resolved against `now`."""
        check_times([text], [now])
        return self._analysis(text, now, people)

    def _analysis(self, text: str, at: datetime, people: Sequence[str]) -> Analysis:
        words = tokens(text)
        dates = find_dates(text, at)
        mentions = with_dates(find_mentions(text, people), [found.mention for found in dates])
        question = asks(text)
        return Analysis(
            terms=terms(words, function_words=self._function_words),
            keys=_keys(words, mentions),
            mentions=tuple(mentions),
            spans=tuple(found.span for found in dates),
            question=question,
            enumerative=question and asks_for_a_set(text),
            analyser=self.id,
        )


def terms(words: Sequence[str], *, function_words: bool) -> tuple[str, ...]:
    """The stems that BM25 counts, in order, with repeats."""
    if function_words:
        return tuple(map(stem, words))
    stops = stop_words()
    return tuple([stem(word) for word in words if word not in stops])


def check_times(texts: Sequence[str], said_at: Sequence[datetime]) -> None:
    """Refuse times that do not fit the texts.

    Raises:
        InvalidInput: not one aware time per text.
    """
    if len(texts) != len(said_at):
        raise InvalidInput(f"{len(texts)} texts need as many times, not {len(said_at)}.")
    if any(at.utcoffset() is None for at in said_at):
        raise InvalidInput("an analyser needs aware times; give them a time zone.")


def with_dates(mentions: list[Mention], dates: list[Mention]) -> list[Mention]:
    """Mentions in order, where a date expression replaces the names it overlaps."""
    if not dates:
        return mentions
    kept = [
        mention
        for mention in mentions
        if all(mention.end <= date.start or date.end <= mention.start for date in dates)
    ]
    return sorted(kept + dates, key=lambda mention: mention.start)


def _keys(words: Sequence[str], mentions: Sequence[Mention]) -> tuple[str, ...]:
    keys = set(map(keyword, words))
    keys.update(entity_key(mention.text) for mention in mentions)
    keys.discard("")
    return tuple(sorted(keys))
