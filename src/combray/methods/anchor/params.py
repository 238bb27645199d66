"""Every number of AnchorMem, and every choice where paper and released code differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from combray.errors import InvalidInput

Pruning = Literal["greedy", "equation_9", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorParams:
    """How facts are drawn, grouped and looked up.

    Attributes:
        window: turns in a chunk. Released code: 3; the paper names no number.
        stride: turns from one chunk to the next. Released code: 2.
        contained_windows: whether a session's last window counts even if it lies wholly in the one before. Released code: yes; it
            costs a call that can tell nothing new.
        similarity: cosine above which two facts belong together (τ). Paper and run: .85; the code's class: .80.
        n_neighbours: most facts beside the main one in an event (N). Paper and run: 3; the code's class: 5.
        pruning: which candidate events are kept. ``greedy``: those with at least `min_new` facts beside those of any one kept
            event, in order of size and similarity; with ⌈N/2⌉ it is the rule that follows the paper's Table 6.
            ``equation_9``: the paper's formulas taken literally (the N nearest, dropped where ⌈N/2⌉ of them share one
            context), which contradicts Table 6. ``none``: all.
        min_new: for ``greedy``; None for ⌈N/2⌉. Released code: the constant 3.
        own_context: give the model the main fact's own turns too (paper, equation 10); the released code leaves them out.
        n_facts: facts that a question is looked up by. Released code: 5; the paper's "top-k = 10" is 5 facts and 5 events.
        n_events: events that are shown as notes. Released code: 5.
        fill: go on down the facts until there are as many turns as were asked for, instead of stopping at `n_facts`.
        max_fact_chars: a longer "fact" is not one, and is left out.
    """

    window: int = 3
    stride: int = 2
    contained_windows: bool = False
    similarity: float = 0.85
    n_neighbours: int = 3
    pruning: Pruning = "greedy"
    min_new: int | None = None
    own_context: bool = True
    n_facts: int = 5
    n_events: int = 5
    fill: bool = True
    max_fact_chars: int = 2000

    def __post_init__(self) -> None:
        if not 1 <= self.stride <= self.window:
            raise InvalidInput(
                f"stride {self.stride} must be between 1 and the window ({self.window}), or turns are left out."
            )
        if not 0 < self.similarity < 1:
            raise InvalidInput(f"similarity {self.similarity} must lie between 0 and 1.")
        for name in ("n_neighbours", "n_facts", "least_new", "max_fact_chars"):
            if getattr(self, name) < 1:
                shown = "min_new" if name == "least_new" else name
                raise InvalidInput(f"{shown} must be at least 1, not {getattr(self, name)}.")
        if self.n_events < 0:
            raise InvalidInput(f"n_events must not be negative, but is {self.n_events}.")
        if self.pruning not in ("greedy", "equation_9", "none"):
            raise InvalidInput(f"{self.pruning!r} is no pruning; use greedy, equation_9 or none.")

    @property
    def half(self) -> int:
        """⌈N/2⌉."""
        return -(-self.n_neighbours // 2)

    @property
    def least_new(self) -> int:
        """`min_new`, or ⌈N/2⌉ where it is not given."""
        return self.half if self.min_new is None else self.min_new
