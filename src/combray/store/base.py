"""What a store must do: rows and atomicity, no retrieval policy.

Every call but the listing of banks names a bank, and the bank leads every key. A write is one transaction
that is durable when the call returns, and applies wholly or not at all. Documents are numbered per bank: `doc`
is an integer that grows with every stored turn and is never used twice; postings, columns and vectors speak of
documents, the outside speaks of turn ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from combray.model import Bank, Filters, Session, Turn
from combray.store.enrichment import DerivedStore, JobStore, LedgerStore


@dataclass(frozen=True, slots=True, kw_only=True)
class BankState:
    """What a reader checks before it trusts a derived copy; cheap to read.

    Attributes:
        revision: grows with every commit to the bank's turns.
        erase_epoch: grows whenever rows that were there before go or change: a deletion, vectors added to
            turns that had none, another embedder or analyser. While it stands, new rows are all that a
            derived copy lacks, and their documents are higher than any it has.
        embedder: id of the embedder whose vectors count, or None.
        dimension: of its vectors, 0 without.
        n_turns: stored turns.
        n_terms: sum of the turns' `n_terms`.
    """

    revision: int
    erase_epoch: int
    embedder: str | None
    dimension: int
    n_turns: int
    n_terms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorRow:
    """The vectors of one turn.

    Attributes:
        vector: little-endian float16, d of them.
        tokens: packed sign bits, d/8 bytes a token (empty without token vectors).
    """

    vector: bytes
    tokens: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn with everything that commits with it.

    Attributes:
        turn: its `position` is ignored: the store gives the next one of the session.
        postings: for each kind (``term``, ``key``, …) the number of occurrences of each term.
        n_terms: length of the turn for BM25: the sum of its ``term`` counts.
        question: whether it asks.
        vectors: None while the bank has no embedder.
    """

    turn: Turn
    postings: Mapping[str, Mapping[str, int]]
    n_terms: int
    question: bool = False
    vectors: VectorRow | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PutReceipt:
    """What a write did, in the order of the rows.

    Attributes:
        ids: of all rows.
        stored: those that are new.
        known: those that were there before, with the same content.
        revision: of the bank after the write.
    """

    ids: tuple[str, ...]
    stored: tuple[str, ...]
    known: tuple[str, ...]
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetReceipt:
    """What a deletion removed.

    Attributes:
        bank: name.
        turns: ids of the removed turns, sorted.
        rows: removed rows by table.
        ids_sha256: of the newline-joined sorted turn ids: a proof that can be kept without the ids.
        at: aware.
        erased: whether the bytes are gone from the file too; False while a reader still holds an
            older view (`Store.erase` finishes it).
    """

    bank: str
    turns: tuple[str, ...]
    rows: Mapping[str, int]
    ids_sha256: str
    at: datetime
    erased: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Turns as columns, in order of `doc`; what ranking needs to know of every turn.

    Attributes:
        doc: shape (n,), ascending.
        session: shape (n,), the store's number of the session.
        position: shape (n,).
        speaker: shape (n,), index into `speakers`.
        role: shape (n,), index into `roles`.
        said_at: shape (n,), microseconds since 1970, UTC.
        expires_at: shape (n,), likewise; the largest int64 where the turn never expires.
        n_terms: shape (n,).
        question: shape (n,).
        speakers: names.
        roles: names.
        sessions: name by the store's number.
    """

    doc: NDArray[np.int64]
    session: NDArray[np.int64]
    position: NDArray[np.int64]
    speaker: NDArray[np.int32]
    role: NDArray[np.int32]
    said_at: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    n_terms: NDArray[np.int32]
    question: NDArray[np.bool_]
    speakers: tuple[str, ...]
    roles: tuple[str, ...]
    sessions: Mapping[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Rows of the postings table for some terms of one kind, in order of term and doc.

    Attributes:
        term: shape (m,), index into the terms that were asked for.
        doc: shape (m,).
        tf: shape (m,).
    """

    term: NDArray[np.int32]
    doc: NDArray[np.int64]
    tf: NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors:
    """Vectors of one embedder, in order of doc.

    Attributes:
        doc: shape (n,), ascending.
        vectors: shape (n, d).
        tokens: packed sign bits of all tokens, one row a token, shape (sum t_i, d/8).
        offsets: shape (n + 1,): the tokens of row i are ``tokens[offsets[i]:offsets[i + 1]]``.
    """

    doc: NDArray[np.int64]
    vectors: NDArray[np.float16]
    tokens: NDArray[np.uint8]
    offsets: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which turns to delete: exactly one of the three.

    Attributes:
        turns: ids; an unknown one is an error.
        session: name.
        whole_bank: the bank itself, with everything in it.
    """

    turns: Sequence[str] = ()
    session: str | None = None
    whole_bank: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something `doctor` noticed.

    Attributes:
        severity: ``ok``, ``warning`` or ``error``.
        what: one sentence.
        n: how many rows it concerns.
        remedy: the command that mends it, if one does.
    """

    severity: str
    what: str
    n: int = 0
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """How far a session has come, for the alignment of a resent transcript.

    Attributes:
        n_turns: stored turns.
        head: content keys of its first turns, by position.
        counts: how often each asked-for content occurs in it.
        n_lost: positions that were given after its last stored turn; their turns were forgotten.
    """

    n_turns: int
    head: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    n_lost: int = 0


class Store(JobStore, DerivedStore, LedgerStore, Protocol):
    """Durable rows. All methods raise `StoreError` (or a subclass) where the database refuses."""

    def close(self) -> None:
        """Release files and connections; a second call does nothing."""

    # Banks

    def create_bank(self, bank: Bank) -> Bank:
        """Store a new, empty bank.

        Raises:
            Conflict: a bank of that name exists.
        """

    def bank(self, name: str) -> Bank:
        """The bank of that name.

        Raises:
            NotFound: there is none.
        """

    def banks(self, *, after: str = "", limit: int = 100) -> list[Bank]:
        """Banks in order of name, those after `after`."""

    def state(self, bank: str) -> BankState:
        """The bank's revision and what goes with it.

        Raises:
            NotFound: no such bank.
        """

    # Writing

    def known(self, bank: str, turns: Sequence[str]) -> dict[str, str]:
        """Content key by id, of those of the given turn ids that are stored."""

    def session_state(self, bank: str, session: str, contents: Sequence[str]) -> SessionState:
        """How far the session has come; zeros where it does not exist yet.

        Args:
            bank: name.
            session: name.
            contents: content keys to count; as many head turns are returned.
        """

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
        """Store the rows whose ids are new, with postings, vectors and counters, in one transaction.

        An id that comes twice in the rows is new the first time and known the second. Where nothing is new the
        revision stays. Where something is, each method of the bank gets a `combray.store.derived.TURNS` job for the session.

        Args:
            bank: name.
            session: made with its first turn; its title, source, start and metadata fill what the stored
                one lacks.
            rows: turns of that session, in order.
            if_session_turns: the number of turns the session must still have.
            embedder: what made the vectors, where given: must be the bank's, which another process may
                have changed.
            analyser: what made the postings, likewise.

        Raises:
            NotFound: no such bank.
            Conflict: a row's id is stored with other content, the session has other than
                `if_session_turns` turns, or the bank has another analyser; nothing was stored.
            EmbedderMismatch: the vectors are another embedder's, or do not fit the bank; nothing was stored.
            InvalidInput: a row is of another session, has a naive time, or `n_terms` is not the sum of its
                ``term`` counts; nothing was stored.
            StoreFull: no space; nothing was stored.
        """

    # Reading

    def sessions(self, bank: str, *, after: str = "", limit: int = 100) -> list[Session]:
        """Sessions in order of name, those after `after`."""

    def turns(self, bank: str, ids: Sequence[str]) -> list[Turn]:
        """The turns of those ids, in the order asked for.

        Raises:
            NotFound: an id is unknown in this bank.
        """

    def turns_by_doc(self, bank: str, docs: Sequence[int]) -> dict[int, Turn]:
        """Turns by document number; unknown numbers, and other banks', are left out."""

    def scan(
        self,
        bank: str,
        *,
        session: str | None = None,
        after: int = 0,
        limit: int = 1000,
    ) -> list[tuple[int, Turn]]:
        """Document number and turn, in order of document number, those after `after`."""

    def matching(self, bank: str, filters: Filters) -> NDArray[np.int64]:
        """Document numbers of the turns that satisfy all filters, ascending."""

    def columns(self, bank: str, *, after: int = 0) -> Columns:
        """The turns after document `after` as columns."""

    def postings(self, bank: str, kind: str, terms: Sequence[str]) -> Postings:
        """The postings of the terms; document frequencies are counts of its rows."""

    def terms(self, bank: str, kind: str, docs: Sequence[int]) -> dict[int, dict[str, int]]:
        """For each document its terms of that kind with their counts."""

    def vectors(self, bank: str, embedder: str, *, after: int = 0) -> Vectors:
        """The vectors of that embedder, of documents after `after`; none of an embedder unknown in the bank."""

    # Vectors of another model

    def put_vectors(
        self, bank: str, embedder: str, dimension: int, rows: Mapping[int, VectorRow]
    ) -> int:
        """Add vectors of an embedder beside those in use; returns how many are new.

        Documents that have some already, or have been forgotten meanwhile, are passed over.

        Raises:
            EmbedderMismatch: a row has another dimension, or the embedder is known with another one;
                nothing was stored.
        """

    def missing_vectors(self, bank: str, embedder: str, *, limit: int) -> list[tuple[int, Turn]]:
        """Turns without vectors of that embedder, in order of document number."""

    def use_embedder(self, bank: str, embedder: str | None, dimension: int) -> None:
        """Make that embedder's vectors the ones in use and drop those of any other; None drops all.

        Edges and stages of derived records stay: `DerivedStore.relink` makes them anew.

        Raises:
            Conflict: a turn or a derived record has no vector of it yet; nothing was changed.
        """

    # Postings of another analyser

    def replace_analysis(
        self, bank: str, analyser: str, rows: Mapping[int, TurnRow], *, final: bool
    ) -> None:
        """Replace the analyser's postings of those documents; `final` makes its postings the ones in use.

        Postings of an analyser that is not the bank's wait beside those in use, which readers go on to see
        until the final call switches and drops them. Documents that have been forgotten meanwhile are passed over.

        Raises:
            Conflict: `final`, and a turn has not been analysed by it yet; nothing was changed.
        """

    def missing_analysis(self, bank: str, analyser: str, *, limit: int) -> list[tuple[int, Turn]]:
        """Turns without postings of that analyser, in order of document number."""

    # Deleting and health

    def forget(self, bank: str, selection: Selection, at: datetime) -> ForgetReceipt:
        """Delete the turns and everything that hangs on them, and erase their bytes from the file.

        Units that read one of them go, with the records that no other unit makes; cached replies that read one go;
        what jobs of their sessions remember of errors goes. A session that is left gets a job for every method of the
        bank, and a method that lost records a `combray.store.derived.LINK` job.

        Raises:
            NotFound: the bank, the session or one of the turns does not exist; nothing was removed.
            InvalidInput: the selection names nothing, or more than one thing.
        """

    def erase(self) -> bool:
        """Finish pending erasures; whether none is pending any more."""

    def check(self, bank: str | None = None, *, now: datetime | None = None) -> list[Finding]:
        """Look for damage, for derived rows that do not fit their turns, and for jobs that do not go on.

        Args:
            bank: this one; all, and the file, where not given.
            now: aware; leases are not looked at where not given.
        """
