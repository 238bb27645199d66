"""Turns behind the rows of a view, and the turns beside them."""

from __future__ import annotations

from collections.abc import Iterable

from combray.methods.base import Evidence
from combray.model import Turn
from combray.store.base import Store


class Links:
    """Reads turns by row, several at a time, and keeps them for one recall.

    A neighbour that the query may not see (expired, or outside its filters) is no neighbour.
    """

    def __init__(self, store: Store, evidence: Evidence) -> None:
        self._store = store
        self._view = evidence.view
        self._allowed = evidence.allowed
        self._turns: dict[int, Turn] = {}
        self._rows: dict[str, int] = {}

    def read(self, rows: Iterable[int]) -> None:
        """Fetch the turns of the rows that are not here yet; those deleted meanwhile stay away."""
        wanted = {row for row in rows if row >= 0 and row not in self._turns}
        docs = {int(self._view.columns.doc[row]): row for row in wanted}
        for doc, turn in self._store.turns_by_doc(self._view.bank, list(docs)).items():
            self._turns[docs[doc]] = turn
            self._rows[turn.id] = docs[doc]

    def turn(self, row: int) -> Turn | None:
        """The turn of that row, or None where it is gone or there is no such row."""
        if row < 0:
            return None
        if row not in self._turns:
            self.read([row])
        return self._turns.get(row)

    def previous(self, turn: Turn) -> Turn | None:
        """The turn before it in its session."""
        return self._neighbour(int(self._view.previous[self._rows[turn.id]]))

    def next(self, turn: Turn) -> Turn | None:
        """The turn after it in its session."""
        return self._neighbour(int(self._view.next[self._rows[turn.id]]))

    def _neighbour(self, row: int) -> Turn | None:
        seen = row >= 0 and (self._allowed is None or bool(self._allowed[row]))
        return self.turn(row) if seen else None
