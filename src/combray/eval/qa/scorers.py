"""Scores of an answer against the gold answer by the words they share, each variant under its own name.

Every score lies in 0…1, and is 0 where the answer or the gold holds no word. Numbers of different variants are not
comparable, though papers' tables mix them: `Scorer.definition` goes into every result beside the numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from combray.errors import MissingExtra
from combray.eval.qa import tokens
from combray.eval.qa.refusals import says_nothing_found

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """A named score.

    Attributes:
        name: what results call it.
        score: gives the score of (answer, gold, category).
        definition: in one line, for a reader of the result.
    """

    name: str
    score: Callable[[str, str, str], float]
    definition: str


def f1_squad(answer: str, gold: str) -> float:
    """F1 over SQuAD's words, repetitions counted.

    Source:
        Rajpurkar et al. 2016; used by AnchorMem.
    """
    return _f1_counted(tokens.squad(answer), tokens.squad(gold))


def f1_set_word(answer: str, gold: str) -> float:
    """F1 over the set of words between punctuation.

    Source:
        AtomMem's evaluation.
    """
    return _f1_sets(tokens.word(answer), tokens.word(gold))


def f1_set_simple(answer: str, gold: str) -> float:
    """F1 over the set of words between spaces and sentence marks.

    Source:
        SimpleMem's LoCoMo test, after A-Mem.
    """
    return _f1_sets(tokens.simple(answer), tokens.simple(gold))


def f1_locomo(answer: str, gold: str, category: str) -> float:
    """LoCoMo's official F1, which depends on the kind of question.

    Multi-hop: answer and gold are lists at their commas; the mean over the gold's parts of the best F1 of any part of the
    answer. Open-domain: the gold up to its first semicolon. Adversarial: 1 if the answer says that nothing is known, by
    two fixed phrases. All others: F1 over stems, repetitions counted.

    Args:
        answer: as given.
        gold: not read for adversarial questions.
        category: ``multi_hop``, ``temporal``, ``open_domain``, ``single_hop`` or ``adversarial``.

    Source:
        Maharana et al. 2024, LoCoMo's own evaluation script.
    """
    if category == "adversarial":
        return float(says_nothing_found(answer))
    if category == "multi_hop":
        return _f1_lists(answer.split(","), gold.split(","))
    if category == "open_domain":
        gold = gold.split(";", maxsplit=1)[0]
    return _f1_counted(tokens.locomo(answer), tokens.locomo(gold))


def bleu1_nltk(answer: str, gold: str) -> float:
    """BLEU over single Treebank words, by nltk.

    Source:
        Papineni et al. 2002, as nltk's sentence BLEU with weights (1, 0, 0, 0) and smoothing method 1 (Chen and Cherry
        2014), which does not matter for single words; used by AnchorMem and SimpleMem.

    Raises:
        MissingExtra: nltk is not installed.
    """
    return _nltk_bleu(answer, gold, (1.0, 0.0, 0.0, 0.0))


def bleu1_word(answer: str, gold: str) -> float:
    """BLEU over single words between punctuation: clipped precision times the brevity penalty.

    Source:
        Papineni et al. 2002, 2.3; used by AtomMem.
    """
    said, wanted = tokens.word(answer), tokens.word(gold)
    if not said or not wanted:
        return 0.0
    precision = (Counter(said) & Counter(wanted)).total() / len(said)
    return precision * min(1.0, math.exp(1 - len(wanted) / len(said)))


def bleu4(answer: str, gold: str) -> float:
    """BLEU over one to four Treebank words, sentence by sentence, an order without a match counting as .1 matches.

    Source:
        Papineni et al. 2002, as nltk's sentence BLEU with equal weights and smoothing method 1 (Chen and Cherry 2014:
        ε = .1).  Deviation: EdgeMem reports BLEU-4 over the whole corpus without smoothing; short answers rarely share
        four words in a row, and a corpus score has no per-question rows.

    Raises:
        MissingExtra: nltk is not installed.
    """
    return _nltk_bleu(answer, gold, (0.25, 0.25, 0.25, 0.25))


def rouge_l(answer: str, gold: str) -> float:
    """F-measure of the longest common subsequence of words, without stemming.

    Source:
        Lin 2004, 3.1, as the package rouge-score computes it.

    Raises:
        MissingExtra: rouge-score is not installed.
    """
    return float(_rouge().score(gold, answer)["rougeL"].fmeasure)


def exact_match(answer: str, gold: str) -> float:
    """1 if both are the same text but for case and outer white space.

    Source:
        AnchorMem's evaluation, which normalises no further.
    """
    return float(bool(answer.strip()) and answer.strip().lower() == gold.strip().lower())


def _f1_counted(said: Sequence[str], wanted: Sequence[str]) -> float:
    return _f1((Counter(said) & Counter(wanted)).total(), len(said), len(wanted))


def _f1_sets(said: Sequence[str], wanted: Sequence[str]) -> float:
    a, b = set(said), set(wanted)
    return _f1(len(a & b), len(a), len(b))


def _f1(n_common: int, n_said: int, n_wanted: int) -> float:
    return 2 * n_common / (n_said + n_wanted) if n_common else 0.0


def _f1_lists(said: Sequence[str], wanted: Sequence[str]) -> float:
    parts = [tokens.locomo(part) for part in said]
    golds = [tokens.locomo(part) for part in wanted]
    return sum(max(_f1_counted(part, gold) for part in parts) for gold in golds) / len(golds)


def _nltk_bleu(answer: str, gold: str, weights: tuple[float, float, float, float]) -> float:
    said, wanted = tokens.treebank(answer), tokens.treebank(gold)
    if not said or not wanted:
        return 0.0
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smoothing = SmoothingFunction().method1
    return float(sentence_bleu([wanted], said, weights=weights, smoothing_function=smoothing))


@cache
def _rouge() -> RougeScorer:
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise MissingExtra("eval", "ROUGE-L") from error
    return RougeScorer(["rougeL"], use_stemmer=False)


def _plain(score: Callable[[str, str], float]) -> Callable[[str, str, str], float]:
    return lambda answer, gold, _category: score(answer, gold)


SCORERS: Mapping[str, Scorer] = MappingProxyType(
    {
        scorer.name: scorer
        for scorer in (
            Scorer(
                name="f1_squad",
                score=_plain(f1_squad),
                definition="SQuAD words without articles, repetitions counted (AnchorMem)",
            ),
            Scorer(
                name="f1_locomo",
                score=f1_locomo,
                definition="LoCoMo's official F1: Porter stems, a rule for each category",
            ),
            Scorer(
                name="f1_set_word",
                score=_plain(f1_set_word),
                definition="set of words between punctuation (AtomMem)",
            ),
            Scorer(
                name="f1_set_simple",
                score=_plain(f1_set_simple),
                definition="set of words between spaces and . , ! ? (SimpleMem)",
            ),
            Scorer(
                name="bleu1_nltk",
                score=_plain(bleu1_nltk),
                definition="nltk sentence BLEU-1, Treebank words (AnchorMem, SimpleMem)",
            ),
            Scorer(
                name="bleu1_word",
                score=_plain(bleu1_word),
                definition="sentence BLEU-1, words between punctuation (AtomMem)",
            ),
            Scorer(
                name="bleu4",
                score=_plain(bleu4),
                definition="nltk sentence BLEU-4, Treebank words, smoothing method 1",
            ),
            Scorer(
                name="rouge_l",
                score=_plain(rouge_l),
                definition="rouge-score ROUGE-L F-measure, no stemming",
            ),
            Scorer(
                name="exact_match",
                score=_plain(exact_match),
                definition="equal but for case and outer white space (AnchorMem)",
            ),
        )
    }
)
"""All scores, in the order of a result's columns."""


def check_installed() -> None:
    """Use every score once, so that a missing package is known before the first question is paid for.

    Raises:
        MissingExtra: a scorer's package is not installed.
    """
    for scorer in SCORERS.values():
        scorer.score("a word", "a word", "single_hop")
