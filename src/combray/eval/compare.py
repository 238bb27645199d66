"""Two saved results, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from combray.errors import InvalidInput
from combray.eval.metrics import Interval, bootstrap_mean
from combray.eval.record import Row, read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a comparison.

    Attributes:
        path: CSV of per-question rows.
        method: which of its methods; None where it has one only.
    """

    path: Path | str
    method: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How one group of questions fares on the second side against the first.

    Attributes:
        n: questions.
        first: mean of the first side.
        second: mean of the second.
        difference: second minus first, with an interval over conversations.
        better: questions on which the second side is higher.
        worse: questions on which it is lower.
    """

    n: int
    first: float
    second: float
    difference: Interval
    better: int
    worse: int


def compare(
    first: Side, second: Side, measure: str, *, seed: int = 0, n_samples: int = 2000
) -> dict[str, Difference]:
    """Paired differences of a measure: of all questions (``all``), and by category.

    Args:
        first: what is compared against.
        second: what is compared.
        measure: column, such as ``recall@10``.
        seed: of the bootstrap.
        n_samples: of the bootstrap.

    Raises:
        InvalidInput: a file, method or measure is missing, or the two did not answer the same questions.

    Source:
        The paired bootstrap of Efron and Tibshirani 1993, over conversations (see `metrics.bootstrap_mean`).
    """
    a, b = _values(first, measure), _values(second, measure)
    if a.keys() != b.keys():
        unpaired = len(a.keys() ^ b.keys())
        raise InvalidInput(
            f"{unpaired} questions stand on one side alone: compare runs over the same data."
        )
    groups: dict[str, list[tuple[str, str]]] = {"all": sorted(a)}
    for key in sorted(a):
        groups.setdefault(a[key].category, []).append(key)
    return {
        name: _difference(keys, a, b, measure, seed, n_samples) for name, keys in groups.items()
    }


def _difference(
    keys: Sequence[tuple[str, str]],
    a: Mapping[tuple[str, str], Row],
    b: Mapping[tuple[str, str], Row],
    measure: str,
    seed: int,
    n_samples: int,
) -> Difference:
    before = [a[key].values[measure] for key in keys]
    after = [b[key].values[measure] for key in keys]
    gains = [y - x for x, y in zip(before, after, strict=True)]
    return Difference(
        n=len(keys),
        first=sum(before) / len(keys),
        second=sum(after) / len(keys),
        difference=bootstrap_mean(
            gains, [bank for bank, _ in keys], seed=seed, n_samples=n_samples
        ),
        better=sum(gain > 0 for gain in gains),
        worse=sum(gain < 0 for gain in gains),
    )


def _values(side: Side, measure: str) -> dict[tuple[str, str], Row]:
    rows = read_rows(Path(side.path))
    methods = list(dict.fromkeys(row.method for row in rows))
    method = side.method or (methods[0] if len(methods) == 1 else None)
    if method not in methods:
        several = "several methods; by --first-method or --second-method name one"
        wanted = f"no method {method!r}" if method else several
        raise InvalidInput(f"{side.path}: {wanted} (there are: {', '.join(methods)}).")
    found = {(row.bank, row.question): row for row in rows if row.method == method}
    if not all(measure in row.values for row in found.values()):
        names = ", ".join(next(iter(found.values())).values)
        raise InvalidInput(f"{side.path}: no measure {measure!r} (there are: {names}).")
    return found
