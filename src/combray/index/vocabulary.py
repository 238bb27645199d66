"""The keywords of a bank, found by their stems, and its people, found by all their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from combray.text.lemmas import stem
from combray.text.names import SHORTEST, may_be_same, name_words, people
from combray.text.tokens import tokens


def stems(words: Iterable[str]) -> str:
    """The stems of the words, as `Words.by_stems` has them."""
    return " ".join(map(stem, words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The keywords of a bank.

    Attributes:
        columns: column of each.
        by_stems: keywords by their stems, in order of column: "class" and "classes" have the same.
    """

    columns: dict[str, int] = field(default_factory=dict)
    by_stems: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def add(self, keyword: str) -> int:
        """The column of the keyword, a new one where it has none."""
        column = self.columns.get(keyword)
        if column is None:
            column = self.columns[keyword] = len(self.columns)
            key = stems(tokens(keyword))
            self.by_stems[key] = (*self.by_stems.get(key, ()), keyword)
        return column


@dataclass(frozen=True, slots=True, kw_only=True)
class Persons:
    """The people of a bank, by all their names.

    Attributes:
        numbers: of the person behind each name.
        by_beginning: names by the first three letters of their first word.
    """

    numbers: Mapping[str, int]
    by_beginning: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, names: Iterable[str]) -> Persons:
        """The people behind the names."""
        numbers = people(names)
        beginnings: dict[str, list[str]] = {}
        for name in numbers:
            for word in name_words(name)[:1]:
                beginnings.setdefault(word[:SHORTEST], []).append(name)
        return cls(numbers=numbers, by_beginning={k: tuple(v) for k, v in beginnings.items()})

    def beginning_like(self, word: str) -> tuple[str, ...]:
        """Names whose first word begins as this one does."""
        return self.by_beginning.get(word[:SHORTEST], ())

    def meant_by(self, name: str) -> set[int]:
        """Numbers of the people whose name it is, or else of all whose name it may be short for."""
        if name in self.numbers:
            return {self.numbers[name]}
        words = name_words(name)
        alike = self.beginning_like(words[0]) if words else ()
        same = {self.numbers[other] for other in alike if name_words(other) == words}
        return same or {self.numbers[other] for other in alike if may_be_same(name, other)}

    @property
    def n(self) -> int:
        """Number of people."""
        return max(self.numbers.values(), default=-1) + 1
