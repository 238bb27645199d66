"""How fast: recall and search by size of the bank, the encoder, writing, and the floor beneath them.

Turns and their vectors are synthetic (`synthetic`), so that a bank of 100,000 turns can be written in minutes; a query
is still run through the real encoder where there is one, whose cost is in `recall` and not in `search`. The floor is
measured in the same run on the same turns: a bare float32 matrix–vector product, and a bare query of `bm25s`.
"""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from combray.config import Settings
from combray.embed.base import Embedder
from combray.errors import WeightsUnavailable
from combray.eval.experiment import Progress, chosen, silent
from combray.eval.locomo import params_of
from combray.eval.record import described, provenance
from combray.eval.results import Result
from combray.eval.summary import spread
from combray.eval.synthetic import ClusteredEmbedder, Synthetic
from combray.memory import BankMemory, Memory
from combray.methods.base import Method
from combray.model import Session, TurnDraft

SIZES = (600, 10_000, 100_000)

_BATCH = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedSetup:
    """What is measured.

    Attributes:
        sizes: turns of the banks.
        n_queries: of each bank.
        n_singles: durable writes of one turn.
        n_batch: turns of one batched write.
        n_embedded: turns written with the real encoder.
        encoder: the real encoder; None for the default one if its weights are here.
        seed: of the synthetic turns.
        settings: of the memory; None for those of the environment.
        progress: told how far it is.
    """

    sizes: Sequence[int] = SIZES
    n_queries: int = 100
    n_singles: int = 100
    n_batch: int = 2_000
    n_embedded: int = 256
    encoder: Embedder | None = None
    seed: int = 0
    settings: Settings | None = None
    progress: Progress = silent


def run_speed(method: Method | str = "fused", *, setup: SpeedSetup | None = None) -> Result:
    """Measure latency by size of the bank, rates of writing, and memory.

    Raises:
        ConfigError: no method has that name.
    """
    setup = setup or SpeedSetup()
    asked = chosen(method)
    encoder, note = _encoder(setup)
    recall: dict[str, Any] = {}
    search: dict[str, Any] = {}
    floor: dict[str, Any] = {}
    rss: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory(prefix="combray-bench-") as folder:
        for size in setup.sizes:
            made = Synthetic(seed=setup.seed, n_turns=size)
            path = Path(folder) / f"{size}.db"
            recall[str(size)], search[str(size)] = _latency(path, made, asked, encoder, setup)
            rss[str(size)] = resident_mb()
            floor[str(size)] = floor_of(made, setup)
        writing, single = _writing(Path(folder), encoder, setup)
    origin = provenance(
        "",
        seed=setup.seed,
        embedder=ClusteredEmbedder(setup.seed).id,
        notes=[note, f"BLAS and encoder threads as configured; numpy {np.__version__}"],
    )
    document = {
        "benchmark": "speed",
        "method": asked.name,
        "params": params_of(asked),
        "recall_latency_ms": recall,
        "search_latency_ms": search,
        "encoder_latency_ms": None if encoder is None else _encoding(encoder, setup),
        "write_per_s": writing,
        "write_ms": {"single": single},
        "floor": floor,
        "rss_mb": {"by_size": rss, "peak": peak_mb()},
        "provenance": described(origin),
    }
    stem = "speed" if asked.name == "fused" else f"speed-{asked.name}"
    return Result(benchmark="speed", stem=stem, document=document)


def floor_of(made: Synthetic, setup: SpeedSetup) -> dict[str, Any]:
    """The two bare operations over the same turns."""
    texts = list(made.texts())
    queries = made.questions(setup.n_queries)
    embedder = ClusteredEmbedder(setup.seed)
    # In batches: the token vectors of 100,000 turns together would take gigabytes.
    starts = range(0, len(texts), _BATCH)
    matrix = np.concatenate([embedder.embed(texts[i : i + _BATCH]).vectors for i in starts])
    vectors = iter(embedder.embed(queries).vectors)
    found: dict[str, Any] = {"numpy_ms": _timed(len(queries), lambda: matrix @ next(vectors))}
    bare = _bare_bm25s(texts, queries)
    found["bm25s_ms"] = bare
    if bare is None:
        found["note"] = "bm25s is not installed: pip install bm25s"
    return found


def resident_mb() -> float | None:
    """Memory of this process now, in MB; None where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError):
        return None
    return round(pages * resource.getpagesize() / 1e6, 1)


def peak_mb() -> float:
    """The most memory that this process has had, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def _latency(
    path: Path, made: Synthetic, method: Method, encoder: Embedder | None, setup: SpeedSetup
) -> tuple[dict[str, float], dict[str, float]]:
    """Recall and search of a bank of that size; its arrays are in memory when the clock starts."""
    embedder = ClusteredEmbedder(setup.seed, encoder=encoder)
    with Memory.open(path, settings=setup.settings, embedder=embedder) as memory:
        bank = memory.create_bank("bench", zone="UTC")
        _fill(bank, made, setup)
        whole, search = [], []
        bank.recall("warm up", method=method)
        for done, query in enumerate(made.questions(setup.n_queries)):
            setup.progress(f"asking {made.n_turns:,} turns", done, setup.n_queries)
            start = perf_counter()
            found = bank.recall(query, method=method, abstain=False)
            whole.append((perf_counter() - start) * 1000)
            search.append(found.trace.timings_ms["search"])
    return spread(whole), spread(search)


def _fill(bank: BankMemory, made: Synthetic, setup: SpeedSetup) -> None:
    done = 0
    for item in made.sessions():
        setup.progress(f"writing {made.n_turns:,} turns", done, made.n_turns)
        bank.remember(item.turns, session=item.session)
        done += len(item.turns)


def _writing(
    folder: Path, encoder: Embedder | None, setup: SpeedSetup
) -> tuple[dict[str, float | None], dict[str, float]]:
    """Turns per second in one batch and one by one, both durable; the latter in milliseconds too."""
    made = Synthetic(seed=setup.seed + 1, n_turns=max(setup.n_batch, setup.n_embedded))
    drafts = [
        TurnDraft(id=str(n), text=text, said_at="2024-05-01T09:00:00Z")
        for n, text in enumerate(made.texts())
    ]
    with Memory.open(folder / "plain.db", settings=setup.settings, embedder="none") as memory:
        bank = memory.create_bank("bench", zone="UTC")
        batch = _seconds(
            lambda: bank.remember(drafts[: setup.n_batch], session=Session(name="batch"))
        )
        alone = iter(drafts[: setup.n_singles])
        single = _timed(
            min(setup.n_singles, len(drafts)),
            lambda: bank.remember([next(alone)], session=Session(name="single")),
        )
    rates: dict[str, float | None] = {
        "batch": round(setup.n_batch / batch, 1),
        "single": round(1000 / single["p50"], 1),
        "with_embedding": None,
    }
    if encoder is not None:
        with Memory.open(folder / "dense.db", settings=setup.settings, embedder=encoder) as memory:
            bank = memory.create_bank("bench", zone="UTC")
            taken = _seconds(
                lambda: bank.remember(drafts[: setup.n_embedded], session=Session(name="batch"))
            )
        rates["with_embedding"] = round(setup.n_embedded / taken, 1)
    return rates, single


def _encoding(encoder: Embedder, setup: SpeedSetup) -> dict[str, float]:
    queries = Synthetic(seed=setup.seed, n_turns=600).questions(setup.n_queries)
    encoder.embed(["warm up"])
    texts = iter(queries)
    return _timed(len(queries), lambda: encoder.embed([next(texts)]))


def _encoder(setup: SpeedSetup) -> tuple[Embedder | None, str]:
    """The real encoder, ready to run, and what to say of it."""
    if setup.encoder is not None:
        setup.encoder.embed(["warm up"])
        return setup.encoder, f"queries are also run through {setup.encoder.id}"
    from combray.embed.onnx import MiniLM

    encoder = MiniLM()
    try:
        encoder.embed(["warm up"])
    except WeightsUnavailable:
        return None, "no real encoder: its weights are not here (combray models fetch)"
    return encoder, f"queries are also run through {encoder.id}"


def _bare_bm25s(texts: Sequence[str], queries: Sequence[str]) -> dict[str, float] | None:
    try:
        bm25s: Any = import_module("bm25s")
    except ImportError:
        return None
    index = bm25s.BM25()
    index.index(
        bm25s.tokenize(list(texts), stopwords=None, show_progress=False), show_progress=False
    )
    k = min(50, len(texts))
    waiting = iter(queries)

    def ask() -> None:
        tokens = bm25s.tokenize([next(waiting)], stopwords=None, show_progress=False)
        index.retrieve(tokens, k=k, show_progress=False)

    return _timed(len(queries), ask)


def _timed(n: int, call: Callable[[], object]) -> dict[str, float]:
    """Median and 95th percentile of n calls, in milliseconds."""
    return spread([_seconds(call) * 1000 for _ in range(n)])


def _seconds(call: Callable[[], object]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start
