"""Results as tables for a person; numbers come from the JSON alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

CATEGORIES = (
    "all",
    "answerable",
    "multi_hop",
    "temporal",
    "open_domain",
    "single_hop",
    "adversarial",
)
"""Groups of LoCoMo's questions, as results name them."""


def locomo(document: Mapping[str, Any]) -> RenderableType:
    """Recall by category and by depth or budget, for the method and its baselines."""
    methods = {document["method"]: document, **document["baselines"]}
    by_category = _table(
        "LoCoMo: turn recall at 10, by category", ["method", *CATEGORIES, "tuned", "held out"]
    )
    for name, values in methods.items():
        recall = values["turn_recall"]["10"]
        halves = [values["halves"][half]["turn_recall"]["10"]["all"] for half in _HALVES]
        _add(by_category, name, [*(recall[c] for c in CATEGORIES), *halves])
    depth = _by_step("Turn recall at k, all questions", "turn_recall", methods)
    budget = _by_step("Recall within a budget of tokens, all questions", "budget_recall", methods)
    return Group(by_category, depth, budget, _sessions(methods), *_abstention(document))


def realmem(document: Mapping[str, Any]) -> RenderableType:
    """Session recall by depth, and at 5 by person."""
    methods = document["methods"]
    people = list(next(iter(methods.values()))["personas"])
    by_person = _table("RealMem: session recall at 5, by person", ["method", *people])
    for name, values in methods.items():
        _add(by_person, name, [values["personas"][p]["session_recall"]["5"] for p in people])
    return Group(_flat("RealMem: session recall at k", "session_recall", methods), by_person)


def longmemeval_pool(document: Mapping[str, Any]) -> RenderableType:
    """Turn recall by depth."""
    title = "LongMemEval pool (not LongMemEval-S): turn recall at k"
    return _flat(title, "turn_recall", document["methods"])


def speed(document: Mapping[str, Any]) -> RenderableType:
    """Latencies by size of the bank, and rates of writing."""
    latency = _table(
        f"Latency of {document['method']} in ms, p50 / p95",
        ["turns", "recall", "search", "numpy product", "bm25s"],
    )
    for size in document["search_latency_ms"]:
        floor = document["floor"][size]
        cells = [document["recall_latency_ms"][size], document["search_latency_ms"][size]]
        latency.add_row(size, *map(_pair, [*cells, floor["numpy_ms"], floor["bm25s_ms"]]))
    rates = _table("Writing, turns per second", ["how", "turns/s"])
    for name, value in document["write_per_s"].items():
        rates.add_row(name.replace("_", " "), "–" if value is None else f"{value:,.0f}")
    rates.add_row("encoder, one query, ms", _pair(document["encoder_latency_ms"]))
    return Group(latency, rates)


_HALVES = ("tuned", "held_out")


def _by_step(title: str, measure: str, methods: Mapping[str, Any]) -> Table:
    steps = list(next(iter(methods.values()))[measure])
    table = _table(title, ["method", *steps])
    for name, values in methods.items():
        _add(table, name, [values[measure][step]["all"] for step in steps])
    return table


def _flat(title: str, measure: str, methods: Mapping[str, Any]) -> Table:
    steps = list(next(iter(methods.values()))[measure])
    table = _table(title, ["method", *steps, *(f"{half.replace('_', ' ')} 10" for half in _HALVES)])
    for name, values in methods.items():
        halves = [values["halves"][half][measure]["10"] for half in _HALVES]
        _add(table, name, [*values[measure].values(), *halves])
    return table


def _sessions(methods: Mapping[str, Any]) -> Table:
    names = list(next(iter(methods.values()))["session"])
    table = _table(
        "Sessions, and latency in ms (p50 / p95)", ["method", *names, "recall", "search"]
    )
    for name, values in methods.items():
        latency = [_pair(values["latency_ms"][stage]) for stage in ("recall", "search")]
        table.add_row(name, *(_number(values["session"][n]) for n in names), *latency)
    return table


def _abstention(document: Mapping[str, Any]) -> Iterable[Table]:
    found = document.get("abstention")
    if not found:
        return []
    table = _table("Abstention", ["measure", "value"])
    for name in ("auc_adversarial", "auc_unrelated", "false_abstention_at_90"):
        _add(table, name, [found[name]])
    for name, value in found["at_threshold"].items():
        _add(table, name if name == "threshold" else f"declined: {name}", [value])
    return [table]


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column.replace("_", " "), justify="right" if number else "left")
    return table


def _add(table: Table, name: str, values: Iterable[float | None]) -> None:
    table.add_row(name, *map(_number, values))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _pair(value: Mapping[str, float] | None) -> str:
    return "–" if value is None else f"{value['p50']:.1f} / {value['p95']:.1f}"
