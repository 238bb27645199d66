"""Fitting evidence into a token budget, and rendering it."""

from combray.pack.budget import ApproximateCounter, TiktokenCounter, TokenCounter
from combray.pack.notes import NoteParams, pack_with_notes
from combray.pack.render import rendered
from combray.pack.select import MIN_BUDGET_TOKENS, Neighbours, Packed, PackParams, pack

__all__ = [
    "MIN_BUDGET_TOKENS",
    "ApproximateCounter",
    "Neighbours",
    "NoteParams",
    "PackParams",
    "Packed",
    "TiktokenCounter",
    "TokenCounter",
    "pack",
    "pack_with_notes",
    "rendered",
]
