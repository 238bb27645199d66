"""Compare the analysers on LoCoMo: speed, keys, and what their terms and hubs find.

Run: python benchmarks/analysers.py [DATA] [--no-spacy]; DATA (or COMBRAY_DATA) is the folder that holds locomo/.

Recall is fractional: gold turns found over gold turns, averaged over questions. A turn is its text with its caption; the
speaker is not indexed. BM25 is written out here (k1, b = .75, Lucene's idf), so that this depends on the analysers alone.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from combray.model import Analysis
from combray.text import Analyser, LightAnalyser

B = 0.75
RARE = range(2, 11)
N_CORE, N_CO = 14, 4
ANSWERABLE = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    text: str
    gold: frozenset[int]
    category: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    texts: tuple[str, ...]
    said_at: tuple[datetime, ...]
    people: tuple[str, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A conversation with the analyses of its turns and questions."""

    turns: Sequence[Analysis]
    questions: Sequence[tuple[Question, Analysis]]


def conversations(path: Path) -> Iterator[Conversation]:
    for sample in json.loads(path.read_text("utf-8")):
        ids, texts, times, people = {}, [], [], []
        talk = sample["conversation"]
        for n in sorted(int(key[8:]) for key in talk if re.fullmatch(r"session_\d+", key)):
            date = f"{talk[f'session_{n}_date_time']} +0000"
            said = datetime.strptime(date, "%I:%M %p on %d %B, %Y %z")
            for turn in talk[f"session_{n}"]:
                caption = turn.get("blip_caption")
                ids[turn["dia_id"]] = len(texts)
                texts.append(turn["text"] + (f" [image: {caption}]" if caption else ""))
                times.append(said)
                people.append(turn["speaker"])
        yield Conversation(
            texts=tuple(texts),
            said_at=tuple(times),
            people=tuple(sorted(set(people))),
            questions=tuple(questions(sample["qa"], ids)),
        )


def questions(entries: Sequence[dict], ids: dict[str, int]) -> Iterator[Question]:
    for entry in entries:
        found = re.findall(r"D:?(\d+):0*(\d+)", " ".join(entry.get("evidence", ())))
        gold = {ids[f"D{n}:{turn}"] for n, turn in found if f"D{n}:{turn}" in ids}
        if gold:
            yield Question(text=entry["question"], gold=frozenset(gold), category=entry["category"])


def read(analyser: Analyser, talks: Sequence[Conversation]) -> tuple[list[Read], float]:
    """The analyses, and turns per second of CPU time."""
    analyser.analyse(["Warm up on 5/7/2023, last week."], [datetime(2023, 5, 8, tzinfo=UTC)])
    start = time.process_time()
    turns = [analyser.analyse(talk.texts, talk.said_at, talk.people) for talk in talks]
    seconds = time.process_time() - start
    asked = [
        [(q, analyser.analyse_query(q.text, talk.said_at[-1], talk.people)) for q in talk.questions]
        for talk in talks
    ]
    reads = [Read(turns=t, questions=q) for t, q in zip(turns, asked, strict=True)]
    return reads, sum(len(talk.texts) for talk in talks) / seconds


def ranker(turns: Sequence[Analysis], k1: float) -> Callable[[Analysis], list[float]]:
    """Plain BM25 over the terms of the turns."""
    postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for doc, turn in enumerate(turns):
        for term, tf in Counter(turn.terms).items():
            postings[term].append((doc, tf))
    lengths = [len(turn.terms) for turn in turns]
    norm = [1 - B + B * length / (sum(lengths) / len(lengths)) for length in lengths]

    def scores(query: Analysis) -> list[float]:
        found = [0.0] * len(turns)
        for term in query.terms:
            df = len(postings.get(term, ()))
            idf = math.log(1 + (len(turns) - df + 0.5) / (df + 0.5))
            for doc, tf in postings.get(term, ()):
                found[doc] += idf * tf * (k1 + 1) / (tf + k1 * norm[doc])
        return found

    return scores


def recall(
    reads: Sequence[Read], k1: float, k: int, categories: Sequence[int], n_co: int = 0
) -> tuple[float, float]:
    """Fractional recall of the first k turns, and of k + n_co with co-occurrence."""
    flat, both = [], []
    for talk in reads:
        scores_of, hubs = ranker(talk.turns, k1), rare_hubs(talk.turns)
        for question, query in talk.questions:
            if question.category not in categories:
                continue
            scores = scores_of(query)
            order = sorted(range(len(scores)), key=lambda doc: (-scores[doc], doc))
            core = set(order[:k])
            matched = Counter(doc for key in query.keys for doc in hubs.get(key, ()))
            beside = sorted(
                (d for d in matched if d not in core), key=lambda d: (-matched[d], -scores[d], d)
            )
            flat.append(len(question.gold & core) / len(question.gold))
            both.append(len(question.gold & core.union(beside[:n_co])) / len(question.gold))
    return sum(flat) / len(flat), sum(both) / len(both)


def incident(turns: Sequence[Analysis]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for doc, turn in enumerate(turns):
        for key in turn.keys:
            found[key].append(doc)
    return found


def rare_hubs(turns: Sequence[Analysis]) -> dict[str, list[int]]:
    return {key: docs for key, docs in incident(turns).items() if len(docs) in RARE}


def report(name: str, reads: Sequence[Read], turns_per_s: float) -> None:
    dfs = [len(docs) for talk in reads for docs in incident(talk.turns).values()]
    rare = sum(df in RARE for df in dfs)
    print(f"\n{name}")
    print(f"  turns/s (CPU) {turns_per_s:,.0f}")
    print(
        f"  keys {len(dfs):,} (per conversation): df=1 {dfs.count(1):,}, df 2-10 {rare:,} "
        f"({rare / len(dfs):.3f}), above {sum(df > RARE[-1] for df in dfs):,}"
    )
    n_terms = sum(len(set(turn.terms)) for talk in reads for turn in talk.turns)
    n_keys = sum(len(turn.keys) for talk in reads for turn in talk.turns)
    print(f"  term postings {n_terms:,}, key postings {n_keys:,}")
    for k1 in (1.2, 1.5):
        everything = recall(reads, k1, 10, (1, 2, 3, 4, 5))[0]
        flat, both = recall(reads, k1, N_CORE, ANSWERABLE, N_CO)
        print(
            f"  k1 {k1}: BM25 R@10 all {everything:.4f} | cat 1-4: flat {N_CORE} {flat:.4f}, "
            f"+ {N_CO} co-occurrence {both:.4f} ({both - flat:+.4f})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default=os.environ.get("COMBRAY_DATA"))
    parser.add_argument("--no-spacy", action="store_true")
    args = parser.parse_args()
    if not args.data:
        parser.error("give the data folder, or set COMBRAY_DATA")
    talks = list(conversations(Path(args.data) / "locomo" / "locomo10.json"))
    print(
        f"{sum(len(t.texts) for t in talks):,} turns, {sum(len(t.questions) for t in talks):,} questions"
    )
    analysers: list[Analyser] = [LightAnalyser(), LightAnalyser(function_words=True)]
    if not args.no_spacy:
        from combray.text import SpacyAnalyser

        analysers += [SpacyAnalyser(), SpacyAnalyser(function_words=True)]
    for analyser in analysers:
        report(analyser.id, *read(analyser, talks))


if __name__ == "__main__":
    main()
