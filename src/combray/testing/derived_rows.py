"""Small units, records and edges to store in a test, made without a model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from combray.model import Job, MadeBy, RecordKind, record_id
from combray.store.base import Store
from combray.store.derived import (
    Claim,
    Closing,
    Derivation,
    DerivedReceipt,
    Edge,
    RecordRow,
    UnitRow,
)
from combray.testing.store_rows import DIMENSION, NOON, vector_row

METHOD = "anchor"
"""The method that derives in a test."""

MADE_BY = MadeBy(method=METHOD, prompt="0123456789ab", model="stub")


def fact(text: str, *docs: int, vector: bytes | None = None) -> RecordRow:
    """A fact that comes from these documents."""
    return RecordRow(
        id=record_id(RecordKind.FACT, METHOD, text),
        kind=RecordKind.FACT,
        text=text,
        sources=docs,
        vector=vector,
    )


def event(text: str, *docs: int) -> RecordRow:
    """An event that comes from these documents."""
    return RecordRow(
        id=record_id(RecordKind.EVENT, METHOD, text),
        kind=RecordKind.EVENT,
        text=text,
        sources=docs,
    )


def window(
    docs: Sequence[int], *facts: RecordRow | str, key: str = "", subject: str = "s1"
) -> UnitRow:
    """A unit that read these documents; a fact given as text comes from all of them."""
    rows = [fact(row, *docs) if isinstance(row, str) else row for row in facts]
    return UnitRow(
        kind="facts",
        key=key or f"w{'-'.join(map(str, docs))}",
        subject=subject,
        turns=tuple(docs),
        made_by=MADE_BY,
        records=tuple(rows),
    )


def cluster(
    numbers: Sequence[int],
    docs: Sequence[int] = (),
    text: str = "",
    *,
    key: str = "",
    least: int = 0,
) -> UnitRow:
    """A unit that reads these records and documents; done where there is a text of its event."""
    return UnitRow(
        kind="event",
        key=key or f"c{'-'.join(map(str, numbers))}",
        subject=str(numbers[0]),
        done=bool(text),
        turns=tuple(docs),
        inputs=tuple(numbers),
        made_by=MADE_BY,
        records=(event(text, *docs),) if text else (),
        least_inputs=least,
    )


def verdict(
    numbers: Sequence[int], *closes: Closing | int, docs: Sequence[int] = (), key: str = ""
) -> UnitRow:
    """A unit that reads these records and documents, and closes some of the records."""
    return UnitRow(
        kind="verdict",
        key=key or f"v{'-'.join(map(str, numbers))}",
        subject=str(numbers[0]),
        turns=tuple(docs),
        inputs=tuple(numbers),
        made_by=MADE_BY,
        closes=tuple(Closing(record=one) if isinstance(one, int) else one for one in closes),
    )


def derive(
    store: Store,
    *units: UnitRow,
    bank: str = "alpha",
    claim: Claim | None = None,
    edges: Sequence[tuple[int, int]] = (),
    at: datetime = NOON,
    **rest: Any,  # noqa: ANN401 (fields of a value)
) -> DerivedReceipt:
    """Store what `METHOD` derived; `rest` are further fields of the `Derivation`."""
    linked = [Edge(a=a, b=b, weight=0.5, kind="similar") for a, b in edges]
    derivation = Derivation(units=units, edges=linked, **rest)
    return store.derive(bank, METHOD, derivation, at=at, claim=claim)


def numbers(store: Store, *texts: str, bank: str = "alpha") -> list[int]:
    """Numbers of the facts of these texts, in that order."""
    ids = [record_id(RecordKind.FACT, METHOD, text) for text in texts]
    found = store.find_records(bank, ids)
    return [found[id_].number for id_ in ids]


def texts(store: Store, bank: str = "alpha", method: str = METHOD) -> list[str]:
    """Texts of all current records of the method, in order of number."""
    columns = store.record_columns(bank, method)
    current = columns.number[columns.current].tolist()
    found = store.records(bank, current)
    return [found[number].text for number in current]


def tasks(jobs: Sequence[Job]) -> list[tuple[str, str, str]]:
    """Kind, subject and state of jobs, sorted."""
    return sorted((job.kind, job.subject, str(job.state)) for job in jobs)


def half_floats(seed: int) -> bytes:
    """The vector of a record."""
    vector = vector_row(seed).vector
    assert len(vector) == 2 * DIMENSION
    return vector
