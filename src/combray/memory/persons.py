"""Whose profile is asked for: a person by any name, if it is the name of one only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from combray.errors import Conflict, NotFound
from combray.index.facts import FactView
from combray.index.vocabulary import Persons
from combray.text import names
from combray.text.names import may_be_same

_LISTED = 20
"""Most names in a message."""


def names_of(views: Collection[FactView], subject: str) -> list[str]:
    """All names of the person that is meant, who has a profile.

    Raises:
        NotFound: nobody of that name has a profile; lists who has.
        Conflict: the name may be short for several people; lists them.
    """
    persons = Persons.of(name for view in views for name in view.persons.numbers)
    named: dict[int, list[str]] = defaultdict(list)
    for name, number in persons.numbers.items():
        named[number].append(name)
    told = {persons.numbers[name] for view in views for name in _told(view)}
    meant = _meant(persons, subject, told)
    if not meant & told:
        raise NotFound("profile", subject, f"There are those of {_listed(named, told)}.")
    if len(meant) > 1:
        raise Conflict(f"{subject!r} may be {_listed(named, meant)}: give one of these names.")
    return named[meant.pop()]


def _meant(persons: Persons, subject: str, told: set[int]) -> set[int]:
    """Numbers of the people that the name may mean; of a short form that is nobody's own profile, the people it may be short for."""
    meant = persons.meant_by(subject)
    if meant & told:
        return meant
    fuller = {
        number
        for name, number in persons.numbers.items()
        if fullness(name) > fullness(subject) and may_be_same(subject, name)
    }
    return fuller or meant


def _told(view: FactView) -> list[str]:
    """A name of each person with a profile statement."""
    columns = {*view.people[np.flatnonzero(view.timeline >= 0)].indices.tolist()}
    return list({n: name for name, n in view.persons.numbers.items() if n in columns}.values())


def _listed(named: Mapping[int, Sequence[str]], numbers: Iterable[int]) -> str:
    fullest = sorted(max(named[number], key=fullness) for number in numbers)
    more = f" and {len(fullest) - _LISTED} more" if len(fullest) > _LISTED else ""
    return ", ".join(map(repr, fullest[:_LISTED])) + more


def fullness(name: str) -> tuple[int, int, str]:
    """Orders names of a person, the fullest last."""
    return *names.fullness(name), name
