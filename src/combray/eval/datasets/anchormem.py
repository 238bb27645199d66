"""AnchorMem's released run on LoCoMo: chunks, facts, events and answers of Qwen2.5-7B-Instruct.

Source:
    AnchorMem's repository, its first cached run (MIT licence).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from combray.errors import NotFound
from combray.eval.datasets.base import TurnKey, locate

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
    """The released run by conversation.

    Args:
        path: its folder, or a data folder that holds it.

    Raises:
        NotFound: there is no such folder.
    """
    folder = locate(path, _FOLDER)
    files = sorted(folder.glob("conv-*.json"))
    if not files:
        raise NotFound("released run of AnchorMem", str(folder))
    runs = (_run(json.loads(file.read_text(encoding="utf-8"))) for file in files)
    return {run.bank: run for run in runs}


def _run(record: Mapping[str, Any]) -> ReleasedRun:
    return ReleasedRun(
        bank=record["sample_id"],
        chunks=tuple(
            ReleasedChunk(
                id=chunk["chunk_id"],
                turns=tuple(
                    (_session(record["sample_id"], turn), turn) for turn in chunk["dia_ids"]
                ),
                facts=tuple(chunk["fact_ids"]),
            )
            for chunk in record["chunks"]
        ),
        facts={fact["fact_id"]: fact["text"] for fact in record["facts"]},
        events=tuple(
            ReleasedEvent(id=event["event_id"], text=event["text"], facts=tuple(event["fact_ids"]))
            for event in record["events"]
        ),
        answers=tuple(
            ReleasedAnswer(
                question=answer["qa_index"],
                chunks=tuple(answer["retrieved_chunk_ids"]),
                events=tuple(answer["retrieved_event_ids"]),
                facts=tuple(answer["topk_facts"]),
                text=answer["answer"],
            )
            for answer in record["answers"]
        ),
    )


def _session(bank: str, turn: str) -> str:
    """The session of a LoCoMo turn, as the importer calls it."""
    return f"{bank}/session_{turn[1:].split(':')[0]}"
