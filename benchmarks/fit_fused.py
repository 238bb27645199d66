"""Fits the weights of `fused` and writes them into the package.

Ranking loss: each evidence turn against all other candidates of its question (softmax), the mean over questions,
equally weighted over the data sets; where only gold sessions are known, the turns of a gold session share one loss.
Fitted on the tuning half of each data set; `--only` names the data sets to fit on, for leave-one-out checks. Weights are
kept from below zero, but for the question mark, which may count against a turn.

Usage: python benchmarks/fit_fused.py [--only locomo,realmem] [--dry-run]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from combray import Filters, Memory
from combray.eval.datasets import BankData, Dataset, Question, locomo, longmemeval_pool, realmem
from combray.eval.experiment import Setup, written
from combray.memory.reading import Request, Stages, prepared
from combray.methods.fused import CHANNELS, Fused, FusedParams
from combray.methods.fused.features import first_features, late_features, signals
from combray.methods.fused.params import LATE_FEATURES

TARGET = Path(__file__).parent.parent / "src/combray/methods/fused/weights.json"
FEATURES = [name for own in CHANNELS.values() for name in own]
FIRST = [name for name in FEATURES if name not in LATE_FEATURES]
WORDS = [name for name in FIRST if "dense" not in name]
MAY_BE_NEGATIVE = {"question"}
PENALTY = 2e-5
CANDIDATES = 300


@dataclass(frozen=True, slots=True)
class Sample:
    """Candidates of one question: features, shape (m, f), and which of them are evidence, shape (m,)."""

    features: np.ndarray
    positive: np.ndarray
    sessions_only: bool


def samples(dataset: Dataset, memory: Memory, split: str, *, by_words: bool) -> Iterator[Sample]:
    """The questions of that half of a data set whose banks are written into the memory."""
    for data in dataset.banks:
        for question in data.questions:
            if question.split == split and (question.gold_turns or question.gold_sessions):
                made = sample(
                    f"{dataset.name}/{data.name}", data, question, memory, by_words=by_words
                )
                if made is not None:
                    yield made


def sample(
    bank: str, data: BankData, question: Question, memory: Memory, *, by_words: bool
) -> Sample | None:
    """The candidates of a question by the stage before: of the weights `words` by words alone, else by `first`."""
    filters = Filters()
    if question.before_session is not None:
        filters = Filters(sessions=data.sessions_before(question.before_session))
    params = FusedParams()
    request = Request(
        text=question.text, method=Fused(), filters=filters, now=question.asked_at or data.ends_at
    )
    query, evidence = prepared(memory._parts, bank, request, Stages())
    view = evidence.view
    raw = signals(query, evidence, params)
    columns = first_features(query, evidence, raw, params)
    stage = params.weights.words if by_words else params.weights.first
    first = evidence.masked(sum(w * columns[n] for n, w in stage.items()))
    gold = gold_rows(question, memory, bank, view)
    best = np.argsort(-first, kind="stable")[:CANDIDATES]
    rows = np.union1d(
        best[np.isfinite(first[best])], [] if question.gold_turns == frozenset() else gold
    )
    rows = rows.astype(np.int64)
    positive = np.isin(rows, gold)
    if not positive.any() or positive.all():
        return None
    columns = {name: values[rows] for name, values in columns.items()}
    if not by_words:
        columns |= late_features(query, evidence, raw, rows, params)
    matrix = np.stack([columns.get(name, np.zeros(len(rows))) for name in FEATURES], axis=1)
    return Sample(matrix.astype(np.float32), positive, not question.gold_turns)


def gold_rows(question: Question, memory: Memory, bank: str, view) -> np.ndarray:
    if not question.gold_turns:
        held = [i for i, name in enumerate(view.session_names) if name in question.gold_sessions]
        return np.flatnonzero(np.isin(view.session, held))
    docs = keys(memory, bank)
    return view.rows(np.array([docs[key] for key in question.gold_turns], dtype=np.int64))


@cache
def keys(memory: Memory, bank: str) -> dict[tuple[str, str | None], int]:
    """Where each turn is."""
    pages = memory.store.scan(bank, limit=1_000_000)
    return {(turn.session, turn.client_id): doc for doc, turn in pages}


class Loss:
    """Softmax ranking loss of a data set for weights over some of the features."""

    def __init__(self, made: Sequence[Sample], names: Sequence[str]) -> None:
        columns = [FEATURES.index(name) for name in names]
        self.x = np.concatenate([s.features[:, columns] for s in made]).astype(np.float64)
        self.positive = np.concatenate([s.positive for s in made])
        sizes = [len(s.positive) for s in made]
        self.question = np.repeat(np.arange(len(made)), sizes)
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.shared = made[0].sessions_only

    def __call__(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = self.x @ weights
        scores -= np.maximum.reduceat(scores, self.starts)[self.question]
        e, p, n = np.exp(scores), self.positive, len(self.starts)
        if self.shared:
            whole = np.add.reduceat(e, self.starts)
            held = np.maximum(np.add.reduceat(e * p, self.starts), 1e-30)
            gradient = e / whole[self.question] - e * p / held[self.question]
            return float(np.log(whole / held).mean()), gradient @ self.x / n
        others = np.add.reduceat(e * ~p, self.starts)[self.question]
        share = 1 / np.add.reduceat(p.astype(float), self.starts)[self.question]
        loss = np.where(p, np.log(others + e) - scores, 0) * share
        pull = np.where(p, share / (others + e), 0)
        pushed = np.add.reduceat(pull, self.starts)[self.question]
        gradient = np.where(p, e * pull - share, e * pushed)
        return float(loss.sum() / n), gradient @ self.x / n


def fit(losses: Sequence[Loss], names: Sequence[str]) -> dict[str, float]:
    """Weights that minimise the mean loss over the data sets."""

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        parts = [loss(weights) for loss in losses]
        value = sum(part[0] for part in parts) / len(parts)
        gradient = np.sum([part[1] for part in parts], axis=0) / len(parts)
        return value + PENALTY * weights @ weights, gradient + 2 * PENALTY * weights

    bounds = [(None if name in MAY_BE_NEGATIVE else 0.0, None) for name in names]
    found = minimize(
        objective,
        np.ones(len(names)),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500},
    )
    return {name: round(float(w), 3) for name, w in zip(names, found.x, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="locomo,longmemeval-pool,realmem")
    parser.add_argument("--stages", default="words,first,final")
    parser.add_argument("--dry-run", action="store_true", help="print the weights only")
    parser.add_argument(
        "--keep", help="folder for the databases, so that the next run need not embed"
    )
    options = parser.parse_args()
    loaders = {"locomo": locomo, "longmemeval-pool": longmemeval_pool, "realmem": realmem}
    stages = options.stages.split(",")
    made: dict[bool, list[list[Sample]]] = {True: [], False: []}
    for name in options.only.split(","):
        dataset = loaders[name]()
        store = Path(options.keep) / f"{name}.db" if options.keep else None
        with written(dataset, Setup(store=store, embedder="minilm")) as banks:
            for by_words in {stage == "words" for stage in stages}:
                made[by_words].append(
                    list(samples(dataset, banks.memory, "tuned", by_words=by_words))
                )
                print(f"{name}: {len(made[by_words][-1])} questions", flush=True)
    weights = {
        stage: fit([Loss(own, names) for own in made[stage == "words"]], names)
        for stage, names in (("words", WORDS), ("first", FIRST), ("final", FEATURES))
        if stage in stages
    }
    print(json.dumps(weights, indent=1))
    if not options.dry_run:
        held = json.loads(TARGET.read_text("utf-8")) if TARGET.exists() else {}
        sources = f"benchmarks/fit_fused.py on the tuning halves of {options.only}"
        TARGET.write_text(
            json.dumps({**held, "made_by": sources, **weights}, indent=1) + "\n", "utf-8"
        )


if __name__ == "__main__":
    main()
