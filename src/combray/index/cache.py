"""Views of banks, kept within a bound of memory and brought up to date when a bank has changed.

Every read asks the store for the bank's revision, so a write of another process is seen at the next recall; a
deletion (a new erase epoch) or another embedder drops the view and reads it anew.
"""

from __future__ import annotations

from dataclasses import dataclass

from combray.index.kept import Kept
from combray.index.view import BankView, Grower
from combray.store.base import BankState, Store

DEFAULT_CACHE_BYTES = 1 << 30
"""Room for the views of all banks together: about 350,000 turns with vectors and token bits."""


@dataclass(frozen=True, slots=True)
class _Grown:
    grower: Grower
    view: BankView

    @property
    def n_bytes(self) -> int:
        return self.view.n_bytes


class ViewCache:
    """The most recently used views of a store's banks.

    Args:
        store: where the turns are.
        max_bytes: bound on the memory of all views; the view in use is always kept.
    """

    def __init__(self, store: Store, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        self._store = store
        self._kept: Kept[str, _Grown] = Kept(self._refreshed, max_bytes)

    def view(self, bank: str) -> BankView:
        """The bank as it is now.

        Raises:
            NotFound: no such bank.
        """
        return self._kept.get(bank).view

    def drop(self, bank: str) -> None:
        """Forget the view of a bank."""
        self._kept.drop(lambda key: key == bank)

    def clear(self) -> None:
        """Forget every view."""
        self._kept.drop(lambda _: True)

    @property
    def n_bytes(self) -> int:
        """Memory held by all views, in bytes."""
        return self._kept.n_bytes

    def _refreshed(self, bank: str, old: _Grown | None) -> _Grown:
        state = self._store.state(bank)
        if old is not None and old.view.state == state:
            return old
        grower = old.grower if old is not None and _extends(old.view.state, state) else None
        if grower is None:
            grower = Grower(bank, state.dimension)
        after = grower.last_doc
        columns = self._store.columns(bank, after=after)
        vectors = self._store.vectors(bank, state.embedder, after=after) if state.embedder else None
        grower.extend(columns, vectors)
        return _Grown(grower, grower.view(state))


def _extends(old: BankState, new: BankState) -> bool:
    """Whether all that was there stands as it was."""
    return (old.erase_epoch, old.embedder, old.dimension) == (
        new.erase_epoch,
        new.embedder,
        new.dimension,
    )
