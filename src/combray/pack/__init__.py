"""Fitting evidence into a token budget, and rendering it."""

from combray.pack.budget import ApproximateCounter, TiktokenCounter, TokenCounter
from combray.pack.render import rendered
from combray.pack.select import MIN_BUDGET_TOKENS, Neighbours, Packed, PackParams, pack

__all__ = [
    "MIN_BUDGET_TOKENS",
    "ApproximateCounter",
    "Neighbours",
    "PackParams",
    "Packed",
    "TiktokenCounter",
    "TokenCounter",
    "pack",
    "rendered",
]
