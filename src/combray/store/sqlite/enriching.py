"""The store's verbs of `combray.store.enrichment`; each is a transaction and a call."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from combray.model import Call, DerivedRecord, Job
from combray.model.time import to_stored
from combray.model.turn import storable
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
from combray.store.sqlite import banks, claiming, dropping, epochs, jobs, ledger, units
from combray.store.sqlite import records as record_rows
from combray.store.sqlite.connection import Connections


class EnrichmentVerbs:
    """The part of `SqliteStore` that workers and methods use."""

    _connections: Connections

    def set_methods(self, bank: str, methods: Sequence[str], at: datetime) -> tuple[str, ...]:
        """See `JobStore.set_methods`."""
        with self._connections.writing() as connection:
            return jobs.set_methods(connection, banks.find(connection, bank), methods, at)

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
        """See `JobStore.claim`."""
        wanted = claiming.Wanted(
            now=to_stored(now),
            settled=None if settled_before is None else to_stored(settled_before),
            methods=json.dumps(list(methods)),
        )

        def place(connection: sqlite3.Connection) -> tuple[int, int] | None:
            key = None if bank is None else banks.find(connection, bank)
            return claiming.ready(connection, key, wanted)

        # Looking first keeps idle workers from holding up writers.
        with self._connections.reading() as connection:
            if place(connection) is None:
                return None
        with self._connections.writing() as connection:
            found = place(connection)
            until = now + timedelta(seconds=lease_s)
            return None if found is None else claiming.take(connection, found, worker, until)

    def renew(self, bank: str, number: int, worker: str, until: datetime) -> bool:
        """See `JobStore.renew`."""
        with self._connections.writing() as connection:
            held = Claim(job=number, worker=worker)
            return jobs.renew(connection, banks.find(connection, bank), held, until)

    def finish(self, bank: str, number: int, worker: str, version: int) -> bool:
        """See `JobStore.finish`."""
        with self._connections.writing() as connection:
            held = Claim(job=number, worker=worker)
            return jobs.finish(connection, banks.find(connection, bank), held, version)

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
        """See `JobStore.fail`."""
        with self._connections.writing() as connection:
            key, held = banks.find(connection, bank), Claim(job=number, worker=worker)
            return jobs.fail(connection, key, held, (code, storable(error), storable(raw)), due_at)

    def jobs(
        self, bank: str, *, states: Sequence[str] = (), after: int = 0, limit: int = 100
    ) -> list[Job]:
        """See `JobStore.jobs`."""
        with self._connections.reading() as connection:
            return jobs.page(connection, banks.find(connection, bank), states, after, limit)

    def retry_jobs(self, bank: str, numbers: Sequence[int], now: datetime) -> int:
        """See `JobStore.retry_jobs`."""
        with self._connections.writing() as connection:
            return jobs.retry(connection, banks.find(connection, bank), numbers, now)

    def derive(
        self,
        bank: str,
        method: str,
        derivation: Derivation,
        *,
        at: datetime,
        claim: Claim | None = None,
    ) -> DerivedReceipt:
        """See `DerivedStore.derive`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            if claim is not None:
                jobs.check_held(connection, key, method, claim)
            return units.derive(connection, key, method, derivation, at)

    def drop_derived(self, bank: str, method: str, at: datetime) -> dict[str, int]:
        """See `DerivedStore.drop_derived`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            return dict(dropping.drop(connection, key, method, at))

    def rebuild(self, bank: str, method: str, at: datetime) -> dict[str, int]:
        """See `DerivedStore.rebuild`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            removed = dropping.drop(connection, key, method, at)
            if method in key.methods:
                jobs.queue_sessions(connection, key, method, at)
            return dict(removed)

    def relink(self, bank: str, method: str, at: datetime) -> dict[str, int]:
        """See `DerivedStore.relink`."""
        with self._connections.writing() as connection:
            return dict(dropping.relink(connection, banks.find(connection, bank), method, at))

    def derived_state(self, bank: str) -> DerivedState:
        """See `DerivedStore.derived_state`."""
        with self._connections.reading() as connection:
            return record_rows.state(connection, banks.find(connection, bank))

    def units(
        self,
        bank: str,
        method: str,
        kind: str,
        *,
        subject: str | None = None,
        done: bool | None = None,
    ) -> list[Unit]:
        """See `DerivedStore.units`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.units(connection, key, (method, kind), subject, done)

    def units_reading(
        self, bank: str, method: str, kind: str, records: Sequence[int]
    ) -> list[Unit]:
        """See `DerivedStore.units_reading`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.units_reading(connection, key, (method, kind), records)

    def records(self, bank: str, numbers: Sequence[int]) -> dict[int, DerivedRecord]:
        """See `DerivedStore.records`."""
        with self._connections.reading() as connection:
            return record_rows.records(connection, banks.find(connection, bank), numbers)

    def find_records(self, bank: str, ids: Sequence[str]) -> dict[str, DerivedRecord]:
        """See `DerivedStore.find_records`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            numbers = record_rows.numbers_of(connection, key, ids)
            found = record_rows.records(connection, key, numbers)
        return {record.id: record for record in found.values()}

    def record_columns(self, bank: str, method: str, *, after: int = 0) -> RecordColumns:
        """See `DerivedStore.record_columns`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.columns(connection, key, method, int(after))

    def record_changes(self, bank: str, method: str, *, since: int) -> RecordChanges:
        """See `DerivedStore.record_changes`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return epochs.changes(connection, key, method, int(since))

    def record_details(self, bank: str, method: str, *, after: int = 0) -> RecordDetails:
        """See `DerivedStore.record_details`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.details(connection, key, method, int(after))

    def sources(self, bank: str, records: Sequence[int]) -> Sources:
        """See `DerivedStore.sources`."""
        with self._connections.reading() as connection:
            return record_rows.sources(connection, banks.find(connection, bank), records)

    def unstaged(self, bank: str, method: str, kind: str, *, limit: int) -> list[int]:
        """See `DerivedStore.unstaged`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.unstaged(connection, key, (method, str(kind)), limit)

    def edges(self, bank: str, method: str, kind: str, records: Sequence[int]) -> Edges:
        """See `DerivedStore.edges`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.edges(connection, key, (method, kind), records)

    def docs(self, bank: str, turns: Sequence[str]) -> list[int]:
        """See `DerivedStore.docs`."""
        with self._connections.reading() as connection:
            return record_rows.docs(connection, banks.find(connection, bank), turns)

    def missing_record_vectors(
        self, bank: str, embedder: str, *, limit: int
    ) -> list[tuple[int, str]]:
        """See `DerivedStore.missing_record_vectors`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return record_rows.missing_vectors(connection, key, embedder, limit)

    def put_record_vectors(
        self, bank: str, embedder: str, dimension: int, rows: Mapping[int, bytes]
    ) -> int:
        """See `DerivedStore.put_record_vectors`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            return record_rows.put_vectors(connection, key, (embedder, dimension), rows)

    def record_calls(self, bank: str, calls: Sequence[Call]) -> None:
        """See `LedgerStore.record_calls`."""
        with self._connections.noting() as connection:
            ledger.add(connection, banks.find(connection, bank), calls)

    def calls(
        self, bank: str, *, since: datetime | None = None, run: str | None = None, limit: int = 1000
    ) -> list[Call]:
        """See `LedgerStore.calls`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return ledger.page(connection, key, ledger.part_of(since, run), limit)

    def call_summary(
        self, bank: str, *, since: datetime | None = None, run: str | None = None
    ) -> list[CallSummary]:
        """See `LedgerStore.call_summary`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return ledger.summary(connection, key, ledger.part_of(since, run))

    def reply_get(self, bank: str, key: str) -> str | None:
        """See `LedgerStore.reply_get`."""
        with self._connections.reading() as connection:
            return ledger.reply(connection, banks.find(connection, bank), key)

    def reply_put(self, bank: str, key: str, value: str, docs: Sequence[int]) -> None:
        """See `LedgerStore.reply_put`."""
        with self._connections.noting() as connection:
            ledger.put_reply(connection, banks.find(connection, bank), key, storable(value), docs)
