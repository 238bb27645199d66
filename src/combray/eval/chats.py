"""The benchmarks of people with an assistant: RealMem and the LongMemEval pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from combray.eval import datasets, metrics
from combray.eval.datasets import BankData, Dataset, Question
from combray.eval.experiment import Asker, Setup, Written, distinct, written
from combray.eval.locomo import params_of
from combray.eval.record import Row, described, provenance
from combray.eval.results import Result
from combray.eval.summary import half, mean_of
from combray.methods.base import Method

METHODS = ("fused", "bm25", "dense", "late")
SESSION_DEPTHS = (1, 3, 5, 10)
TURN_DEPTHS = (1, 3, 5, 10, 20, 50)

Measure = Callable[[Asker, Question, Method], dict[str, float]]


def run_realmem(methods: Sequence[Method | str] = METHODS, *, setup: Setup | None = None) -> Result:
    """Session recall on RealMem: gold sessions among the first k, over gold sessions, averaged over questions.

    A question is put under a filter on the sessions before the one it is asked in. Sessions are ranked by the first
    appearance of one of their turns.

    Raises:
        NotFound: the data are not here; says where to get them.
        ConfigError: no method has that name.
    """
    setup = setup or Setup()
    dataset = datasets.realmem(setup.data)
    rows, origin = _measured(dataset, distinct(methods), _sessions_found, setup)

    def summary(method: Method) -> dict[str, Any]:
        own = [row for row in rows if row.method == method.name]
        people = {
            data.name: _recall([r for r in own if r.bank == data.name], "session", SESSION_DEPTHS)
            for data in dataset.banks
        }
        return _by_half(own, "session", SESSION_DEPTHS) | {"personas": people}

    return _result(dataset, distinct(methods), summary, rows, origin)


def run_longmemeval_pool(
    methods: Sequence[Method | str] = METHODS, *, setup: Setup | None = None
) -> Result:
    """Turn recall on the LongMemEval pool, over the 470 questions that have an answer.

    Raises:
        NotFound: the data are not here; says where to get them.
        ConfigError: no method has that name.
    """
    setup = setup or Setup()
    dataset = datasets.longmemeval_pool(setup.data)
    rows, origin = _measured(dataset, distinct(methods), _turns_found, setup)

    def summary(method: Method) -> dict[str, Any]:
        own = [row for row in rows if row.method == method.name]
        kinds = {
            kind: _recall([r for r in own if r.category == kind], "turn", TURN_DEPTHS)
            for kind in sorted({row.category for row in own})
        }
        return _by_half(own, "turn", TURN_DEPTHS) | {"categories": kinds}

    return _result(dataset, distinct(methods), summary, rows, origin)


def _measured(
    dataset: Dataset, methods: Sequence[Method], measure: Measure, setup: Setup
) -> tuple[tuple[Row, ...], dict[str, Any]]:
    with written(dataset, setup) as banks:
        rows = tuple(
            row
            for data in dataset.banks
            for row in _rows_of(dataset.name, data, banks, methods, measure, setup)
        )
        origin = provenance(
            dataset.sha256, seed=setup.seed, embedder=banks.embedder, notes=dataset.remarks()
        )
    return rows, described(origin)


def _rows_of(
    dataset: str,
    data: BankData,
    banks: Written,
    methods: Sequence[Method],
    measure: Measure,
    setup: Setup,
) -> Iterator[Row]:
    asker = Asker(banks.banks[data.name], data)
    questions = [question for question in data.questions if question.answerable]
    for done, question in enumerate(questions):
        setup.progress(f"asking {data.name}", done, len(questions))
        for method in methods:
            yield Row(
                dataset=dataset,
                method=method.name,
                bank=data.name,
                question=question.id,
                category=question.category,
                split=question.split,
                values=measure(asker, question, method),
            )


def _sessions_found(asker: Asker, question: Question, method: Method) -> dict[str, float]:
    ranked = asker.sessions(question, method, n=max(SESSION_DEPTHS))
    gold = question.gold_sessions
    values = {f"session@{k}": metrics.recall_fractional(ranked, gold, k) for k in SESSION_DEPTHS}
    return values | {"session_mrr": metrics.reciprocal_rank(ranked, gold)}


def _turns_found(asker: Asker, question: Question, method: Method) -> dict[str, float]:
    ranked = asker.turns(question, method, k=max(TURN_DEPTHS))
    gold = question.gold_turns
    values = {f"turn@{k}": metrics.recall_fractional(ranked, gold, k) for k in TURN_DEPTHS}
    return values | {"turn_mrr": metrics.reciprocal_rank(ranked, gold)}


def _by_half(rows: Sequence[Row], what: str, depths: Sequence[int]) -> dict[str, Any]:
    halves = {split: _recall(half(rows, split), what, depths) for split in ("tuned", "held_out")}
    return _recall(rows, what, depths) | {"mrr": mean_of(rows, f"{what}_mrr"), "halves": halves}


def _recall(rows: Sequence[Row], what: str, depths: Sequence[int]) -> dict[str, Any]:
    return {f"{what}_recall": {str(k): mean_of(rows, f"{what}@{k}") for k in depths}}


def _result(
    dataset: Dataset,
    methods: Sequence[Method],
    summary: Callable[[Method], dict[str, Any]],
    rows: tuple[Row, ...],
    origin: dict[str, Any],
) -> Result:
    document = {
        "benchmark": dataset.name,
        "data_sha256": dataset.sha256,
        "n_questions": len({(row.bank, row.question) for row in rows}),
        "methods": {
            method.name: summary(method) | {"params": params_of(method)} for method in methods
        },
        "provenance": origin,
    }
    return Result(benchmark=dataset.name, stem=dataset.name, document=document, rows=rows)
