"""Holds a candidate against the profile: known already, a new version of a statement, or a new statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from pydantic import BaseModel, Field

from combray.index.topk import best
from combray.methods.atom.kinds import REVISION, key_of
from combray.methods.atom.params import AtomParams
from combray.methods.atom.similar import near
from combray.methods.workbench import Prompted, Workbench
from combray.model import DerivedRecord, RecordKind, Status
from combray.model.ids import content_hash
from combray.prompts.quoting import quoted
from combray.store.derived import Closing, Derivation, RecordRow, UnitRow
from combray.text.claims import claims

PROMPT = "atom_revision"

_N_VERSIONS = 3
"""Earlier versions that a model is shown."""


class Decision(BaseModel):
    """What a model says of one statement of the profile."""

    id: int
    action: str
    text: str = ""


class Revised(BaseModel):
    """What a model replies about a candidate."""

    decisions: list[Decision] = Field(default_factory=list)
    new: bool = False


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A drawn statement that waits to be held against the profile."""

    record: DerivedRecord
    docs: tuple[int, ...]

    @property
    def subject(self) -> str:
        return str(self.record.detail.get("subject", ""))

    @property
    def since(self) -> datetime | None:
        return self.record.valid_from


def revise(bench: Workbench, number: int, params: AtomParams) -> None:
    """Decide what a candidate is to the profile."""
    store, bank = bench.store, bench.bank.name
    record = store.records(bank, [number]).get(number)
    if record is None:
        return
    if not record.detail.get("candidate") or store.units_reading(
        bank, bench.method, REVISION, [number]
    ):
        bench.derive(Derivation(staged=[number]))
        return
    docs = tuple(docs_of(bench, [record]))
    candidate = _Candidate(record, docs)
    known = _related(bench, candidate, params)
    unit = _revision(bench, candidate, known, params)
    receipt = bench.derive(bench.change(units=[unit], staged=[number]))
    made = [receipt.records[row.id] for row in unit.records if row.id in receipt.records]
    bench.derive(Derivation(staged=made))


@dataclass(frozen=True, slots=True)
class _Known:
    """A version that the candidate may be about, with its similarity and its earlier versions."""

    record: DerivedRecord
    score: float
    earlier: tuple[DerivedRecord, ...]

    @property
    def read(self) -> tuple[DerivedRecord, ...]:
        """All that a model is shown of it."""
        return (self.record, *self.earlier)


def _related(bench: Workbench, candidate: _Candidate, params: AtomParams) -> list[_Known]:
    """Current versions of the same person near to the candidate, the nearest first."""
    there = versions(bench, candidate.subject)
    current = {version.number: version for version in there if version.status is Status.CURRENT}
    view = bench.facts(bench.method)
    for close in near(view, [candidate.record.number], params):
        among = np.isin(view.records.number, list(current))
        rows = best(
            close.scores,
            among & (close.scores >= params.profile_similarity),
            params.n_profiles_compared,
        )
        found = [(current[int(view.records.number[row])], float(close.scores[row])) for row in rows]
        return [
            _Known(
                record,
                score,
                tuple(
                    other
                    for other in there
                    if other.number != record.number
                    and other.detail.get("timeline") == record.detail.get("timeline")
                )[-_N_VERSIONS:],
            )
            for record, score in found
        ]
    return []


def _revision(
    bench: Workbench, candidate: _Candidate, known: Sequence[_Known], params: AtomParams
) -> UnitRow:
    """The unit that says what the candidate is.

    Source:
        AtomMem, section 3.3 and released code for thresholds and fallbacks.  Deviation: an update must name the person's own statement;
        one that brings in what neither candidate nor statement says is taken for a new statement.
    """
    if not known:
        return _unit(bench, candidate, (), [_version(bench, candidate, candidate.record.id)], ())
    same = " ".join(candidate.record.text.lower().split())
    if " ".join(known[0].record.text.lower().split()) == same:
        return _confirmed(bench, candidate, known[:1], known[0].record)
    reply: Revised = bench.ask(
        Prompted(
            PROMPT,
            "profile",
            {
                "person": quoted(candidate.subject),
                "candidate": _line(candidate.record),
                "known": "\n".join(
                    _known_line(number, one) for number, one in enumerate(known, start=1)
                ),
            },
        ),
        Revised,
        docs=[*candidate.docs, *docs_of(bench, [record for one in known for record in one.read])],
        about=f"what {candidate.record.text[:80]!r} changes in the profile of {candidate.subject!r}",
    )
    return _applied(bench, candidate, known, reply, params)


def _applied(
    bench: Workbench,
    candidate: _Candidate,
    known: Sequence[_Known],
    reply: Revised,
    params: AtomParams,
) -> UnitRow:
    decided = {d.id: d for d in reversed(reply.decisions) if 1 <= d.id <= len(known)}
    rows: list[RecordRow] = []
    closes: list[Closing] = []
    confirmed: DerivedRecord | None = None
    for number, decision in sorted(decided.items()):
        version = known[number - 1].record
        if decision.action == "confirm":
            confirmed = confirmed or version
        elif decision.action in ("update", "history"):
            row, closing = _changed(bench, candidate, version, decision)
            rows += [row] if row else []
            closes += [closing] if closing else []
    if not rows and not confirmed and not reply.new and known[0].score >= params.profile_same:
        row, closing = _changed(bench, candidate, known[0].record, Decision(id=1, action="update"))
        rows, closes = [row] if row else [], [closing] if closing else []
    if confirmed and not rows and not reply.new:
        return _confirmed(bench, candidate, known, confirmed)
    if reply.new or not rows:
        rows.append(_version(bench, candidate, candidate.record.id))
    return _unit(bench, candidate, known, rows, closes)


def _changed(
    bench: Workbench, candidate: _Candidate, version: DerivedRecord, decision: Decision
) -> tuple[RecordRow | None, Closing | None]:
    """A version more on the statement's timeline, and the end of the current one where the new one is later."""
    text = " ".join(decision.text.split()) or candidate.record.text
    said = claims(f"{candidate.record.text} {version.text}")
    told = claims(text)
    # What neither says is not known, whatever a model makes of the two.
    if not (told.numbers <= said.numbers and told.names <= said.names):
        text = candidate.record.text
    row = _version(bench, candidate, str(version.detail.get("timeline", version.id)), text)
    since, before = candidate.since, version.valid_from
    if since is None or before is None or since <= before:
        return row, None
    return row, Closing(record=version.number, by=row.id, valid_to=since)


def _version(bench: Workbench, candidate: _Candidate, timeline: str, text: str = "") -> RecordRow:
    detail = {name: value for name, value in candidate.record.detail.items() if name != "candidate"}
    text = text or candidate.record.text
    (vector,) = bench.vectors([text])
    return RecordRow(
        id=content_hash(
            "p1", bench.method, timeline, text, str(detail.get("valid_from")), candidate.record.id
        ),
        kind=RecordKind.PROFILE,
        text=text,
        sources=candidate.docs,
        detail={**detail, "timeline": timeline},
        valid_from=candidate.since,
        vector=vector,
    )


def _confirmed(
    bench: Workbench, candidate: _Candidate, known: Sequence[_Known], version: DerivedRecord
) -> UnitRow:
    closing = Closing(record=candidate.record.number, status=Status.MERGED, by=version.id)
    return _unit(bench, candidate, known, (), (closing,))


def _unit(
    bench: Workbench,
    candidate: _Candidate,
    known: Sequence[_Known],
    rows: Sequence[RecordRow],
    closes: Sequence[Closing],
) -> UnitRow:
    return UnitRow(
        kind=REVISION,
        key=key_of(REVISION, candidate.record.id),
        subject=candidate.subject,
        turns=candidate.docs,
        inputs=(candidate.record.number, *(r.number for one in known for r in one.read)),
        made_by=bench.made_by(PROMPT if known else ""),
        records=tuple(rows),
        closes=tuple(closes),
    )


def _line(record: DerivedRecord) -> str:
    since = record.valid_from
    return f"({since:%Y-%m-%d}) {quoted(record.text)}" if since else quoted(record.text)


def _known_line(number: int, known: _Known) -> str:
    earlier = "".join(f"\n   earlier: {_line(record)}" for record in known.earlier)
    return f"{number}. {_line(known.record)}{earlier}"


def versions(bench: Workbench, subject: str) -> list[DerivedRecord]:
    """All versions in the profile of that person, in order of number."""
    units = [
        unit
        for unit in bench.store.units(
            bench.bank.name, bench.method, REVISION, subject=subject, done=True
        )
        if unit.records
    ]
    numbers = sorted({number for unit in units for number in unit.records})
    return [*bench.store.records(bench.bank.name, numbers).values()]


def docs_of(bench: Workbench, records: Sequence[DerivedRecord]) -> list[int]:
    """Documents behind the records."""
    found = bench.store.sources(bench.bank.name, [record.number for record in records])
    return sorted(set(found.doc.tolist()))
