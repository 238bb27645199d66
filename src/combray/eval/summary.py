"""From rows to the means that a result shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from combray.eval.metrics import percentile
from combray.eval.record import Row

_DIGITS = 5

Groups = Mapping[str, Callable[[Row], bool]]
"""Which rows count, by the name of the group."""


def mean_of(rows: Iterable[Row], measure: str) -> float | None:
    """The mean of the measure over the rows that have it; None where none has."""
    values = [row.values[measure] for row in rows if measure in row.values]
    return round(sum(values) / len(values), _DIGITS) if values else None


def by_group(rows: Sequence[Row], measure: str, groups: Groups) -> dict[str, float | None]:
    """The mean in each group."""
    return {name: mean_of(filter(test, rows), measure) for name, test in groups.items()}


def half(rows: Iterable[Row], split: str) -> list[Row]:
    """The rows of that split."""
    return [row for row in rows if row.split == split]


def latency(rows: Sequence[Row], measures: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """Median and 95th percentile in milliseconds, by the name of each measure."""
    return {
        name: spread([row.values[measure] for row in rows if measure in row.values])
        for name, measure in measures.items()
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    return {f"p{q}": round(percentile(values, q), 3) for q in (50, 95)}
