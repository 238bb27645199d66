"""Fits `support` of `fused`: a logistic over raw signals, and prints what thresholds cost.

Positive: questions with an answer, of the tuning halves. Negative: the shipped unrelated questions, questions asked to
another bank, and LoCoMo's adversarial ones, at half weight. Each data set and each kind counts the same.

Usage: python benchmarks/fit_support.py [--keep FOLDER] [--dry-run]
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
from fit_fused import TARGET, write
from scipy.optimize import minimize

from combray import Filters, Memory
from combray.eval.abstention import unrelated_texts
from combray.eval.datasets import Dataset, locomo, longmemeval_pool, realmem
from combray.eval.metrics import auc

SIGNALS = ["late", "cosine", "coverage", "unknown", "gap"]
WORD_SIGNALS = ["coverage", "unknown"]
ADVERSARIAL_WEIGHT = 0.5
BORROWED = 40
ASKED = 150

Rows = dict[tuple[str, str, str], list[list[float]]]


def collect(dataset: Dataset, memory: Memory, rows: Rows) -> None:
    """Signals by (data set, split, kind of question)."""
    for i, data in enumerate(dataset.banks):
        bank = memory.bank(data.name)
        split = data.questions[0].split if len(dataset.banks) > 1 else ""

        def add(text: str, kind: str, half: str, filters: Filters | None = None, bank=bank) -> None:
            signals = bank.recall(text, k=20, filters=filters, abstain=False).trace.signals
            rows[dataset.name, half, kind].append([signals.get(name, 0.0) for name in SIGNALS])

        step = max(len(data.questions) // ASKED, 1)
        for question in data.questions[::step]:
            kind = "answerable" if question.answerable else "adversarial"
            filters = None
            if question.before_session is not None:
                filters = Filters(sessions=data.sessions_before(question.before_session))
            add(question.text, kind, question.split, filters)
        for n, text in enumerate(unrelated_texts()):
            add(text, "unrelated", split or ("tuned", "held_out")[n % 2])
        other = dataset.banks[(i + 1) % len(dataset.banks)]
        if other is not data:
            for question in other.questions[:: max(len(other.questions) // BORROWED, 1)]:
                if question.answerable:
                    add(question.text, "other_bank", split)


def fit(rows: Rows, names: list[str]) -> np.ndarray:
    """Intercept and weights of the logistic over those signals; 0 for the others."""
    used = np.array([1.0, *(name in names for name in SIGNALS)])
    x, y, weight = [], [], []
    kinds = defaultdict(int)
    for name, half, kind in rows:
        if half == "tuned" and kind != "answerable":
            kinds[name] += 1
    for (name, half, kind), own in rows.items():
        if half != "tuned":
            continue
        share = 1.0 if kind == "answerable" else 1.0 / kinds[name]
        share *= ADVERSARIAL_WEIGHT if kind == "adversarial" else 1.0
        x += [[1.0, *row] for row in own]
        y += [kind == "answerable"] * len(own)
        weight += [share / len(own)] * len(own)
    a, t, w = np.array(x) * used, np.array(y, dtype=float), np.array(weight)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        z = a @ v
        p = 1 / (1 + np.exp(-z))
        value = float(w @ (np.logaddexp(0, z) - t * z)) / w.sum() + 1e-5 * v[1:] @ v[1:]
        gradient = (w * (p - t)) @ a / w.sum()
        gradient[1:] += 2e-5 * v[1:]
        return value, gradient

    return minimize(loss, np.zeros(a.shape[1]), jac=True, method="L-BFGS-B").x * used


def report(rows: Rows, v: np.ndarray) -> None:
    scored = {key: 1 / (1 + np.exp(-(v[0] + np.array(own) @ v[1:]))) for key, own in rows.items()}
    for (name, half, kind), scores in sorted(scored.items()):
        good = scored[name, half, "answerable"]
        line = f"{name} {half} {kind}: n={len(scores)}"
        if kind != "answerable":
            line += f" auc={auc(good.tolist(), scores.tolist()):.3f}"
        for threshold in (0.1, 0.2, 0.3, 0.4, 0.5):
            line += f"  <{threshold}: {np.mean(scores < threshold):.3f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--keep", help="folder of the databases of fit_fused.py")
    options = parser.parse_args()
    rows: Rows = defaultdict(list)
    for load in (locomo, longmemeval_pool, realmem):
        dataset = load()
        path = Path(options.keep) / f"{dataset.name}.db" if options.keep else ":memory:"
        with Memory.open(path, embedder="minilm") as memory:
            write(dataset, memory)
            collect(dataset, memory, rows)
    fitted = {}
    for stage, names in (("support", SIGNALS), ("support_words", WORD_SIGNALS)):
        found = fit(rows, names)
        fitted[stage] = {
            name: round(float(w), 3)
            for name, w in zip(["intercept", *SIGNALS], found, strict=True)
            if w
        }
        print(stage, json.dumps(fitted[stage]))
        report(rows, found)
    if not options.dry_run:
        held = json.loads(TARGET.read_text("utf-8"))
        TARGET.write_text(json.dumps({**held, **fitted}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
