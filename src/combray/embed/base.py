"""What an embedder must do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Embeddings:
    """Vectors of a batch of texts.

    Attributes:
        vectors: unit norm, shape (n, d).
        tokens: for each text the unit-norm vectors of its tokens, shape (t_i, d), t_i ≥ 0, centred so that
            the signs of their components carry what they say; None for a model that gives none.
        words: for each text the word that each token belongs to, lower case: a word of three pieces stands
            three times; None without tokens.
    """

    vectors: NDArray[np.float32]
    tokens: tuple[NDArray[np.float32], ...] | None = None
    words: tuple[tuple[str, ...], ...] | None = None


class Embedder(Protocol):
    """Turns texts into unit vectors, deterministically for a given id."""

    @property
    def id(self) -> str:
        """Name and revision of the model; a bank records it."""

    @property
    def dimension(self) -> int:
        """Length d of a vector."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of the texts, in order; an empty sequence gives shape (0, d)."""
