"""Semantic structured compression: what a window tells, as units that need no context.

A window is done when its unit is stored, with records or without: that it tells nothing is a valid result, a call that failed is not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from combray.methods.simple.guard import Grounds, missing_names, violations
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.rows import Statement, refusing, rows
from combray.methods.simple.times import dated, dates_in, partial
from combray.methods.simple.windows import WINDOW, Window
from combray.methods.workbench import Prompted, Workbench
from combray.model import FactNotes, Turn, partial_date, span_of
from combray.prompts.quoting import numbered
from combray.store.derived import UnitRow
from combray.text.base import Analyser
from combray.text.claims import clauses
from combray.text.lemmas import stem
from combray.text.tokens import tokens

PROMPT = "simple_units"

_MOST_SOURCES = 3
"""Turns that a unit which names none is looked for in, together."""


class Drawn(BaseModel):
    """One unit, as a model draws it."""

    unit: str
    turns: list[int] | None = None
    keywords: list[str] | None = None
    persons: list[str] | None = None
    entities: list[str] | None = None
    location: str | None = ""
    topic: str | None = ""
    time: str | None = ""


class Units(BaseModel):
    """What a model replies about a window."""

    units: list[Drawn]


@dataclass(frozen=True, slots=True)
class _Read:
    """What a model reads of a window, by place: the turns before it, then its own.

    Attributes:
        docs: document number of each.
        turns: with no more of their text than is read.
        first: place of the window's first own turn.
        analyser: the bank's.
        known: grounds that were asked for, by places.
    """

    docs: tuple[int, ...]
    turns: tuple[Turn, ...]
    first: int
    analyser: Analyser
    known: dict[tuple[int, ...], Grounds] = field(default_factory=dict)

    @property
    def own(self) -> range:
        """Places of the window's own turns."""
        return range(self.first, len(self.turns))

    def grounds(self, places: Iterable[int]) -> Grounds:
        """What is said at the places."""
        key = tuple(sorted(places))
        if key not in self.known:
            speakers = tuple(dict.fromkeys(turn.speaker for turn in self.turns))
            said = tuple(self.turns[place] for place in key)
            self.known[key] = Grounds(said, self.analyser, speakers)
        return self.known[key]

    def sources(self, places: Iterable[int]) -> tuple[int, ...]:
        """Documents at the places, ascending."""
        return tuple(sorted({self.docs[place] for place in places}))


def compressed(bench: Workbench, window: Window, params: SimpleParams) -> UnitRow:
    """The window's unit with its records.

    Raises:
        CombrayError: the call failed; nothing is known of the window.

    Source:
        SimpleMem, section 2.1: one joint call for extraction, coreference and time; an empty reply is the density gate.
        Deviation: each unit names its turns and is held against them; H is the turns before the window, not what was drawn of them, so
        that windows do not wait for each other.
    """
    read = _read(bench, window, params)
    own, before = read.turns[read.first :], read.turns[: read.first]
    reply: Units = bench.ask(
        Prompted(
            PROMPT,
            WINDOW,
            {"before": numbered(before), "window": numbered(own, first=read.first + 1)},
        ),
        Units,
        docs=window.docs,
        about=f"for the units of turns {own[0].position + 1} to {own[-1].position + 1} of session {own[0].session!r}",
    )
    return _unit(bench, window, read, reply.units, params)


def _read(bench: Workbench, window: Window, params: SimpleParams) -> _Read:
    before = [
        (doc, replace(turn, text=turn.text[: params.history_chars])) for doc, turn in window.before
    ]
    own = [
        (doc, replace(turn, text=text))
        for (doc, turn), text in zip(window.turns, window.texts, strict=True)
    ]
    docs, turns = zip(*before, *own, strict=True)
    return _Read(docs, turns, len(before), bench.analyser)


def _unit(
    bench: Workbench, window: Window, read: _Read, drawn: Sequence[Drawn], params: SimpleParams
) -> UnitRow:
    told = [_statement(read, one, params) for one in drawn if one.unit.strip()]
    row = UnitRow(
        kind=WINDOW,
        key=window.key,
        subject=window.turns[0][1].session,
        turns=window.docs,
        made_by=bench.made_by(PROMPT),
        records=rows(bench, [one for one in told if one is not None]),
    )
    return refusing(row, told.count(None))


def _statement(read: _Read, one: Drawn, params: SimpleParams) -> Statement | None:
    """The unit with its sources; None where it is refused."""
    text = " ".join(one.unit.split())
    if len(text) > params.max_unit_chars:
        return None
    places = _sources(read, one, text)
    if places is None:
        return None
    grounds = read.grounds(places)
    dates = dates_in(text, grounds.turns, grounds.analyser)
    notes = noted(one, text, grounds, params)
    first = min(turn.said_at for turn in grounds.turns)
    return Statement(
        session=grounds.turns[0].session,
        text=dated(text, dates),
        notes=notes,
        docs=read.sources(places),
        valid_from=notes.span.start if notes.span else first,
    )


def _sources(read: _Read, one: Drawn, text: str) -> list[int] | None:
    """Places of the turns that the unit rests on; None where it says what they do not."""
    names = [*(one.persons or ()), *(one.entities or ())]
    # A number that was not given names nothing.
    given = sorted({n - 1 for n in one.turns or () if 1 <= n <= len(read.turns)})
    if not given:
        return _found(read, text, names)
    if not set(given).intersection(read.own):
        return None
    for places in (given, _with_antecedents(read, given, text, names)):
        if not violations(text, read.grounds(places), names=names):
            return places
    return None


def _found(read: _Read, text: str, names: Sequence[str]) -> list[int] | None:
    """The fewest turns of the window that say it, likeliest first."""
    wanted = {word for clause in clauses(text) for word in clause.words}
    shared = {place: len(wanted & read.grounds([place]).words) for place in read.own}
    likeliest = sorted((p for p in shared if shared[p]), key=lambda p: (-shared[p], p))
    for n in range(1, min(_MOST_SOURCES, len(likeliest)) + 1):
        places = sorted(likeliest[:n])
        if not violations(text, read.grounds(places), names=names):
            return places
    return None


def _with_antecedents(
    read: _Read, given: Sequence[int], text: str, names: Sequence[str]
) -> list[int]:
    """The places with those of the nearest earlier turns that name whom or what a pronoun in them means."""
    grounds = read.grounds(given)
    if not grounds.points_back:
        return list(given)
    found = set(given)
    for name in missing_names(text, grounds, names):
        for place in range(max(given) - 1, -1, -1):
            if not missing_names(name, read.grounds([place]), [name]):
                found.add(place)
                break
    return sorted(found)


def noted(one: Drawn, text: str, grounds: Grounds, params: SimpleParams) -> FactNotes:
    """What is noted of the unit: the model's word where unit and sources have it, the local reading for people and time."""
    known = grounds.words | {word for token in tokens(text) for word in (token, stem(token))}
    (local,) = grounds.analyser.analyse(
        [text], [grounds.turns[0].said_at], tuple(dict.fromkeys(grounds.speakers))
    )
    people = _held(one.persons, text, known) or _held(
        [mention.text for mention in local.mentions if mention.label == "PERSON"], text, known
    )
    keywords = _held([word.lower() for word in one.keywords or ()], None, known)
    return FactNotes(
        people=people,
        keywords=keywords[: params.max_keywords],
        about=_about(one, text, grounds),
        entities=_held(one.entities, None, known),
        location="".join(_held([one.location or ""], None, known)),
        topic="".join(_held([one.topic or ""], None, known)),
    )


def _held(names: Sequence[str] | None, text: str | None, known: Container[str]) -> tuple[str, ...]:
    """The names of which every word is known; with a text only those that have a word in it."""
    words = set(tokens(text)) if text is not None else None
    bare = dict.fromkeys(" ".join(name.split()) for name in names or ())
    return tuple(
        name
        for name in bare
        if tokens(name)
        and all(token in known or stem(token) in known for token in tokens(name))
        and (words is None or words.intersection(tokens(name)))
    )


def _about(one: Drawn, text: str, grounds: Grounds) -> str:
    """When it was so: the model's word where it follows from the sources, else the first date of the text."""
    said = partial_date((one.time or "").strip()[:10])
    span = span_of(said)
    if span is not None and grounds.times.tell(span):
        return said
    dates = dates_in(text, grounds.turns, grounds.analyser)
    return next((day for day in map(partial, dates) if day), "")
