"""An embedder without a model: signed feature hashing of words, for tests and for a first try.

Texts that share words are near each other; nothing is known of meaning. The same text has the same vectors
on every machine.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from combray.embed.base import Embeddings
from combray.errors import InvalidInput

_WORD = re.compile(r"\w+")
_VERSION = 1


class HashEmbedder:
    """Every word is a fixed random direction of signs; a text is the normalised sum of its words.

    A text without words is the direction of the empty word, with no tokens.

    Args:
        dimension: length of a vector, a multiple of 8, at most 512.

    Raises:
        InvalidInput: the dimension is not such a number.

    Source:
        Weinberger et al. 2009, Feature Hashing for Large Scale Multitask Learning, section 2.
        Deviation: a word has a sign in every dimension instead of in one, so that token vectors are dense.
    """

    def __init__(self, dimension: int = 64) -> None:
        if dimension % 8 or not 8 <= dimension <= 512:
            raise InvalidInput(f"dimension {dimension} is not a multiple of 8 between 8 and 512.")
        self._dimension = dimension

    @property
    def id(self) -> str:
        """Name, version and dimension."""
        return f"hash@{_VERSION}-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of the texts, with one token vector per word."""
        words = tuple(tuple(_WORD.findall(text.lower())) for text in texts)
        tokens = tuple(self._tokens(own) for own in words)
        vectors = np.zeros((len(tokens), self._dimension), np.float32)
        for row, own in zip(vectors, tokens, strict=True):
            total = own.sum(axis=0) if len(own) else _direction("", self._dimension)
            # Words of opposite directions can cancel out; the first one then stands for all.
            row[:] = total if total.any() else own[0]
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Embeddings(vectors=vectors, tokens=tokens, words=words)

    def _tokens(self, words: Sequence[str]) -> NDArray[np.float32]:
        if not words:
            return np.zeros((0, self._dimension), np.float32)
        return np.stack([_direction(word, self._dimension) for word in words])


@lru_cache(maxsize=8192)
def _direction(word: str, dimension: int) -> NDArray[np.float32]:
    """A unit vector of equal magnitudes whose signs are the bits of a hash of the word, shape (d,)."""
    digest = hashlib.blake2b(
        word.encode("utf-8", "surrogatepass"), digest_size=dimension // 8
    ).digest()
    signs = np.unpackbits(np.frombuffer(digest, np.uint8)).astype(np.float32) * 2 - 1
    signs /= np.sqrt(np.float32(dimension))
    signs.flags.writeable = False
    return signs
