"""Late interaction over sign bits: for each token of the query the best token of the turn.

A turn's token vectors are kept as the signs of their components, 48 bytes a token for 384 dimensions; the query
stays in float32.

Source: Khattab and Zaharia 2020 (ColBERT), equation 3. Deviation: the mean over the query's tokens instead of the sum,
so that scores of long and short queries compare; signs instead of vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from combray.index.view import BankView


def sign_bits(tokens: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The signs of token vectors, packed, shape (t, d/8).

    Args:
        tokens: shape (t, d), d a multiple of 8.
    """
    return np.packbits(tokens > 0, axis=1)


def max_sim(
    query: NDArray[np.float32], view: BankView, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Mean over the query's tokens of the best similarity among the turn's tokens, shape (len(rows),).

    Args:
        query: unit-norm token vectors, shape (t, d).
        view: the bank.
        rows: which turns to score.

    Returns:
        for each row a value between -1 and 1, on the scale of a cosine with the sign vector; 0 for a turn without
        tokens.
    """
    lengths = view.offsets[rows + 1] - view.offsets[rows]
    scores = np.zeros(len(rows))
    held = np.flatnonzero(lengths > 0)
    if not len(held) or not len(query):
        return scores
    lengths = lengths[held]
    starts = np.zeros(len(held), dtype=np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    picked = np.repeat(view.offsets[rows[held]] - starts, lengths) + np.arange(lengths.sum())
    bits = np.unpackbits(view.tokens[picked], axis=1).astype(np.float32)
    # sum of s·q with s = ±1 is 2·bits·q minus sum of q: the ones are multiplied, never the ±1.
    products = bits @ (2.0 * query.T) - query.sum(axis=1)
    best = np.maximum.reduceat(products, starts, axis=0)
    scores[held] = best.mean(axis=1) / np.sqrt(query.shape[1])
    return scores
