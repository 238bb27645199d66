"""Derived arrays, kept within a bound of memory, the least recently used dropped first."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, Protocol, TypeVar
from weakref import WeakSet


class Sized(Protocol):
    """Something whose memory is known."""

    @property
    def n_bytes(self) -> int:
        """Memory held, in bytes."""


K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Sized)


@dataclass(slots=True)
class _Entry(Generic[V]):
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: V | None = None


class Kept(Generic[K, V]):
    """Values by key; one thread at a time brings a value up to date, threads at other keys do not wait.

    Args:
        refreshed: gives the value of a key as it must be now, from the one held before, or None.
        max_bytes: bound on the memory of all values; the one in use is always kept.
    """

    def __init__(self, refreshed: Callable[[K, V | None], V], max_bytes: int) -> None:
        self._refreshed = refreshed
        self._max_bytes = max_bytes
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._lock = threading.Lock()
        _watch(self)

    def renew(self) -> None:
        """Start afresh in a child process: a thread that is not there may have held the locks."""
        self._entries = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V:
        """The value of the key, brought up to date."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
        with entry.lock:
            entry.value = value = self._refreshed(key, entry.value)
        self._shrink(key)
        return value

    def drop(self, unwanted: Callable[[K], bool]) -> None:
        """Let go of the values whose key is unwanted."""
        with self._lock:
            for key in [key for key in self._entries if unwanted(key)]:
                del self._entries[key]

    @property
    def n_bytes(self) -> int:
        """Memory held by all values, in bytes."""
        with self._lock:
            values = [entry.value for entry in self._entries.values()]
        return sum(value.n_bytes for value in values if value is not None)

    def _shrink(self, keep: K) -> None:
        while self.n_bytes > self._max_bytes:
            with self._lock:
                oldest = next((key for key in self._entries if key != keep), None)
                if oldest is None:
                    return
                del self._entries[oldest]


_WATCHED: WeakSet[Kept[Any, Any]] = WeakSet()


def _renew_all() -> None:
    for kept in list(_WATCHED):
        kept.renew()


@cache
def _register() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_renew_all)


def _watch(kept: Kept[Any, Any]) -> None:
    _register()
    _WATCHED.add(kept)
