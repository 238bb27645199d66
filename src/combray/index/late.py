"""Late interaction over sign bits: for each token of the query the best token of the turn.

A turn's token vectors are kept as the signs of their components, 48 bytes a token for 384 dimensions. The query's
token vectors are rounded to 8 bits, which moves no similarity by more than 1/254 of the token's largest component
a dimension; the product of bits and small integers runs several times faster than that of floats, with nothing
converted on the way.

Source: Khattab and Zaharia 2020 (ColBERT), equation 3. Deviation: a weighted mean over the query's tokens instead of
their sum, so that scores of long and short queries compare; signs instead of vectors.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from combray.index.view import BankView

_CHUNK_TOKENS = 1 << 16


def sign_bits(tokens: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The signs of token vectors, packed, shape (t, d/8).

    Args:
        tokens: shape (t, d), d a multiple of 8.
    """
    return np.packbits(tokens > 0, axis=1)


def best_matches(
    query: NDArray[np.float32], view: BankView, rows: NDArray[np.int64]
) -> NDArray[np.float32]:
    """For each turn and each token of the query the similarity of the turn's best token.

    Args:
        query: unit-norm token vectors, shape (t, d).
        view: the bank.
        rows: which turns, ascending.

    Returns:
        shape (len(rows), t), on the scale of a cosine between the query's token and the sign vector; -1 for turns
        without tokens.
    """
    best = np.full((len(rows), len(query)), -1.0, dtype=np.float32)
    lengths = view.offsets[rows + 1] - view.offsets[rows]
    held = np.flatnonzero(lengths > 0)
    if not len(query) or not len(held):
        return best
    weights = _Weights.of(query)
    ends = np.cumsum(lengths[held])
    # A few tens of thousands of tokens at a time: the unpacked bits stay in the cache.
    for chunk in np.split(held, np.searchsorted(ends, _cuts(int(ends[-1])))):
        if len(chunk):
            best[chunk] = _best(weights, view, rows[chunk])
    return best


def max_sim(
    query: NDArray[np.float32], view: BankView, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The mean of `best_matches` over the query's tokens, shape (len(rows),)."""
    if not len(query):
        return np.zeros(len(rows))
    scores: NDArray[np.float64] = best_matches(query, view, rows).mean(axis=1, dtype=np.float64)
    return scores


class _Weights:
    """A query as 8-bit integers, with what turns products back into similarities."""

    def __init__(self, integers: NDArray[np.int8], scale: NDArray[np.float32]) -> None:
        self.integers = integers
        self.scale = scale
        self.sums = integers.sum(axis=0, dtype=np.int32)

    @classmethod
    def of(cls, query: NDArray[np.float32]) -> _Weights:
        peak = np.maximum(np.abs(query).max(axis=1), 1e-12)
        integers = np.rint(query / peak[:, None] * 127).astype(np.int8)
        scale = (peak / 127 / np.sqrt(query.shape[1])).astype(np.float32)
        return cls(np.ascontiguousarray(integers.T), scale)


def _cuts(total: int) -> NDArray[np.int64]:
    return np.arange(_CHUNK_TOKENS, total, _CHUNK_TOKENS)


def _best(weights: _Weights, view: BankView, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    first = view.offsets[rows]
    lengths = view.offsets[rows + 1] - first
    starts = np.cumsum(lengths) - lengths
    picked = np.repeat(first - starts, lengths) + np.arange(int(lengths.sum()))
    bits = np.unpackbits(view.tokens[picked], axis=1)
    products = _dot().run(["products"], {"bits": bits, "weights": weights.integers})[0]
    best = np.maximum.reduceat(products, starts, axis=0)
    # The sum of s·q over s = ±1 is 2·bits·q minus the sum of q.
    similarities: NDArray[np.float32] = (2 * best - weights.sums) * weights.scale
    return similarities


class _Session(Protocol):
    def run(self, outputs: list[str], inputs: dict[str, NDArray[Any]], /) -> Any: ...  # noqa: ANN401


@cache
def _dot() -> _Session:
    """The product of bits and integers (tools/build_dot_graph.py), made at first use."""
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    graph = (files("combray.index") / "data" / "bits_dot.onnx").read_bytes()
    session: _Session = onnxruntime.InferenceSession(
        graph, options, providers=["CPUExecutionProvider"]
    )
    return session
