"""Remembering the embeddings of texts that come again: repeated queries, resent turns."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from combray.embed.base import Embedder, Embeddings
from combray.errors import InvalidInput

# Of a key, an entry and its array headers, beside the numbers themselves.
_OVERHEAD_BYTES = 400


@dataclass(frozen=True, slots=True)
class _Entry:
    vector: NDArray[np.float32]
    tokens: NDArray[np.float32] | None
    words: tuple[str, ...] | None

    @property
    def n_bytes(self) -> int:
        tokens = 0 if self.tokens is None else self.tokens.nbytes
        words = sum(64 + len(word) for word in self.words or ())
        return self.vector.nbytes + tokens + words + _OVERHEAD_BYTES


class CachedEmbedder:
    """The same embeddings as the wrapped embedder's, from memory where the text was embedded before.

    The least recently used texts are dropped first. Texts are kept as hashes only. Token vectors are shared
    between answers and therefore read-only. Threads may share one; two that ask for the same new text at
    the same time both compute it.

    Args:
        inner: the embedder to ask for what is not remembered.
        capacity_bytes: bound on the memory of all remembered embeddings; 0 remembers nothing.

    Raises:
        InvalidInput: the capacity is negative.
    """

    def __init__(self, inner: Embedder, capacity_bytes: int = 64 << 20) -> None:
        if capacity_bytes < 0:
            raise InvalidInput(f"capacity_bytes is {capacity_bytes}; it must not be negative.")
        self._inner = inner
        self._capacity = capacity_bytes
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()

    @property
    def id(self) -> str:
        """That of the wrapped embedder: what it gives is the same."""
        return self._inner.id

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._inner.dimension

    @property
    def inner(self) -> Embedder:
        """The wrapped embedder."""
        return self._inner

    @property
    def n_bytes(self) -> int:
        """Memory of all remembered embeddings; at most the capacity."""
        return self._n_bytes

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of the texts, in order; each distinct new text is embedded once."""
        keys = [self._key(text) for text in texts]
        found = self._recall(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if new or not texts:
            made = self._inner.embed(list(new.values()))
            if not texts:
                return made
            found.update(zip(new, _entries(made), strict=True))
            self._keep({key: found[key] for key in new})
        return _joined([found[key] for key in keys])

    def _key(self, text: str) -> bytes:
        digest = hashlib.blake2b(self._inner.id.encode(), digest_size=20)
        digest.update(b"\0")
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.digest()

    def _recall(self, keys: Sequence[bytes]) -> dict[bytes, _Entry]:
        with self._lock:
            found = {key: self._entries[key] for key in keys if key in self._entries}
            for key in found:
                self._entries.move_to_end(key)
        return found

    def _keep(self, entries: dict[bytes, _Entry]) -> None:
        with self._lock:
            for key, entry in entries.items():
                if key not in self._entries and entry.n_bytes <= self._capacity:
                    self._entries[key] = entry
                    self._n_bytes += entry.n_bytes
            while self._n_bytes > self._capacity:
                _, dropped = self._entries.popitem(last=False)
                self._n_bytes -= dropped.n_bytes


def _entries(made: Embeddings) -> list[_Entry]:
    tokens: Sequence[NDArray[np.float32] | None] = made.tokens or [None] * len(made.vectors)
    words: Sequence[tuple[str, ...] | None] = made.words or [None] * len(made.vectors)
    # Copies, because a row of an array keeps the whole array in memory.
    entries = [
        _Entry(vector.copy(), None if own is None else own.copy(), spoken)
        for vector, own, spoken in zip(made.vectors, tokens, words, strict=True)
    ]
    for entry in entries:
        if entry.tokens is not None:
            entry.tokens.flags.writeable = False
    return entries


def _joined(entries: Sequence[_Entry]) -> Embeddings:
    tokens = [entry.tokens for entry in entries if entry.tokens is not None]
    words = [entry.words for entry in entries if entry.words is not None]
    return Embeddings(
        vectors=np.stack([entry.vector for entry in entries]),
        tokens=tuple(tokens) if len(tokens) == len(entries) else None,
        words=tuple(words) if len(words) == len(entries) else None,
    )
