"""Texts as the word pieces that a BERT encoder reads, in stretches of bounded length."""

from __future__ import annotations

import string
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from combray.embed.wellformed import well_formed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The model was trained and published with 256, [CLS] and [SEP] included.
ROOM = 254
_CLS, _SEP = 101, 102


class WordPieces:
    """The tokenizer of an uncased BERT, and which of its pieces speak.

    Args:
        path: of ``tokenizer.json``.
        punctuation: whether punctuation speaks.

    Attributes:
        silent: by id of the piece, shape (v,): has no token vector.
    """

    def __init__(self, path: Path, punctuation: bool) -> None:
        from tokenizers import Tokenizer

        self._tokenizer: Tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        by_id = sorted((i, piece) for piece, i in self._tokenizer.get_vocab().items())
        self._pieces = [piece for _, piece in by_id]
        self.silent: NDArray[np.bool_] = np.zeros(self._tokenizer.get_vocab_size(), np.bool_)
        self.silent[[_CLS, _SEP]] = True
        if not punctuation:
            vocabulary = self._tokenizer.get_vocab()
            self.silent[[i for piece, i in vocabulary.items() if _is_punctuation(piece)]] = True

    def windows(self, text: str, limit: int) -> list[NDArray[np.int64]]:
        """The text's pieces in stretches of at most 254, each between [CLS] and [SEP].

        Args:
            text: any text, the empty one included.
            limit: number of stretches; what follows them is ignored.

        Returns:
            at least one array of ids, shape (t,), 2 ≤ t ≤ 256.
        """
        ids = self._first_pieces(text, ROOM * limit)
        starts = range(0, max(len(ids), 1), ROOM)
        return [np.array([_CLS, *ids[i : i + ROOM], _SEP], np.int64) for i in starts]

    def words(self, ids: NDArray[np.int64]) -> list[str]:
        """For each piece the word it belongs to, without the marks of continuation."""
        words: list[str] = []
        start = 0
        for i, piece in enumerate([*(self._pieces[number] for number in ids.tolist()), ""]):
            if not piece.startswith("##"):
                parts = [self._pieces[number] for number in ids[start:i].tolist()]
                words += ["".join(part.removeprefix("##") for part in parts)] * len(parts)
                start = i
        return words

    def _first_pieces(self, text: str, limit: int) -> list[int]:
        """The first `limit` pieces, without reading much further than needed."""
        clean = well_formed(text)
        end = 16 * limit
        while True:
            # No piece reaches across white space, so a prefix that ends there has the pieces of the whole.
            while end < len(clean) and not clean[end].isspace():
                end += 1
            ids: list[int] = self._tokenizer.encode(clean[:end], add_special_tokens=False).ids
            if len(ids) >= limit or end >= len(clean):
                return ids[:limit]
            end *= 2


def _is_punctuation(piece: str) -> bool:
    characters = piece.removeprefix("##") or piece
    return all(c in string.punctuation or unicodedata.category(c)[0] == "P" for c in characters)
