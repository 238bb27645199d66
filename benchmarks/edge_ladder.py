"""EdgeMem's ablation ladder: evidence recall on LoCoMo's answerable questions, rung by rung, beside the reconstruction's.

Run with spaCy and function words kept, as the reconstruction was; `--analyser light` shows the default analyser.

Usage: python benchmarks/edge_ladder.py [--analyser spacy+function-words] [--save FOLDER]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from combray import Memory
from combray.eval.datasets import locomo
from combray.methods.edge import Edge, EdgeParams

FLAT = {"episode": False, "cooccurrence": False, "time": False}
RUNGS = {
    "flat": FLAT,
    "+ episode": {**FLAT, "episode": True},
    "+ co-occurrence": {"time": False},
    "+ time": {},
    "flat + co-occurrence": {**FLAT, "cooccurrence": True},
    "flat + time": {**FLAT, "time": True},
    "episode + time": {"cooccurrence": False},
}
# specs of the reconstruction, stems, categories 1 to 4.
RECONSTRUCTION = [0.555, 0.697, 0.732, 0.741, 0.625, 0.566, 0.711]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analyser", default="spacy+function-words")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    data = locomo()
    with Memory.open(":memory:", embedder="none", analyser=options.analyser) as memory:
        for bank in data.banks:
            made = memory.create_bank(bank.name)
            for item in bank.sessions:
                made.remember(item.turns, session=item.session)
        rows = {
            name: rung(memory, data, EdgeParams(**switches)) for name, switches in RUNGS.items()
        }
    result = {
        "analyser": options.analyser,
        "data_sha256": data.sha256,
        "rungs": {
            name: {**row, "reconstruction": target, "difference": round(row["recall"] - target, 4)}
            for (name, row), target in zip(rows.items(), RECONSTRUCTION, strict=True)
        },
    }
    print(json.dumps(result, indent=1))
    if options.save:
        name = options.analyser.replace("+", "_")
        (options.save / f"edge_ladder_{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def rung(memory: Memory, data, params: EdgeParams) -> dict[str, float]:
    recalls, sizes = [], []
    for bank in data.banks:
        for question in bank.questions:
            if not question.answerable or not question.gold_turns:
                continue
            hits = memory.bank(bank.name).rank(
                question.text, method=Edge(params=params), now=bank.ends_at
            )
            found = {(hit.turn.session, hit.turn.client_id) for hit in hits}
            recalls.append(len(found & question.gold_turns) / len(question.gold_turns))
            sizes.append(len(hits))
    return {
        "recall": round(float(np.mean(recalls)), 4),
        "questions": len(recalls),
        "items": round(float(np.mean(sizes)), 2),
    }


if __name__ == "__main__":
    main()
