"""all-MiniLM-L6-v2 on onnxruntime: sentence vectors and token vectors on the CPU, without torch.

The graph ships with Combray and holds no weights; they are read from the official file, see `weights`. Texts
are laid end to end without padding (`tools/build_minilm_graph.py`), so a text has the same vectors whatever
it is embedded together with.
"""

from __future__ import annotations

import os
import string
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from combray.embed import weights
from combray.embed.base import Embeddings
from combray.embed.cards import MINILM
from combray.embed.wellformed import well_formed
from combray.errors import InvalidInput

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# [CLS] and [SEP] included, as the model was trained and published.
_WINDOW = 256
_CLS, _SEP = 101, 102
# Word pieces per run: large enough to fill the cores, small enough for the activations to stay in the cache.
_RUN_PIECES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniLMOptions:
    """How texts are read; every deviation from the default shows in the embedder's id.

    Attributes:
        windows: how many stretches of 254 word pieces of a long text are read; the rest is ignored.
        punctuation: whether punctuation has token vectors too.
        threads: of one run; None for two, or one where there is only one core.
    """

    windows: int = 1
    punctuation: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.windows < 1:
            raise InvalidInput(f"windows is {self.windows}; it must be at least 1.")
        if self.threads is not None and self.threads < 1:
            raise InvalidInput(f"threads is {self.threads}; it must be at least 1.")


class _Session(Protocol):
    def run(self, outputs: list[str], inputs: dict[str, NDArray[Any]], /) -> Sequence[Any]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runtime:
    process: int
    tokenizer: Tokenizer
    session: _Session
    silent: NDArray[np.bool_]  # by id of the word piece: has no token vector


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
        windows = f"+windows{self._options.windows}" if self._options.windows > 1 else ""
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
        pieces: list[list[int]] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            for window in _windows(runtime.tokenizer, text, self._options.windows):
                pieces.append(window)
                owners.append(owner)
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        tokens: list[list[NDArray[np.float32]]] = [[] for _ in texts]
        encoded = _encode(runtime, pieces)
        for owner, (vector, token_vectors) in zip(owners, encoded, strict=True):
            vectors[owner] += vector
            tokens[owner].append(token_vectors)
        return Embeddings(
            vectors=_unit(vectors),
            tokens=tuple(own[0] if len(own) == 1 else np.concatenate(own) for own in tokens),
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
                self._runtime = _load(folder, self._options)
            return self._runtime


def _load(folder: Path, options: MiniLMOptions) -> _Runtime:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return _Runtime(
        process=os.getpid(),
        tokenizer=tokenizer,
        session=_session(folder, options.threads or min(2, _n_cores())),
        silent=_silent_pieces(tokenizer, options.punctuation),
    )


def _session(folder: Path, threads: int) -> _Session:
    import onnxruntime as ort

    options = ort.SessionOptions()  # type: ignore[attr-defined]  # it has no list of public names
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(folder.resolve())
    )
    graph = files("combray.embed").joinpath("data/minilm.onnx").read_bytes()
    session: _Session = ort.InferenceSession(  # type: ignore[attr-defined]
        graph, options, providers=["CPUExecutionProvider"]
    )
    return session


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _silent_pieces(tokenizer: Tokenizer, punctuation: bool) -> NDArray[np.bool_]:
    silent = np.zeros(tokenizer.get_vocab_size(), np.bool_)
    silent[[_CLS, _SEP]] = True
    if not punctuation:
        silent[[id_ for piece, id_ in tokenizer.get_vocab().items() if _is_punctuation(piece)]] = (
            True
        )
    return silent


def _is_punctuation(piece: str) -> bool:
    characters = piece.removeprefix("##") or piece
    return all(c in string.punctuation or unicodedata.category(c)[0] == "P" for c in characters)


def _windows(tokenizer: Tokenizer, text: str, windows: int) -> list[list[int]]:
    """The text's word pieces in stretches of at most 254, each between [CLS] and [SEP]; at least one."""
    room = _WINDOW - 2
    ids = _pieces(tokenizer, text, room * windows)
    starts = range(0, max(len(ids), 1), room)
    return [[_CLS, *ids[start : start + room], _SEP] for start in starts]


def _pieces(tokenizer: Tokenizer, text: str, limit: int) -> list[int]:
    """The first word pieces of the text, at most `limit`, without reading much further than needed."""
    clean = well_formed(text)
    end = 16 * limit
    while True:
        # Words never reach across white space, so a prefix that ends there has the pieces of the whole.
        while end < len(clean) and not clean[end].isspace():
            end += 1
        ids = tokenizer.encode(clean[:end], add_special_tokens=False).ids
        if len(ids) >= limit or end >= len(clean):
            return ids[:limit]
        end *= 2


def _encode(
    runtime: _Runtime, pieces: Sequence[Sequence[int]]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Sentence vector, shape (d,), and token vectors, shape (t_i, d), of each window."""
    # The padded view that attention works on wastes least when texts of like length run together.
    order = sorted(range(len(pieces)), key=lambda i: len(pieces[i]))
    found: dict[int, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
    for run in _runs(pieces, order):
        found.update(zip(run, _forward(runtime, [pieces[i] for i in run]), strict=True))
    return [found[i] for i in range(len(pieces))]


def _runs(pieces: Sequence[Sequence[int]], order: Sequence[int]) -> Iterator[list[int]]:
    run: list[int] = []
    room = _RUN_PIECES
    for i in order:
        if run and len(pieces[i]) > room:
            yield run
            run, room = [], _RUN_PIECES
        run.append(i)
        room -= len(pieces[i])
    if run:
        yield run


def _forward(
    runtime: _Runtime, batch: Sequence[Sequence[int]]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    lengths = np.array([len(ids) for ids in batch])
    starts = np.cumsum(lengths) - lengths
    ids = np.concatenate([np.asarray(ids, np.int64) for ids in batch])
    hidden: NDArray[np.float32] = runtime.session.run(["hidden"], _inputs(ids, starts, lengths))[0]
    means = _unit(np.add.reduceat(hidden, starts, axis=0))
    spoken = ~runtime.silent[ids]
    for mean, start, length in zip(means, starts, lengths, strict=True):
        own = slice(start, start + length)
        yield mean, _unit(hidden[own][spoken[own]])


def _inputs(
    ids: NDArray[np.int64], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """What the graph asks for: the flat layout, and the padded one that attention works on."""
    width = int(lengths.max())
    columns = np.arange(width)
    positions = np.arange(len(ids)) - np.repeat(starts, lengths)
    return {
        "ids": ids,
        "positions": positions,
        "grid": np.where(columns < lengths[:, None], starts[:, None] + columns, 0),
        "cells": np.repeat(np.arange(len(lengths)) * width, lengths) + positions,
        "lengths": lengths.astype(np.int32),
    }


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: NDArray[np.float32] = rows / np.maximum(norms, np.float32(1e-12))
    return unit
