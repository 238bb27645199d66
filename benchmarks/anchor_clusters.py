"""How many associative events AnchorMem keeps of its released facts, at each similarity and number of neighbours.

The rows are those of the paper's Table 6 (its calls less the 3,007 of the extraction), which counts events of another model's
facts: 16,023 of Qwen2.5-32B where the released ones are 14,540 of Qwen2.5-7B, so the trend can agree, and not the number. The
reconstruction is another count of the same released facts. No model is called but the encoder.

Usage: python benchmarks/anchor_clusters.py [--save FOLDER]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from combray import registry
from combray.config import Settings
from combray.eval.datasets.anchormem import ReleasedRun, anchormem
from combray.methods.anchor.clusters import candidates, prune
from combray.methods.anchor.params import AnchorParams

# (similarity, neighbours): (reconstruction, paper).
CELLS = {
    (0.70, 3): (7462, 8380),
    (0.80, 3): (4636, 5391),
    (0.85, 3): (2996, 3570),
    (0.90, 3): (1712, 2270),
    (0.95, 3): (790, 1237),
    (0.70, 5): (5766, 6516),
    (0.80, 5): (2424, 2845),
    (0.85, 5): (1021, 1203),
    (0.90, 5): (300, 363),
    (0.95, 5): (70, 85),
}
PAPER_DISCARDED = 4821
BATCH = 256


class Facts:
    """The facts of one conversation, a row for each time that a chunk gave one, or one for each text."""

    def __init__(self, run: ReleasedRun, embedder) -> None:
        texts = list(run.facts.values())
        parts = [texts[i : i + BATCH] for i in range(0, len(texts), BATCH)]
        self.unique = np.concatenate([embedder.embed(part).vectors for part in parts])
        row = {fact: i for i, fact in enumerate(run.facts)}
        given = [(row[fact], n) for n, chunk in enumerate(run.chunks) for fact in chunk.facts]
        self.vectors = self.unique[[fact for fact, _ in given]]
        self.contexts = {i: (chunk,) for i, (_, chunk) in enumerate(given)}
        self.homes: dict[int, list[int]] = {}
        for fact, chunk in given:
            if chunk not in self.homes.setdefault(fact, []):
                self.homes[fact].append(chunk)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    embedder = registry.embedder("minilm", Settings())
    facts = [Facts(run, embedder) for run in anchormem().values()]
    result = {
        "embedder": embedder.id,
        "n_rows": sum(len(one.vectors) for one in facts),
        "n_facts": sum(len(one.unique) for one in facts),
        "cells": list(rows(facts)),
        "released_constant": count(facts, AnchorParams(min_new=3)),
        "equation_9": {n: count(facts, AnchorParams(pruning="equation_9", n_neighbours=n))[0] for n in (3, 5)},
    }  # fmt: skip
    show(result)
    if options.save:
        text = json.dumps(result, indent=1) + "\n"
        (options.save / "anchor_clusters.json").write_text(text)


def rows(facts: list[Facts]) -> Iterator[dict[str, float]]:
    for (similarity, n), (reconstruction, paper) in CELLS.items():
        params = AnchorParams(similarity=similarity, n_neighbours=n)
        kept, discarded = count(facts, params)
        unique = count(facts, params, unique=True)
        yield {
            "similarity": similarity,
            "n_neighbours": n,
            "kept": kept,
            "discarded": discarded,
            "kept_unique": unique[0],
            "discarded_unique": unique[1],
            "reconstruction": reconstruction,
            "paper": paper,
            "paper_ratio": round(paper / kept, 2),
        }


def count(facts: list[Facts], params: AnchorParams, *, unique: bool = False) -> tuple[int, int]:
    """Clusters kept and discarded."""
    kept = found = 0
    for one in facts:
        vectors, contexts = (one.unique, one.homes) if unique else (one.vectors, one.contexts)
        clusters = candidates(vectors, contexts, params)
        found += len(clusters)
        kept += len(prune(clusters, params))
    return kept, found - kept


def show(result) -> None:
    print(f"{result['n_rows']} rows, {result['n_facts']} facts, {result['embedder']}")
    print("   τ  N    kept  one a text  reconstruction   paper  paper/kept")
    for cell in result["cells"]:
        print(
            f"{cell['similarity']:.2f}  {cell['n_neighbours']}  {cell['kept']:>6}  {cell['kept_unique']:>10}  "
            f"{cell['reconstruction']:>14}  {cell['paper']:>6}  {cell['paper_ratio']:>10.2f}"
        )
    default = next(c for c in result["cells"] if (c["similarity"], c["n_neighbours"]) == (0.85, 3))
    print(
        f"kept:discarded at .85 and 3: {default['kept']}:{default['discarded']} "
        f"(one a text {default['kept_unique']}:{default['discarded_unique']}, paper 3570:{PAPER_DISCARDED})"
    )
    kept, discarded = result["released_constant"]
    print(f"with the released constant 3: {kept}:{discarded} (the run kept 878)")
    print(f"with equation 9: {result['equation_9']}")


if __name__ == "__main__":
    main()
