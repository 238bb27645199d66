"""Runs `atom` on all of LoCoMo over AtomMem's released facts: flat, without the graph, full, and with single channels.

The notes of the facts, the events and the query's intent are made without a model (`combray.methods.atom`: `local`, `grouping`, `intent`),
since the release has none. So Table 2 of the paper can be compared, not reproduced.

Usage: python benchmarks/atom_released.py [--save FOLDER] [--store DATABASE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from combray.eval import Setup, datasets
from combray.eval.datasets import BankData, Question
from combray.eval.datasets.atommem import TurnFacts, atommem
from combray.eval.datasets.locomo import raw_evidence
from combray.eval.experiment import Written, chosen, key_of, written
from combray.eval.locomo import found_in_pack, params_of
from combray.eval.metrics import bootstrap_mean, recall_atommem, recall_fractional
from combray.eval.released_facts import remember_released
from combray.memory import BankMemory
from combray.methods.atom import Atom, AtomParams
from combray.methods.atom.grouping import GroupingParams
from combray.methods.base import Method
from combray.model import Recall, RecordKind

K, BUDGET = 10, 1024
ROOMY = 1 << 14
"""A budget in which ten facts always fit, so that all of them can be read off the recall."""

CATEGORIES = ("single_hop", "multi_hop", "temporal", "open_domain")
PAPER = {
    "flat": (72.18, 41.75, 79.89, 42.46),
    "full": (76.30, 48.15, 81.10, 48.98),
}
"""Recall@10 of AtomMem, Table 2, in order of `CATEGORIES`."""


def variant(**params: object) -> Method:
    return Atom(params=AtomParams(**params))  # type: ignore[arg-type]


METHODS: Mapping[str, Method] = {
    "flat": variant(graph=False, profiles=False, n_primary=10, n_compensatory=0),
    "flat, without keywords": variant(
        graph=False,
        profiles=False,
        n_primary=10,
        n_compensatory=0,
        cosine_weight=1.0,
        keyword_weight=0.0,
    ),
    "without graph": variant(graph=False),
    "full": variant(),
    "full, seeds of the query alone": variant(n_primary=10, n_compensatory=0),
    "keyword channel alone": variant(mixture=(1, 0, 0)),
    "event channel alone": variant(mixture=(0, 1, 0)),
    "turn channel alone": variant(mixture=(0, 0, 1)),
    "no keyword channel": variant(mixture=(0, 0.40, 0.15)),
    "no event channel": variant(mixture=(0.45, 0, 0.15)),
    "no turn channel": variant(mixture=(0.45, 0.40, 0)),
    "fused": chosen("fused"),
    "bm25": chosen("bm25"),
}

PACKED = ("flat", "without graph", "full", "fused", "bm25")
"""Of which the pack is measured too."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        setup = Setup(store=options.store or Path(folder) / "released.db")
        with written(datasets.locomo(), setup) as there:
            remember_released("atommem", there, setup)
            out = measured(there)
    print(json.dumps(out, indent=1))
    if options.save:
        (options.save / "atom_released.json").write_text(json.dumps(out, indent=1) + "\n")


def measured(there: Written) -> dict[str, object]:
    data, evidence = datasets.locomo(), raw_evidence()
    rows: dict[str, list[dict[str, object]]] = {name: [] for name in METHODS}
    for bank in data.banks:
        memory = there.banks[bank.name]
        ids = {turn.id: turn.client_id or "" for turn in memory.turns()}
        for question in asked(bank):
            for name, method in METHODS.items():
                found = answered(memory, question, method, ids, evidence[question.id])
                if name in PACKED and question.gold_turns:
                    found["budget"] = packed(memory, question, method)
                rows[name].append(
                    found
                    | {"bank": bank.name, "category": question.category, "split": question.split}
                )
    return {
        "n_questions": len(rows["full"]),
        "grouping": asdict(GroupingParams()),
        "n_events": n_events(there),
        "paper": {
            name: dict(zip(CATEGORIES, values, strict=True)) for name, values in PAPER.items()
        },
        "cosine": by_cosine(there, data.banks, evidence),
        "cosine_without_duplicates": by_cosine(there, data.banks, evidence, duplicate=0.95),
        "gains": {
            f"{one} over {other}": gain(rows[one], rows[other])
            for one, other in (("full", "without graph"), ("full", "flat"))
        },
        "methods": {
            name: {"params": params_of(METHODS[name]), **summary(found)}
            for name, found in rows.items()
        },
    }


def asked(bank: BankData) -> list[Question]:
    """The questions that the papers report, categories 1 to 4."""
    return [question for question in bank.questions if question.category != "adversarial"]


def answered(
    memory: BankMemory,
    question: Question,
    method: Method,
    ids: Mapping[str, str],
    evidence: Sequence[str],
) -> dict[str, object]:
    """Recall of one question; of a method without facts, AtomMem's is that of its turns."""
    roomy = recalled(memory, question, method, ROOMY)
    if isinstance(method, Atom):
        notes = [note.record for note in roomy.notes if note.record.kind is RecordKind.FACT]
        turns = [ids[record.sources[0]] for record in notes]
    else:
        turns = [hit.turn.client_id or "" for hit in roomy.hits]
    found: dict[str, object] = {"atommem": recall_atommem(turns, evidence, K)}
    if question.gold_turns:
        ranked = [key_of(hit.turn) for hit in roomy.hits]
        found["recall"] = recall_fractional(ranked, question.gold_turns, K)
    return found


def packed(memory: BankMemory, question: Question, method: Method) -> float:
    """Share of the evidence turns that stand in the pack."""
    small = recalled(memory, question, method, BUDGET)
    return sum(map(len, found_in_pack(small, question.gold_turns))) / len(question.gold_turns)


def recalled(memory: BankMemory, question: Question, method: Method, budget: int) -> Recall:
    return memory.recall(
        question.text,
        k=K,
        budget_tokens=budget,
        method=method,
        now=question.asked_at,
        abstain=False,
    )


def summary(rows: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Percent by measure: over all, by category and by half."""
    return {
        measure: {
            "all": mean(row[measure] for row in rows if measure in row),
            **{c: mean(row[measure] for row in rows if measure in row and row["category"] == c) for c in CATEGORIES},
            **{s: mean(row[measure] for row in rows if measure in row and row["split"] == s) for s in ("tuned", "held_out")},
        }
        for measure in ("atommem", "recall", "budget")
        if any(measure in row for row in rows)
    }  # fmt: skip


def mean(values: Iterable[object]) -> float:
    return round(100 * statistics.mean(float(value) for value in values), 2)  # type: ignore[arg-type]


def gain(
    one: Sequence[Mapping[str, object]], other: Sequence[Mapping[str, object]]
) -> dict[str, float]:
    """Difference of AtomMem's recall in points, question by question, with its 95% interval over conversations."""
    differences = [
        100 * (float(a["atommem"]) - float(b["atommem"]))  # type: ignore[arg-type]
        for a, b in zip(one, other, strict=True)
    ]
    found = bootstrap_mean(differences, [str(row["bank"]) for row in one])
    return {name: round(getattr(found, name), 2) for name in ("mean", "low", "high")}


def n_events(there: Written) -> int:
    units = (there.memory.store.units(bank.name, "atom", "event") for bank in there.banks.values())
    return sum(map(len, units))


def by_cosine(
    there: Written,
    banks: Sequence[BankData],
    evidence: Mapping[str, Sequence[str]],
    *,
    duplicate: float = 2.0,
) -> dict[str, float]:
    """AtomMem's recall of the ten facts nearest by cosine alone: no keywords, no people, no time.

    Facts with a higher cosine than `duplicate` to an earlier one are left out, as the released code does.
    """
    embedder, released = there.memory.embedder(), atommem()
    assert embedder is not None
    found: dict[str, list[float]] = {category: [] for category in CATEGORIES}
    for bank in banks:
        facts: Sequence[TurnFacts] = released[bank.name]
        questions = asked(bank)
        turns = np.array([one.turn[1] for one in facts for _ in one.facts])
        vectors = embedder.embed([text for one in facts for text in one.facts]).vectors
        new = ~(np.tril(vectors @ vectors.T, -1) > duplicate).any(axis=1)
        turns, vectors = turns[new], vectors[new]
        cosines = embedder.embed([question.text for question in questions]).vectors @ vectors.T
        for question, row in zip(questions, cosines, strict=True):
            best = turns[np.argsort(-row, kind="stable")[:K]].tolist()
            found[question.category].append(recall_atommem(best, evidence[question.id], K))
    return {category: mean(values) for category, values in found.items()}


if __name__ == "__main__":
    main()
