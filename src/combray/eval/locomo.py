"""The LoCoMo benchmark: turns and sessions found, within depths and token budgets, and abstention."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import Any

from combray.eval import abstention, datasets, metrics
from combray.eval.datasets import Dataset, Question, TurnKey
from combray.eval.experiment import Asked, Asker, Setup, Written, chosen, distinct, key_of, written
from combray.eval.record import Row, described, provenance
from combray.eval.results import Result
from combray.eval.summary import by_group, half, latency, mean_of
from combray.eval.tables import CATEGORIES
from combray.methods.base import Method
from combray.model import Recall

DEPTHS = (5, 10, 18, 20, 50)
BUDGETS = (1024, 256, 512, 2048)  # the first one is timed
SESSION_MEASURES = ("hit@1", "recall@5", "mrr", "ndcg@5")


def run_locomo(
    method: Method | str = "fused",
    *,
    baselines: Sequence[Method | str] = ("bm25",),
    setup: Setup | None = None,
    facts: str | None = None,
) -> Result:
    """Measure a method, beside baselines, on all of LoCoMo.

    Recall is fractional: gold turns found over gold turns, averaged over the 1,982 questions with evidence. Within a
    budget a turn counts as found when it stands in the pack; what was found clipped is also told apart. With `facts`, the
    released output of that system (``anchormem``, ``atommem``) is put into the banks first, for methods that rank by facts.

    Raises:
        NotFound: the data are not here; says where to get them.
        ConfigError: no method has that name, or no system with released facts.
    """
    setup = setup or Setup()
    main = chosen(method)
    methods = distinct([main, *baselines])
    dataset = datasets.locomo(setup.data)
    with written(dataset, setup) as banks:
        if facts is not None:
            from combray.eval.released_facts import remember_released

            remember_released(facts, banks, setup)
        measured = list(_rows(dataset, banks, methods, setup))
        supports = _supports(dataset, banks, main, measured, setup)
        origin = provenance(
            dataset.sha256,
            seed=setup.seed,
            embedder=banks.embedder,
            counter=banks.counter,
            notes=[*dataset.remarks(), *([f"released facts: {facts}"] if facts else [])],
        )
    rows = tuple(row for row in measured if "recall@10" in row.values)
    summaries = {m.name: _summary([r for r in rows if r.method == m.name], m) for m in methods}
    document = {
        "benchmark": "locomo",
        "method": main.name,
        "data_sha256": dataset.sha256,
        **summaries[main.name],
        "baselines": {m.name: summaries[m.name] for m in methods if m.name != main.name},
        "abstention": abstention.report(supports),
        "intervals": _intervals([r for r in rows if r.method == main.name], setup.seed),
        "provenance": described(origin),
    }
    stem = "locomo" if main.name == "fused" else f"locomo-{main.name}"
    return Result(benchmark="locomo", stem=stem, document=document, rows=rows)


def params_of(method: Method) -> dict[str, Any]:
    """The method's settings as JSON; a set becomes a sorted list, anything else that JSON lacks text."""
    params = method.params
    if not is_dataclass(params) or isinstance(params, type):
        return {}
    plain: dict[str, Any] = json.loads(json.dumps(asdict(params), default=_as_json))
    return plain


def _as_json(value: object) -> list[str] | str:
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)


def measures(question: Question, asked: Asked) -> dict[str, float]:
    """All measures of one answer; without recall for a question without evidence."""
    values = {
        "support": asked.support,
        "recall_ms": asked.recall_ms,
        "search_ms": asked.search_ms,
    }
    if not question.gold_turns:
        return values
    for k in DEPTHS:
        values[f"recall@{k}"] = metrics.recall_fractional(asked.ranked, question.gold_turns, k)
    for budget, recall in sorted(asked.recalls.items()):
        whole, clipped = found_in_pack(recall, question.gold_turns)
        values[f"budget@{budget}"] = (len(whole) + len(clipped)) / len(question.gold_turns)
        values[f"clipped@{budget}"] = len(clipped) / len(question.gold_turns)
    sessions, gold = asked.sessions, question.gold_sessions
    values["session_hit@1"] = metrics.hit(sessions, gold, 1)
    values["session_recall@5"] = metrics.recall_fractional(sessions, gold, 5)
    values["session_mrr"] = metrics.reciprocal_rank(sessions, gold)
    values["session_ndcg@5"] = metrics.ndcg(sessions, gold, 5)
    return values


def found_in_pack(recall: Recall, gold: frozenset[TurnKey]) -> tuple[set[TurnKey], set[TurnKey]]:
    """The gold turns that stand in the pack whole, and those that stand there only clipped."""
    whole = {key_of(item.turn) for item in recall.items if not item.clipped} & gold
    clipped = {key_of(item.turn) for item in recall.items if item.clipped} & gold
    return whole, clipped - whole


def _rows(
    dataset: Dataset, banks: Written, methods: Sequence[Method], setup: Setup
) -> Iterator[Row]:
    for data in dataset.banks:
        asker = Asker(banks.banks[data.name], data)
        for method in methods:
            for done, question in enumerate(data.questions):
                setup.progress(f"{method.name} on {data.name}", done, len(data.questions))
                asked = asker.ask(question, method, k=max(DEPTHS), budgets=BUDGETS)
                yield Row(
                    dataset=dataset.name,
                    method=method.name,
                    bank=data.name,
                    question=question.id,
                    category=question.category,
                    split=question.split,
                    values=measures(question, asked),
                )


def _supports(
    dataset: Dataset, banks: Written, method: Method, rows: Sequence[Row], setup: Setup
) -> abstention.Supports:
    own = [row for row in rows if row.method == method.name and "recall@10" in row.values]
    unrelated: list[float] = []
    for data in dataset.banks:
        asker = Asker(banks.banks[data.name], data)
        questions = abstention.unrelated_questions(dataset, data)
        for done, question in enumerate(questions):
            setup.progress(f"unrelated questions on {data.name}", done, len(questions))
            asked = asker.ask(question, method, k=max(DEPTHS), budgets=BUDGETS[:1])
            unrelated.append(asked.support)
    return abstention.Supports(
        answerable=tuple(r.values["support"] for r in own if r.category != "adversarial"),
        adversarial=tuple(r.values["support"] for r in own if r.category == "adversarial"),
        unrelated=tuple(unrelated),
        threshold=float(getattr(method.params, "abstain_below", 0.0)),
    )


def _summary(rows: Sequence[Row], method: Method) -> dict[str, Any]:
    """What the JSON holds of one method."""
    return {
        "params": params_of(method),
        "n_questions": len(rows),
        **_recall(rows),
        "latency_ms": latency(rows, {"recall": "recall_ms", "search": "search_ms"}),
        "halves": {split: _recall(half(rows, split)) for split in ("tuned", "held_out")},
    }


def _recall(rows: Sequence[Row]) -> dict[str, Any]:
    budgets = sorted(BUDGETS)
    return {
        "turn_recall": {str(k): by_group(rows, f"recall@{k}", _GROUPS) for k in DEPTHS},
        "budget_recall": {str(b): by_group(rows, f"budget@{b}", _GROUPS) for b in budgets},
        "budget_recall_clipped": {str(b): by_group(rows, f"clipped@{b}", _GROUPS) for b in budgets},
        "session": {name: mean_of(rows, f"session_{name}") for name in SESSION_MEASURES},
    }


def _intervals(rows: Sequence[Row], seed: int) -> dict[str, Any]:
    """95% intervals of recall at 10, by conversation."""
    found = {}
    for name in ("all", "answerable"):
        chosen_rows = [row for row in rows if _GROUPS[name](row)]
        interval = metrics.bootstrap_mean(
            [row.values["recall@10"] for row in chosen_rows],
            [row.bank for row in chosen_rows],
            seed=seed,
        )
        found[name] = {"low": round(interval.low, 5), "high": round(interval.high, 5)}
    return {"turn_recall@10": found}


def _in_category(category: str) -> Callable[[Row], bool]:
    return lambda row: row.category == category


_GROUPS: Mapping[str, Callable[[Row], bool]] = {
    "all": lambda row: True,
    "answerable": lambda row: row.category != "adversarial",
    **{name: _in_category(name) for name in CATEGORIES[2:]},
}
