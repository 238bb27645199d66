"""What an analyser finds in one text."""

from __future__ import annotations

from dataclasses import dataclass

from combray.model.time import TimeSpan


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A named thing in a text.

    Attributes:
        text: as written.
        label: ``PERSON``, ``ORG``, ``PLACE``, ``GROUP``, ``EVENT``, ``PRODUCT``, ``DATE``, ``TIME`` or ``NAME``
            (capitalised, of unknown kind).
        start: first character, from 0.
        end: one past the last character.
    """

    text: str
    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The local, deterministic reading of one text.

    Attributes:
        terms: normalised, stemmed words in order, with repeats: what BM25 counts.
        keys: hub keys, sorted and unique: entities and keyword lemmas (EdgeMem's E ∪ K).
        mentions: named things, in order.
        spans: times the text speaks of, resolved against the time it was said.
        question: whether the text asks (ends with a question mark, or opens like a question).
        enumerative: whether it asks for a set ("which …s", "how many", "list all").
        analyser: id and version of what made it.
    """

    terms: tuple[str, ...]
    keys: tuple[str, ...]
    mentions: tuple[Mention, ...] = ()
    spans: tuple[TimeSpan, ...] = ()
    question: bool = False
    enumerative: bool = False
    analyser: str
