"""Values of derived records and of the work on them: what goes into a store and what comes out.

A *unit* is one reply of a model, or one that is still wanted, with the turns and records that it reads and the
records that were made of it. Everything derived hangs on units: **a unit goes when a turn or a record that it read
goes; a record goes when no unit that made it is left.** A unit may also *close* records (say that they hold no longer):
**a record is closed as long as a unit closes it.**
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from combray.model import MadeBy, RecordKind, Status

TURNS = "turns"
"""Kind of the job that every write of turns asks for: derive from a session."""

LINK = "link"
"""Kind of the job that a loss of records asks for: put together what was derived."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """In whose name a worker writes.

    Attributes:
        job: number of the job in hand.
        worker: that claimed it.
    """

    job: int
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRow:
    """A record as a unit makes it; one that is there already gets one more unit and keeps what it has.

    Attributes:
        id: `combray.model.record_id`.
        kind: what it is.
        text: as written by the model.
        sources: documents it comes from, among those that its unit has read.
        detail: JSON, the method's own.
        valid_from: aware; since when it holds in the world, None where that is not known.
        vector: little-endian float16 of the bank's embedder; None while it has none.
    """

    id: str
    kind: RecordKind
    text: str
    sources: tuple[int, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None
    vector: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """That a record holds no longer; it stays, with what it was.

    Attributes:
        record: its number.
        status: any but ``current``; the turns of one that is ``merged`` count as those of the record that holds instead.
        by: id of the record that holds instead, one that the same unit makes or that is there already; empty for none.
        valid_to: aware; until when it held in the world, None where that is not known.
    """

    record: int
    status: Status = Status.SUPERSEDED
    by: str = ""
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitRow:
    """A unit to store.

    Attributes:
        kind: the method's own word for what is asked.
        key: a hash of what is asked about; one unit has it in (bank, method, kind).
        subject: what `DerivedStore.units` finds it by: a session's name, a record's id.
        done: whether the model has replied; a unit that is only wanted makes no records.
        turns: documents that the model reads.
        inputs: numbers of the records that it reads, the main one first.
        made_by: prompt and model.
        records: that were made of the reply; there may be none.
        closes: records that hold no longer because of the reply, among those that it reads.
        least_inputs: a unit that loses a turn or a record that it read is wanted again without it (its reply goes), while
            so many records are left to read; 0 for one that goes at the first loss.
    """

    kind: str
    key: str
    subject: str = ""
    done: bool = True
    turns: tuple[int, ...] = ()
    inputs: tuple[int, ...] = ()
    made_by: MadeBy
    records: tuple[RecordRow, ...] = ()
    closes: tuple[Closing, ...] = ()
    least_inputs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A weighted link between two records, the same in both directions.

    Attributes:
        a: number of a record.
        b: number of another one.
        weight: larger is closer.
        kind: the method's own.
    """

    a: int
    b: int
    weight: float
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """What a method has found out, to be stored wholly or not at all.

    Attributes:
        units: to store; one that is known and done is passed over, one that is known and only wanted is filled.
        drop: kind and key of units to remove first; unknown ones are passed over.
        edges: to store or to weigh anew; those of records that are gone are passed over.
        staged: numbers of records that have been linked.
        queue: kind and subject of jobs to ask for.
        embedder: that made the vectors; must be the bank's. Needed where a record has a vector.
    """

    units: Sequence[UnitRow] = ()
    drop: Sequence[tuple[str, str]] = ()
    edges: Sequence[Edge] = ()
    staged: Sequence[int] = ()
    queue: Sequence[tuple[str, str]] = ()
    embedder: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedReceipt:
    """What a derivation did.

    Attributes:
        stored: keys of the units that are new or were filled, in order.
        known: keys of those that were there before.
        stale: keys of those that read something that has been forgotten meanwhile; they were not stored.
        records: number by id, of the records of the stored units.
        removed: rows by table, of what was dropped.
        revision: of the bank's derived records after the write.
    """

    stored: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    records: Mapping[str, int] = field(default_factory=dict)
    removed: Mapping[str, int] = field(default_factory=dict)
    revision: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DerivedState:
    """What a reader checks before it trusts a derived copy of records.

    Attributes:
        revision: grows whenever units, records or edges change.
        epoch: grows whenever records are forgotten, dropped or hold again, or vectors change. While it stands, a derived
            copy lacks only new records, whose numbers are higher than any it has, and what `RecordChanges` tells.
        dimension: of the vectors, 0 without an embedder.
    """

    revision: int
    epoch: int
    dimension: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A stored unit.

    Attributes:
        number: the store's.
        kind: see `UnitRow`.
        key: likewise.
        subject: likewise.
        done: likewise.
        turns: documents that it read, ascending.
        inputs: numbers of the records that it read, the main one first.
        records: numbers of the records that were made of it, ascending.
        made_by: prompt and model.
        least_inputs: see `UnitRow`.
    """

    number: int
    kind: str
    key: str
    subject: str
    done: bool
    turns: tuple[int, ...]
    inputs: tuple[int, ...]
    records: tuple[int, ...]
    made_by: MadeBy
    least_inputs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """Edges as columns, in order of a and b; each is there from the side of the record that was asked for.

    Attributes:
        a: shape (m,), the record that was asked for.
        b: shape (m,), the other one.
        weight: shape (m,).
    """

    a: NDArray[np.int64]
    b: NDArray[np.int64]
    weight: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordColumns:
    """Records as columns, in order of number; those that are closed too.

    Attributes:
        number: shape (n,), ascending.
        kind: shape (n,), index into the members of `RecordKind`.
        current: shape (n,), whether it holds.
        vector: shape (n, d); zeros where a record has none.
        embedded: shape (n,), whether it has one.
    """

    number: NDArray[np.int64]
    kind: NDArray[np.int8]
    current: NDArray[np.bool_]
    vector: NDArray[np.float16]
    embedded: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordChanges:
    """Records that were there at a revision and hold no longer, in the same epoch.

    Attributes:
        closed: numbers of those that were closed, shape (m,).
        gone: numbers of those that were replaced, shape (g,).
    """

    closed: NDArray[np.int64]
    gone: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordDetails:
    """What a method has noted about its records, in order of number; those that are closed too.

    Attributes:
        number: shape (n,), ascending.
        detail: JSON of each, length n.
        doc: shape (n,), the first document that the unit which wrote it gives as its source; 0 for none.
        member: shape (m, 2): number of a record, and of one that the unit which wrote it has read; in order of the first, and
            as the unit names them.
    """

    number: NDArray[np.int64]
    detail: list[str]
    doc: NDArray[np.int64]
    member: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where records come from, as columns in order of record, unit and document.

    Attributes:
        record: shape (m,).
        unit: shape (m,), the unit that says so.
        doc: shape (m,).
    """

    record: NDArray[np.int64]
    unit: NDArray[np.int64]
    doc: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSummary:
    """The calls of one phase, method and model together.

    Attributes:
        phase: what they were for.
        method: on behalf of which method, or empty.
        model: as asked for.
        n_calls: all of them.
        n_cached: answered from the cache, at no cost.
        n_repairs: repair rounds among them.
        n_failed: whose outcome was an error.
        prompt_tokens: read, those from the cache left out.
        completion_tokens: written, likewise.
        latency_ms: wall time of all, summed.
    """

    phase: str
    method: str
    model: str
    n_calls: int
    n_cached: int
    n_repairs: int
    n_failed: int
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
