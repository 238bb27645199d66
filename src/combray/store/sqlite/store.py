"""`SqliteStore`: the store's verbs over one file; each is a transaction and a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from combray.errors import Conflict, EmbedderMismatch, NotOurFile, StoreError
from combray.model import (
    Bank,
    Filters,
    Session,
    Turn,
)
from combray.store.base import (
    BankState,
    Columns,
    Finding,
    ForgetReceipt,
    Postings,
    PutReceipt,
    Selection,
    SessionState,
    TurnRow,
    VectorRow,
    Vectors,
)
from combray.store.migrate import shipped
from combray.store.sqlite import (
    banks,
    checking,
    columns,
    deleting,
    reading,
    reindexing,
    writing,
)
from combray.store.sqlite.connection import Connections
from combray.store.sqlite.enriching import EnrichmentVerbs
from combray.store.sqlite.file import Synchronous, checked_path

ERASE_WAIT_MS = 1_000
"""How long `forget` waits for readers that keep deleted bytes in the log, before it says so."""


class SqliteStore(EnrichmentVerbs):
    """Implements `combray.store.base.Store` in one SQLite file, for several threads and processes.

    Args:
        path: of the file, which is made if it is missing; its folder must exist.
        synchronous: ``FULL``: a commit survives a power cut; ``NORMAL``: only the death of the process,
            and is three times faster.

    Raises:
        NotOurFile: there is something else at the path, or it is damaged; it was not touched.
        MigrationError: the file was written by a newer version; it was not touched.
        StoreError: the path cannot be read or written.
    """

    def __init__(self, path: str | Path, *, synchronous: Synchronous = "FULL") -> None:
        self.path = checked_path(path)
        self._connections = Connections(self.path, synchronous, shipped("sqlite"))
        # A crash may have left an erasure unfinished; where it still cannot be done, `check` says so.
        with suppress(StoreError):
            self._erase(wait_ms=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release files and connections; a second call does nothing."""
        self._connections.close()

    def create_bank(self, bank: Bank) -> Bank:
        """See `Store.create_bank`."""
        with self._connections.writing() as connection:
            banks.create(connection, bank)
            return banks.read(connection, bank.name)

    def bank(self, name: str) -> Bank:
        """See `Store.bank`."""
        with self._connections.reading() as connection:
            return banks.read(connection, name)

    def banks(self, *, after: str = "", limit: int = 100) -> list[Bank]:
        """See `Store.banks`."""
        with self._connections.reading() as connection:
            return banks.page(connection, after, limit)

    def state(self, bank: str) -> BankState:
        """See `Store.state`."""
        with self._connections.reading() as connection:
            return banks.state(connection, bank)

    def known(self, bank: str, turns: Sequence[str]) -> dict[str, str]:
        """See `Store.known`."""
        with self._connections.reading() as connection:
            return writing.known(connection, banks.find(connection, bank), turns)

    def session_state(self, bank: str, session: str, contents: Sequence[str]) -> SessionState:
        """See `Store.session_state`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return reading.session_state(connection, key, session, contents)

    def put(
        self,
        bank: str,
        session: Session,
        rows: Sequence[TurnRow],
        *,
        if_session_turns: int | None = None,
        embedder: str | None = None,
        analyser: str | None = None,
    ) -> PutReceipt:
        """See `Store.put`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            if embedder is not None and embedder != key.embedder:
                raise EmbedderMismatch(bank, f"{key.embedder}/{key.dimension}", embedder)
            if analyser is not None and analyser != key.analyser:
                raise Conflict(
                    f"bank {bank!r} is analysed by {key.analyser}, not by {analyser}; nothing was stored."
                )
            if if_session_turns is not None:
                n_turns = reading.session_state(connection, key, session.name, ()).n_turns
                if n_turns != if_session_turns:
                    raise Conflict(
                        f"session {session.name!r} has {n_turns} turns, not {if_session_turns}; "
                        "nothing was stored. Read it again and repeat."
                    )
            return writing.put(connection, key, session, rows)

    def sessions(self, bank: str, *, after: str = "", limit: int = 100) -> list[Session]:
        """See `Store.sessions`."""
        with self._connections.reading() as connection:
            return reading.sessions(connection, banks.find(connection, bank), after, limit)

    def turns(self, bank: str, ids: Sequence[str]) -> list[Turn]:
        """See `Store.turns`."""
        with self._connections.reading() as connection:
            return reading.turns(connection, banks.find(connection, bank), ids)

    def turns_by_doc(self, bank: str, docs: Sequence[int]) -> dict[int, Turn]:
        """See `Store.turns_by_doc`."""
        with self._connections.reading() as connection:
            return reading.turns_by_doc(connection, banks.find(connection, bank), docs)

    def scan(
        self, bank: str, *, session: str | None = None, after: int = 0, limit: int = 1000
    ) -> list[tuple[int, Turn]]:
        """See `Store.scan`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return reading.scan(connection, key, session, (int(after), limit))

    def matching(self, bank: str, filters: Filters) -> NDArray[np.int64]:
        """See `Store.matching`."""
        with self._connections.reading() as connection:
            return reading.matching(connection, banks.find(connection, bank), filters)

    def columns(self, bank: str, *, after: int = 0) -> Columns:
        """See `Store.columns`."""
        with self._connections.reading() as connection:
            return columns.columns(connection, banks.find(connection, bank), int(after))

    def postings(self, bank: str, kind: str, terms: Sequence[str]) -> Postings:
        """See `Store.postings`."""
        with self._connections.reading() as connection:
            return columns.postings(connection, banks.find(connection, bank), kind, terms)

    def terms(self, bank: str, kind: str, docs: Sequence[int]) -> dict[int, dict[str, int]]:
        """See `Store.terms`."""
        with self._connections.reading() as connection:
            return columns.terms(connection, banks.find(connection, bank), kind, docs)

    def vectors(self, bank: str, embedder: str, *, after: int = 0) -> Vectors:
        """See `Store.vectors`."""
        with self._connections.reading() as connection:
            return columns.vectors(connection, banks.find(connection, bank), embedder, int(after))

    def put_vectors(
        self, bank: str, embedder: str, dimension: int, rows: Mapping[int, VectorRow]
    ) -> int:
        """See `Store.put_vectors`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            return reindexing.put_vectors(connection, key, (embedder, dimension), rows)

    def missing_vectors(self, bank: str, embedder: str, *, limit: int) -> list[tuple[int, Turn]]:
        """See `Store.missing_vectors`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return reindexing.missing_vectors(connection, key, embedder, limit)

    def use_embedder(self, bank: str, embedder: str | None, dimension: int) -> None:
        """See `Store.use_embedder`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            reindexing.use_embedder(connection, key, embedder, dimension)

    def replace_analysis(
        self, bank: str, analyser: str, rows: Mapping[int, TurnRow], *, final: bool
    ) -> None:
        """See `Store.replace_analysis`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            edition = reindexing.replace_analysis(connection, key, analyser, rows)
            if final:
                reindexing.use_analysis(connection, key, analyser, edition)

    def missing_analysis(self, bank: str, analyser: str, *, limit: int) -> list[tuple[int, Turn]]:
        """See `Store.missing_analysis`."""
        with self._connections.reading() as connection:
            key = banks.find(connection, bank)
            return reindexing.missing_analysis(connection, key, analyser, limit)

    def forget(self, bank: str, selection: Selection, at: datetime) -> ForgetReceipt:
        """See `Store.forget`."""
        with self._connections.writing() as connection:
            key = banks.find(connection, bank)
            receipt = deleting.forget(connection, key, selection, at)
        # The deletion is committed; that its bytes could not be erased is what the receipt says.
        with suppress(StoreError):
            receipt = replace(receipt, erased=self._erase(wait_ms=ERASE_WAIT_MS))
        return receipt

    def erase(self) -> bool:
        """See `Store.erase`."""
        return self._erase(wait_ms=ERASE_WAIT_MS)

    def check(self, bank: str | None = None, *, now: datetime | None = None) -> list[Finding]:
        """See `Store.check`."""
        try:
            with self._connections.reading() as connection:
                return checking.check(connection, bank, now)
        except NotOurFile as damage:
            return [Finding(severity="error", what=str(damage), n=1, remedy="put back a copy")]

    def _erase(self, *, wait_ms: int) -> bool:
        with self._connections.reading() as connection:
            if deleting.pending(connection) is None:
                return True
        with self._connections.erasing(wait_ms) as erased:
            if erased is None:
                return False
            erased.execute("DELETE FROM erasure").close()
        return True
