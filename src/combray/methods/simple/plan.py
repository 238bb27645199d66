"""Intent-aware planning: what to look a question up by, in each of the views, and how deep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from combray.model import Query, TimeSpan
from combray.text.tokens import tokens

MAX_TERMS = 24
"""Terms of a plan."""

_MAX_NAMES = 8

_SEVERAL = 0.5
"""Depth that a question for a set adds."""

_EACH = 0.1
"""Depth that each further name or clause adds."""

_LONG_TERMS = 6
"""Content words of a question that asks one thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplePlan:
    """What to look up.

    Attributes:
        semantic: queries by meaning, the question itself first.
        lexical: terms of the bank's analyser.
        people: names.
        entities: names of other things.
        location: where, or empty.
        time: when, or None.
        depth: 0…1.
        model: who planned, or empty.
    """

    semantic: tuple[str, ...]
    lexical: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    location: str = ""
    time: TimeSpan | None = None
    depth: float = 0.0
    model: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """What is to be embedded beside the question."""
        return self.semantic[1:]


def local_plan(query: Query) -> SimplePlan:
    """The plan that needs no model: the question, its terms, names and times, and a depth by its form.

    Source:
        Own work; the paper has no plan without a model.  Depth: .5 for a question for a set, .1 for each name, time or clause beyond the
        first and for each two content words beyond six. Not fitted to anything.
    """
    analysis = query.analysis
    named = [(mention.label, mention.text) for mention in analysis.mentions]
    people = distinct(text for label, text in named if label == "PERSON")
    entities = distinct(text for label, text in named if label not in ("PERSON", "DATE", "TIME"))
    span = analysis.spans[0] if analysis.spans else None
    n_parts = len(people) + len(entities) + len(analysis.spans) + _n_clauses(query.text)
    n_words = len(set(analysis.terms))
    depth = (
        _SEVERAL * analysis.enumerative
        + _EACH * max(0, n_parts - 2)
        + _EACH * max(0, n_words - _LONG_TERMS) / 2
    )
    return SimplePlan(
        semantic=(query.text,),
        lexical=tuple(dict.fromkeys(analysis.terms))[:MAX_TERMS],
        people=people,
        entities=entities,
        location=next((text for label, text in named if label == "PLACE"), ""),
        time=span,
        depth=min(1.0, depth),
    )


def distinct(values: Iterable[str], most: int = _MAX_NAMES) -> tuple[str, ...]:
    """The values without repeats, empty ones and what is too many."""
    bare = (" ".join(value.split()) for value in values)
    return tuple(dict.fromkeys(value for value in bare if value))[:most]


def _n_clauses(text: str) -> int:
    return sum(
        token in {"and", "or", "but", "after", "before", "than", "between"}
        for token in tokens(text)
    )
