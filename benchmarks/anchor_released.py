"""`anchor` over the facts and events of AnchorMem's released run: evidence recall, and agreement with what the run retrieved.

No model is called: the records are those that Qwen2.5-7B-Instruct wrote for the run.

Usage: python benchmarks/anchor_released.py [--save FOLDER] [--store DATABASE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from combray import Memory
from combray.eval import Setup, run_locomo
from combray.eval.datasets import data_root, locomo
from combray.eval.datasets.anchormem import anchormem
from combray.eval.experiment import written
from combray.eval.released import remember_anchormem
from combray.methods.anchor import Anchor, AnchorParams

AS_RELEASED = Anchor(params=AnchorParams(fill=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or Path(folder) / "released.db"
        prepare(store)
        with Memory.open(store) as memory:
            agreement = agree(memory)
        result = run_locomo("anchor", baselines=["fused", "bm25"], setup=Setup(store=store))
    out = {
        "agreement": agreement,
        "cost_of_the_run": cost(),
        "locomo": compact(result.to_json()),
    }
    print(json.dumps(out, indent=1))
    if options.save:
        (options.save / "anchor_released.json").write_text(json.dumps(out, indent=1) + "\n")


def prepare(store: Path) -> None:
    """Write LoCoMo and the released records into the store."""
    runs = anchormem()
    with written(locomo(), Setup(store=store)) as there:
        embedder = there.memory.embedder()
        for name, run in runs.items():
            remember_anchormem(there.memory, there.banks[name], run, embedder)


def cost() -> dict[str, int]:
    """Calls and tokens of the released run for facts and events, by its own count."""
    file = data_root() / "locomo_facts_anchormem" / "summary.json"
    counted = json.loads(file.read_text(encoding="utf-8"))["_locomo"]["cost"]
    parts = ("summary", "update")
    return {
        "n_calls": sum(counted[f"{part}_calls"] for part in parts),
        "tokens": sum(
            counted[f"{part}_{kind}"] for part in parts for kind in ("prompt", "completion")
        ),
    }


def agree(memory: Memory) -> dict[str, float]:
    """Mean overlap (Jaccard) of facts, chunks and events with what the run retrieved, and exact agreement."""
    data = {bank.name: bank for bank in locomo().banks}
    facts, chunks, events, recalls, theirs = [], [], [], [], []
    for name, run in anchormem().items():
        bank = memory.bank(f"locomo/{name}")
        text_of_event = {event.id: " ".join(event.text.split()) for event in run.events}
        chunk_turns = {chunk.id: chunk.turns for chunk in run.chunks}
        for answer in run.answers:
            question = data[name].questions[answer.question]
            found = bank.recall(
                question.text, method=AS_RELEASED, k=100, budget_tokens=8000, abstain=False
            )
            ours = {(hit.turn.session, hit.turn.client_id) for hit in found.hits}
            want = {turn for chunk in answer.chunks for turn in chunk_turns[chunk]}
            chunks.append(jaccard(ours, want))
            facts.append(float(ours == want))
            noted = {" ".join(note.record.text.split()) for note in found.notes}
            wanted = {text_of_event[event] for event in answer.events if event in text_of_event}
            events.append(jaccard(noted, wanted))
            if question.gold_turns:
                recalls.append(len(ours & question.gold_turns) / len(question.gold_turns))
                theirs.append(len(want & question.gold_turns) / len(question.gold_turns))
    return {
        "n_questions": len(chunks),
        "same_turns": round(statistics.mean(facts), 4),
        "turn_jaccard": round(statistics.mean(chunks), 4),
        "event_jaccard": round(statistics.mean(events), 4),
        "evidence_recall": round(statistics.mean(recalls), 4),
        "evidence_recall_released": round(statistics.mean(theirs), 4),
    }


def jaccard(one: set[object], other: set[object]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def compact(result: dict[str, object]) -> dict[str, object]:
    kept = ("method", "n_questions", "turn_recall", "budget_recall", "halves", "session", "latency_ms", "baselines", "provenance")  # fmt: skip
    return {name: result[name] for name in kept if name in result}


if __name__ == "__main__":
    main()
