"""Telling a repeat from another fact.

Two turns of one speaker are repeats when nothing of substance differs: the same words apart from fillers, or
texts so long that a small edit leaves nine of ten word triples alike. Numbers, negations and names veto the second
kind: "I have 2 cats" and "I have 3 cats" are two facts, however alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from combray.model import Turn
from combray.pack.clip import asks

LONG_WORDS = 40
"""In a text of fewer words, any other word may be another fact."""

_TOKEN = re.compile(r"[+-]?\d+(?:[.,:/-]\d+)*|\w+(?:['’]\w+)*|[^\w\s.,;:!?'\"’‘“”()\[\]…–—-]")
_FILLERS = """
a actually ah also an and anyway btw erm haha hello hey hi hm hmm just lol oh please really so the uh um wow
"""
_NEGATIONS = """
no not never none nobody nothing neither nor cannot without hardly barely stopped quit
"""
_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half quarter dozen
once twice first second third last next today yesterday tomorrow tonight monday tuesday wednesday thursday friday
saturday sunday january february march april may june july august september october november december
"""
_FILLER = frozenset(_FILLERS.split())
_GUARD = frozenset((_NEGATIONS + _NUMBERS).split())


@dataclass(frozen=True, slots=True)
class Print:
    """What is compared of a turn.

    Attributes:
        key: speaker and whether it asks; turns with different keys are never compared.
        words: as said, case folded, without punctuation.
        core: the words without fillers; all of them where nothing else is left.
        raw: tokens with their case, to find names in.
    """

    key: tuple[str, str, bool]
    words: tuple[str, ...]
    core: tuple[str, ...]
    raw: tuple[str, ...]


def print_of(turn: Turn) -> Print:
    """What is compared of the turn: text and caption."""
    raw = tuple(_TOKEN.findall(turn.spoken))
    words = tuple(word.casefold() for word in raw)
    core = tuple(word for word in words if word not in _FILLER) or words or (turn.spoken.strip(),)
    key = (turn.speaker.casefold(), str(turn.role), asks(turn.text))
    return Print(key=key, words=words, core=core, raw=raw)


def is_repeat(one: Print, other: Print, similarity: float) -> bool:
    """Whether the two say the same.

    Args:
        one: of a turn.
        other: of another turn.
        similarity: least Jaccard index of the word triples of texts that are not the same but for fillers.

    Source:
        Broder, 1997, "On the resemblance and containment of documents" (resemblance of word shingles).  Deviation:
        exact sets instead of sketches, and the veto.
    """
    if one.key != other.key:
        return False
    if one.core == other.core:
        return True
    shorter, longer = sorted((len(one.words), len(other.words)))
    if shorter < max(LONG_WORDS, similarity * longer):
        return False
    return _jaccard(one, other) >= similarity and _guards(one) == _guards(other)


def _jaccard(one: Print, other: Print) -> float:
    first, second = _triples(one.words), _triples(other.words)
    union = len(first | second)
    return len(first & second) / union if union else 0.0


def _triples(words: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def _guards(of: Print) -> tuple[str, ...]:
    """What must not differ, in order: numbers, negations, dates, and capitalised words."""
    return tuple(
        word
        for word, raw in zip(of.words, of.raw, strict=True)
        if raw[0].isupper() or raw[-1].isdigit() or word in _GUARD or word.endswith(("n't", "n’t"))
    )
