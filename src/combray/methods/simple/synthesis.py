"""Online semantic synthesis: related units of a session become one denser unit.

What is merged stays, closed by the unit that stands for it, and holds again when that one goes. A merge that would lose or add a name,
number, date or negation is not made; the group is done all the same, so that it is not asked about again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from pydantic import BaseModel

from combray.methods.simple.groups import GROUP, Member, group_key, groups
from combray.methods.simple.keeping import changes
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.rows import METHOD, Statement, refusing, rows
from combray.methods.simple.windows import WINDOW
from combray.methods.workbench import Failures, Prompted, Workbench, in_pool
from combray.model import FactNotes, RecordKind, Status
from combray.prompts.quoting import quoted
from combray.store.derived import Closing, Unit, UnitRow
from combray.text.lemmas import stem
from combray.text.tokens import tokens

PROMPT = "simple_merge"


class Merged(BaseModel):
    """What a model replies about units that are near each other."""

    merged: list[int] | None = None
    unit: str | None = ""
    keywords: list[str] | None = None


def synthesise(bench: Workbench, session: str, params: SimpleParams) -> None:
    """Merge what belongs together among the current units of the session, until nothing more does.

    The groups of a round are stored as wanted before a model is asked, so a worker that is killed leaves the same groups to the next.

    Source:
        SimpleMem, section 2.2.  Deviation: members stay; a merge is held against them and against their turns; the released code has
        none of this.
    """
    while True:
        wanted = bench.store.units(bench.bank.name, METHOD, GROUP, subject=session, done=False)
        if not wanted:
            wanted = _plan(bench, session, params)
        if not wanted:
            return
        failures = Failures()
        for unit, row in in_pool(
            lambda unit: _merged(bench, unit, params), wanted, failures, n_threads=bench.concurrency
        ):
            bench.derive(
                bench.change(units=[row]) if row else bench.change(drop=[(GROUP, unit.key)])
            )
        failures.check(len(wanted))


def _plan(bench: Workbench, session: str, params: SimpleParams) -> list[Unit]:
    store, bank = bench.store, bench.bank.name
    asked = store.units(bank, METHOD, GROUP, subject=session)
    numbers = {
        number
        for unit in (*store.units(bank, METHOD, WINDOW, subject=session), *asked)
        for number in unit.records
    }
    found = groups(members(bench, numbers), [unit.inputs for unit in asked], params)
    if not found:
        return []
    bench.derive(bench.change(units=[_wanted(bench, session, group) for group in found]))
    return store.units(bank, METHOD, GROUP, subject=session, done=False)


def members(bench: Workbench, numbers: set[int]) -> list[Member]:
    """Those of the records that hold, with vectors and sources, in order of these: numbers depend on which window came first."""
    ordered = sorted(numbers)
    records = bench.store.records(bench.bank.name, ordered)
    sources = bench.store.sources(bench.bank.name, ordered)
    docs: dict[int, set[int]] = {}
    for record, doc in zip(sources.record.tolist(), sources.doc.tolist(), strict=True):
        docs.setdefault(record, set()).add(doc)
    view = bench.records(METHOD)
    at = view.rows(np.asarray(ordered, dtype=np.int64))
    found = [
        Member(records[number], tuple(sorted(docs.get(number, ()))), view.vectors[row])
        for number, row in zip(ordered, at.tolist(), strict=True)
        if row >= 0
        and number in records
        and records[number].status is Status.CURRENT
        and records[number].kind is RecordKind.FACT
    ]
    return sorted(found, key=lambda member: (member.docs, member.record.id))


def _wanted(bench: Workbench, session: str, group: Sequence[Member]) -> UnitRow:
    return UnitRow(
        kind=GROUP,
        key=group_key(member.record.id for member in group),
        subject=session,
        done=False,
        turns=tuple(sorted({doc for member in group for doc in member.docs})),
        inputs=tuple(member.number for member in group),
        made_by=bench.made_by(),
    )


def _merged(bench: Workbench, unit: Unit, params: SimpleParams) -> UnitRow | None:
    """The group's unit with the denser record, or with none; None where a member no longer holds."""
    group = members(bench, set(unit.inputs))
    if len(group) < len(unit.inputs):
        return None
    listed = "\n".join(f"{n}. {quoted(member.record.text)}" for n, member in enumerate(group, 1))
    reply: Merged = bench.ask(
        Prompted(PROMPT, GROUP, {"statements": listed}),
        Merged,
        docs=unit.turns,
        about=f"whether {len(group)} units are one, the first: {group[0].record.text[:80]!r}",
    )
    numbers = reply.merged if reply.merged is not None else range(1, len(group) + 1)
    chosen = [group[n - 1] for n in sorted(set(numbers)) if 1 <= n <= len(group)]
    text = " ".join((reply.unit or "").split())
    done = UnitRow(
        kind=GROUP,
        key=unit.key,
        subject=unit.subject,
        turns=unit.turns,
        inputs=unit.inputs,
        made_by=bench.made_by(PROMPT),
    )
    if not text or len(chosen) < 2:
        return done
    if not _stands_for(bench, text, chosen, params):
        return refusing(done, 1)
    statement = _statement(unit.subject, text, reply, chosen, params)
    closes = tuple(
        Closing(record=member.number, status=Status.SUPERSEDED, by=statement.id)
        for member in chosen
        if member.record.id != statement.id
    )
    return replace(done, records=rows(bench, [statement]), closes=closes)


def _stands_for(
    bench: Workbench, text: str, chosen: Sequence[Member], params: SimpleParams
) -> bool:
    """Whether the text is denser than the members, and commits itself to the same."""
    texts = [member.record.text for member in chosen]
    if len(text) > min(params.max_unit_chars, sum(map(len, texts)) + len(texts)):
        return False
    names = [name for member in chosen for name in (*member.notes.people, *member.notes.entities)]
    return not changes(text, texts, names, _since(chosen), bench.analyser)


def _statement(
    session: str, text: str, reply: Merged, chosen: Sequence[Member], params: SimpleParams
) -> Statement:
    notes = _notes(text, reply, [member.notes for member in chosen], params)
    return Statement(
        session=session,
        text=text,
        notes=notes,
        docs=tuple(sorted({doc for member in chosen for doc in member.docs})),
        valid_from=_since(chosen),
        n_units=sum(member.n_units for member in chosen),
        stretch=None if notes.about else _stretch(chosen),
    )


def _stretch(chosen: Sequence[Member]) -> tuple[datetime, datetime] | None:
    """From the first to the last time that the members tell of."""
    found = [stretch for member in chosen if (stretch := member.stretch)]
    if not found:
        return None
    return min(first for first, _ in found), max(last for _, last in found)


def _notes(text: str, reply: Merged, notes: Sequence[FactNotes], params: SimpleParams) -> FactNotes:
    """The union of the members' notes; what must be one is left out where they differ."""
    own = tuple(
        dict.fromkeys(word.strip().lower() for word in reply.keywords or () if word.strip())
    )
    words = {stem(token) for token in tokens(text)}
    held = [word for word in own if words.issuperset(map(stem, tokens(word)))]
    keywords = held or list(dict.fromkeys(word for note in notes for word in note.keywords))
    return FactNotes(
        people=tuple(dict.fromkeys(name for note in notes for name in note.people)),
        keywords=tuple(keywords[: params.max_keywords]),
        about=_one(note.about for note in notes),
        entities=tuple(dict.fromkeys(name for note in notes for name in note.entities)),
        location=_one(note.location for note in notes),
        topic=next((note.topic for note in notes if note.topic), ""),
    )


def _one(values: Iterable[str]) -> str:
    """The one value that is not empty; empty where there are several."""
    given = {value for value in values if value}
    return given.pop() if len(given) == 1 else ""


def _since(chosen: Sequence[Member]) -> datetime:
    return min(member.record.valid_from or member.record.recorded_at for member in chosen)
