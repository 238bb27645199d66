"""Fits `support` of `fused`: a logistic over raw signals, in banks of many sizes, and prints what thresholds cost.

Positive: questions with an answer, of the tuning halves. Negative: the shipped unrelated questions and questions asked to
another bank; and, at half weight, LoCoMo's adversarial ones and questions whose evidence lies outside of the bank. Each
is asked to the whole bank and to stretches of it, of one turn and more, that hold the evidence; half of LoCoMo's as its
people would ask themselves ("Where did I …?"). Made questions about a time alone ("What happened on 7 May 2023?") have an
answer where turns were said then. Each data set, each size and each kind counts the same.

Usage: python benchmarks/fit_support.py [--keep FOLDER] [--signals FILE] [--dry-run]
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from fit_fused import TARGET
from scipy.optimize import minimize

from combray import Filters
from combray.eval.abstention import unrelated_texts
from combray.eval.datasets import BankData, Dataset, Question, locomo, longmemeval_pool, realmem
from combray.eval.experiment import Setup, Written, written
from combray.eval.metrics import auc
from combray.index.view import BankView
from combray.memory.reading import Request, Stages, prepared
from combray.methods.base import Evidence
from combray.methods.fused import Fused
from combray.model import Query

SIGNALS = ["late", "cosine", "coverage", "unknown", "size", "gap", "time"]
WORD_SIGNALS = ["coverage", "unknown", "size", "time"]
LEFT_OUT = ({"coverage"}, {"size"})
"""Signals that the fit would turn against their sense or that do nothing: with vectors, and by words."""
KINDS = {
    "answerable": 1.0,
    "answerable_time": 0.25,
    "unrelated": 1.0,
    "other_bank": 1.0,
    "adversarial": 0.5,
    "outside": 0.5,
    "undated": 0.25,
}
"""Weight of each kind among those with, and those without an answer."""
SIZES = (1, 3, 10, 30, 100, 300)
BORROWED = 40
ASKED = 150
ASKED_OF_PART = 40
SAID = (
    "What happened {}?",
    "What did we talk about {}?",
    "What did I say {}?",
    "What did {who} do {}?",
)

Key = tuple[str, int, str, str]
"""Data set, number of turns (0 for the whole bank), half, kind of question."""
Rows = dict[Key, list[tuple[list[float], list[float]]]]
"""Signals with vectors, and by words alone."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is put to a bank and to parts of it."""

    query: Query
    evidence: Evidence


class Collector:
    """Asks one bank."""

    def __init__(self, dataset: Dataset, data: BankData, banks: Written, rows: Rows) -> None:
        self.dataset, self.data, self.rows = dataset, data, rows
        self.memory, self.bank = banks.memory, f"{dataset.name}/{data.name}"
        pages = self.memory.store.scan(self.bank, limit=1_000_000)
        self.rows_of = {(turn.session, turn.client_id): row for row, (_, turn) in enumerate(pages)}
        self.random = random.Random(zlib.crc32(self.bank.encode()))
        self.people = sorted({turn.speaker for item in data.sessions for turn in item.turns})

    def ask(self, text: str, question: Question | None = None) -> Asked:
        filters = Filters()
        if question is not None and question.before_session is not None:
            filters = Filters(sessions=self.data.sessions_before(question.before_session))
        now = (question and question.asked_at) or self.data.ends_at
        request = Request(text=text, method=Fused(), filters=filters, now=now)
        return Asked(*prepared(self.memory._parts, self.bank, request, Stages()))

    def add(self, asked: Asked, kind: str, half: str, part: tuple[int, int] | None = None) -> None:
        size = 0 if part is None else part[1] - part[0]
        query, evidence = asked.query, asked.evidence
        if part is not None:
            evidence = replace(evidence, view=stretch(evidence.view, *part))
        plain = replace(query, vector=None, tokens=None, token_words=())
        found, words = Fused().rank(query, evidence), Fused().rank(plain, evidence)
        if size:  # sizes are named by the one aimed at, where a bank has fewer turns
            size = min(SIZES, key=lambda aim: abs(aim - size))
        self.rows[self.dataset.name, size, half, kind].append(
            (
                [found.signals.get(name, 0.0) for name in SIGNALS],
                [words.signals.get(name, 0.0) for name in WORD_SIGNALS] if len(words.rows) else [],
            )
        )

    def voiced(self, text: str) -> str:
        """The question as one of the people would ask it, for half of LoCoMo's."""
        if self.dataset.name != "locomo" or zlib.crc32(text.encode()) % 2:
            return text
        named = [name for name in self.people if re.search(rf"\b{name}\b", text)]
        return in_first_person(text, named[0]) if len(named) == 1 else text

    def whole(self, others: list[str]) -> None:
        """Ask the whole bank."""
        step = max(len(self.data.questions) // ASKED, 1)
        for question in self.data.questions[::step]:
            kind = "answerable" if question.answerable else "adversarial"
            self.add(self.ask(self.voiced(question.text), question), kind, question.split)
        for n, text in enumerate(unrelated_texts()):
            self.add(self.ask(text), "unrelated", self.half(n))
        for n, text in enumerate(others):
            self.add(self.ask(self.voiced(text)), "other_bank", self.half(n))
        for n in range(ASKED_OF_PART):
            self.add_dated(None, n)

    def parts(self, others: list[str]) -> None:
        """Ask stretches of the bank."""
        for size in [aim for aim in SIZES if aim < len(self.rows_of)]:
            for question in self.some([q for q in self.data.questions if q.gold_turns]):
                kind = "answerable" if question.answerable else "adversarial"
                self.add_part(question, kind, self.around(question, size))
                if question.answerable:
                    self.add_part(question, "outside", self.beside(question, size))
            for kind, texts in (("unrelated", unrelated_texts()), ("other_bank", others)):
                for i, text in enumerate(self.some(texts)):
                    asked = self.ask(self.voiced(text))
                    self.add(asked, kind, self.half(i), self.anywhere(size))
            for i in range(ASKED_OF_PART // 2):
                self.add_dated(self.anywhere(size), i)

    def add_part(self, question: Question, kind: str, part: tuple[int, int] | None) -> None:
        if part is not None:
            self.add(self.ask(self.voiced(question.text), question), kind, question.split, part)

    def add_dated(self, part: tuple[int, int] | None, i: int) -> None:
        """A question about a time alone: one that turns lie in, or, every second time, one before all of them."""
        view = self.ask("what happened?").evidence.view
        said = view.columns.said_at[slice(*part) if part else slice(None)]
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(
            microseconds=int(self.random.choice(said.tolist()))
        )
        if i % 2:
            at = at.replace(year=at.year - 2, day=min(at.day, 28))
        month = self.random.random() < 0.5
        when = f"in {at:%B %Y}" if month else f"on {at.day} {at:%B %Y}"
        text = self.random.choice(SAID).format(when, who=self.random.choice(self.people))
        self.add(self.ask(text), "undated" if i % 2 else "answerable_time", self.half(i // 2), part)

    def half(self, n: int) -> str:
        """The half of the n-th question that the data set does not split itself."""
        splits = {question.split for question in self.data.questions}
        return splits.pop() if len(splits) == 1 else ("tuned", "held_out")[n % 2]

    def some(self, items: list) -> list:
        return self.random.sample(items, min(ASKED_OF_PART, len(items)))

    def gold(self, question: Question) -> list[int]:
        return [self.rows_of[key] for key in question.gold_turns]

    def around(self, question: Question, size: int) -> tuple[int, int] | None:
        """A stretch that holds all evidence; None where it is further apart."""
        rows = self.gold(question)
        first, last = max(max(rows) - size + 1, 0), min(min(rows), len(self.rows_of) - size)
        if first > last:
            return None
        start = self.random.randint(first, last)
        return start, start + size

    def beside(self, question: Question, size: int) -> tuple[int, int] | None:
        """A stretch anywhere; None where it holds evidence."""
        part = self.anywhere(size)
        return None if any(part[0] <= row < part[1] for row in self.gold(question)) else part

    def anywhere(self, size: int) -> tuple[int, int]:
        start = self.random.randint(0, len(self.rows_of) - size)
        return start, start + size


def in_first_person(text: str, name: str) -> str:
    """ "What did Mel paint?" as Mel asks it: "What did I paint?"."""
    text = re.sub(rf"\b(?:is|Is) {name}\b(?!['’])", "am I", text)
    text = re.sub(rf"\b[Dd]oes {name}\b(?!['’])", "do I", text)
    text = re.sub(rf"\b[Hh]as {name}\b(?!['’])", "have I", text)
    text = re.sub(rf"\b{name}['’]s\b", "my", text)
    return re.sub(rf"\b{name}\b", "I", text)


def stretch(view: BankView, start: int, end: int) -> BankView:
    """The bank as if only those rows had been stored."""
    part = slice(start, end)
    columns = view.columns
    own = {
        name: getattr(columns, name)[part]
        for name in (
            "doc",
            "session",
            "position",
            "role",
            "said_at",
            "expires_at",
            "n_terms",
            "question",
        )
    }
    speakers, speaker = np.unique(columns.speaker[part], return_inverse=True)
    sessions, session = np.unique(view.session[part], return_inverse=True)
    offsets = view.offsets[start : end + 1]
    return replace(
        view,
        columns=replace(
            columns,
            **own,
            speaker=speaker.astype(np.int32),
            speakers=tuple(columns.speakers[i] for i in speakers),
        ),
        session=session.astype(np.int32),
        session_names=tuple(view.session_names[i] for i in sessions),
        previous=np.where(view.previous[part] >= start, view.previous[part] - start, -1),
        next=np.where(view.next[part] < end, np.maximum(view.next[part] - start, -1), -1),
        vectors=None if view.vectors is None else view.vectors[part],
        embedded=view.embedded[part],
        tokens=view.tokens[offsets[0] : offsets[-1]],
        offsets=offsets - offsets[0],
    )


def collected(keep: str | None) -> Rows:
    rows: Rows = defaultdict(list)
    for load in (locomo, longmemeval_pool, realmem):
        dataset = load()
        store = Path(keep) / f"{dataset.name}.db" if keep else None
        with written(dataset, Setup(store=store, embedder="minilm")) as banks:
            for i, data in enumerate(dataset.banks):
                other = dataset.banks[(i + 1) % len(dataset.banks)]
                own = [q.text for q in other.questions if q.answerable and other is not data]
                borrowed = own[:: max(len(own) // BORROWED, 1)][:BORROWED]
                collector = Collector(dataset, data, banks, rows)
                collector.whole(borrowed)
                collector.parts(borrowed)
        print(dataset.name, sum(map(len, rows.values())), flush=True)
    return rows


def taught(rows: Rows, which: int) -> Iterator[tuple[list[float], bool, float]]:
    """Signals, whether there is an answer, and weight, of the tuning halves."""
    groups: dict[tuple[str, int, bool], list[Key]] = defaultdict(list)
    sizes: dict[str, set[int]] = defaultdict(set)
    for name, size, half, kind in rows:
        if half == "tuned" and (name, size, half, "answerable") in rows:
            groups[name, size, kind.startswith("answerable")].append((name, size, half, kind))
            sizes[name].add(size)
    for (name, _, good), keys in groups.items():
        whole = sum(KINDS[kind] for *_, kind in keys) * len(sizes[name])
        for key in keys:
            held = [both[which] for both in rows[key] if both[which]]
            for row in held:
                yield row, good, KINDS[key[3]] / whole / len(held)


def fit(rows: Rows, which: int) -> np.ndarray:
    """Intercept and weights of the logistic."""
    x, y, weight = zip(*taught(rows, which), strict=True)
    names = (SIGNALS, WORD_SIGNALS)[which]
    used = np.array([1.0, *(name not in LEFT_OUT[which] for name in names)])
    a = np.column_stack([np.ones(len(x)), np.array(x)]) * used
    t, w = np.array(y, dtype=float), np.array(weight)

    def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
        z = a @ v
        p = 1 / (1 + np.exp(-z))
        value = float(w @ (np.logaddexp(0, z) - t * z)) / w.sum() + 1e-5 * v[1:] @ v[1:]
        gradient = (w * (p - t)) @ a / w.sum()
        gradient[1:] += 2e-5 * v[1:]
        return value, gradient

    return minimize(loss, np.zeros(a.shape[1]), jac=True, method="L-BFGS-B").x * used


def report(rows: Rows, v: np.ndarray, which: int) -> None:
    """Print the separation, and what thresholds decline; without any hit nothing is asked of support."""
    scored = {}
    for key, both in rows.items():
        held = np.array([own[which] for own in both if own[which]])
        if len(held):
            scored[key] = 1 / (1 + np.exp(-(v[0] + held @ v[1:])))
    for (name, size, half, kind), scores in sorted(scored.items()):
        line = f"{name:17}{size or 'all':>4} {half:9}{kind:16} n={len(scores):4}"
        good = scored.get((name, size, half, "answerable"))
        if kind != "answerable" and good is not None:
            line += f" auc={auc(good.tolist(), scores.tolist()):.3f}"
        else:
            line += " " * 10
        for threshold in (0.03, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5):
            line += f" <{threshold}: {np.mean(scores < threshold):.3f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument(
        "--keep", help="folder for the databases, so that the next run need not embed"
    )
    parser.add_argument("--signals", help="file to keep the signals in, and to take them from")
    options = parser.parse_args()
    kept = Path(options.signals) if options.signals else None
    if kept is not None and kept.exists():
        rows = pickle.loads(kept.read_bytes())
    else:
        rows = dict(collected(options.keep))
        if kept is not None:
            kept.write_bytes(pickle.dumps(rows))
    fitted = {}
    for which, (stage, names) in enumerate((("support", SIGNALS), ("support_words", WORD_SIGNALS))):
        found = fit(rows, which)
        fitted[stage] = {
            name: round(float(w), 3)
            for name, w in zip(["intercept", *names], found, strict=True)
            if w
        }
        print(stage, json.dumps(fitted[stage]))
        report(rows, found, which)
    if not options.dry_run:
        held = json.loads(TARGET.read_text("utf-8"))
        TARGET.write_text(json.dumps({**held, **fitted}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
