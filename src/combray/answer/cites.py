"""Citation marks in a model's answer: found, checked against the pack, and taken out of the text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from combray.answer.base import Citation
from combray.model import PackItem, Recall
from combray.model.hit import Note

_MARK = re.compile(r"\s*\[\s*(n?\d{1,4}(?:\s*[,;]\s*n?\d{1,4})*)\s*\]", re.IGNORECASE)
_NUMBER = re.compile(r"n?\d+", re.IGNORECASE)
_BEFORE_STOP = re.compile(r"\s+([.,;:!?])")


def without_cites(text: str, recall: Recall) -> tuple[str, tuple[Citation, ...], tuple[str, ...]]:
    """The answer's text, its citations, and the numbers that no line of the pack has.

    A mark is a bracket with numbers only, ``[2]``, ``[2, 5]`` or ``[n1]``; other brackets are the answer's own.
    """
    lines = _lines(recall)
    numbers = dict.fromkeys(
        number.lower() for mark in _MARK.findall(text) for number in _NUMBER.findall(mark)
    )
    citations = tuple(
        Citation(cite=number, source=lines[number]) for number in numbers if number in lines
    )
    unknown = tuple(number for number in numbers if number not in lines)
    bare = _BEFORE_STOP.sub(r"\1", _MARK.sub("", text))
    return " ".join(bare.split()), citations, unknown


def _lines(recall: Recall) -> Mapping[str, PackItem | Note]:
    lines: dict[str, PackItem | Note] = {str(item.cite): item for item in recall.items}
    return {**lines, **{str(note.cite): note for note in recall.notes}}
