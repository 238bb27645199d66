"""Telling a repeat from another fact.

Two turns of one speaker are repeats when nothing of substance differs: the same words apart from fillers, or two
texts so long that a small edit leaves nine of ten word triples alike. Numbers, negations and names veto the second
kind: "I have 2 cats" and "I have 3 cats" are two facts, however alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from combray.model import Turn
from combray.pack.clip import asks

LONG_WORDS = 40
"""In a text of fewer words, any other word may be another fact."""

_PUNCTUATION = ".,;:!?'\"’‘“”()[]{}…–—*_`"
_BLANKS = str.maketrans(_PUNCTUATION, " " * len(_PUNCTUATION))
_FILLERS = """
a actually ah also an and anyway btw erm haha hello hey hi hm hmm just lol oh please really so the uh um wow
"""
_NEGATIONS = """
no not never none nobody nothing neither nor cannot t without hardly barely stopped quit
"""
_NUMBERS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half quarter dozen
once twice first second third last next today yesterday tomorrow tonight monday tuesday wednesday thursday friday
saturday sunday january february march april may june july august september october november december
"""
_FILLER = frozenset(_FILLERS.split())
_GUARD = frozenset((_NEGATIONS + _NUMBERS).split())


Key = tuple[str, bool, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Print:
    """What is compared of every turn.

    Attributes:
        source: speaker, and whether the turn asks.
        core: its words without punctuation and fillers, case folded; with fillers where nothing else is left.
        spoken: text and caption.
    """

    source: tuple[str, bool]
    core: tuple[str, ...]
    spoken: str


def print_of(turn: Turn) -> Print:
    """What is compared of the turn."""
    spoken = turn.spoken
    words = _words(spoken.casefold())
    core = [word for word in words if word not in _FILLER] or words or [spoken.strip()]
    return Print((f"{turn.role} {turn.speaker}", asks(turn.text)), tuple(core), spoken)


def is_near_repeat(one: str, other: str, similarity: float) -> bool:
    """Whether two long texts say the same but for a small edit.

    Args:
        one: a text.
        other: another one.
        similarity: least Jaccard index of the word triples.

    Source:
        Broder, 1997, "On the resemblance and containment of documents" (resemblance of word shingles).  Deviation:
        exact sets instead of sketches, and the veto.
    """
    first, second = _words(one), _words(other)
    shorter, longer = sorted((len(first), len(second)))
    if shorter < max(LONG_WORDS, similarity * longer) or _guards(first) != _guards(second):
        return False
    ours, theirs = _triples(first), _triples(second)
    return len(ours & theirs) >= similarity * len(ours | theirs)


class Prints:
    """The prints of what is in a pack, to find what a further turn repeats."""

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._turns: dict[tuple[tuple[str, bool], tuple[str, ...]], str] = {}
        self._long: list[tuple[Print, frozenset[str], str]] = []

    def add(self, of: Print, turn_id: str) -> None:
        """Remember a turn."""
        self._turns.setdefault((of.source, of.core), turn_id)
        if len(of.core) >= LONG_WORDS // 2:
            self._long.append((of, frozenset(of.core), turn_id))

    def twin(self, of: Print) -> str | None:
        """The id of the first turn that says the same, if any."""
        same = self._turns.get((of.source, of.core))
        if same is not None or len(of.core) < LONG_WORDS // 2:
            return same
        words = frozenset(of.core)
        for other, theirs, turn_id in self._long:
            # Most pairs share few words; comparing triples costs a hundred times as much.
            alike = of.source == other.source and 2 * len(words & theirs) >= len(words)
            if alike and is_near_repeat(of.spoken, other.spoken, self._similarity):
                return turn_id
        return None


def _words(text: str) -> list[str]:
    return text.translate(_BLANKS).split()


def _triples(words: Sequence[str]) -> set[tuple[str, ...]]:
    folded = [word.casefold() for word in words]
    return set(zip(folded, folded[1:], folded[2:], strict=False))


def _guards(words: Sequence[str]) -> list[str]:
    """What must not differ, in order: numbers, negations, dates, and capitalised words."""
    return [word.casefold() for word in words if _is_guard(word)]


def _is_guard(word: str) -> bool:
    return (
        word[0].isupper()
        or word[0] in "+-"
        or word.casefold() in _GUARD
        or any(map(str.isdigit, word))
    )
