"""Values as JSON: the shapes that ``--json`` prints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from combray.model import Hit, Note, PackItem, Recall, Turn


def plain(value: object) -> Any:  # noqa: ANN401 — any JSON value
    """The value as JSON has it: times as ISO 8601, records as objects; a number that JSON lacks is null."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(inner) for inner in value]
    number = float(value)  # type: ignore[arg-type]  # what is left are numbers, numpy's among them
    return number if math.isfinite(number) else None


def turn_fields(turn: Turn) -> dict[str, Any]:
    """A turn without the hash of its content."""
    return {name: value for name, value in plain(turn).items() if name != "content"}


def recall_fields(recall: Recall) -> dict[str, Any]:
    """What `combray recall` found: the pack, each line with its turn, and what it rests on."""
    return {
        "query": recall.query,
        "text": recall.text,
        "items": [_item(item) for item in recall.items],
        "derived": [_note(note) for note in recall.notes],
        "n_tokens": recall.n_tokens,
        "budget_tokens": recall.budget_tokens,
        "counter": recall.counter,
        "support": plain(recall.support),
        "abstained": recall.abstained,
        "reason": recall.reason,
        "method": recall.trace.method,
        "notes": list(recall.trace.notes),
    }


def explain_fields(recall: Recall) -> dict[str, Any]:
    """The same, with the whole ranking and how it came about."""
    cited = {item.turn.id: item.cite for item in recall.items}
    trace = recall.trace
    return recall_fields(recall) | {
        "hits": [_hit(hit, cited.get(hit.turn.id)) for hit in recall.hits],
        "cut": [{"id": cut.hit.id, "rank": cut.hit.rank, "reason": cut.reason} for cut in trace.cut],
        "channels": plain(trace.channels),
        "params": plain(trace.params),
        "signals": plain(trace.signals),
        "threshold": plain(trace.threshold),
        "timings_ms": plain(trace.timings_ms),
    }  # fmt: skip


def _item(item: PackItem) -> dict[str, Any]:
    return {
        "cite": item.cite,
        "part": str(item.part),
        "text": item.text,
        "clipped": item.clipped,
        "repeats": list(item.repeats),
        "rank": item.hit.rank,
        "score": plain(item.hit.score),
        "why": item.hit.why,
        "turn": turn_fields(item.turn),
    }


def _note(note: Note) -> dict[str, Any]:
    return {
        "cite": note.cite,
        "text": note.text,
        "clipped": note.clipped,
        "from": list(note.cites),
        "record": plain(note.record),
    }


def _hit(hit: Hit, cite: int | None) -> dict[str, Any]:
    return {
        "rank": hit.rank,
        "cite": cite,
        "score": plain(hit.score),
        "channels": plain(hit.channels),
        "contributions": plain(hit.contributions),
        "why": hit.why,
        "turn": turn_fields(hit.turn),
    }
