"""The two averages that papers print, under their names.

On LoCoMo they differ by several points, since single-hop questions are more than half of the 1,540 answerable ones and
open-domain questions a sixteenth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

ANSWERABLE = ("multi_hop", "temporal", "open_domain", "single_hop")
"""LoCoMo's categories whose questions have an answer."""

_DIGITS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Averages:
    """Means of one measure.

    Attributes:
        n: questions.
        question_weighted: mean over all questions (AnchorMem's "average").
        category_weighted: mean of the categories' means (SimpleMem's "average").
        by_category: mean in each category that has a question.
        n_by_category: questions in each.
    """

    n: int
    question_weighted: float | None
    category_weighted: float | None
    by_category: Mapping[str, float]
    n_by_category: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """Both averages and the categories as one object, rounded."""
        return {
            "n": self.n,
            "question_weighted": rounded(self.question_weighted),
            "category_weighted": rounded(self.category_weighted),
            **{name: rounded(mean) for name, mean in self.by_category.items()},
        }


def averages(values: Iterable[tuple[str, float]]) -> Averages:
    """Both averages of (category, value) pairs; None where there is none.

    >>> found = averages([("temporal", 1.0), ("single_hop", 0.0), ("single_hop", 0.5)])
    >>> found.question_weighted, found.category_weighted
    (0.5, 0.625)

    Source:
        AnchorMem's tables reproduce as question-weighted, SimpleMem's LoCoMo table as category-weighted means.
    """
    groups: dict[str, list[float]] = {}
    for category, value in values:
        groups.setdefault(category, []).append(value)
    means = {name: sum(group) / len(group) for name, group in groups.items()}
    n = sum(map(len, groups.values()))
    total = sum(map(sum, groups.values()))
    return Averages(
        n=n,
        question_weighted=total / n if n else None,
        category_weighted=sum(means.values()) / len(means) if means else None,
        by_category=means,
        n_by_category={name: len(group) for name, group in groups.items()},
    )


def rounded(value: float | None) -> float | None:
    """The value to five digits, as results show it."""
    return None if value is None else round(value, _DIGITS)
