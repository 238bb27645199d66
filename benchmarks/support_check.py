"""Prints what `fused` declines of everyday questions in small banks: support_pairs.json, on which nothing is fitted.

Usage: python benchmarks/support_check.py [--verbose]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from combray import Memory

PAIRS = Path(__file__).parent / "support_pairs.json"
THRESHOLDS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.2)


def recalled(memory: Memory) -> Iterator[tuple[str, str, float, bool, bool]]:
    """Scenario, question, support, whether there is a hit at all, and whether the first is right."""
    held = json.loads(PAIRS.read_text("utf-8"))
    for who in ("newcomer", "pairs"):
        for i, (turn, question) in enumerate(held[who]):
            bank = memory.bank(f"{who}{i}", create=True)
            bank.remember(turn, speaker="Ana")
            yield f"{who}, one fact", *asked(bank, question, [turn])
            stranger = held["unanswerable"][i % len(held["unanswerable"])]
            yield "unanswerable, one fact", *asked(bank, stranger, [])
    everything = memory.bank("everything", create=True)
    for who in ("newcomer", "pairs"):
        together = memory.bank(f"all {who}", create=True)
        for turn, _ in held[who]:
            together.remember(turn, speaker="Ana")
            everything.remember(turn, speaker="Ana")
        for turn, question in held[who]:
            yield f"{who}, together", *asked(together, question, [turn])
        for question in held["unanswerable"]:
            yield f"unanswerable, {who}", *asked(together, question, [])
    for turn, question in held["newcomer"] + held["pairs"]:
        yield "everything together", *asked(everything, question, [turn])
    yield from dated(memory, held["dated"])


def dated(memory: Memory, held: dict) -> Iterator[tuple[str, str, float, bool, bool]]:
    bank = memory.bank("dated", create=True)
    for at, text in held["turns"]:
        bank.remember(text, speaker="Ana", said_at=at)
    for question, places in held["questions"]:
        right = [held["turns"][place][1] for place in places]
        yield "about a time", *asked(bank, question, right, now=held["now"])
    for question in held["empty"]:
        yield "about an empty time", *asked(bank, question, [], now=held["now"])


def asked(bank, question: str, right: Iterable[str], now: str | None = None) -> tuple:
    found = bank.recall(question, abstain=False, now=now)
    first = found.hits[0].turn.text if found.hits else ""
    return question, found.support, bool(found.hits), first in right


def check(embedder: str, *, verbose: bool) -> None:
    print("words only" if embedder == "none" else "with vectors")
    rows: dict[str, list[tuple[float, bool, bool]]] = {}
    with Memory.open(":memory:", embedder=embedder) as memory:
        for scenario, question, support, hit, right in recalled(memory):
            rows.setdefault(scenario, []).append((support, hit, right))
            if verbose:
                print(f"  {support:.3f} {'right' if right else '':5} {scenario} | {question}")
    for scenario, own in rows.items():
        line = f"{scenario:24} n={len(own):3} first right {sum(right for *_, right in own):3}"
        for threshold in THRESHOLDS:
            declined = sum(not hit or support < threshold for support, hit, _ in own) / len(own)
            line += f"  <{threshold}: {declined:.3f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verbose", action="store_true", help="print every question")
    options = parser.parse_args()
    check("minilm", verbose=options.verbose)
    check("none", verbose=options.verbose)


if __name__ == "__main__":
    main()
