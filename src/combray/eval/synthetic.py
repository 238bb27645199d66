"""Made-up turns and vectors for measuring speed; nothing is measured about quality with them.

Words are drawn from a Zipf distribution over an invented vocabulary, about 20 to a turn, in sessions of 30 turns
between a person and an assistant. Vectors fall into clusters: a text belongs to the cluster of its hash, and its vector
is the cluster's centre with noise. A word has the token vector of its hash. Everything follows from the seed.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from combray.embed.base import Embedder, Embeddings
from combray.errors import InvalidInput
from combray.importers.base import ImportedSession
from combray.model import Role, Session, TurnDraft

VOCABULARY = 50_000
TURNS_PER_SESSION = 30
MEAN_WORDS = 20
N_CLUSTERS = 2_000
NOISE = 0.6
"""Standard deviation of the noise, relative to the length of a centre."""

_SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
_START = datetime(2020, 1, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthetic:
    """Texts of one seed.

    Attributes:
        seed: of everything.
        n_turns: how many.
    """

    seed: int
    n_turns: int

    def __post_init__(self) -> None:
        if self.n_turns < 1:
            raise InvalidInput(f"n_turns must be at least 1, not {self.n_turns}.")

    def sessions(self) -> Iterator[ImportedSession]:
        """The turns in sessions, one session a day."""
        texts = self.texts()
        for number, start in enumerate(range(0, self.n_turns, TURNS_PER_SESSION)):
            day = _START + timedelta(days=number)
            turns = [
                _turn(text, i, day)
                for i, text in enumerate(itertools.islice(texts, TURNS_PER_SESSION))
            ]
            name = f"s{start // TURNS_PER_SESSION:06d}"
            yield ImportedSession(session=Session(name=name), turns=turns)

    def texts(self) -> Iterator[str]:
        """The texts of the turns, in order."""
        generator = np.random.default_rng(self.seed)
        weights = 1 / np.arange(1, VOCABULARY + 1)
        cumulative = np.cumsum(weights / weights.sum())
        lengths = 1 + generator.poisson(MEAN_WORDS - 1, self.n_turns)
        for length in lengths.tolist():
            ranks = np.searchsorted(cumulative, generator.random(length))
            yield " ".join(word(int(rank)) for rank in np.minimum(ranks, VOCABULARY - 1))

    def questions(self, n: int) -> list[str]:
        """Six words of a turn each, spread evenly over the turns: what a question about it would share with it."""
        wanted = set(np.linspace(0, self.n_turns - 1, min(n, self.n_turns)).astype(int).tolist())
        return [_question(text) for i, text in enumerate(self.texts()) if i in wanted]


def word(rank: int) -> str:
    """The invented word of that rank, from 0; no two are alike, and common ones are short."""
    parts = []
    rank += len(_SYLLABLES)
    while rank:
        rank, part = divmod(rank, len(_SYLLABLES))
        parts.append(_SYLLABLES[part])
    return "".join(parts)


class ClusteredEmbedder:
    """Unit vectors with the structure that the module describes, at next to no cost.

    Args:
        seed: of centres, noise and words.
        dimension: length of a vector, a multiple of 8.
        encoder: if given, a text that comes alone (a query) is run through it as well and its result dropped, so that
            a recall costs what it costs with a real model.
    """

    def __init__(
        self, seed: int = 0, *, dimension: int = 384, encoder: Embedder | None = None
    ) -> None:
        self._seed = seed
        self._dimension = dimension
        self._encoder = encoder
        generator = np.random.default_rng(seed)
        self._centres = _unit(generator.standard_normal((N_CLUSTERS, dimension), np.float32))
        self._noise = _unit(generator.standard_normal((4096, dimension), np.float32))

    @property
    def id(self) -> str:
        """Name, version, seed and dimension."""
        return f"synthetic@1-{self._seed}-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of the texts, with a token vector per word."""
        if self._encoder is not None and len(texts) == 1:
            self._encoder.embed(texts)
        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            a, b, c = _numbers(text)
            row[:] = self._centres[a % N_CLUSTERS]
            row += NOISE * (self._noise[b % 4096] + self._noise[c % 4096]) / np.sqrt(2)
        words = tuple(tuple(text.split()) for text in texts)
        tokens = tuple(self._noise[[_numbers(word)[0] % 4096 for word in own]] for own in words)
        return Embeddings(vectors=_unit(vectors), tokens=tokens, words=words)


def _turn(text: str, number: int, day: datetime) -> TurnDraft:
    person = number % 2 == 0
    return TurnDraft(
        id=str(number),
        text=f"{text}?" if number % 6 == 0 else f"{text}.",
        role=Role.USER if person else Role.ASSISTANT,
        speaker="Mira" if person else "Assistant",
        said_at=day + timedelta(minutes=number),
    )


def _question(text: str) -> str:
    words = sorted(dict.fromkeys(text.split()), key=len, reverse=True)
    return " ".join(words[:6])


def _numbers(text: str) -> tuple[int, int, int]:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
    return (
        int.from_bytes(digest[:4], "big"),
        int.from_bytes(digest[4:8], "big"),
        int.from_bytes(digest[8:], "big"),
    )


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(lengths, np.finfo(np.float32).tiny)
    return unit
