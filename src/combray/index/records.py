"""Derived records of a bank as arrays: number, kind, vector and whether it holds, extended as the method derives more.

Rows stand in order of record number, so a view of a grown bank is the old one with rows appended. A record that is closed
or replaced keeps its row, which is current no longer, until the store begins another epoch. Which turns a record comes from
is read from the store for the few records that matter to a query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from combray.index.kept import Kept, Sized
from combray.index.view import Buffer, rows_of
from combray.model import RecordKind
from combray.store.base import Store
from combray.store.derived import DerivedState, RecordChanges, RecordColumns

KINDS = tuple(RecordKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordView:
    """The records of one method in a bank; those that hold no longer too.

    Attributes:
        state: revision and epoch that the view was read at.
        number: ascending, shape (n,).
        kind: index into `KINDS`, shape (n,).
        current: whether the record holds, shape (n,); not for one that is closed, nor for one that has gone since.
        vectors: unit norm, shape (n, d); zero rows where a record has none.
    """

    state: DerivedState
    number: NDArray[np.int64]
    kind: NDArray[np.int8]
    current: NDArray[np.bool_]
    vectors: NDArray[np.float32]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.number)

    def of_kind(self, kind: RecordKind) -> NDArray[np.int64]:
        """Rows of the current records of that kind, ascending."""
        return np.flatnonzero((self.kind == KINDS.index(kind)) & self.current)

    def all_of_kind(self, kind: RecordKind) -> NDArray[np.int64]:
        """Rows of that kind, whether they hold or not, ascending."""
        return np.flatnonzero(self.kind == KINDS.index(kind))

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of the records, -1 for those the view does not hold; same shape."""
        return rows_of(self.number, numbers)

    @property
    def n_bytes(self) -> int:
        """Memory held by the arrays, in bytes."""
        return sum(a.nbytes for a in (self.number, self.kind, self.current, self.vectors))


class _Grower:
    """Appends columns into buffers with spare capacity."""

    def __init__(self, dimension: int) -> None:
        self._number = Buffer(np.int64)
        self._kind = Buffer(np.int8)
        self._current = np.zeros(0, dtype=np.bool_)
        self._vectors = Buffer(np.float32, dimension)

    @property
    def last(self) -> int:
        numbers = self._number.rows
        return int(numbers[-1]) if len(numbers) else 0

    def retire(self, changes: RecordChanges) -> None:
        numbers = self._number.rows
        changed = np.concatenate([changes.closed, changes.gone])
        # One that came and went since the last look has no row.
        changed = changed[changed <= self.last]
        at = np.searchsorted(numbers, changed)
        # A new array: views that were handed out hold the old one.
        self._current = self._current.copy()
        self._current[at[numbers[at] == changed]] = False

    def extend(self, columns: RecordColumns) -> None:
        self._current = np.concatenate([self._current, columns.current])
        self._number.append(columns.number)
        self._kind.append(columns.kind)
        self._vectors.append(columns.vector.astype(np.float32))

    def view(self, state: DerivedState) -> RecordView:
        return RecordView(
            state=state,
            number=self._number.rows,
            kind=self._kind.rows,
            current=self._current,
            vectors=self._vectors.rows,
        )


G = TypeVar("G")
V = TypeVar("V", bound=Sized)


@dataclass(frozen=True, slots=True)
class Grown(Generic[G, V]):
    """A view, and what it grows by."""

    grower: G
    view: V

    @property
    def n_bytes(self) -> int:
        """Memory held by the view, in bytes."""
        return self.view.n_bytes


class MethodViews(Generic[G, V]):
    """The most recently used views of what methods have derived from banks.

    Args:
        refreshed: gives the view of a bank and method as it must be now, from the one held before.
        max_bytes: bound on the memory of all views; the view in use is always kept.
    """

    def __init__(
        self,
        refreshed: Callable[[tuple[str, str], Grown[G, V] | None], Grown[G, V]],
        max_bytes: int,
    ) -> None:
        self._kept: Kept[tuple[str, str], Grown[G, V]] = Kept(refreshed, max_bytes)

    def view(self, bank: str, method: str) -> V:
        """The method's records in the bank as they are now.

        Raises:
            NotFound: no such bank.
        """
        return self._kept.get((bank, method)).view

    def drop(self, bank: str) -> None:
        """Forget the views of a bank."""
        self._kept.drop(lambda key: key[0] == bank)

    def clear(self) -> None:
        """Forget every view."""
        self._kept.drop(lambda _: True)


_Grown = Grown[_Grower, RecordView]


class RecordCache(MethodViews[_Grower, RecordView]):
    """The most recently used record views of a store's banks.

    Args:
        store: where the records are.
        max_bytes: bound on the memory of all views; the view in use is always kept.
    """

    def __init__(self, store: Store, max_bytes: int) -> None:
        self._store = store
        super().__init__(self._refreshed, max_bytes)

    def _refreshed(self, key: tuple[str, str], old: _Grown | None) -> _Grown:
        state = self._store.derived_state(key[0])
        if old is not None and old.view.state == state:
            return old
        kept = old is not None and (old.view.state.epoch, old.view.state.dimension) == (
            state.epoch,
            state.dimension,
        )
        if old is not None and kept:
            grower = old.grower
            grower.retire(self._store.record_changes(*key, since=old.view.state.revision))
        else:
            grower = _Grower(state.dimension)
        grower.extend(self._store.record_columns(*key, after=grower.last))
        return Grown(grower, grower.view(state))
