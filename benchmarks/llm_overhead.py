"""What a call to a language model costs outside the model: CPU and wall time, median and 95th percentile.

    python benchmarks/llm_overhead.py [calls]

The model is a function that replies at once with five facts about a prompt of three turns. Measured is everything around
it: the prompt filled in, the request, the reply read and checked, its row in the ledger. Then the same with the ledger and
the cached replies in a database (each a durable commit, so the disk decides), with a reply from the cache, with a reply that
has to be read tolerantly, and with a repair round.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from combray import prompts
from combray.llm import FunctionLLM, Message, Occasion
from combray.memory.ledger import StoredReplies
from combray.methods.anchor.derive import Facts
from combray.model import Bank, Session, utc_now
from combray.store import SqliteStore
from store import DIMENSION, START, Turns

Function = Callable[[Sequence[Message], Mapping[str, Any] | None], str]
FACTS = {
    "facts": [f"Ann number {i} told Bob that she sings on Sundays in Paris." for i in range(5)]
}
WHOLE = json.dumps(FACTS)
FENCED = f"Here are the facts:\n```json\n{FACTS}\n```\nAnything else?"
BUDGET_MS = 5.0


def main(n_calls: int) -> dict[str, dict[str, float]]:
    found = {"model only": measured(lambda _: json.loads(WHOLE), n_calls)}
    found["call, ledger in memory"] = asking(lambda *_: WHOLE, n_calls, requests=1)
    found["Python quotes in a fence"] = asking(lambda *_: FENCED, n_calls, requests=1)
    found["with a repair round"] = asking(repaired, n_calls, requests=2)
    with tempfile.TemporaryDirectory() as folder:
        found["floor: one fsync"] = measured(syncing(Path(folder) / "floor"), n_calls)
        store = SqliteStore(Path(folder) / "bank.db")
        occasion = stored(store)
        whole = lambda *_: WHOLE  # noqa: E731
        found["call, ledger and cache stored"] = asking(whole, n_calls, occasion, requests=1)
        found["reply from the stored cache"] = asking(whole, n_calls, occasion, requests=0)
        store.close()
    return found


def stored(store: SqliteStore) -> Occasion:
    """An occasion of a bank with three turns: a reply that read none is not kept, for nothing would erase it."""
    store.create_bank(
        Bank(name="b", analyser="a:1", embedder="m:1", dimension=DIMENSION, created_at=START)
    )
    rows = Turns().rows(0, 3)
    store.put("b", Session(name=rows[0].turn.session), rows)
    docs = tuple(doc for doc, _ in store.scan("b", limit=3))
    return Occasion(
        phase="facts",
        method="anchor",
        record=lambda call: store.record_calls("b", [call]),
        replies=StoredReplies(store=store, bank="b", docs=docs),
        clock=utc_now,
    )


def asking(
    function: Function, n_calls: int, occasion: Occasion | None = None, *, requests: int
) -> dict[str, float]:
    """The cost of a call that must ask the model so many times; a row that measures something else is an error."""
    asked = 0

    def counted(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
        nonlocal asked
        asked += 1
        return function(messages, schema)

    found = measured(calling(FunctionLLM(counted), occasion), n_calls)
    if asked != requests * (n_calls + 1):
        raise SystemExit(
            f"the model was asked {asked} times in {n_calls + 1} calls, not {requests} a call"
        )
    return found


def syncing(path: Path) -> Callable[[int], object]:
    file = path.open("wb")

    def sync(i: int) -> None:
        file.write(b"x" * 4096)
        file.flush()
        os.fsync(file.fileno())

    return sync


def calling(llm: FunctionLLM, occasion: Occasion | None = None) -> Callable[[int], object]:
    calls: list[object] = []
    occasion = occasion or Occasion(phase="facts", record=calls.append)
    prompt = prompts.load("anchor_facts")

    def call(i: int) -> object:
        said = '"Ann" said "I sing on Sundays."\n' * 3
        filled = prompt.messages(turns=f"2023-05-08 {i}\n{said}")
        messages = [Message(role=role, content=content) for role, content in filled]
        return llm.complete(messages, Facts, occasion=occasion).parsed.facts

    return call


def repaired(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> str:
    return WHOLE if len(messages) > 2 else "I am sorry."


def measured(call: Callable[[int], object], n_calls: int) -> dict[str, float]:
    call(-1)
    wall, cpu = zip(*timed(call, n_calls), strict=True)
    return {
        "wall_p50_ms": statistics.median(wall),
        "wall_p95_ms": statistics.quantiles(wall, n=20)[-1],
        "cpu_p50_ms": statistics.median(cpu),
        "cpu_p95_ms": statistics.quantiles(cpu, n=20)[-1],
    }


def timed(call: Callable[[int], object], n_calls: int) -> Iterator[tuple[float, float]]:
    for i in range(n_calls):
        wall, cpu = time.perf_counter(), time.thread_time()
        call(i)
        yield (time.perf_counter() - wall) * 1000, (time.thread_time() - cpu) * 1000


if __name__ == "__main__":
    results = main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
    print(
        f"{'':32}{'wall p50':>10}{'p95':>8}{'cpu p50':>10}{'p95':>8}   ms a call; load {os.getloadavg()[0]:.1f}"
    )
    for name, row in results.items():
        values = list(row.values())
        print(f"{name:32}{values[0]:10.3f}{values[1]:8.3f}{values[2]:10.3f}{values[3]:8.3f}")
    worst = max(row["wall_p50_ms"] for row in results.values())
    print(
        f"worst median {worst:.2f} ms, budget {BUDGET_MS:.0f} ms: {'kept' if worst <= BUDGET_MS else 'MISSED'}"
    )
