"""all-MiniLM-L6-v2: sentence vectors and token vectors on the CPU, without torch."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from combray.embed import weights
from combray.embed.base import Embeddings
from combray.embed.cards import MINILM
from combray.embed.encoder import Encoder, default_threads
from combray.embed.wordpieces import WordPieces
from combray.errors import InvalidInput

# Texts whose hidden states are held at once: enough to sort by length, a bound on memory.
_SLICE = 1024


DEFAULT_WINDOWS = 8
"""Stretches read of one text: some 1,500 words, more than a long answer of an assistant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniLMOptions:
    """How texts are read; what changes the vectors shows in the embedder's id.

    Attributes:
        windows: how many stretches of 254 word pieces of a long text are read; the rest is ignored.
        punctuation: whether punctuation has token vectors too.
        threads: of one run; None for two, or one where there is only one core.
    """

    windows: int = DEFAULT_WINDOWS
    punctuation: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.windows < 1:
            raise InvalidInput(f"windows is {self.windows}; it must be at least 1.")
        if self.threads is not None and self.threads < 1:
            raise InvalidInput(f"threads is {self.threads}; it must be at least 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runtime:
    process: int
    pieces: WordPieces
    encoder: Encoder
    mean: NDArray[np.float32]  # of token vectors of ordinary English, shape (d,)


class MiniLM:
    """Sentence and token vectors of all-MiniLM-L6-v2.

    The sentence vector is the mean of the last hidden states of all pieces, normalised. A text of more than
    254 word pieces is read in up to `windows` stretches that do not overlap: their token vectors follow one
    another, the sentence vector is the normalised mean of the stretches' sentence vectors. A text without
    word pieces has no tokens, and the sentence vector of the bare ``[CLS] [SEP]``. Lone surrogates are read
    as unknown characters.

    Nothing is loaded before the first `embed`, which may fetch the weights. Threads may share one embedder;
    a forked process loads its own copy at its first `embed`.

    Args:
        models: folder of the weights; see `weights.locate`.
        options: how texts are read.
        offline: whether fetching the weights is forbidden; None for what `COMBRAY_OFFLINE` says.

    Source:
        Reimers and Gurevych 2019, Sentence-BERT, section 3 (mean pooling); token vectors as in Khattab and
        Zaharia 2020, ColBERT, section 3.2 (normalised, punctuation dropped).  Deviation: no projection and
        no training for late interaction; several windows are our own.
    """

    def __init__(
        self,
        models: Path | None = None,
        options: MiniLMOptions | None = None,
        offline: bool | None = None,
    ) -> None:
        self._models = models
        self._offline = offline
        self._options = options or MiniLMOptions()
        self._loading = threading.Lock()
        self._runtime: _Runtime | None = None
        self._inherited: list[_Runtime] = []

    @property
    def id(self) -> str:
        """``all-MiniLM-L6-v2@1110a243``, with what deviates from the default appended."""
        windows = (
            f"+windows{self._options.windows}" if self._options.windows != DEFAULT_WINDOWS else ""
        )
        punctuation = "+punctuation" if self._options.punctuation else ""
        return f"{MINILM.id}{windows}{punctuation}"

    @property
    def dimension(self) -> int:
        """384."""
        return MINILM.dimension

    def load(self) -> None:
        """Load the model now rather than at the first `embed`; a second call does nothing.

        Raises:
            WeightsUnavailable: the weights are neither here nor to be fetched; says what to do.
        """
        self._loaded()

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """The embeddings of the texts, in order.

        Raises:
            WeightsUnavailable: at the first call, if the weights are neither here nor to be fetched.
        """
        runtime = self._loaded()
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        tokens: list[NDArray[np.float32]] = []
        words: list[tuple[str, ...]] = []
        for start in range(0, len(texts), _SLICE):
            for vector, own, spoken in self._embed(runtime, texts[start : start + _SLICE]):
                vectors[len(tokens)] = vector
                tokens.append(own)
                words.append(spoken)
        return Embeddings(vectors=vectors, tokens=tuple(tokens), words=tuple(words))

    def _embed(
        self, runtime: _Runtime, texts: Sequence[str]
    ) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32], tuple[str, ...]]]:
        """Sentence vector, shape (d,), token vectors, shape (t, d), and the tokens' words, of each text."""
        windows = [runtime.pieces.windows(text, self._options.windows) for text in texts]
        states = iter(runtime.encoder.encode([ids for own in windows for ids in own]))
        for own in windows:
            hidden = [next(states) for _ in own]
            vector = np.sum([_unit(state.sum(axis=0)) for state in hidden], axis=0)
            ids = np.concatenate(own)
            spoken = ~runtime.pieces.silent[ids]
            words = runtime.pieces.words(ids)
            yield (
                _unit(vector),
                _unit(_unit(np.concatenate(hidden)[spoken]) - runtime.mean),
                tuple(words[i] for i in np.flatnonzero(spoken)),
            )

    def _loaded(self) -> _Runtime:
        runtime = self._runtime
        if runtime is not None and runtime.process == os.getpid():
            return runtime
        with self._loading:
            if self._runtime is None or self._runtime.process != os.getpid():
                if self._runtime is not None:
                    # Kept, never used: its threads stayed in the parent, and freeing it would wait for them.
                    self._inherited.append(self._runtime)
                folder = weights.fetch(MINILM, self._models, offline=self._offline)
                self._runtime = _Runtime(
                    process=os.getpid(),
                    pieces=WordPieces(folder / "tokenizer.json", self._options.punctuation),
                    encoder=Encoder(folder, self._options.threads or default_threads()),
                    mean=_token_mean(),
                )
            return self._runtime


def _token_mean() -> NDArray[np.float32]:
    """The mean that token vectors are centred on; fixed, so that stored signs never change.

    Made by tools/build_token_mean.py.
    """
    raw = (files("combray.embed") / "data" / "minilm_token_mean.f4").read_bytes()
    return np.frombuffer(raw, dtype="<f4").astype(np.float32)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = rows / norms
    return unit
