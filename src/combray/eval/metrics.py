"""Measures of rankings, of abstention, and of how sure a mean is. Pure functions, each with its definition.

A ranking is a sequence of names, best first, without repeats; gold is the non-empty set of the right ones. Questions
without gold have no recall: they are left out, never counted as 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from combray.errors import InvalidInput


def recall_fractional(
    ranked: Sequence[Hashable], gold: Collection[Hashable], k: int | None = None
) -> float:
    """Share of the gold that is among the first k.

    Args:
        ranked: names, best first.
        gold: non-empty.
        k: at least 1; None means the whole ranking.

    Returns:
        |gold ∩ first k| / |gold|, in 0…1.

    Raises:
        InvalidInput: there is no gold, or k is below 1.

    Source:
        Manning, Raghavan and Schütze 2008, "Introduction to Information Retrieval", 8.3. AtomMem's recall@10 is the
        same over fact sources, with malformed ids kept as misses and 1 for questions without evidence.
        Deviation: ids are normalised and such questions left out.
    """
    return _found(ranked, gold, k) / len(set(gold))


def recall_any(
    ranked: Sequence[Hashable], gold: Collection[Hashable], k: int | None = None
) -> float:
    """1 if at least one of the gold is among the first k, else 0; also called hit@k and success@k.

    Source:
        LongMemEval's ``recall_any@k`` (Wu et al. 2024).
    """
    return float(_found(ranked, gold, k) > 0)


def recall_all(
    ranked: Sequence[Hashable], gold: Collection[Hashable], k: int | None = None
) -> float:
    """1 if all of the gold is among the first k, else 0.

    Source:
        LongMemEval's ``recall_all@k`` (Wu et al. 2024).
    """
    return float(_found(ranked, gold, k) == len(set(gold)))


def recall_atommem(found: Sequence[str], evidence: Sequence[str], k: int | None = 10) -> float:
    """AtomMem's Recall@k: the share of the evidence strings that are the turn of one of the first k facts.

    Strings are compared as they stand: one that holds two ids, or no id of any turn, is never found, and one that stands there twice
    counts twice. Not comparable with the other measures here.

    Args:
        found: the one turn of each fact, best fact first, with repeats.
        evidence: of the question, as released; none counts as all found.
        k: number of facts.

    Source:
        AtomMem, section 4.1 and released code.
    """
    if not evidence:
        return 1.0
    turns = set(found[:k])
    return sum(one in turns for one in evidence) / len(evidence)


hit = recall_any


def reciprocal_rank(ranked: Sequence[Hashable], gold: Collection[Hashable]) -> float:
    """1 / rank of the first gold one, 0 if none is ranked; its mean over questions is MRR.

    Source:
        Voorhees 1999, "The TREC-8 Question Answering Track Report".
    """
    wanted = _checked(gold)
    return next((1 / rank for rank, name in enumerate(ranked, 1) if name in wanted), 0.0)


def ndcg(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """Normalised discounted cumulative gain with binary relevance.

    DCG = Σ_i rel_i / log2(i + 1) over ranks i ≤ k, divided by that of the best ranking, which has min(k, |gold|) gold
    ones in front.

    Source:
        Järvelin and Kekäläinen 2002, in the form of Burges et al. 2005 (with rel in place of 2^rel − 1, equal for
        binary relevance).
    """
    return _gain(ranked, gold, k, lambda rank: 1 / math.log2(rank + 1))


def ndcg_longmemeval(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int) -> float:
    """The variant that LongMemEval prints: DCG = rel_1 + Σ_{i≥2} rel_i / log2(i), so rank 2 costs nothing.

    Source:
        Järvelin and Kekäläinen 2002, equation 2 with base 2; LongMemEval's retrieval metrics (Wu et al. 2024).
    """
    return _gain(ranked, gold, k, lambda rank: 1.0 if rank == 1 else 1 / math.log2(rank))


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that a random positive scores above a random negative, ties counting half.

    Args:
        positive: scores that should be high, shape (n,).
        negative: scores that should be low, shape (m,).

    Raises:
        InvalidInput: one of them is empty, or a score is not finite.

    Source:
        Mann and Whitney 1947; equal to the area under the ROC curve (Hanley and McNeil 1982).
    """
    high, low = _scores(positive), np.sort(_scores(negative))
    below = np.searchsorted(low, high, side="left")
    not_above = np.searchsorted(low, high, side="right")
    return float((below + not_above).sum() / (2 * len(high) * len(low)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionPoint:
    """What a threshold on support does: a recall abstains below it.

    Attributes:
        threshold: of support.
        correct_abstention: share of the unanswerable questions that it declines.
        false_abstention: share of the answerable ones that it declines.
    """

    threshold: float
    correct_abstention: float
    false_abstention: float


def abstention_curve(
    answerable: Sequence[float], unanswerable: Sequence[float]
) -> list[AbstentionPoint]:
    """All distinct trade-offs, from never abstaining to always, by rising threshold.

    Args:
        answerable: support of the questions that have an answer, shape (n,).
        unanswerable: support of those that have none, shape (m,).

    Raises:
        InvalidInput: one of them is empty, or a support is not finite.
    """
    yes, no = np.sort(_scores(answerable)), np.sort(_scores(unanswerable))
    values = np.unique(np.concatenate([yes, no]))
    thresholds = np.append(values, np.nextafter(values[-1], np.inf))
    declined_no = np.searchsorted(no, thresholds, side="left") / len(no)
    declined_yes = np.searchsorted(yes, thresholds, side="left") / len(yes)
    return [
        AbstentionPoint(threshold=float(t), correct_abstention=float(c), false_abstention=float(f))
        for t, c, f in zip(thresholds, declined_no, declined_yes, strict=True)
    ]


def false_abstention_at(
    answerable: Sequence[float], unanswerable: Sequence[float], correct: float = 0.9
) -> float:
    """Share of answerable questions declined at the lowest threshold that declines `correct` of the others.

    Args:
        answerable: support of the questions that have an answer, shape (n,).
        unanswerable: support of those that have none, shape (m,).
        correct: wanted share of correct abstentions, in 0…1.

    Raises:
        InvalidInput: an input is empty or not finite, or `correct` is outside 0…1.

    Source:
        The false positive rate at a fixed true positive rate of selective question answering (as FPR95 in
        out-of-distribution detection, Hendrycks and Gimpel 2017).
    """
    if not 0 <= correct <= 1:
        raise InvalidInput(f"correct must lie in 0…1, not {correct}.")
    curve = abstention_curve(answerable, unanswerable)
    return next(point.false_abstention for point in curve if point.correct_abstention >= correct)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean and where it may lie.

    Attributes:
        mean: over all questions.
        low: lower bound.
        high: upper bound.
        level: of confidence, in 0…1.
    """

    mean: float
    low: float
    high: float
    level: float


def bootstrap_mean(
    values: Sequence[float],
    groups: Sequence[Hashable],
    *,
    n_samples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The mean over questions with a percentile interval from resampled conversations.

    Questions of one conversation are not independent, so conversations are drawn with replacement and their questions
    pooled. For a paired comparison pass the differences.

    Args:
        values: one per question, shape (n,).
        groups: the conversation of each, shape (n,).
        n_samples: number of resamples.
        level: of confidence, in 0…1, both ends excluded.
        seed: of the random generator; the same seed gives the same interval.

    Raises:
        InvalidInput: nothing to average, unequal lengths, a value that is not finite, or a bad level.

    Source:
        Efron and Tibshirani 1993, 13.3 (percentile interval); resampling whole clusters as in Field and Welsh 2007.
    """
    scores = _scores(values)
    if len(groups) != len(scores):
        raise InvalidInput(f"{len(scores)} values cannot belong to {len(groups)} groups.")
    if not 0 < level < 1 or n_samples < 1:
        raise InvalidInput("level must lie between 0 and 1, and n_samples be at least 1.")
    numbers: dict[Hashable, int] = {}
    member = np.array([numbers.setdefault(group, len(numbers)) for group in groups])
    sums = np.bincount(member, weights=scores)
    counts = np.bincount(member)
    drawn = np.random.default_rng(seed).integers(len(sums), size=(n_samples, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean=float(scores.mean()), low=float(low), high=float(high), level=level)


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile (0…100) with linear interpolation.

    Raises:
        InvalidInput: there are no values, or one is not finite.

    Source:
        Hyndman and Fan 1996, definition 7 (numpy's default).
    """
    return float(np.percentile(_scores(values), q))


def _found(ranked: Sequence[Hashable], gold: Collection[Hashable], k: int | None) -> int:
    wanted = _checked(gold)
    if k is not None and k < 1:
        raise InvalidInput(f"k must be at least 1, not {k}.")
    return len(wanted.intersection(ranked[:k]))


def _gain(
    ranked: Sequence[Hashable],
    gold: Collection[Hashable],
    k: int,
    discount: Callable[[int], float],
) -> float:
    wanted = _checked(gold)
    if k < 1:
        raise InvalidInput(f"k must be at least 1, not {k}.")
    got = math.fsum(discount(r) for r, name in enumerate(ranked[:k], 1) if name in wanted)
    best = math.fsum(discount(rank) for rank in range(1, min(k, len(wanted)) + 1))
    return got / best


def _checked(gold: Collection[Hashable]) -> set[Hashable]:
    if not gold:
        raise InvalidInput("a question without gold has no recall; leave it out.")
    return set(gold)


def _scores(values: Sequence[float]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise InvalidInput("expected at least one score, and all of them finite.")
    return array
