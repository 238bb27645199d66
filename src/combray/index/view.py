"""A bank as arrays: what ranking needs of every turn, kept in memory and extended as the bank grows.

A `BankView` is a snapshot: its arrays do not change. Rows stand in order of document number, so a view of a
grown bank is the old one with rows appended; `Grower` appends into buffers with spare capacity and hands out
slices, so that extending costs what is new and not what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from combray.store.base import BankState, Columns, Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class BankView:
    """All turns of a bank, one row a turn, in order of document number.

    Attributes:
        bank: name.
        state: revision and epoch that the view was read at.
        columns: the turns; ``n`` rows.
        session: index of the row's session into ``session_names``, shape (n,).
        session_names: names.
        previous: row of the turn before it in its session, or -1, shape (n,).
        next: row of the turn after it, or -1, shape (n,).
        vectors: unit norm, shape (n, d); zero rows where `embedded` is False; None without vectors.
        embedded: whether the row has a vector, shape (n,).
        tokens: packed sign bits of all token vectors, shape (T, d/8).
        offsets: tokens of row i are ``tokens[offsets[i]:offsets[i + 1]]``, shape (n + 1,).
    """

    bank: str
    state: BankState
    columns: Columns
    session: NDArray[np.int32]
    session_names: tuple[str, ...]
    previous: NDArray[np.int64]
    next: NDArray[np.int64]
    vectors: NDArray[np.float32] | None
    embedded: NDArray[np.bool_]
    tokens: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.columns.doc)

    @property
    def n_sessions(self) -> int:
        """Number of sessions."""
        return len(self.session_names)

    def rows(self, docs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the documents, -1 for those the view does not hold; same shape."""
        return rows_of(self.columns.doc, docs)

    @property
    def n_bytes(self) -> int:
        """Memory held by the arrays, in bytes."""
        held: list[NDArray[Any]] = [getattr(self.columns, name) for name in _COLUMN_TYPES]
        held += [self.session, self.previous, self.next, self.embedded, self.tokens, self.offsets]
        if self.vectors is not None:
            held.append(self.vectors)
        return sum(array.nbytes for array in held)


_COLUMN_TYPES: Mapping[str, type] = {
    "doc": np.int64,
    "session": np.int64,
    "position": np.int64,
    "speaker": np.int32,
    "role": np.int32,
    "said_at": np.int64,
    "expires_at": np.int64,
    "n_terms": np.int32,
    "question": np.bool_,
}


def rows_of(held: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the wanted numbers stand among those held, which ascend; -1 for none, same shape as those wanted."""
    if not len(held):
        return np.full(len(wanted), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(held, wanted), len(held) - 1)
    return np.where(held[at] == wanted, at, -1)


class Buffer:
    """Rows with spare capacity; what was handed out is never written again."""

    def __init__(self, dtype: type, width: int | None = None) -> None:
        self._n = 0
        self._rows: NDArray[Any] = np.zeros((0,) if width is None else (0, width), dtype=dtype)

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end; costs what is new, but for a copy now and then."""
        needed = self._n + len(rows)
        if needed > len(self._rows):
            grown = np.zeros(
                (max(needed, len(self._rows) * 3 // 2), *self._rows.shape[1:]), self._rows.dtype
            )
            grown[: self._n] = self._rows[: self._n]
            self._rows = grown
        self._rows[self._n : needed] = rows
        self._n = needed

    @property
    def rows(self) -> NDArray[Any]:
        """What was appended, shape (n,) or (n, width)."""
        return self._rows[: self._n]


class Grower:
    """Builds views of one bank, each from the one before.

    Not safe for threads by itself: `ViewCache` holds one lock a bank around it.
    """

    def __init__(self, bank: str, dimension: int) -> None:
        self._bank = bank
        self._dimension = dimension
        self._columns = {name: Buffer(dtype) for name, dtype in _COLUMN_TYPES.items()}
        self._session = Buffer(np.int32)
        self._vectors = Buffer(np.float32, dimension) if dimension else None
        self._embedded = Buffer(np.bool_)
        self._tokens = Buffer(np.uint8, dimension // 8)
        self._lengths = Buffer(np.int64)
        self._names: dict[str, dict[str, int]] = {"speaker": {}, "role": {}}
        self._session_at: dict[int, int] = {}
        self._session_names: list[str] = []
        self._last: dict[int, int] = {}
        self._previous: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._next: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    @property
    def last_doc(self) -> int:
        """The highest document number held, 0 when empty."""
        docs = self._columns["doc"].rows
        return int(docs[-1]) if len(docs) else 0

    def extend(self, new: Columns, vectors: Vectors | None) -> None:
        """Append turns, all of them later documents than any held, and their vectors."""
        first = len(self._columns["doc"].rows)
        for name in _COLUMN_TYPES:
            rows = getattr(new, name)
            if name in self._names:
                rows = self._renamed(name, rows, getattr(new, name + "s"))
            self._columns[name].append(rows)
        self._session.append(self._session_indices(new))
        self._append_vectors(new, vectors)
        self._link(first)

    def view(self, state: BankState) -> BankView:
        """A snapshot of what is held."""
        offsets = np.zeros(len(self._lengths.rows) + 1, dtype=np.int64)
        np.cumsum(self._lengths.rows, out=offsets[1:])
        columns = Columns(
            **{name: buffer.rows for name, buffer in self._columns.items()},
            speakers=tuple(self._names["speaker"]),
            roles=tuple(self._names["role"]),
            sessions={},
        )
        return BankView(
            bank=self._bank,
            state=state,
            columns=columns,
            session=self._session.rows,
            session_names=tuple(self._session_names),
            previous=self._previous,
            next=self._next,
            vectors=None if self._vectors is None else self._vectors.rows,
            embedded=self._embedded.rows,
            tokens=self._tokens.rows,
            offsets=offsets,
        )

    def _renamed(
        self, column: str, indices: NDArray[np.int32], names: tuple[str, ...]
    ) -> NDArray[np.int32]:
        held = self._names[column]
        table = np.array([held.setdefault(name, len(held)) for name in names], dtype=np.int32)
        return table[indices] if len(table) else indices

    def _session_indices(self, new: Columns) -> NDArray[np.int32]:
        unique, inverse = np.unique(new.session, return_inverse=True)
        table = np.empty(len(unique), dtype=np.int32)
        for i, number in enumerate(unique.tolist()):
            if number not in self._session_at:
                self._session_at[number] = len(self._session_names)
                self._session_names.append(new.sessions[number])
            table[i] = self._session_at[number]
        return table[inverse]

    def _append_vectors(self, new: Columns, vectors: Vectors | None) -> None:
        n = len(new.doc)
        embedded = np.zeros(n, dtype=np.bool_)
        lengths = np.zeros(n, dtype=np.int64)
        matrix = np.zeros((n, self._dimension), dtype=np.float32)
        if vectors is not None and n and len(vectors.doc):
            at = np.minimum(np.searchsorted(new.doc, vectors.doc), n - 1)
            held = new.doc[at] == vectors.doc
            matrix[at[held]] = vectors.vectors[held]
            embedded[at[held]] = True
            token_counts = np.diff(vectors.offsets)
            lengths[at[held]] = token_counts[held]
            self._tokens.append(vectors.tokens[np.repeat(held, token_counts)])
        if self._vectors is not None:
            self._vectors.append(matrix)
        self._embedded.append(embedded)
        self._lengths.append(lengths)

    def _link(self, first: int) -> None:
        """Set previous and next for the rows from `first` on, and for the rows they follow."""
        n = len(self._columns["doc"].rows)
        previous, following = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        session, said_at = self._session.rows, self._columns["said_at"].rows
        position = self._columns["position"].rows
        late = False
        if n - first <= 256:
            previous[:first], following[:first] = self._previous, self._next
            for row in range(first, n):
                before = self._last.get(int(session[row]), -1)
                if before >= 0:
                    late |= bool(said_at[row] < said_at[before])
                    previous[row], following[before] = before, row
                self._last[int(session[row])] = row
        if late or n - first > 256:
            order = np.lexsort((position, said_at, session))
            joined = session[order[1:]] == session[order[:-1]]
            previous[:], following[:] = -1, -1
            previous[order[1:][joined]] = order[:-1][joined]
            following[order[:-1][joined]] = order[1:][joined]
            ends = order[np.flatnonzero(following[order] == -1)]
            self._last = dict(zip(session[ends].tolist(), ends.tolist(), strict=True))
        self._previous, self._next = previous, following
