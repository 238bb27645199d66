"""Writes the tables of `docs/methods/atom.md` from the saved results. Usage: python benchmarks/atom_table.py"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pages import RESULTS, ROOT, fill

CATEGORIES = ("single_hop", "multi_hop", "temporal", "open_domain")
MAIN = ("flat", "without graph", "full", "fused", "bm25")


def main() -> None:
    fill(ROOT / "docs/methods/atom.md", tables())


def tables() -> str:
    saved = json.loads((RESULTS / "atom_released.json").read_text())
    return "\n".join([*by_the_paper(saved), "", *by_turns(saved), "", *channels(saved)])


def by_the_paper(saved: Mapping[str, Any]) -> list[str]:
    methods, paper = saved["methods"], saved["paper"]
    grouping = saved["grouping"]
    lines = [
        f"Over the authors' released facts (fine-tuned Qwen3-14B, all of LoCoMo), no model called by us: notes, {saved['n_events']:,} events "
        f"(S_h from {grouping['similarity']}, at most {grouping['max_facts']} facts) and the query's intent are made locally. The release has no "
        "metadata, events or profiles, so what differs from the paper's numbers is both the ranking and what was read.",
        "",
        f"Recall@10 by AtomMem's own definition (first ten facts, one turn each, evidence as it stands), {saved['n_questions']:,} questions of "
        "categories 1–4, percent; for `fused` and BM25 the first ten turns:",
        "",
        "| | single-hop | multi-hop | temporal | open-domain | all |",
        "|---|---|---|---|---|---|",
        line("flat, AtomMem's Table 2", [paper["flat"][c] for c in CATEGORIES]),
        line("cosine alone, no filters", [saved["cosine"][c] for c in CATEGORIES]),
        line(
            "the same without duplicates",
            [saved["cosine_without_duplicates"][c] for c in CATEGORIES],
        ),
    ]
    early = ("flat, without keywords", *MAIN[:2])
    lines += [line(name, cells(methods[name]["atommem"])) for name in early]
    lines.append(line("full, AtomMem's Table 2", [paper["full"][c] for c in CATEGORIES]))
    return lines + [line(name, cells(methods[name]["atommem"])) for name in MAIN[2:]]


def by_turns(saved: Mapping[str, Any]) -> list[str]:
    return [
        "Share of the evidence turns among the first ten, and in a pack of 1,024 tokens, on the same questions, percent:",
        "",
        "| method | single-hop | multi-hop | temporal | open-domain | all | tuned half | held-out half | in 1,024 tokens |",
        "|---|---|---|---|---|---|---|---|---|",
        *(
            line(
                name,
                [
                    *cells(found["recall"]),
                    found["recall"]["tuned"],
                    found["recall"]["held_out"],
                    found["budget"]["all"],
                ],
            )
            for name, found in saved["methods"].items()
            if name in MAIN
        ),
    ]


def channels(saved: Mapping[str, Any]) -> list[str]:
    return [
        "What each channel of the association does, by AtomMem's Recall@10, percent:",
        "",
        "| | single-hop | multi-hop | temporal | open-domain | all | tuned half | held-out half |",
        "|---|---|---|---|---|---|---|---|",
        *(
            line(
                name,
                [
                    *cells(found["atommem"]),
                    found["atommem"]["tuned"],
                    found["atommem"]["held_out"],
                ],
            )
            for name, found in saved["methods"].items()
            if name not in ("fused", "bm25")
        ),
        "",
        "Points that are gained, with 95% intervals over conversations: "
        + "; ".join(
            f"{name} {found['mean']:+.2f} ({found['low']:+.2f} to {found['high']:+.2f})"
            for name, found in saved["gains"].items()
        )
        + ".",
        "",
        "Made by `python benchmarks/atom_released.py --save benchmarks/results` and `python benchmarks/atom_table.py`.",
    ]


def cells(found: Mapping[str, float]) -> list[float]:
    return [*(found[category] for category in CATEGORIES), found["all"]]


def line(name: str, values: Iterable[float]) -> str:
    numbers = [f"{value:.2f}" for value in values]
    return f"| {' | '.join([name, *numbers, *['–'] * (5 - len(numbers))])} |"


if __name__ == "__main__":
    main()
