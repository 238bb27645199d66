"""What a store must do for those who derive records with a language model: jobs, units and records, the ledger.

The same promises hold as in `combray.store.base`: every call but `JobStore.claim` names a bank, and a write is one
transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from combray.model import Call, DerivedRecord, Job
from combray.store.derived import (
    CallSummary,
    Claim,
    Derivation,
    DerivedReceipt,
    DerivedState,
    Edges,
    RecordChanges,
    RecordColumns,
    RecordDetails,
    Sources,
    Unit,
)


class JobStore(Protocol):
    """Durable work. There is at most one job of a method, kind and subject in a bank."""

    def set_methods(self, bank: str, methods: Sequence[str], at: datetime) -> tuple[str, ...]:
        """Let exactly these methods derive from the bank; returns those that are new, sorted.

        A new one gets a job for each session. The jobs of one that is left out are removed; its records stay.
        """

    def claim(
        self,
        worker: str,
        *,
        now: datetime,
        lease_s: float,
        bank: str | None = None,
        methods: Sequence[str] = (),
        settled_before: datetime | None = None,
    ) -> Job | None:
        """Take the next job that is due, or None. No two workers ever hold the same one.

        Banks take turns; in a bank `LINK` jobs come last, and of the others the one that has been due longest comes
        first. A job whose lease has run out is due, and counts as tried once more.

        Args:
            worker: name of the one who takes it.
            now: aware.
            lease_s: how long it is the worker's own without a `renew`.
            bank: of this bank only.
            methods: of these methods only; of all where empty.
            settled_before: leave sessions whose first new turn was stored later than this.
        """

    def renew(self, bank: str, number: int, worker: str, until: datetime) -> bool:
        """Hold the job until then; whether it is still the worker's."""

    def finish(self, bank: str, number: int, worker: str, version: int) -> bool:
        """Remove the job, or let it wait again where it was asked for since `version`; whether it was the worker's."""

    def fail(
        self,
        bank: str,
        number: int,
        worker: str,
        *,
        code: str,
        error: str,
        raw: str = "",
        due_at: datetime | None,
    ) -> bool:
        """Record what went wrong; whether the job was still the worker's.

        Args:
            bank: name.
            number: of the job.
            worker: that had it.
            code: of the error.
            error: what happened.
            raw: the reply that did not fit, if that was it.
            due_at: when to try again; None gives it up, unless new turns came meanwhile.
        """

    def jobs(
        self, bank: str, *, states: Sequence[str] = (), after: int = 0, limit: int = 100
    ) -> list[Job]:
        """The jobs in these states (all where empty) in order of number, those after `after`."""

    def retry_jobs(self, bank: str, numbers: Sequence[int], now: datetime) -> int:
        """Make due now these jobs that are not running, or all that failed where none is named; returns how many."""


class DerivedStore(Protocol):
    """Units, records and edges."""

    def derive(
        self,
        bank: str,
        method: str,
        derivation: Derivation,
        *,
        at: datetime,
        claim: Claim | None = None,
    ) -> DerivedReceipt:
        """Store what a method has derived, in one transaction; doing it again changes nothing.

        Units are dropped, stored and filled; then records that no unit makes any more go, with the units that read
        them. Records that were linked by an edge to one that went are to be linked again: their stage goes back, and
        the method gets a `LINK` job. A record that a stored unit closes holds no longer; one that was closed by a unit
        that went, and by no other, holds again.

        Args:
            bank: name.
            method: name.
            derivation: what was derived.
            at: aware.
            claim: in whose name; None writes without one.

        Raises:
            NotFound: no such bank.
            Conflict: the claim is no longer held; nothing was stored.
            EmbedderMismatch: the vectors are another embedder's, or do not fit the bank; nothing was stored.
            InvalidInput: a unit reads nothing, is only wanted and yet makes or closes records, or a record has a source
                that its unit did not read; nothing was stored.
        """

    def drop_derived(self, bank: str, method: str, at: datetime) -> dict[str, int]:
        """Remove all that the method has derived, and its jobs; rows by table."""

    def rebuild(self, bank: str, method: str, at: datetime) -> dict[str, int]:
        """`drop_derived`, and a job for each session where the bank uses the method, in one transaction."""

    def relink(self, bank: str, method: str, at: datetime) -> dict[str, int]:
        """Remove the method's edges and the units that read records, set all stages back and ask for a `LINK` job."""

    def derived_state(self, bank: str) -> DerivedState:
        """What a reader of derived records checks; cheap to read."""

    def units(
        self,
        bank: str,
        method: str,
        kind: str,
        *,
        subject: str | None = None,
        done: bool | None = None,
    ) -> list[Unit]:
        """Units of that kind in order of number; of one subject, or done or not, where given."""

    def units_reading(
        self, bank: str, method: str, kind: str, records: Sequence[int]
    ) -> list[Unit]:
        """Units of that kind that read any of the records, in order of number."""

    def records(self, bank: str, numbers: Sequence[int]) -> dict[int, DerivedRecord]:
        """The records by number; unknown numbers, and other banks', are left out."""

    def docs(self, bank: str, turns: Sequence[str]) -> list[int]:
        """Document numbers of those of the turns that are stored, ascending."""

    def find_records(self, bank: str, ids: Sequence[str]) -> dict[str, DerivedRecord]:
        """The records by id; unknown ids are left out."""

    def record_columns(self, bank: str, method: str, *, after: int = 0) -> RecordColumns:
        """The method's records after number `after` as columns, with vectors of the bank's embedder."""

    def record_changes(self, bank: str, method: str, *, since: int) -> RecordChanges:
        """The method's records that were closed or replaced after that revision; right while the epoch stands."""

    def record_details(self, bank: str, method: str, *, after: int = 0) -> RecordDetails:
        """What the method has noted about its records after number `after`."""

    def sources(self, bank: str, records: Sequence[int]) -> Sources:
        """Which documents these records come from."""

    def unstaged(self, bank: str, method: str, kind: str, *, limit: int) -> list[int]:
        """Numbers of current records of that kind that are to be linked, ascending."""

    def edges(self, bank: str, method: str, kind: str, records: Sequence[int]) -> Edges:
        """The edges of these records."""

    def missing_record_vectors(
        self, bank: str, embedder: str, *, limit: int
    ) -> list[tuple[int, str]]:
        """Number and text of records without a vector of that embedder, in order of number."""

    def put_record_vectors(
        self, bank: str, embedder: str, dimension: int, rows: Mapping[int, bytes]
    ) -> int:
        """Add vectors to records that have none of that embedder; returns how many are new.

        Raises:
            EmbedderMismatch: a vector has another dimension, or the embedder is known with another one;
                nothing was stored.
        """


class LedgerStore(Protocol):
    """What calls to a model leave behind."""

    def record_calls(self, bank: str, calls: Sequence[Call]) -> None:
        """Add rows to the ledger; they survive the death of the process, and perhaps not a power cut."""

    def calls(
        self, bank: str, *, since: datetime | None = None, run: str | None = None, limit: int = 1000
    ) -> list[Call]:
        """Calls from `since` on, in order of time; the earliest `limit` of them."""

    def call_summary(
        self, bank: str, *, since: datetime | None = None, run: str | None = None
    ) -> list[CallSummary]:
        """Calls summed by phase, method and model, in order of them."""

    def reply_get(self, bank: str, key: str) -> str | None:
        """The cached reply of that key."""

    def reply_put(self, bank: str, key: str, value: str, docs: Sequence[int]) -> None:
        """Keep a reply until one of the documents it read is forgotten; one that is kept already stays as it is.

        Where one of the documents has been forgotten meanwhile, nothing is kept.
        """
