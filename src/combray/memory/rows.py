"""From turns to the rows that commit with them: analysis, postings and vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from combray.embed.base import Embedder, Embeddings
from combray.index.late import sign_bits
from combray.model import Analysis, Turn
from combray.model.turn import ROLE_NAMES
from combray.store.base import TurnRow, VectorRow
from combray.text.base import Analyser

_SLICE = 256


def passage(turn: Turn) -> str:
    """The text that is embedded for a turn: who said it, what was said, what was shown.

    A speaker who is only called by a role ("assistant") is left out: it would draw all turns together.
    """
    said = f"{turn.text} [{turn.caption}]" if turn.caption else turn.text
    return said if turn.speaker.lower() in ROLE_NAMES else f"{turn.speaker}: {said}"


def to_rows(turns: Sequence[Turn], analyser: Analyser, embedder: Embedder | None) -> list[TurnRow]:
    """Each turn with its postings and, with an embedder, its vectors; all that costs time, before any lock."""
    people = sorted({turn.speaker for turn in turns})
    analyses = analyser.analyse(
        [analysed_text(turn) for turn in turns], [turn.said_at for turn in turns], people
    )
    vectors: Sequence[VectorRow | None] = [None] * len(turns)
    if embedder is not None:
        vectors = embedded(turns, embedder)
    return [
        _row(turn, analysis, vector)
        for turn, analysis, vector in zip(turns, analyses, vectors, strict=True)
    ]


def analysed_text(turn: Turn) -> str:
    """What postings are made of: text and caption."""
    return f"{turn.text}\n{turn.caption}" if turn.caption else turn.text


def embedded(turns: Sequence[Turn], embedder: Embedder) -> list[VectorRow]:
    """The vectors of the turns; a slice at a time, since token vectors in float take 46 KB a turn."""
    rows: list[VectorRow] = []
    for start in range(0, len(turns), _SLICE):
        texts = [passage(turn) for turn in turns[start : start + _SLICE]]
        rows += vector_rows(embedder.embed(texts))
    return rows


def vector_rows(embeddings: Embeddings) -> list[VectorRow]:
    """Vectors as stored: float16, and the sign bits of the token vectors beside them."""
    halves = halved(embeddings)
    if embeddings.tokens is None:
        return [VectorRow(vector=half) for half in halves]
    return [
        VectorRow(vector=half, tokens=sign_bits(tokens).tobytes())
        for half, tokens in zip(halves, embeddings.tokens, strict=True)
    ]


def halved(embeddings: Embeddings) -> list[bytes]:
    """The sentence vectors alone as stored: float16, little-endian."""
    return [half.tobytes() for half in embeddings.vectors.astype("<f2")]


def _row(turn: Turn, analysis: Analysis, vectors: VectorRow | None) -> TurnRow:
    return TurnRow(
        turn=turn,
        postings={"term": Counter(analysis.terms), "key": dict.fromkeys(analysis.keys, 1)},
        n_terms=len(analysis.terms),
        question=analysis.question,
        vectors=vectors,
    )
