"""Write the measured tables into the README, between its two marks, from the saved results.

    python benchmarks/readme_table.py            # rewrite
    python benchmarks/readme_table.py --check    # exit with 1 if the README is not what the results say

No number is typed by hand but the published ones, which name their source.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OPEN, CLOSE = "<!-- results -->", "<!-- /results -->"
CATEGORIES = ("answerable", "multi_hop", "temporal", "open_domain", "single_hop")
COMMANDS = {
    "locomo": "combray bench locomo --method fused --method edge --method dense --method late --save benchmarks/results",
    "realmem": "combray bench realmem --save benchmarks/results",
    "longmemeval-pool": "combray bench longmemeval-pool --save benchmarks/results",
    "speed": "combray bench speed --save benchmarks/results",
}
PUBLISHED = {
    # AtomMem's paper, its table of recall@10 by category: facts are mapped to their source turns.
    "AtomMem, as published (its facts are written by a language model)": {
        "answerable": 0.704,
        "multi_hop": 0.482,
        "temporal": 0.811,
        "open_domain": 0.490,
        "single_hop": 0.763,
    },
}


class Stale(Exception):
    """The README cannot be written, or is not what the results say."""


def block(results: dict[str, Any]) -> str:
    """What stands between the marks."""
    parts = [_locomo(results["locomo"]), _robustness(results)]
    if "speed" in results:
        parts.append(_speed(results["speed"]))
    parts.append(_commands(results))
    return "\n\n".join(parts)


def rewritten(readme: str, results: dict[str, Any]) -> str:
    """The README with its block replaced."""
    if readme.count(OPEN) != 1 or readme.count(CLOSE) != 1:
        raise Stale(f"the README must have {OPEN} and {CLOSE} once each.")
    before, rest = readme.split(OPEN)
    if CLOSE not in rest:
        raise Stale(f"{CLOSE} must follow {OPEN}.")
    _, after = rest.split(CLOSE)
    return f"{before}{OPEN}\n{block(results)}\n{CLOSE}{after}"


def read_results(folder: Path) -> dict[str, Any]:
    """The saved results by benchmark; all but speed are needed."""
    found = {}
    for name, command in COMMANDS.items():
        path = folder / f"{name}.json"
        if path.exists():
            found[name] = json.loads(path.read_text(encoding="utf-8"))
        elif name != "speed":
            raise Stale(f"{path} is missing; make it with: {command}")
    return found


def _locomo(document: dict[str, Any]) -> str:
    methods = {document["method"]: document, **document["baselines"]}
    head = [
        "all",
        "categories 1–4",
        "multi-hop",
        "temporal",
        "open-domain",
        "single-hop",
        "held-out half",
    ]
    lines = [
        f"LoCoMo, share of the evidence turns among the first 10 ({document['n_questions']:,} questions with "
        "evidence; none of our rows uses a language model):",
        "",
        *_header(["method", *head]),
    ]
    for name, values in methods.items():
        recall = values["turn_recall"]["10"]
        held_out = values["halves"]["held_out"]["turn_recall"]["10"]["all"]
        cells = [recall["all"], *(recall[c] for c in CATEGORIES), held_out]
        lines.append(_row(f"`{name}`", cells))
    for name, recall in PUBLISHED.items():
        lines.append(_row(name, [None, *(recall[c] for c in CATEGORIES), None]))
    budgets = document["budget_recall"]
    within = ", ".join(f"{values['all']:.3f} in {budget}" for budget, values in budgets.items())
    interval = document["intervals"]["turn_recall@10"]["all"]
    lines += [
        "",
        f"`{document['method']}` packs this share into a budget of tokens: {within}. Its 95% interval over "
        f"conversations for all questions at 10 is {interval['low']:.3f}–{interval['high']:.3f}. Constants were chosen "
        "on five conversations; the held-out half is the other five.",
    ]
    return "\n".join(lines)


def _robustness(results: dict[str, Any]) -> str:
    locomo, realmem, pool = results["locomo"], results["realmem"], results["longmemeval-pool"]
    by_locomo = {locomo["method"]: locomo, **locomo["baselines"]}
    names = [*by_locomo, *(n for n in realmem["methods"] if n not in by_locomo)]
    lines = [
        "Every channel on the held-out half of every set (weights were fitted on the tuning halves): two people chatting "
        "(LoCoMo, turns at 10), and a person with an assistant (RealMem, sessions at 1 to 10; a pool of LongMemEval's "
        "evidence, turns at 10, which is not LongMemEval-S):",
        "",
        *_header(
            ["method", "LoCoMo", "RealMem 1", "RealMem 3", "RealMem 5", "RealMem 10", "pool 10"]
        ),
    ]
    for name in names:
        turns = _held_out(by_locomo.get(name), "turn_recall").get("10", {})
        sessions = _held_out(realmem["methods"].get(name), "session_recall")
        pooled = _held_out(pool["methods"].get(name), "turn_recall")
        cells = [turns.get("all"), *(sessions.get(k) for k in ("1", "3", "5", "10"))]
        cells.append(pooled.get("10"))
        lines.append(_row(f"`{name}`", cells))
    return "\n".join(lines)


def _held_out(values: dict[str, Any] | None, measure: str) -> dict[str, Any]:
    return values["halves"]["held_out"][measure] if values else {}


def _speed(document: dict[str, Any]) -> str:
    lines = [
        f"Milliseconds on {document['provenance']['n_cpus']} cores, median / 95th percentile (`search` is `recall` "
        "without the encoding of the query; turns are synthetic):",
        "",
        *_header(["turns", "recall", "search", "bare numpy product", "bare bm25s query"]),
    ]
    for size, search in document["search_latency_ms"].items():
        floor = document["floor"][size]
        cells = [document["recall_latency_ms"][size], search, floor["numpy_ms"], floor["bm25s_ms"]]
        lines.append(f"| {int(size):,} | " + " | ".join(map(_pair, cells)) + " |")
    return "\n".join(lines)


def _commands(results: dict[str, Any]) -> str:
    commands = "\n".join(COMMANDS[name] for name in COMMANDS if name in results)
    return f"Made by\n\n```\n{commands}\npython benchmarks/readme_table.py\n```"


def _header(columns: list[str]) -> list[str]:
    return [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]


def _row(name: str, cells: list[float | None]) -> str:
    shown = ("–" if cell is None else f"{cell:.3f}" for cell in cells)
    return f"| {name} | {' | '.join(shown)} |"


def _pair(value: dict[str, float] | None) -> str:
    return "–" if value is None else f"{value['p50']:.1f} / {value['p95']:.1f}"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if stale")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    options = parser.parse_args(arguments)
    readme = options.readme.read_text(encoding="utf-8")
    try:
        new = rewritten(readme, read_results(options.results))
        if options.check and new != readme:
            raise Stale("the README is not what the results say: run benchmarks/readme_table.py.")
    except Stale as error:
        print(error, file=sys.stderr)
        return 1
    if not options.check:
        options.readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
