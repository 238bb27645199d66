"""What a unit may say: nothing that its source turns do not.

A veto, not a judge: every name, number and date of a unit must be in its sources or follow from when they were said, and it must not
turn a no into a yes. That all of this holds does not make a unit true; that one of it fails makes it wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from combray.methods.simple.times import Times, dates_in, without
from combray.model import Turn
from combray.text.base import Analyser
from combray.text.claims import Clause, clauses, names_in, numbers_in
from combray.text.lemmas import stem, stop_words
from combray.text.names import may_be_same
from combray.text.tokens import tokens

_YOU = frozenset(
    tokens(
        "you your yours yourself yourselves we us our ours ourselves both together let du dich dir euch wir uns tu te toi vous "
        "votre nous notre ti usted ustedes nosotros você vocês voi noi вы ты мы"
    )
)
"""Who says one of these may mean whoever takes part."""

_THEY = frozenset(
    tokens(
        "he him his himself she her hers herself they them their theirs themselves it its itself this that these those there"
    )
)
"""Who says one of these means somebody or something that was named before."""

_COVERED = 0.6
"""A clause that has so much of what a unit says is what it comes from."""


@dataclass(frozen=True)
class Grounds:
    """What some turns say.

    Attributes:
        turns: in order.
        analyser: the bank's.
        speakers: who takes part in the conversation.
    """

    turns: tuple[Turn, ...]
    analyser: Analyser
    speakers: tuple[str, ...] = ()

    @cached_property
    def said(self) -> frozenset[str]:
        """The tokens of what was said."""
        return frozenset(token for turn in self.turns for token in tokens(turn.spoken))

    @cached_property
    def words(self) -> frozenset[str]:
        """Tokens and their stems, the speakers' names among them, and those of who is spoken with where that is meant."""
        named = [turn.speaker for turn in self.turns]
        named += (
            self.speakers
            if self.said & _YOU
            else [name for name in self.speakers if self._is_called(name)]
        )
        found = self.said.union(token for name in named for token in tokens(name))
        return found.union(map(stem, found))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """See `numbers_in`; of speakers' names too."""
        return frozenset().union(
            *(numbers_in(f"{turn.spoken}\n{turn.speaker}") for turn in self.turns)
        )

    @cached_property
    def times(self) -> Times:
        """When it was said, and the times it speaks of."""
        return Times.of(self.turns, self.analyser)

    @cached_property
    def clauses(self) -> list[Clause]:
        """Of what was said."""
        return [clause for turn in self.turns for clause in clauses(turn.spoken)]

    @property
    def points_back(self) -> bool:
        """Whether it speaks of somebody or something by a pronoun."""
        return bool(self.said & _THEY)

    @cached_property
    def _called(self) -> list[str]:
        return [name for turn in self.turns for name in names_in(turn.spoken)]

    def _is_called(self, name: str) -> bool:
        """Whether a speaker is meant by a short form: "Mel" where Melanie takes part."""
        return any(may_be_same(called, part) for called in self._called for part in tokens(name))


def violations(text: str, grounds: Grounds, *, names: Iterable[str] = ()) -> list[str]:
    """What the text says that the grounds do not: ``name Bob``, ``number 7``, ``date 7 May 2023``, ``negation``.

    Args:
        text: of a unit.
        grounds: its sources.
        names: in the text, however they are written.

    Source:
        Own work: SimpleMem trusts what the model writes.
    """
    dates = dates_in(text, grounds.turns, grounds.analyser)
    found = [f"date {one.text}" for one in dates if not grounds.times.tell(one, text)]
    bare = without(text, [one.text for one in dates])
    found += [f"name {name}" for name in missing_names(bare, grounds, names)]
    found += [f"number {number}" for number in _missing_numbers(bare, grounds)]
    if _flips(text, grounds):
        found.append("negation")
    return found


def missing_names(text: str, grounds: Grounds, names: Iterable[str] = ()) -> list[str]:
    """Names of the text that the grounds do not have, in order."""
    held = set(tokens(text))
    # What a model notes as a name counts as one where the text has it, in any script; "mother" in "Ann's mother" is none.
    given = [
        word
        for name in names
        for word in name.split()
        if not word.islower() and held.issuperset(tokens(word))
    ]
    wanted = dict.fromkeys([*names_in(text), *given])
    return [name for name in wanted if not _has_name(name, grounds)]


def _has_name(name: str, grounds: Grounds) -> bool:
    return all(
        token in grounds.words
        or stem(token) in grounds.words
        or token in stop_words()
        or grounds.times.names(token)
        or _pieces_known(token, grounds)
        for token in tokens(name)
    )


def _missing_numbers(bare: str, grounds: Grounds) -> list[str]:
    """Numbers of a text without its dates that the grounds do not have; a year may be that of a time they speak of."""
    return sorted(
        number
        for number in numbers_in(bare)
        if number not in grounds.numbers
        and number not in grounds.times.years
        and not _pieces_known(number, grounds)
    )


def _pieces_known(token: str, grounds: Grounds) -> bool:
    """Whether the grounds have the letters and the digits of a code or a measure: "3day" of "three days"."""
    if token.isalpha() or token.isdigit():
        return False
    runs = _runs(token)
    return len(runs) > 1 and all(
        (run.lstrip("0") or "0") in grounds.numbers if run.isdigit() else stem(run) in grounds.words
        for run in runs
    )


def _runs(token: str) -> list[str]:
    runs: list[str] = []
    for char in token:
        if not char.isalnum():
            continue
        if runs and runs[-1][-1].isdigit() == char.isdigit():
            runs[-1] += char
        else:
            runs.append(char)
    return runs


def _flips(text: str, grounds: Grounds) -> bool:
    """Whether the text says no where nothing of its sources does, or yes where what it comes from says no."""
    own = clauses(text)
    if any(clause.negated for clause in own) and not any(c.negated for c in grounds.clauses):
        return True
    speakers = frozenset(stem(token) for turn in grounds.turns for token in tokens(turn.speaker))
    return any(
        turned(clause.words - speakers, grounds.clauses) for clause in own if not clause.negated
    )


def turned(words: frozenset[str], among: Sequence[Clause]) -> bool:
    """Whether a clause that says no has most of the words, and none that says yes has as many.

    >>> turned(frozenset({"like", "tea"}), clauses("I don't like tea"))
    True
    >>> turned(frozenset({"like", "tea"}), clauses("I don't like coffee. I like tea"))
    False
    """
    if not words:
        return False
    no = max((len(words & c.words) for c in among if c.negated), default=0)
    yes = max((len(words & c.words) for c in among if not c.negated), default=0)
    return no >= _COVERED * len(words) and no > yes
