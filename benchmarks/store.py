"""What the SQLite store costs: medians of CPU and wall time, and bytes, by bank size.

    python benchmarks/store.py 1000 10000 100000

Turns are synthetic: about 12 terms and 2 keys each from a Zipf vocabulary of 50,000 without its 100 most
frequent words, a vector of 384 half floats and 8 to 60 token rows of 48 bytes. Batches are of 1,000 turns,
sessions of 400. The floor of a durable put is one fsync of the disk, printed beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from combray.model import Bank, Filters, Role, Session, Turn
from combray.model.ids import content_key, turn_id_from_client
from combray.store import SqliteStore
from combray.store.base import Selection, TurnRow, VectorRow

START = datetime(2023, 5, 8, tzinfo=UTC)
DIMENSION = 384
VOCABULARY, STOPPED = 50_000, 100
N_TERMS, N_KEYS = 12, 2
SESSION, BATCH = 400, 1000


class Turns:
    """Synthetic rows, the same for the same seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        ranks = np.arange(STOPPED + 1, VOCABULARY + 1)
        self._weights = (1 / ranks) / (1 / ranks).sum()

    def rows(self, first: int, n: int) -> list[TurnRow]:
        words = self._random.choice(len(self._weights), size=(n, N_TERMS), p=self._weights)
        return [self._row(first + i, words[i].tolist()) for i in range(n)]

    def _row(self, number: int, words: list[int]) -> TurnRow:
        names = [f"w{word}" for word in words]
        text, session, speaker = " the ".join(names), f"s{number // SESSION}", f"P{number % 2}"
        terms = Counter(names)
        turn = Turn(
            id=turn_id_from_client(session, str(number)),
            client_id=str(number),
            session=session,
            speaker=speaker,
            role=Role.USER,
            text=text,
            said_at=START + timedelta(minutes=number),
            content=content_key(speaker, Role.USER, text, None),
            stored_at=START,
        )
        return TurnRow(
            turn=turn,
            postings={"term": terms, "key": {f"k{word % 5000}": 1 for word in words[:N_KEYS]}},
            n_terms=terms.total(),
            vectors=VectorRow(
                vector=self._random.bytes(2 * DIMENSION),
                tokens=self._random.bytes(DIMENSION // 8 * int(self._random.integers(8, 61))),
            ),
        )


def sessions_of(rows: list[TurnRow]) -> Iterator[list[TurnRow]]:
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or rows[end].turn.session != rows[start].turn.session:
            yield rows[start:end]
            start = end


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall milliseconds of one call."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - wall) * 1e3


def median(call: Callable[[], object], n: int) -> dict[str, float]:
    times = [timed(call) for _ in range(n)]
    return {
        "cpu_ms": round(statistics.median(cpu for cpu, _ in times), 3),
        "wall_ms": round(statistics.median(wall for _, wall in times), 3),
    }


def fsync_floor(folder: Path, n: int = 50) -> float:
    with (folder / "floor").open("wb", buffering=0) as file:

        def write() -> None:
            file.write(b"x" * 65536)
            os.fsync(file.fileno())

        return median(write, n)["wall_ms"]


def measure(folder: Path, size: int) -> dict[str, object]:
    turns = Turns()
    with SqliteStore(folder / f"{size}.db") as store:
        store.create_bank(
            Bank(name="b", analyser="a:1", embedder="m:1", dimension=DIMENSION, created_at=START)
        )
        load_cpu_ms = load_wall_ms = 0.0
        for first in range(0, size, BATCH):
            for rows in sessions_of(turns.rows(first, min(BATCH, size - first))):
                session = Session(name=rows[0].turn.session)
                cpu, wall = timed(lambda s=session, r=rows: store.put("b", s, r))
                load_cpu_ms, load_wall_ms = load_cpu_ms + cpu, load_wall_ms + wall
        singles = iter(turns.rows(size, 400))
        ids = [turn.id for _, turn in store.scan("b", limit=50)]
        queries = iter(turns.rows(0, 400))

        def put_one() -> None:
            row = next(singles)
            store.put("b", Session(name=row.turn.session), [row])

        def read_postings() -> None:
            store.postings("b", "term", list(next(queries).postings["term"])[:6])

        def forget_one() -> None:
            ((_, turn),) = store.scan("b", limit=1)
            store.forget("b", Selection(turns=[turn.id]), START)

        few = 5 if size > 20_000 else 20
        result: dict[str, object] = {
            "put_batch_per_cpu_s": round(size / load_cpu_ms * 1e3),
            "put_batch_per_wall_s": round(size / load_wall_ms * 1e3),
            "put_one": median(put_one, 200),
            "fsync_floor_wall_ms": fsync_floor(folder),
            "state": median(lambda: store.state("b"), 200),
            "turns_50": median(lambda: store.turns("b", ids), 100),
            "postings_6_terms": median(read_postings, 200),
            "matching_speaker": median(lambda: store.matching("b", Filters(speakers=["p1"])), few),
            "columns": median(lambda: store.columns("b"), few),
            "vectors": median(lambda: store.vectors("b", "m:1"), few),
            "forget_one": median(forget_one, 20),
            "check": median(store.check, 1),
        }
    result["bytes_per_turn"] = round((folder / f"{size}.db").stat().st_size / size)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[1000, 10_000])
    parser.add_argument("--folder", help="where to put the files; the system's temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for size in options.sizes:
            json.dump({str(size): measure(Path(folder), size)}, sys.stdout, indent=1)
            print()


if __name__ == "__main__":
    main()
