"""Draws profile statements from the lasting facts of a person; each is a candidate for the profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic import BaseModel, Field

from combray.methods.atom.keywords import normalised
from combray.methods.atom.kinds import PENDING, STATEMENTS, key_of
from combray.methods.atom.params import AtomParams
from combray.methods.atom.revision import docs_of, versions
from combray.methods.atom.verify import Fact, read
from combray.methods.workbench import Prompted, Workbench
from combray.model import RecordKind, Status, partial_date, span_of
from combray.model.ids import content_hash
from combray.prompts.quoting import quoted
from combray.store.derived import Derivation, RecordRow, Unit, UnitRow
from combray.text.names import people

PROMPT = "atom_profile"

_N_FACTS = 20
"""Facts in one call."""

_SINCE = re.compile(
    r"\b(\d{4}-\d{2}(?:-\d{2})?)\b|\b(?:in|during|since|before|after|by|until)\s+(\d{4})\b",
    re.IGNORECASE,
)


class Statement(BaseModel):
    """One profile statement, as a model draws it."""

    statement: str
    keywords: list[str] = Field(default_factory=list)
    facts: list[int] = Field(default_factory=list)
    since: str | None = ""


class Drawn(BaseModel):
    """What a model replies about a person's lasting facts."""

    profile: list[Statement]


def pending(bench: Workbench, fact: Fact) -> list[UnitRow]:
    """That the fact waits to be told in the profile of its people, or of its speaker where it names none; of none but lasting facts."""
    if not fact.notes.lasting:
        return []
    names = fact.notes.people or (fact.turns[0][1].speaker,)
    return [
        UnitRow(
            kind=PENDING,
            key=key_of(PENDING, name, fact.record.id),
            subject=name,
            done=False,
            inputs=(fact.number,),
            made_by=bench.made_by(),
        )
        for name in dict.fromkeys(names)
        if not _is_told(bench, name, fact)
    ]


def waiting(bench: Workbench) -> list[tuple[str, list[Fact], list[Unit]]]:
    """For each person the facts that wait, in portions, in order of time, and the units that say so."""
    store, bank = bench.store, bench.bank.name
    again = [
        (unit.subject, [*read(bench, unit.inputs).values()], [unit])
        for unit in store.units(bank, bench.method, STATEMENTS, done=False)
    ]
    units = store.units(bank, bench.method, PENDING, done=False)
    facts = read(bench, {unit.inputs[0] for unit in units})
    units = sorted(
        (unit for unit in units if unit.inputs[0] in facts),
        key=lambda unit: facts[unit.inputs[0]].order,
    )
    number_of = people(unit.subject for unit in units)
    by_person: dict[int, list[Unit]] = {}
    for unit in units:
        by_person.setdefault(number_of[unit.subject], []).append(unit)
    for own in by_person.values():
        subject = max((unit.subject for unit in own), key=lambda name: (len(name), name))
        for start in range(0, len(own), _N_FACTS):
            portion = own[start : start + _N_FACTS]
            again.append((subject, [facts[unit.inputs[0]] for unit in portion], portion))
    return again


def draw(
    bench: Workbench, subject: str, given: Sequence[Fact], old: Sequence[Unit], params: AtomParams
) -> None:
    """Draw statements from the facts, and store them as candidates instead of the units that waited."""
    facts = list({fact.number: fact for fact in given}.values())
    if not facts:
        bench.derive(Derivation(drop=[(unit.kind, unit.key) for unit in old]))
        return
    listed = "\n".join(f"{number}. {fact.line}" for number, fact in enumerate(facts, start=1))
    known = [record for record in versions(bench, subject) if record.status is Status.CURRENT]
    docs = sorted({*docs_of(bench, known), *(doc for fact in facts for doc in fact.docs)})
    reply: Drawn = bench.ask(
        Prompted(
            PROMPT,
            "profile",
            {
                "person": quoted(subject),
                "facts": listed,
                "known": "\n".join(f"- {quoted(record.text)}" for record in known),
            },
        ),
        Drawn,
        docs=docs,
        about=f"for the profile of {subject!r} from {len(facts)} facts",
    )
    records: dict[str, RecordRow] = {}
    for statement in reply.profile:
        row = _candidate_row(bench, subject, statement, facts, params)
        if row is not None:
            records.setdefault(row.id, row)
    again = old[0] if old[0].kind == STATEMENTS else None
    key = again.key if again else key_of(STATEMENTS, subject, *(fact.record.id for fact in facts))
    unit = UnitRow(
        kind=STATEMENTS,
        key=key,
        subject=subject,
        turns=tuple(docs),
        inputs=tuple(fact.number for fact in facts),
        made_by=bench.made_by(PROMPT),
        records=tuple(records.values()),
        least_inputs=1,
    )
    drop = [] if again else [(waited.kind, waited.key) for waited in old]
    bench.derive(bench.change(units=[unit], drop=drop))


def _is_told(bench: Workbench, name: str, fact: Fact) -> bool:
    told = bench.store.units_reading(bench.bank.name, bench.method, STATEMENTS, [fact.number])
    return any(unit.subject == name for unit in told)


def _candidate_row(
    bench: Workbench, subject: str, statement: Statement, facts: Sequence[Fact], params: AtomParams
) -> RecordRow | None:
    """The statement as a record; None where it rests on no fact that was given, or says nothing."""
    text = " ".join(statement.statement.split())
    evidence = [facts[n - 1] for n in dict.fromkeys(statement.facts) if 1 <= n <= len(facts)]
    if not text or not evidence or len(text) > params.max_fact_chars:
        return None
    (vector,) = bench.vectors([text])
    since = _since(statement.since, text, evidence)
    return RecordRow(
        id=content_hash(
            "p1", bench.method, "candidate", subject, text, *(fact.record.id for fact in evidence)
        ),
        kind=RecordKind.PROFILE,
        text=text,
        sources=tuple(sorted({doc for fact in evidence for doc in fact.docs})),
        detail={
            "candidate": True,
            "subject": subject,
            "people": [subject],
            "keywords": list(normalised(statement.keywords, params.max_keywords)),
            "facts": [fact.record.id for fact in evidence],
            "valid_from": since.date().isoformat(),
        },
        valid_from=since,
        vector=vector,
    )


def _since(said: str | None, text: str, evidence: Sequence[Fact]) -> datetime:
    """From when a statement holds: the date given, one in the text, or the earliest time of its evidence."""
    found = _SINCE.search(text)
    named = partial_date(said) or (partial_date(found[1] or found[2]) if found else "")
    span = span_of(named)
    earliest = min((fact.record.valid_from or fact.said_at) for fact in evidence)
    return span.start if span else earliest.astimezone(UTC)
