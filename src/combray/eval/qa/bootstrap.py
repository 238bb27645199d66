"""How sure an average, or a difference of two runs, is: conversations are drawn again, never single questions.

Questions of one conversation share its writing and its evidence, so they are not independent. For LoCoMo ten
conversations are drawn with replacement, and the averages are taken over all questions of those drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from combray.errors import InvalidInput
from combray.eval.metrics import Interval
from combray.eval.qa.averages import rounded
from combray.eval.record import Row

N_SAMPLES = 10_000
"""Draws (EdgeMem's number)."""

Averaged = Mapping[str, Interval]
"""An interval for ``question_weighted`` and one for ``category_weighted``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDifference:
    """How the second run fares against the first, on the questions that both have the measure for.

    Attributes:
        n: questions compared.
        n_unpaired: questions that only one side has the measure for, such as those of a failed call.
        first: question-weighted mean of the first.
        second: question-weighted mean of the second.
        question_weighted: second minus first.
        category_weighted: the same over the categories' means.
        better: questions on which the second is higher.
        worse: questions on which it is lower.
    """

    n: int
    n_unpaired: int
    first: float
    second: float
    question_weighted: Interval
    category_weighted: Interval
    better: int
    worse: int


def intervals(
    rows: Sequence[Row],
    measure: str,
    *,
    n_samples: int = N_SAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> Averaged:
    """Both averages of a measure over the rows that have it, with percentile intervals.

    Args:
        rows: one per question.
        measure: name of a value in the rows.
        n_samples: draws.
        level: of confidence, in 0…1, both ends excluded.
        seed: the same seed gives the same interval.

    Raises:
        InvalidInput: no row has the measure, or a bad level.

    Source:
        Efron and Tibshirani 1993, 13.3 (percentile interval); resampling whole clusters as in Field and Welsh 2007.
        EdgeMem compares systems so on LoCoMo, with ten clusters and 10,000 draws.
    """
    having = [row for row in rows if measure in row.values]
    values = [row.values[measure] for row in having]
    return _Clusters.of(having, values).averaged(n_samples, level, seed)


def paired(
    first: Iterable[Row],
    second: Iterable[Row],
    measure: str,
    *,
    n_samples: int = N_SAMPLES,
    level: float = 0.95,
    seed: int = 0,
) -> PairedDifference:
    """The difference of two runs over the same questions, with percentile intervals over conversations.

    Args:
        first: rows of the run that is compared against.
        second: rows of the run that is compared.
        measure: name of a value in the rows, such as ``f1_squad``.
        n_samples: draws.
        level: of confidence, in 0…1, both ends excluded.
        seed: the same seed gives the same interval.

    Raises:
        InvalidInput: no question has the measure on both sides, or a bad level.

    Source:
        As `intervals`, over the differences of each question.
    """
    a, b = _by_question(first, measure), _by_question(second, measure)
    both = [key for key in a if key in b]
    if not both:
        raise InvalidInput(f"no question has {measure!r} on both sides: compare runs that have it.")
    before = [a[key].values[measure] for key in both]
    after = [b[key].values[measure] for key in both]
    gains = [y - x for x, y in zip(before, after, strict=True)]
    found = _Clusters.of([a[key] for key in both], gains).averaged(n_samples, level, seed)
    return PairedDifference(
        n=len(both),
        n_unpaired=len(a.keys() ^ b.keys()),
        first=sum(before) / len(both),
        second=sum(after) / len(both),
        question_weighted=found["question_weighted"],
        category_weighted=found["category_weighted"],
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
    )


def described(found: Averaged) -> dict[str, Any]:
    """The bounds as JSON."""
    return {
        name: {"low": rounded(interval.low), "high": rounded(interval.high)}
        for name, interval in found.items()
    }


def _by_question(rows: Iterable[Row], measure: str) -> dict[tuple[str, str], Row]:
    return {(row.bank, row.question): row for row in rows if measure in row.values}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clusters:
    """Sums and counts of a measure by conversation and category.

    Attributes:
        sums: shape (n conversations, n categories).
        counts: the same shape.
    """

    sums: NDArray[np.float64]
    counts: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Sequence[Row], values: Sequence[float]) -> _Clusters:
        if not rows:
            raise InvalidInput("no question has that measure: there is nothing to average.")
        banks = {name: n for n, name in enumerate(dict.fromkeys(row.bank for row in rows))}
        kinds = {name: n for n, name in enumerate(dict.fromkeys(row.category for row in rows))}
        at = (
            np.array([banks[row.bank] for row in rows]),
            np.array([kinds[row.category] for row in rows]),
        )
        sums, counts = np.zeros((2, len(banks), len(kinds)))
        np.add.at(sums, at, values)
        np.add.at(counts, at, 1.0)
        return cls(sums=sums, counts=counts)

    def averaged(self, n_samples: int, level: float, seed: int) -> Averaged:
        if not 0 < level < 1 or n_samples < 1:
            raise InvalidInput("level must lie between 0 and 1, and n_samples be at least 1.")
        n = len(self.sums)
        drawn = np.random.default_rng(seed).integers(n, size=(n_samples, n))
        times = np.zeros((n_samples, n))
        np.add.at(times, (np.arange(n_samples)[:, None], drawn), 1.0)
        once = np.ones((1, n))
        return {
            "question_weighted": _interval(
                self._by_question(once), self._by_question(times), level
            ),
            "category_weighted": _interval(
                self._by_category(once), self._by_category(times), level
            ),
        }

    def _by_question(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        means: NDArray[np.float64] = times @ self.sums.sum(axis=1)
        means /= times @ self.counts.sum(axis=1)
        return means

    def _by_category(self, times: NDArray[np.float64]) -> NDArray[np.float64]:
        # A draw may hold no question of a category; its mean is then over the others.
        counts = times @ self.counts
        means = np.divide(times @ self.sums, counts, out=np.zeros_like(counts), where=counts > 0)
        averaged: NDArray[np.float64] = means.sum(axis=1) / (counts > 0).sum(axis=1)
        return averaged


def _interval(whole: NDArray[np.float64], drawn: NDArray[np.float64], level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean=float(whole[0]), low=float(low), high=float(high), level=level)
