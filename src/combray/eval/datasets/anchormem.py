"""AnchorMem's released run on LoCoMo: chunks, facts, events and answers of Qwen2.5-7B-Instruct.

A chunk's turns are keyed as `locomo` keys them. A fact that a chunk gave twice stands twice in it, as it counts twice in what the
run did next.

Source:
    Shen et al., AnchorMem: the repository's first cached run (MIT licence).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from combray.errors import NotFound
from combray.eval.datasets.base import TurnKey, locate
from combray.importers.base import Place, kind, mapping, read_document, text_field

MODEL = "Qwen2.5-7B-Instruct"

_FOLDER = "locomo_facts_anchormem"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedChunk:
    """A chunk of the run.

    Attributes:
        id: theirs.
        turns: keys of its turns, in order.
        facts: ids of the facts drawn from it, in the order of the reply, with repeats.
    """

    id: str
    turns: tuple[TurnKey, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedEvent:
    """An event of the run.

    Attributes:
        id: theirs.
        text: the account.
        facts: ids of its facts, the main one first; the same id may stand there twice.
    """

    id: str
    text: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedAnswer:
    """An answer of the run.

    Attributes:
        question: its index in LoCoMo.
        chunks: ids of the retrieved chunks.
        events: ids of the retrieved events.
        facts: ids of the top facts, best first.
        text: of the answer.
    """

    question: int
    chunks: tuple[str, ...]
    events: tuple[str, ...]
    facts: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedRun:
    """One conversation of the run.

    Attributes:
        bank: name of the conversation.
        chunks: in order.
        facts: text by id.
        events: in order.
        answers: to the questions of categories 1 to 4.
    """

    bank: str
    chunks: tuple[ReleasedChunk, ...]
    facts: Mapping[str, str]
    events: tuple[ReleasedEvent, ...]
    answers: tuple[ReleasedAnswer, ...]


def anchormem(path: Path | str | None = None) -> dict[str, ReleasedRun]:
    """The released run by conversation, in order of their names.

    Args:
        path: its folder, or a data folder that holds it.

    Raises:
        NotFound: there is no such folder, or no conversation in it.
        BadImport: a file is not laid out as the run; names the place.
    """
    folder = locate(path, _FOLDER, ".")
    files = sorted(folder.glob("conv-*.json"))
    if not files:
        raise NotFound("released run of AnchorMem", str(folder))
    runs = (_run(read_document(file), Place(path=file)) for file in files)
    return {run.bank: run for run in runs}


def _run(value: object, place: Place) -> ReleasedRun:
    record = mapping(value, place, "a conversation")
    bank = text_field(record, "sample_id", place)
    facts = _items(record, "facts", place)
    return ReleasedRun(
        bank=bank,
        chunks=tuple(_chunk(bank, *item) for item in _items(record, "chunks", place)),
        facts={text_field(one, "fact_id", at): text_field(one, "text", at) for one, at in facts},
        events=tuple(_event(*item) for item in _items(record, "events", place)),
        answers=tuple(_answer(*item) for item in _items(record, "answers", place)),
    )


def _chunk(bank: str, chunk: dict[str, Any], place: Place) -> ReleasedChunk:
    # The importer of LoCoMo puts the conversation in front: sessions of two are never the same.
    session = f"{bank}/{text_field(chunk, 'session', place)}"
    return ReleasedChunk(
        id=text_field(chunk, "chunk_id", place),
        turns=tuple((session, turn) for turn in _texts(chunk, "dia_ids", place)),
        facts=_texts(chunk, "fact_ids", place),
    )


def _event(event: dict[str, Any], place: Place) -> ReleasedEvent:
    return ReleasedEvent(
        id=text_field(event, "event_id", place),
        text=text_field(event, "text", place),
        facts=_texts(event, "fact_ids", place),
    )


def _answer(answer: dict[str, Any], place: Place) -> ReleasedAnswer:
    index = answer.get("qa_index")
    if not isinstance(index, int):
        place.fail(f"'qa_index' must be a whole number, not {kind(index)}.")
    return ReleasedAnswer(
        question=index,
        chunks=_texts(answer, "retrieved_chunk_ids", place),
        events=_texts(answer, "retrieved_event_ids", place),
        facts=_texts(answer, "topk_facts", place),
        text=text_field(answer, "answer", place),
    )


def _items(record: dict[str, Any], key: str, place: Place) -> list[tuple[dict[str, Any], Place]]:
    """The objects of an array, each with its place."""
    return [
        (mapping(value, inner, "an item"), inner)
        for n, value in enumerate(_array(record, key, place), 1)
        for inner in (place.within(f"{key} {n}"),)
    ]


def _texts(record: dict[str, Any], key: str, place: Place) -> tuple[str, ...]:
    values = _array(record, key, place)
    if not all(isinstance(value, str) for value in values):
        place.fail(f"{key!r} must be an array of texts.")
    return tuple(values)


def _array(record: dict[str, Any], key: str, place: Place) -> list[Any]:
    value = record.get(key)
    if not isinstance(value, list):
        place.fail(f"{key!r} must be an array, not {kind(value)}.")
    return value
