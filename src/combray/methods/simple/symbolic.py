"""The symbolic view: units by whom, what, where and when they concern.

Entities and places stand in the postings of units as marked terms, which no word of a text can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from combray.index.view import BankView
from combray.methods.simple.plan import SimplePlan
from combray.methods.simple.views import ReadRecordPostings
from combray.model import FactNotes, TimeSpan
from combray.model.time import to_micros
from combray.text.lemmas import stem, stop_words
from combray.text.names import may_be_same, name_words
from combray.text.tokens import tokens

if TYPE_CHECKING:
    from combray.index.facts import FactView

ENTITY, PLACE = "e:", "l:"
_SAID_THEN = 0.5
"""What it counts that an undated unit was said within the time asked for."""


def marks(notes: FactNotes) -> dict[str, int]:
    """The marked terms of a unit.

    >>> marks(FactNotes(entities=("Bengal cats",), location="Rome"))
    {'e:bengal': 1, 'e:cat': 1, 'l:rome': 1}
    """
    entities = [word for name in notes.entities for word in _marked(ENTITY, name)]
    return dict.fromkeys([*entities, *_marked(PLACE, notes.location)], 1)


def symbolic(
    plan: SimplePlan, facts: FactView, read: ReadRecordPostings, turns: BankView
) -> NDArray[np.float64]:
    """How many of the plan's conditions each unit meets, shape (n,); minus infinity where it meets none.

    Each condition counts as 1, met in part as that part: half of the people, two of three words of an entity.

    Args:
        plan: with the conditions.
        facts: the units.
        read: their postings.
        turns: the bank's turns, for when an undated unit was said.

    Source:
        SimpleMem, section 2.3, R_sym.  Deviation: soft and ordered, where the released code wants all conditions, letter for letter,
        and takes what comes first.
    """
    met = _people(plan.people, facts)
    if plan.entities:
        shares = [_share(facts, read, _marked(ENTITY, name)) for name in plan.entities]
        met += np.mean(shares, axis=0)
    if plan.location:
        met += np.maximum(
            _share(facts, read, _marked(PLACE, plan.location)),
            _share(facts, read, _marked(ENTITY, plan.location)),
        )
    if plan.time is not None:
        met += _then(plan.time, facts, turns)
    return np.where(met > 0, met, -np.inf)


def _people(names: Sequence[str], facts: FactView) -> NDArray[np.float64]:
    """The share of the people that each unit names."""
    met = np.zeros(facts.n)
    for name in names:
        meant = _meant(name, facts)
        if meant:
            named = np.asarray(facts.people[:, meant].sum(axis=1)).ravel() > 0
            met += named / len(names)
    return met


def _meant(name: str, facts: FactView) -> list[int]:
    """Numbers of the people that the name may mean."""
    like = [
        other
        for word in name_words(name)[:1]
        for other in facts.persons.beginning_like(word)
        if may_be_same(name, other)
    ]
    return sorted({facts.persons.numbers[other] for other in like})


def _marked(mark: str, name: str) -> list[str]:
    words = dict.fromkeys(stem(token) for token in tokens(name) if token not in stop_words())
    return [f"{mark}{word}" for word in words]


def _share(facts: FactView, read: ReadRecordPostings, terms: Sequence[str]) -> NDArray[np.float64]:
    """The share of the marked terms that each unit has."""
    met = np.zeros(facts.n)
    if not terms or not facts.n:
        return met
    rows = facts.records.rows(read(terms).record)
    np.add.at(met, rows[rows >= 0], 1 / len(terms))
    return met


def _then(time: TimeSpan, facts: FactView, turns: BankView) -> NDArray[np.float64]:
    """Whether each unit is about the time; half where it is about none, and was said then."""
    start, end = _calendar(time.start), _calendar(time.end)
    about = (facts.about_start < end) & (start < facts.about_end)
    undated = facts.about_end <= facts.about_start
    rows = turns.rows(facts.doc)
    said_at = np.zeros(facts.n, dtype=np.int64)
    said_at[rows >= 0] = turns.columns.said_at[rows[rows >= 0]]
    first, last = to_micros(time.start), to_micros(time.end)
    then = undated & (rows >= 0) & (first <= said_at) & (said_at < last)
    return np.where(about, 1.0, np.where(then, _SAID_THEN, 0.0))


def _calendar(at: datetime) -> int:
    """As `FactView.about_start` has it: the day and hour, in no zone."""
    return to_micros(at.replace(tzinfo=UTC))


def counted(terms: Iterable[str], notes: FactNotes) -> dict[str, int]:
    """The terms of a unit with how often each occurs, and its marked terms."""
    found: dict[str, int] = {}
    for term in terms:
        found[term] = found.get(term, 0) + 1
    return {**found, **marks(notes)}
