"""Which units of a session may say parts of the same thing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from combray.methods.simple.params import SimpleParams
from combray.model import DerivedRecord, FactNotes
from combray.model.ids import content_hash
from combray.model.time import from_stored
from combray.text.lemmas import stem
from combray.text.tokens import tokens

GROUP = "group"
"""Kind of the units that merge others; their subject is the session."""


@dataclass(frozen=True, slots=True)
class Member:
    """A unit that may be merged.

    Attributes:
        record: as stored.
        docs: its sources, ascending.
        vector: unit norm, shape (d,); zeros where it has none.
    """

    record: DerivedRecord
    docs: tuple[int, ...]
    vector: NDArray[np.float32]

    @property
    def number(self) -> int:
        """Of the record."""
        return self.record.number

    @property
    def notes(self) -> FactNotes:
        """What is noted of it."""
        return FactNotes.of(self.record.detail)

    @property
    def n_units(self) -> int:
        """Units that it stands for: 1 unless it was merged before."""
        n = self.record.detail.get("units")
        return n if isinstance(n, int) else 1

    @property
    def stretch(self) -> tuple[datetime, datetime] | None:
        """From when to when it tells of, None where that is not known."""
        span = self.notes.span
        if span is not None:
            return span.start, span.end
        held = [self.record.detail.get(name) for name in ("from", "to")]
        first, last = (from_stored(one) if isinstance(one, str) else None for one in held)
        return (first, last) if first and last else None

    @property
    def marks(self) -> frozenset[str]:
        """Stems of its people, entities and topic."""
        notes = self.notes
        named = (*notes.people, *notes.entities, notes.topic)
        return frozenset(stem(token) for name in named for token in tokens(name))


def group_key(ids: Iterable[str]) -> str:
    """What the unit of a group is found by, whatever the order of its members."""
    return content_hash("u1", GROUP, *sorted(ids))


def groups(
    members: Sequence[Member], seen: Iterable[Sequence[int]], params: SimpleParams
) -> list[tuple[Member, ...]]:
    """Groups of members that are near each other and concern the same, without overlap, the earliest first.

    The first member that is not taken gathers its nearest ones. Units that have been put before a model together are not put together
    again; those that were merged before are looked at only when no others can be.

    Args:
        members: the current units of a session, in an order that does not depend on when they were drawn.
        seen: numbers of those of each earlier group.
        params: see there.

    Source:
        SimpleMem, section 2.2, which names no way to find related units: ours.
    """
    if len(members) < 2:
        return []
    together = _together(members, seen)
    fresh = [place for place, member in enumerate(members) if member.n_units == 1]
    near = _near(members, together, params.similarity)
    for among in (fresh, range(len(members))):
        found = _gathered(members, among, near, params.group_size)
        if found:
            return found
    return []


def _gathered(
    members: Sequence[Member],
    among: Iterable[int],
    near: NDArray[np.float32],
    size: int,
) -> list[tuple[Member, ...]]:
    free = np.zeros(len(members), dtype=np.bool_)
    free[list(among)] = True
    found: list[tuple[Member, ...]] = []
    for seed in np.flatnonzero(free).tolist():
        if not free[seed]:
            continue
        free[seed] = False
        taken = [seed]
        n_units = members[seed].n_units
        for place in np.argsort(-near[seed], kind="stable").tolist():
            if not near[seed, place] > 0:
                break
            if not free[place] or n_units + members[place].n_units > size:
                continue
            if all(near[place, other] != -1 for other in taken):
                taken.append(place)
                n_units += members[place].n_units
        if len(taken) > 1:
            free[taken] = False
            found.append(tuple(members[place] for place in sorted(taken)))
    return found


def _near(
    members: Sequence[Member], together: NDArray[np.bool_], similarity: float
) -> NDArray[np.float32]:
    """Cosine of each two that may be merged, 0 where they are not near enough, -1 where they have been together."""
    vectors = np.stack([member.vector for member in members])
    cosines = (vectors @ vectors.T).astype(np.float32)
    vocabulary: dict[str, int] = {}
    rows = [
        [vocabulary.setdefault(m, len(vocabulary)) for m in sorted(one.marks)] for one in members
    ]
    marks = np.zeros((len(members), max(1, len(vocabulary))), dtype=np.float32)
    for place, held in enumerate(rows):
        marks[place, held] = 1
    near = np.where((cosines >= similarity) & (marks @ marks.T > 0), cosines, 0)
    near[together] = -1
    np.fill_diagonal(near, 0)
    return near.astype(np.float32)


def _together(members: Sequence[Member], seen: Iterable[Sequence[int]]) -> NDArray[np.bool_]:
    place: Mapping[int, int] = {member.number: i for i, member in enumerate(members)}
    found = np.zeros((len(members), len(members)), dtype=np.bool_)
    for numbers in seen:
        held = [place[number] for number in numbers if number in place]
        found[np.ix_(held, held)] = True
    return found
