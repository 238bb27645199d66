"""Views of banks, kept within a bound of memory and brought up to date when a bank has changed.

Every read asks the store for the bank's revision, so a write of another process is seen at the next recall; a
deletion (a new erase epoch) or another embedder drops the view and reads it anew.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from combray.index.view import BankView, Grower
from combray.store.base import BankState, Store

DEFAULT_CACHE_BYTES = 1 << 30
"""Room for the views of all banks together: about 350,000 turns with vectors and token bits."""


@dataclass(slots=True)
class _Entry:
    lock: threading.Lock = field(default_factory=threading.Lock)
    grower: Grower | None = None
    view: BankView | None = None


class ViewCache:
    """The most recently used views of a store's banks.

    Args:
        store: where the turns are.
        max_bytes: bound on the memory of all views; the view in use is always kept.
    """

    def __init__(self, store: Store, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def view(self, bank: str) -> BankView:
        """The bank as it is now.

        Raises:
            NotFound: no such bank.
        """
        state = self._store.state(bank)
        with self._lock:
            entry = self._entries.setdefault(bank, _Entry())
            self._entries.move_to_end(bank)
        with entry.lock:
            if entry.view is None or entry.view.state != state:
                entry.view = self._refreshed(bank, entry, state)
            view = entry.view
        self._shrink(bank)
        return view

    def drop(self, bank: str) -> None:
        """Forget the view of a bank."""
        with self._lock:
            self._entries.pop(bank, None)

    def clear(self) -> None:
        """Forget every view."""
        with self._lock:
            self._entries.clear()

    @property
    def n_bytes(self) -> int:
        """Memory held by all views, in bytes."""
        with self._lock:
            views = [entry.view for entry in self._entries.values()]
        return sum(view.n_bytes for view in views if view is not None)

    def _refreshed(self, bank: str, entry: _Entry, state: BankState) -> BankView:
        old = entry.view.state if entry.view else None
        if (
            entry.grower is None
            or old is None
            or (old.erase_epoch, old.embedder, old.dimension)
            != (state.erase_epoch, state.embedder, state.dimension)
        ):
            entry.grower = Grower(bank, state.dimension)
        after = entry.grower.last_doc
        columns = self._store.columns(bank, after=after)
        vectors = self._store.vectors(bank, state.embedder, after=after) if state.embedder else None
        entry.grower.extend(columns, vectors)
        return entry.grower.view(state)

    def _shrink(self, keep: str) -> None:
        while self.n_bytes > self._max_bytes:
            with self._lock:
                oldest = next((bank for bank in self._entries if bank != keep), None)
                if oldest is None:
                    return
                del self._entries[oldest]
