"""Events: facts that belong together, told in a sentence or two.

An event is its unit: a new fact makes it a unit with one member more, under the same key. It loses a member that is forgotten, and is
told anew from those that are left; with one member left it is no event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from combray.index.facts import FactView
from combray.index.topk import best
from combray.methods.atom.keywords import normalised
from combray.methods.atom.kinds import EVENT, key_of
from combray.methods.atom.params import AtomParams
from combray.methods.atom.similar import Near
from combray.methods.atom.verify import Fact, read
from combray.methods.workbench import Prompted, Workbench
from combray.model import RecordKind, record_id
from combray.model.time import to_stored
from combray.prompts.quoting import quoted
from combray.store.derived import Derivation, RecordRow, Unit, UnitRow

ATTRIBUTION, SUMMARY = "atom_attribution", "atom_event"

_N_SHOWN = 3
"""Facts that stand for an event which has no summary."""


class Attribution(BaseModel):
    """What a model replies about a fact and the events it may belong to."""

    events: list[str] = Field(default_factory=list)
    statements: list[str] = Field(default_factory=list)


class Summary(BaseModel):
    """What a model replies about the facts of an event."""

    summary: str
    keywords: list[str] = Field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What a fact may belong to, the likeliest first.

    Attributes:
        events: by the name that the model is given.
        singles: facts without an event, likewise.
        told: the summary of each event, or empty, by the unit's number.
    """

    events: Mapping[str, Unit]
    singles: Mapping[str, int]
    told: Mapping[int, str]


def attribute(
    bench: Workbench,
    view: FactView,
    fact: Fact,
    close: Near,
    among: NDArray[np.bool_],
    params: AtomParams,
) -> Derivation:
    """The events that the fact joins or makes, as one change; an empty one where it stands alone.

    Args:
        bench: the job.
        view: of the bank's facts.
        fact: to find events for.
        close: how near the others are.
        among: rows of the facts that may belong with it.
        params: see there.

    Source:
        AtomMem, algorithm 1.  Deviation: `AtomParams.summaries`; a call that fails is done again, where the released code goes on without.
    """
    rows = best(close.scores, among & close.fellows, params.n_related)
    related = view.records.number[rows].tolist()
    candidates = _candidates(bench, related)
    if not candidates.events and not candidates.singles:
        return Derivation()
    events, singles = _chosen(bench, fact, candidates, related)
    joined = [
        _told(
            bench,
            unit.key,
            (*unit.inputs, fact.number),
            params,
            candidates.told.get(unit.number, ""),
        )
        for unit in events
    ]
    made = [
        _told(bench, _pair_key(bench, single, fact), (single, fact.number), params)
        for single in singles
    ]
    return bench.change(
        drop=[(EVENT, unit.key) for unit in events], units=[row for row in (*joined, *made) if row]
    )


def tell_again(bench: Workbench, unit: Unit, params: AtomParams) -> Derivation:
    """The event from the members that it has left; dropped where that is one."""
    row = _told(bench, unit.key, unit.inputs, params)
    return bench.change(units=[row]) if row else Derivation(drop=[(EVENT, unit.key)])


def _candidates(bench: Workbench, related: Sequence[int]) -> _Candidates:
    units = bench.store.units_reading(bench.bank.name, bench.method, EVENT, related)
    members = {number for unit in units for number in unit.inputs}
    place = {number: rank for rank, number in enumerate(related)}
    units.sort(key=lambda unit: (min(place.get(n, len(place)) for n in unit.inputs), unit.number))
    records = bench.store.records(bench.bank.name, [n for unit in units for n in unit.records])
    told = {unit.number: records[n].text for unit in units for n in unit.records if n in records}
    singles = [number for number in related if number not in members]
    return _Candidates(
        {f"E{i}": unit for i, unit in enumerate(units, start=1)},
        {f"S{i}": number for i, number in enumerate(singles, start=1)},
        told,
    )


def _chosen(
    bench: Workbench, fact: Fact, candidates: _Candidates, related: Sequence[int]
) -> tuple[list[Unit], list[int]]:
    """The events and the single facts that the model names; names that it was not given are none."""
    shown = {n for unit in candidates.events.values() for n in unit.inputs[:_N_SHOWN]}
    facts = read(bench, shown.union(related))
    lines = [
        f"{name}: {_event_line(unit, candidates.told, facts)}"
        for name, unit in candidates.events.items()
    ]
    lines += [f"{name}: {facts[n].line}" for name, n in candidates.singles.items() if n in facts]
    docs = {doc for one in (fact, *facts.values()) for doc in one.docs}
    docs.update(doc for unit in candidates.events.values() for doc in unit.turns)
    reply: Attribution = bench.ask(
        Prompted(ATTRIBUTION, "attribution", {"fact": fact.line, "candidates": "\n".join(lines)}),
        Attribution,
        docs=sorted(docs),
        about=f"which events {fact.text[:80]!r} belongs to",
    )
    named = dict.fromkeys((*reply.events, *reply.statements))
    events = [candidates.events[name] for name in named if name in candidates.events]
    singles = [candidates.singles[name] for name in named if name in candidates.singles]
    return events, [number for number in singles if number in facts]


def _event_line(unit: Unit, told: Mapping[int, str], facts: Mapping[int, Fact]) -> str:
    summary = told.get(unit.number)
    if summary:
        return quoted(summary)
    return "; ".join(facts[n].line for n in unit.inputs[:_N_SHOWN] if n in facts)


def _pair_key(bench: Workbench, single: int, fact: Fact) -> str:
    record = bench.store.records(bench.bank.name, [single])[single]
    return key_of(EVENT, record.id, fact.record.id)


def _told(
    bench: Workbench, key: str, members: Sequence[int], params: AtomParams, summary: str = ""
) -> UnitRow | None:
    """The event of those members with its summary; None where fewer than two are there."""
    wanted = list(dict.fromkeys(members))
    found = read(bench, wanted)
    facts = [found[number] for number in wanted if number in found]
    if len(facts) < 2:
        return None
    docs = sorted({doc for one in facts for doc in one.docs})
    # The last one is what is new; an old summary stands for the others.
    shown = facts[-1:] if summary and params.summaries == "incremental" else facts
    reply: Summary = bench.ask(
        Prompted(
            SUMMARY,
            EVENT,
            {
                "summary": quoted(summary) if len(shown) < len(facts) else "",
                "facts": "\n".join(f"- {one.line}" for one in shown),
            },
        ),
        Summary,
        docs=docs,
        about=f"to tell an event of {len(facts)} facts, the first: {facts[0].text[:80]!r}",
    )
    # An empty reply must not make an event of nothing.
    text = " ".join(reply.summary.split()) or " ".join(one.text for one in facts[:_N_SHOWN])
    return UnitRow(
        kind=EVENT,
        key=key,
        turns=tuple(docs),
        inputs=tuple(one.number for one in facts),
        made_by=bench.made_by(SUMMARY),
        records=(_row(bench, key, text, reply.keywords, facts, docs, params),),
        least_inputs=2,
    )


def _row(
    bench: Workbench,
    key: str,
    text: str,
    keywords: Sequence[str],
    facts: Sequence[Fact],
    docs: Sequence[int],
    params: AtomParams,
) -> RecordRow:
    """The event as a record: people and time are the union of its facts'."""
    notes = [fact.notes for fact in facts]
    people = list(dict.fromkeys(name for note in notes for name in note.people))
    spans = [note.span for note in notes if note.span]
    own = normalised(keywords, params.max_keywords, leave_out=people)
    own = (
        own
        or tuple(dict.fromkeys(k for note in notes for k in note.keywords))[: params.max_keywords]
    )
    detail: dict[str, object] = {"people": people, "keywords": list(own)}
    if spans:
        detail["from"] = to_stored(min(span.start for span in spans))
        detail["to"] = to_stored(max(span.end for span in spans))
    (vector,) = bench.vectors([text])
    return RecordRow(
        id=record_id(RecordKind.EVENT, bench.method, f"{key} {text}"),
        kind=RecordKind.EVENT,
        text=text,
        sources=tuple(docs),
        detail=detail,
        valid_from=min((span.start for span in spans), default=None),
        vector=vector,
    )
