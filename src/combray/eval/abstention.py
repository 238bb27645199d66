"""How well `support` tells questions that a bank can answer from those that it cannot.

Three kinds of question are put to each conversation: its own answerable ones; its adversarial ones, which ask one
person about what the other did; and unrelated ones: a shipped list about nothing that the conversation speaks of, and
questions of the next conversation. Support is measured without abstaining.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from combray.eval.datasets import BankData, Dataset, Question
from combray.eval.metrics import auc, false_abstention_at

_STEPS = 50
_FROM_NEXT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Supports:
    """Support of the questions of each kind.

    Attributes:
        answerable: of those with an answer.
        adversarial: of those with a false premise.
        unrelated: of those about something else.
        threshold: below which the method abstains.
    """

    answerable: tuple[float, ...]
    adversarial: tuple[float, ...]
    unrelated: tuple[float, ...]
    threshold: float = 0.0


def unrelated_texts() -> list[str]:
    """The shipped questions about nothing that two friends, or a person and an assistant, are likely to discuss."""
    text = files("combray.eval").joinpath("data/unrelated.txt").read_text(encoding="utf-8")
    return [line for line in text.split("\n") if line and not line.startswith("#")]


def unrelated_questions(dataset: Dataset, bank: BankData) -> list[Question]:
    """The shipped list, and questions spread evenly over those of the next conversation that have an answer."""
    names = [other.name for other in dataset.banks]
    following = dataset.banks[(names.index(bank.name) + 1) % len(names)]
    other = [question for question in following.questions if question.answerable]
    step = max(len(other) // _FROM_NEXT, 1)
    borrowed = (
        [] if following is bank else [question.text for question in other[::step][:_FROM_NEXT]]
    )
    texts = [*unrelated_texts(), *borrowed]
    return [
        Question(id=f"unrelated/{n}", text=text, category="unrelated", split="held_out")
        for n, text in enumerate(texts)
    ]


def report(supports: Supports) -> dict[str, Any] | None:
    """The report as JSON; None where a kind has no questions.

    `false_abstention_at_90` is the share of answerable questions that are declined by the threshold that declines
    90% of the unrelated ones.
    """
    if not (supports.answerable and supports.adversarial and supports.unrelated):
        return None
    yes, trap, other = supports.answerable, supports.adversarial, supports.unrelated
    return {
        "auc_adversarial": _short(auc(yes, trap)),
        "auc_unrelated": _short(auc(yes, other)),
        "false_abstention_at_90": _short(false_abstention_at(yes, other, 0.9)),
        "false_abstention_at_90_adversarial": _short(false_abstention_at(yes, trap, 0.9)),
        "n": {"answerable": len(yes), "adversarial": len(trap), "unrelated": len(other)},
        "at_threshold": _declined(supports, supports.threshold),
        "curve": [_declined(supports, step / _STEPS) for step in range(_STEPS + 1)],
    }


def _declined(supports: Supports, threshold: float) -> dict[str, float]:
    """Share of each kind whose support is below the threshold."""
    return {
        "threshold": threshold,
        "answerable": _below(supports.answerable, threshold),
        "adversarial": _below(supports.adversarial, threshold),
        "unrelated": _below(supports.unrelated, threshold),
    }


def _below(values: Sequence[float], threshold: float) -> float:
    return _short(float((np.asarray(values) < threshold).mean()))


def _short(value: float) -> float:
    return round(value, 5)
