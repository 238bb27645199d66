"""Features, the channels they belong to, and their weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.resources import files

from combray.errors import ConfigError

CHANNELS: Mapping[str, tuple[str, ...]] = {
    "lexical": ("lexical", "lexical_chat"),
    "dense": ("dense", "dense_chat"),
    "late": ("late", "late_chat"),
    "neighbours": (
        "previous_lexical",
        "previous_dense",
        "next_dense",
        "late_with_previous",
    ),
    "episode": (
        "session_bm25",
        "session_lexical",
        "session_dense",
        "session_late",
    ),
    "cooccurrence": ("rare_hubs",),
    "speaker": ("speaker",),
    "time": ("time",),
    "question": ("question",),
    "recency": ("recency",),
}
"""The features of each channel. What each feature is: docs/methods/fused.md."""

CHANNEL_OF: Mapping[str, str] = {
    feature: channel for channel, features in CHANNELS.items() for feature in features
}

LATE_FEATURES = (
    "late",
    "late_chat",
    "late_with_previous",
    "session_late",
)
"""Features that are known for candidates only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights by feature, for each stage.

    Attributes:
        words: ranks a bank, or a query, without vectors.
        first: chooses the candidates of late interaction.
        final: ranks the candidates.
        support: intercept and weights of the signals behind `support`.
        support_words: the same without vectors.
    """

    words: Mapping[str, float]
    first: Mapping[str, float]
    final: Mapping[str, float]
    support: Mapping[str, float]
    support_words: Mapping[str, float]


@cache
def fitted_weights() -> Weights:
    """The weights that benchmarks/fit_fused.py wrote; `weights.json` says on what."""
    raw = files("combray.methods.fused").joinpath("weights.json").read_text("utf-8")
    read = json.loads(raw)
    return Weights(**{stage.name: read[stage.name] for stage in fields(Weights)})


@dataclass(frozen=True, slots=True, kw_only=True)
class FusedParams:
    """Numbers of `fused`; the weights are fitted, the rest is chosen.

    Attributes:
        k1: BM25 saturation; Lucene's default, no better value on the tuning half.
        b: BM25 length normalisation; likewise.
        candidates: turns whose late interaction is computed.
        candidate_tokens: bound on their token vectors, which bounds the time on long turns.
        chat_terms: mean terms of a turn at and below which a bank counts as people chatting.
        long_terms: mean terms at and above which it counts as long turns of a person and an assistant; weights
            are interpolated between.
        rare_hub: lowest and highest document frequency of a rare hub.
        stop_word_weight: weight of a stop word's token in late interaction, where a term weighs its idf.
        off: channels that are switched off.
        abstain_below: support under which a recall abstains; low, since a wrong refusal costs more than a poor pack.
        weights: by feature.
    """

    k1: float = 1.2
    b: float = 0.75
    candidates: int = 128
    candidate_tokens: int = 16_000
    chat_terms: float = 18.0
    long_terms: float = 36.0
    rare_hub: tuple[int, int] = (2, 10)
    stop_word_weight: float = 0.3
    off: frozenset[str] = frozenset()
    abstain_below: float = 0.07
    weights: Weights = field(default_factory=fitted_weights)

    def __post_init__(self) -> None:
        unknown = set(self.off) - set(CHANNELS)
        if unknown:
            raise ConfigError(
                f"{', '.join(sorted(unknown))}: no such channel; there are {', '.join(CHANNELS)}."
            )

    def active(self, weights: Mapping[str, float]) -> dict[str, float]:
        """The weights of the channels that are on, without zeros."""
        return {
            name: weight
            for name, weight in weights.items()
            if weight and CHANNEL_OF[name] not in self.off
        }
