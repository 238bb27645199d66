"""Writes the tables of `docs/methods/anchor.md` from the saved results. Usage: python benchmarks/anchor_table.py"""

from __future__ import annotations

import json

from pages import RESULTS, ROOT, fill

COLUMNS = ("all", "answerable", "multi_hop", "temporal", "open_domain", "single_hop")


def main() -> None:
    fill(ROOT / "docs/methods/anchor.md", tables())


def tables() -> str:
    released = json.loads((RESULTS / "anchor_released.json").read_text())
    agreement, result = released["agreement"], released["locomo"]
    rows = {"anchor": result, **result["baselines"]}
    lines = [
        "Over the facts and events of the authors' released run (Qwen2.5-7B-Instruct, all of LoCoMo), no model called by us.",
        f"With `fill=False` we retrieve exactly the turns that the run retrieved for {agreement['same_turns']:.1%} of its "
        f"{agreement['n_questions']:,} questions (mean overlap {agreement['turn_jaccard']:.4f}; events that fit the notes' share of the "
        f"pack: {agreement['event_jaccard']:.2f}), so the recall of evidence is the same: {agreement['evidence_recall']:.4f} against "
        f"{agreement['evidence_recall_released']:.4f}.",
        "",
        "Share of the evidence turns among the first 10, and in a pack of 1,024 tokens (categories 1–4), on the same questions:",
        "",
        "| method | all | categories 1–4 | multi-hop | temporal | open-domain | single-hop | in 1,024 tokens |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        values = [row["turn_recall"]["10"][column] for column in COLUMNS]
        values.append(row["budget_recall"]["1024"]["answerable"])
        cells = " | ".join(f"{value:.3f}" for value in values)
        lines.append(f"| `{name}` | {cells} |")
    lines += [
        "",
        f"Facts and events cost the run {released['cost_of_the_run']['tokens']:,} tokens in "
        f"{released['cost_of_the_run']['n_calls']:,} calls, by its own count; `fused` and BM25 cost none.",
        "",
        "Made by `python benchmarks/anchor_released.py --save benchmarks/results` and `python benchmarks/anchor_table.py`.",
    ]
    return "\n".join([*lines, *growth()])


def growth() -> list[str]:
    file = RESULTS / "anchor_incremental.json"
    if not file.exists():
        return []
    sizes = json.loads(file.read_text())
    lines = [
        "",
        "One more session of 30 turns and 75 facts, the model's time left out (`benchmarks/anchor_incremental.py`); the first one reads the "
        "bank's vectors, which a worker then keeps:",
        "",
        "| facts in the bank | first session, ms | further ones, ms |",
        "|---|---|---|",
    ]
    return lines + [
        f"| {int(size):,} | {row['first_ms']:,.0f} | {row['next_ms']:,.0f} |"
        for size, row in sizes.items()
    ]


if __name__ == "__main__":
    main()
