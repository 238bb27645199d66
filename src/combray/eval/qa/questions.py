"""LoCoMo's questions with their gold answers, and what of them an answerer may see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from combray.errors import InvalidInput
from combray.eval import datasets
from combray.eval.datasets import Dataset, Question
from combray.eval.datasets.base import locate
from combray.importers import locomo as importer

Key = tuple[str, int]
"""Sample and index there: twelve questions stand twice in their conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Posed:
    """A question as it is put: without its category, its gold and its evidence.

    Attributes:
        sample: name of the conversation, which is the name of its bank.
        index: in the file.
        text: as asked.
        asked_at: when, naive where no zone is known; None where the data do not say.
    """

    sample: str
    index: int
    text: str
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldQuestion:
    """A question with its gold answer.

    Attributes:
        sample: name of the conversation.
        index: in the file.
        question: with its evidence and category.
        gold: None where the right answer is to decline.
        trap: the wrong answer that an adversarial question fishes for; never scored against.
    """

    sample: str
    index: int
    question: Question
    gold: str | None
    trap: str | None = None

    @property
    def key(self) -> Key:
        """Sample and index."""
        return self.sample, self.index

    @property
    def answerable(self) -> bool:
        """Whether the conversation holds an answer."""
        return self.question.answerable

    @property
    def posed(self) -> Posed:
        """What an answerer may see."""
        return Posed(
            sample=self.sample,
            index=self.index,
            text=self.question.text,
            asked_at=self.question.asked_at,
        )


def locomo_questions(path: Path | str | None = None) -> tuple[Dataset, list[GoldQuestion]]:
    """The benchmark and all its questions, in the file's order.

    Args:
        path: ``locomo10.json``, or a data folder with ``locomo/locomo10.json``.

    Raises:
        NotFound: there is no such file.
        InvalidInput: a question of categories 1 to 4 has no answer, or the file is not laid out as the release.
    """
    file = locate(path, "locomo/locomo10.json", "locomo10.json")
    dataset = datasets.locomo(file)
    raw = {record["sample_id"]: record["qa"] for record, _ in importer.records(file)}
    found = [
        _gold_question(bank.name, index, question, item)
        for bank in dataset.banks
        for index, (question, item) in enumerate(zip(bank.questions, raw[bank.name], strict=True))
    ]
    return dataset, found


def chosen_questions(
    questions: Sequence[GoldQuestion],
    *,
    samples: Sequence[str] = (),
    categories: Sequence[str] = (),
    limit: int | None = None,
) -> list[GoldQuestion]:
    """The questions of those conversations and categories, the first `limit` of each conversation.

    Args:
        questions: in the file's order.
        samples: names of conversations; empty for all.
        categories: empty for all.
        limit: of each conversation, after the choice of categories; None for all.

    Raises:
        InvalidInput: nothing is left, or the limit is below 1.
    """
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit must be at least 1, not {limit}.")
    found: dict[str, list[GoldQuestion]] = {}
    for item in questions:
        if (not samples or item.sample in samples) and (
            not categories or item.question.category in categories
        ):
            found.setdefault(item.sample, []).append(item)
    left = [item for own in found.values() for item in own[:limit]]
    if not left:
        raise InvalidInput("no question is left to ask: choose other samples or categories.")
    return left


def _gold_question(
    sample: str, index: int, question: Question, item: dict[str, Any]
) -> GoldQuestion:
    gold, trap = _text(item.get("answer")), _text(item.get("adversarial_answer"))
    if gold is None and question.answerable:
        raise InvalidInput(f"locomo, {sample}, question {index}: there is no answer.")
    return GoldQuestion(sample=sample, index=index, question=question, gold=gold, trap=trap)


def _text(value: object) -> str | None:
    # Six answers are integers.
    return None if value is None else str(value)
