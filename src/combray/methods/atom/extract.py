"""Atomic facts: what a turn tells, with whom, what and when it concerns.

A turn is done when its unit is stored, with facts or without: no fact is a valid result, a failed call is not. What a model leaves
out of a fact's metadata, or gives wrongly, is worked out locally; nothing in it can make a fact go away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from pydantic import BaseModel, Field

from combray.methods.atom.keywords import normalised
from combray.methods.atom.kinds import FACTS, key_of
from combray.methods.atom.local import local_notes
from combray.methods.atom.params import AtomParams
from combray.methods.workbench import Failures, Prompted, Workbench, in_pool
from combray.model import FactNotes, RecordKind, Role, Turn, partial_date, record_id
from combray.prompts.quoting import quoted, rendered
from combray.store.derived import LINK, RecordRow, UnitRow
from combray.text.tokens import tokens

JOINT, PLAIN, METADATA = "atom_joint", "atom_facts", "atom_metadata"


class Noted(BaseModel):
    """What a model notes of a fact."""

    people: list[str] = Field(default_factory=list)
    keywords: list[str] = Field(default_factory=list)
    time: str | None = ""
    lasting: bool = False


class NotedFact(Noted):
    """A fact with what is noted of it."""

    fact: str


class JointFacts(BaseModel):
    """What a model replies about a turn, all at once."""

    facts: list[NotedFact]


class PlainFacts(BaseModel):
    """What a model replies about a turn, facts alone."""

    facts: list[str]


class NumberedNote(Noted):
    """What a model notes of the fact with that number."""

    id: int


class Metadata(BaseModel):
    """What a model replies about several facts."""

    notes: list[NumberedNote]


@dataclass(frozen=True, slots=True)
class _Said:
    """A turn, with the one before it in the session."""

    doc: int
    turn: Turn
    before: tuple[int, Turn] | None

    @property
    def docs(self) -> tuple[int, ...]:
        return (self.doc,) if self.before is None else (self.before[0], self.doc)


def draw_facts(bench: Workbench, params: AtomParams) -> None:
    """Draw facts from the turns of the job's session that have none yet.

    Source:
        AtomMem, section 3.2 (fact executor) and released code: one turn, with the turn before it as context.  Deviation: a failed call is
        done again, where the released code takes it for a turn without facts; `AtomParams.metadata`.
    """
    there = bench.store.units(bench.bank.name, bench.method, FACTS, subject=bench.job.subject)
    known = {unit.key for unit in there}
    missing = [
        said
        for said in _telling(bench.turns(bench.job.subject))
        if key_of(FACTS, said.turn.id) not in known
    ]
    failures = Failures()
    found = in_pool(
        lambda said: _asked(bench, said, params), missing, failures, n_threads=bench.concurrency
    )
    for said, facts in found:
        unit = _unit(bench, said, facts, params)
        bench.derive(bench.change(units=[unit], queue=[(LINK, "")]))
    failures.check(len(missing))


def _telling(turns: Sequence[tuple[int, Turn]]) -> Iterator[_Said]:
    """The turns that may tell something, each with the one before it."""
    for before, (doc, turn) in pairwise([None, *turns]):  # type: ignore[misc]
        if turn.role is not Role.SYSTEM and (turn.text.strip() or turn.caption):
            yield _Said(doc, turn, before)


def _asked(bench: Workbench, said: _Said, params: AtomParams) -> list[tuple[str, Noted | None]]:
    """Each fact of the turn with what the model notes of it, or None."""
    if params.metadata == "joint":
        reply: JointFacts = _ask(bench, said, JOINT, JointFacts, "for the facts")
        return [(fact.fact, fact) for fact in reply.facts]
    plain: PlainFacts = _ask(bench, said, PLAIN, PlainFacts, "for the facts")
    texts = _statements(plain.facts, params)
    if not texts:
        return []
    listed = "\n".join(f"{number}. {quoted(text)}" for number, text in enumerate(texts, start=1))
    metadata: Metadata = bench.ask(
        Prompted(METADATA, METADATA, {"turn": rendered([said.turn]), "statements": listed}),
        Metadata,
        docs=said.docs,
        about=f"for people, keywords and times of {len(texts)} facts of {_named(said.turn)}",
    )
    by_number = {note.id: note for note in metadata.notes}
    return [(text, by_number.get(number)) for number, text in enumerate(texts, start=1)]


def _ask(bench: Workbench, said: _Said, prompt: str, schema: type[BaseModel], what: str) -> Any:  # noqa: ANN401 (a value of the schema)
    before = rendered([said.before[1]]) if said.before else ""
    values = {"previous": before, "turn": rendered([said.turn])}
    return bench.ask(
        Prompted(prompt, FACTS, values),
        schema,
        docs=said.docs,
        about=f"{what} of {_named(said.turn)}",
    )


def _named(turn: Turn) -> str:
    return f"turn {turn.position + 1} of session {turn.session!r}"


def _statements(texts: Iterable[str], params: AtomParams) -> list[str]:
    bare = (" ".join(text.split()) for text in texts)
    return [text for text in dict.fromkeys(bare) if 0 < len(text) <= params.max_fact_chars]


def _unit(
    bench: Workbench, said: _Said, facts: Sequence[tuple[str, Noted | None]], params: AtomParams
) -> UnitRow:
    noted = {" ".join(text.split()): note for text, note in reversed(facts)}
    texts = _statements((text for text, _ in facts), params)
    notes = notes_of(bench, said.turn, [(text, noted[text]) for text in texts], params)
    return UnitRow(
        kind=FACTS,
        key=key_of(FACTS, said.turn.id),
        subject=said.turn.session,
        turns=said.docs,
        made_by=bench.made_by(JOINT if params.metadata == "joint" else PLAIN),
        records=fact_rows(bench, said.turn, (said.doc,), list(zip(texts, notes, strict=True))),
    )


def fact_rows(
    bench: Workbench, turn: Turn, docs: tuple[int, ...], facts: Sequence[tuple[str, FactNotes]]
) -> tuple[RecordRow, ...]:
    """Facts as records; one that names no time holds since it was said."""
    vectors = bench.vectors([text for text, _ in facts])
    return tuple(
        RecordRow(
            id=record_id(RecordKind.FACT, bench.method, text),
            kind=RecordKind.FACT,
            text=text,
            sources=docs,
            detail=notes.detail(),
            valid_from=notes.span.start if notes.span else turn.said_at,
            vector=vector,
        )
        for (text, notes), vector in zip(facts, vectors, strict=True)
    )


def notes_of(
    bench: Workbench, turn: Turn, facts: Sequence[tuple[str, Noted | None]], params: AtomParams
) -> list[FactNotes]:
    """What is noted of each fact: the model's word where it fits the fact, the local analysis for the rest."""
    texts = [text for text, _ in facts]
    local = local_notes(texts, [turn.said_at] * len(texts), bench.analyser, [turn.speaker])
    return [
        own if note is None else _joined(text, note, own, params)
        for (text, note), own in zip(facts, local, strict=True)
    ]


def _joined(text: str, note: Noted, local: FactNotes, params: AtomParams) -> FactNotes:
    words = set(tokens(text))
    # A name that is nowhere in the fact is not one of its people, whatever a model says.
    people = tuple(
        dict.fromkeys(name.strip() for name in note.people if words.intersection(tokens(name)))
    )
    people = people or local.people
    keywords = normalised(note.keywords, params.max_keywords, leave_out=people)
    return replace(
        local,
        people=people,
        keywords=keywords or local.keywords,
        about=partial_date(note.time) or local.about,
        lasting=note.lasting,
    )
