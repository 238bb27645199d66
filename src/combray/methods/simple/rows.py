"""Units as the store keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from combray.methods.simple.symbolic import counted
from combray.methods.workbench import Workbench
from combray.model import FactNotes, RecordKind, record_id
from combray.model.time import to_stored
from combray.store.derived import RecordRow, UnitRow

METHOD = "simple"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A unit that the guard has let through.

    Attributes:
        session: that it was drawn from; the same words of another session are another unit.
        text: understood on its own.
        notes: whom and what it concerns, and when.
        docs: its sources, ascending.
        valid_from: aware; when it was so, or was said.
        n_units: units that it stands for.
        stretch: aware; from when to when, where `notes` cannot say it as one date.
    """

    session: str
    text: str
    notes: FactNotes
    docs: tuple[int, ...]
    valid_from: datetime
    n_units: int = 1
    stretch: tuple[datetime, datetime] | None = None

    @property
    def id(self) -> str:
        """Of the record."""
        return record_id(RecordKind.FACT, METHOD, f"{self.session}\n{self.text}")


def rows(bench: Workbench, statements: Sequence[Statement]) -> tuple[RecordRow, ...]:
    """The statements as records, in order of first appearance; those that are the same have the sources of all."""
    by_id: dict[str, Statement] = {}
    for one in statements:
        held = by_id.setdefault(one.id, one)
        by_id[one.id] = replace(held, docs=tuple(sorted({*held.docs, *one.docs})))
    kept = list(by_id.values())
    texts = [one.text for one in kept]
    analyses = bench.analyser.analyse(texts, [one.valid_from for one in kept])
    return tuple(
        RecordRow(
            id=one.id,
            kind=RecordKind.FACT,
            text=one.text,
            sources=one.docs,
            detail=_detail(one),
            valid_from=one.valid_from,
            vector=vector,
            **_counted(one, analysis.terms),
        )
        for one, vector, analysis in zip(kept, bench.vectors(texts), analyses, strict=True)
    )


def refusing(row: UnitRow, n_refused: int) -> UnitRow:
    """The unit with the number of statements that were kept out of it."""
    told: dict[str, Any] = {"n_refused": n_refused}
    return replace(row, **(told if _has(UnitRow, "n_refused") else {}))


def _has(of: type[RecordRow] | type[UnitRow], name: str) -> bool:
    return any(field.name == name for field in fields(of))


def _detail(one: Statement) -> dict[str, Any]:
    detail = one.notes.detail()
    if one.n_units > 1:
        detail["units"] = one.n_units
    if one.stretch is not None:
        detail["from"], detail["to"] = map(to_stored, one.stretch)
    return detail


def _counted(one: Statement, terms: Sequence[str]) -> dict[str, Any]:
    return {"terms": counted(terms, one.notes)} if _has(RecordRow, "terms") else {}
