"""LoCoMo: ten conversations of two people, 1,986 questions with the turns that hold the evidence.

Source:
    Maharana et al. 2024. Evidence strings may hold several ids, a stray colon or a leading zero: all that
    look like an id count, and ids that no turn has are dropped. Four questions have no evidence and stay out of
    recall (1,982 remain). Category 5 is adversarial: what is asked did not happen to the person asked about.
    Its evidence is the turn that the trap was made from.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Any

from combray.eval.datasets.base import (
    BankData,
    Dataset,
    Question,
    Split,
    TurnKey,
    file_sha256,
    locate,
)
from combray.importers import locomo as importer
from combray.importers.base import ImportedSession, Place, kind, mapping, text_field

CATEGORIES = {
    1: "multi_hop",
    2: "temporal",
    3: "open_domain",
    4: "single_hop",
    5: "adversarial",
}
"""The benchmark's numbers for its kinds of question."""

TUNED_BANKS = ("conv-26", "conv-30", "conv-41", "conv-42", "conv-43")
"""Constants may be chosen on these conversations; the others confirm."""

_EVIDENCE = re.compile(r"D:?(\d+):0*(\d+)")


def locomo(path: Path | str | None = None) -> Dataset:
    """The benchmark, a bank for each conversation.

    A question's id is its conversation and its index there, since twelve questions stand twice in theirs.

    Args:
        path: ``locomo10.json``, or a data folder with ``locomo/locomo10.json``.

    Raises:
        NotFound: there is no such file.
        BadImport: it is not laid out as the release; names the place.
    """
    file = locate(path, "locomo/locomo10.json", "locomo10.json")
    notes = {"evidence_dropped": 0, "questions_without_evidence": 0}
    banks = tuple(_bank(record, place, notes) for record, place in importer.records(file))
    return Dataset(name="locomo", sha256=file_sha256(file), banks=banks, notes=notes)


def evidence_ids(raw: list[str]) -> list[str]:
    """The turn ids in a question's evidence strings, in order, without repeats.

    >>> evidence_ids(["D8:6; D9:17", "D:11:26", "D30:05", "D"])
    ['D8:6', 'D9:17', 'D11:26', 'D30:5']
    """
    found = (f"D{m[1]}:{m[2]}" for text in raw for m in _EVIDENCE.finditer(text))
    return list(dict.fromkeys(found))


def raw_evidence(path: Path | str | None = None) -> dict[str, tuple[str, ...]]:
    """The evidence strings of each question as released, malformed ones too: what some papers count by.

    Args:
        path: as of `locomo`, which checks the file.
    """
    file = locate(path, "locomo/locomo10.json", "locomo10.json")
    return {
        f"{record['sample_id']}/{index}": tuple(item.get("evidence", ()))
        for record, _ in importer.records(file)
        for index, item in enumerate(record["qa"])
    }


def _bank(record: dict[str, Any], place: Place, notes: dict[str, int]) -> BankData:
    name = record["sample_id"]
    sessions = importer.sessions_of(record, place)
    if not sessions:
        place.fail("the conversation has no turns.")
    questions = record.get("qa")
    if not isinstance(questions, list):
        place.fail(f"'qa' must be an array, not {kind(questions)}.")
    split: Split = "tuned" if name in TUNED_BANKS else "held_out"
    reader = _Reader(name, sessions, split, notes)
    return BankData(
        name=name,
        sessions=tuple(sessions),
        questions=tuple(
            reader.question(index, item, place.within(f"question {index}"))
            for index, item in enumerate(questions)
        ),
    )


class _Reader:
    """Reads the questions of one conversation."""

    def __init__(
        self, bank: str, sessions: list[ImportedSession], split: Split, notes: dict[str, int]
    ) -> None:
        self._bank = bank
        self._split = split
        self._notes = notes
        self._keys: dict[str, TurnKey] = {
            turn.id: (item.session.name, turn.id)
            for item in sessions
            for turn in item.turns
            if turn.id
        }
        times = [turn.said_at for item in sessions for turn in item.turns]
        self._end = max(time for time in times if isinstance(time, datetime))

    def question(self, index: int, value: object, place: Place) -> Question:
        """The question at that index; asked when the conversation has ended."""
        item = mapping(value, place, "a question")
        number = item.get("category")
        category = CATEGORIES.get(number) if isinstance(number, int) else None
        if category is None:
            place.fail(f"the category {number!r} is not one of 1 to 5.")
        gold = self._gold(item.get("evidence"), place)
        return Question(
            id=f"{self._bank}/{index}",
            text=text_field(item, "question", place),
            category=category,
            gold_turns=gold,
            gold_sessions=frozenset(session for session, _ in gold),
            asked_at=self._end,
            split=self._split,
            answerable=category != "adversarial",
        )

    def _gold(self, raw: object, place: Place) -> frozenset[TurnKey]:
        if not isinstance(raw, list) or not all(isinstance(text, str) for text in raw):
            place.fail("'evidence' must be an array of texts.")
        ids = evidence_ids(raw)
        gold = frozenset(self._keys[found] for found in ids if found in self._keys)
        self._notes["evidence_dropped"] += len(ids) - len(gold)
        self._notes["questions_without_evidence"] += not gold
        return gold
