"""Every number of SimpleMem, and every choice where paper and released code differ."""

from __future__ import annotations

from dataclasses import dataclass

from combray.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class SimpleParams:
    """How sessions are compressed, units merged, and questions planned.

    Attributes:
        window: W, turns in a window. Paper: 20; released code: 40, its server 20.
        overlap: turns that a window shares with the next. Paper: "overlapping", no number; released code: 2.
        history: H, turns before a window that tell who and what is meant. Paper: "immediate history", no number; released
            code: three units of the window before.
        history_chars: shown of each of those. Ours.
        max_window_chars: a window with longer turns is read in several calls, and nothing of them is left out. Ours.
        max_unit_chars: a longer "unit" is none, and is refused. Ours.
        max_keywords: of a unit. Ours.
        synthesis: whether related units are merged. Off is the paper's "w/o synthesis".
        similarity: least cosine of two units that may be merged. Paper: no number.
        group_size: most units in a group, those that have been merged before counted one by one. Paper: no number.
        least_n: results of a view at depth 0. Paper: 3.
        most_n: results of a view at depth 1. Paper: 20.
        max_queries: semantic queries of a plan. Released code: 4, here with the question itself.
        k1: BM25 saturation; Lucene's default.
        b: BM25 length normalisation; Lucene's default.
        rrf: constant of reciprocal rank fusion, which orders the union. Cormack et al. 2009: 60.
        fill: go on down the views until there are as many turns as were asked for, instead of stopping at n. Paper: no.
        reflection: further calls to the planner, each asked what the plan misses. Paper: none; released code: 2.
        planning: whether a model plans, where there is one. Off is the paper's "w/o planning" with the plan that needs none.
    """

    window: int = 20
    overlap: int = 2
    history: int = 3
    history_chars: int = 400
    max_window_chars: int = 24_000
    max_unit_chars: int = 1_000
    max_keywords: int = 5
    synthesis: bool = True
    similarity: float = 0.80
    group_size: int = 5
    least_n: int = 3
    most_n: int = 20
    max_queries: int = 4
    k1: float = 1.2
    b: float = 0.75
    rrf: float = 60.0
    fill: bool = False
    reflection: int = 0
    planning: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.overlap < self.window:
            raise InvalidInput(
                f"overlap {self.overlap} must be at least 0 and below the window ({self.window})."
            )
        if not 0 < self.similarity < 1:
            raise InvalidInput(f"similarity {self.similarity} must lie between 0 and 1.")
        if not 1 <= self.least_n <= self.most_n:
            raise InvalidInput(
                f"least_n {self.least_n} must be at least 1 and at most most_n ({self.most_n})."
            )
        for name, least in (
            ("history", 0),
            ("reflection", 0),
            ("history_chars", 1),
            ("max_window_chars", 100),
            ("max_unit_chars", 1),
            ("group_size", 2),
            ("max_queries", 1),
        ):
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} must be at least {least}, not {getattr(self, name)}.")

    @property
    def stride(self) -> int:
        """Turns from the start of a window to the start of the next."""
        return self.window - self.overlap

    def n(self, depth: float) -> int:
        """Results of each view at that depth, 0 to 1.

        >>> SimpleParams().n(0), SimpleParams().n(1)
        (3, 20)
        """
        return round(self.least_n + (self.most_n - self.least_n) * min(1.0, max(0.0, depth)))
