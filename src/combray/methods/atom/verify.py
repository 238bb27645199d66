"""Verification: what of a new fact is new, and which earlier facts it ends. Nothing is overwritten.

A fact that says what another one says is *merged* into it: it is closed, and its turns count as the other's. A fact that no longer
holds is *superseded*: it is closed with the time until which it held. Both stay, and both hold again when the one that closed them is
forgotten. Which of two facts is the later one is decided by when they were so, never by which arrived first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from combray.index.facts import FactView
from combray.index.topk import best
from combray.methods.atom.extract import fact_rows
from combray.methods.atom.kinds import VERIFIED, key_of
from combray.methods.atom.params import AtomParams
from combray.methods.atom.similar import Near
from combray.methods.workbench import Prompted, Workbench
from combray.model import DerivedRecord, FactNotes, Status, Turn
from combray.prompts.quoting import quoted
from combray.store.derived import Closing, RecordRow, UnitRow
from combray.text.claims import claims

PROMPT = "atom_verify"
RESIDUAL = "residual"
"""In the detail of a fact that is what was new of another one."""


class Verdict(BaseModel):
    """What a model replies about a new fact and earlier ones."""

    new: str = ""
    known_from: int = 0
    contradicts: list[int] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with what is known of it.

    Attributes:
        record: as stored.
        turns: that it comes from, with their document numbers, in order of time.
    """

    record: DerivedRecord
    turns: tuple[tuple[int, Turn], ...]

    @property
    def number(self) -> int:
        """Of the record."""
        return self.record.number

    @property
    def text(self) -> str:
        """Of the record."""
        return self.record.text

    @property
    def notes(self) -> FactNotes:
        """What is noted of it."""
        return FactNotes.of(self.record.detail)

    @property
    def docs(self) -> tuple[int, ...]:
        """Document numbers of its turns."""
        return tuple(doc for doc, _ in self.turns)

    @property
    def said_at(self) -> datetime:
        """When it was first said."""
        return self.turns[0][1].said_at

    @property
    def line(self) -> str:
        """As a model reads it: the day it was said, and the text."""
        return f"({self.said_at:%Y-%m-%d}) {quoted(self.text)}"

    @property
    def order(self) -> tuple[datetime, datetime, str]:
        """Later is what held later."""
        return (self.record.valid_from or self.said_at, self.said_at, self.record.id)


def read(bench: Workbench, numbers: Iterable[int]) -> dict[int, Fact]:
    """The facts of those numbers with their turns; those whose turns are gone are left out."""
    store, bank = bench.store, bench.bank.name
    wanted = sorted(set(numbers))
    records = store.records(bank, wanted)
    found = store.sources(bank, wanted)
    turns = store.turns_by_doc(bank, sorted(set(found.doc.tolist())))
    homes: dict[int, set[int]] = {}
    for record, doc in zip(found.record.tolist(), found.doc.tolist(), strict=True):
        homes.setdefault(record, set()).add(doc)
    facts: dict[int, Fact] = {}
    for number, record in records.items():
        there = [(doc, turns[doc]) for doc in sorted(homes.get(number, ())) if doc in turns]
        if there:
            facts[number] = Fact(
                record, tuple(sorted(there, key=lambda pair: (pair[1].said_at, pair[0])))
            )
    return facts


def verify(
    bench: Workbench,
    view: FactView,
    fact: Fact,
    close: Near,
    among: NDArray[np.bool_],
    params: AtomParams,
) -> UnitRow | None:
    """The unit that says what of the fact is known; None where nothing near it is.

    Args:
        bench: the job.
        view: of the bank's facts.
        fact: the new one.
        close: how near the others are.
        among: rows of the facts that it is held against.
        params: see there.

    Source:
        AtomMem, section 3.2 (verification), and released code for its thresholds.  Deviation: a near-duplicate must commit itself to the
        same names, numbers, negation and words; nothing is overwritten; what a model calls the new part is kept only if the fact says it.
    """
    among = among & close.fellows
    twins = best(close.cosines, among & (close.cosines > params.duplicate), params.n_conflicts)
    rivals = best(close.scores, among & (close.scores > params.conflict), params.n_conflicts)
    known = read(bench, view.records.number[np.concatenate([twins, rivals])].tolist())
    for number in view.records.number[twins].tolist():
        if number in known and _says_the_same(fact, known[number]):
            return _unit(bench, fact, [known[number]], [_merged(fact, known[number].record.id)])
    earlier = [known[n] for n in view.records.number[rivals].tolist() if n in known]
    return _judged(bench, fact, earlier, params) if earlier else None


def _says_the_same(fact: Fact, other: Fact) -> bool:
    about, of_other = fact.notes.about, other.notes.about
    return (not about or not of_other or about == of_other) and claims(fact.text).same_as(
        claims(other.text)
    )


def _judged(bench: Workbench, fact: Fact, earlier: Sequence[Fact], params: AtomParams) -> UnitRow:
    listed = "\n".join(f"{number}. {other.line}" for number, other in enumerate(earlier, start=1))
    verdict: Verdict = bench.ask(
        Prompted(PROMPT, VERIFIED, {"fact": fact.line, "earlier": listed}),
        Verdict,
        docs=[doc for one in (fact, *earlier) for doc in one.docs],
        about=f"what is new in {fact.text[:80]!r}, beside {len(earlier)} earlier facts",
    )
    # A number that was not given names nothing.
    against = [earlier[n - 1] for n in dict.fromkeys(verdict.contradicts) if 1 <= n <= len(earlier)]
    closes = [_ended(fact, other) for other in against]
    ended = any(closing.record == fact.number for closing in closes)
    new: tuple[RecordRow, ...] = ()
    if not ended and params.residual:
        new, closing = _new_part(bench, fact, verdict, earlier, against)
        closes += [closing] if closing else []
    by = new[0].id if new else fact.record.id
    closes = [
        replace(c, by=by) if c.by == fact.record.id and c.record != fact.number else c
        for c in closes
    ]
    return _unit(bench, fact, earlier, _once(closes), new, prompt=PROMPT)


def _new_part(
    bench: Workbench, fact: Fact, verdict: Verdict, earlier: Sequence[Fact], against: Sequence[Fact]
) -> tuple[tuple[RecordRow, ...], Closing | None]:
    """What is kept of the fact instead of it, and the closing of the fact; nothing where all of it is kept."""
    text = " ".join(verdict.new.split())
    if not text and not against and 1 <= verdict.known_from <= len(earlier):
        known = earlier[verdict.known_from - 1]
        return (), _merged(fact, known.record.id)
    if not text or text == fact.text or not claims(text).within(claims(fact.text)):
        return (), None
    if claims(text).same_as(claims(fact.text)):
        return (), None
    (row,) = fact_rows(bench, fact.turns[0][1], fact.docs, [(text, fact.notes)])
    row = replace(row, detail={**row.detail, RESIDUAL: True}, valid_from=fact.record.valid_from)
    return (row,), _merged(fact, row.id)


def _merged(fact: Fact, by: str) -> Closing:
    return Closing(record=fact.number, status=Status.MERGED, by=by)


def _ended(fact: Fact, other: Fact) -> Closing:
    """The closing of the one that held earlier, by the other."""
    first, last = sorted((fact, other), key=lambda one: one.order)
    until = last.record.valid_from or last.said_at
    return Closing(record=first.number, status=Status.SUPERSEDED, by=last.record.id, valid_to=until)


def _once(closes: Iterable[Closing]) -> tuple[Closing, ...]:
    """One closing a record, the earliest end first."""
    found: dict[int, Closing] = {}
    for closing in closes:
        held = found.setdefault(closing.record, closing)
        if closing.valid_to and held.valid_to and closing.valid_to < held.valid_to:
            found[closing.record] = closing
    return tuple(found.values())


def _unit(
    bench: Workbench,
    fact: Fact,
    beside: Sequence[Fact],
    closes: Sequence[Closing],
    new: tuple[RecordRow, ...] = (),
    *,
    prompt: str = "",
) -> UnitRow:
    return UnitRow(
        kind=VERIFIED,
        key=key_of(VERIFIED, fact.record.id),
        subject=fact.record.id,
        turns=fact.docs,
        inputs=(fact.number, *(other.number for other in beside)),
        made_by=bench.made_by(prompt),
        records=new,
        closes=tuple(closes),
    )
