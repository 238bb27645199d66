"""`combray demo`: a small conversation, remembered and asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import as_file, files
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.invocation import IN_MEMORY, Invocation
from combray.cli.screen import count
from combray.cli.shapes import explain_fields
from combray.errors import InvalidInput, WeightsUnavailable
from combray.model import PackItem, Part, Recall

if TYPE_CHECKING:
    from rich.console import Console

    from combray.memory import BankMemory, Memory

BANK = "demo"
NOW = datetime(2024, 10, 5, 9, tzinfo=UTC)
"""When the questions are asked: three days after the last session."""

BUDGET_TOKENS = 150
K = 3
QUESTIONS = (
    "Where is Lena getting married?",
    "Which nuts can Idris not eat?",
    "When is Maya's recital?",
    "What is the wifi password?",
)

CHANNELS = {
    "lexical": "the same words",
    "dense": "the same meaning",
    "late": "matching phrases",
    "neighbours": "beside a match",
    "episode": "from the right sitting",
    "cooccurrence": "shares a rare name",
    "time": "at the right time",
    "speaker": "said by the one asked about",
    "question": "no question itself",
    "recency": "said lately",
}
"""The channels of the default method, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    turns: int
    sessions: int
    first: datetime
    last: datetime
    seconds: float


def demo(
    context: typer.Context,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", metavar="PATH", help="Keep the database in this new file, to try things with."
        ),
    ] = None,
) -> None:
    """Remember a small conversation and ask it four questions.

    Two friends talk in March and in September, and one of them plans a dinner with an assistant in October. Plans
    change, an answer is three words long, and one question has no answer. Nothing of yours is read or written. The
    encoder's weights (90 MB) are fetched first if they are not here; without them recall goes by words alone.
    """
    from combray.memory import Memory

    call = Invocation.of(context)
    if keep is not None and keep.expanduser().exists():
        raise InvalidInput(f"{keep} exists already; name a file that does not.")
    path = IN_MEMORY if keep is None else str(keep.expanduser())
    embedder = _embedder(call)
    with Memory.open(path, settings=call.settings, embedder=embedder) as memory:
        bank = memory.create_bank(BANK, zone="Europe/Brussels")
        written = _write(bank)
        found = _ask(bank)
        if call.screen.json:
            call.screen.value([explain_fields(one) for one in found])
            return
        _show(call.screen.console(), memory, written, found)
    _farewell(call.screen.console(), keep)


def _embedder(call: Invocation) -> str:
    """The settings' embedder; the default model is fetched, or else done without."""
    from combray.embed import weights

    settings = call.settings
    if settings.embedder != "auto":
        return settings.embedder
    try:
        weights.fetch(models=Path(settings.models) if settings.models else None)
    except WeightsUnavailable as error:
        reason = str(error).splitlines()[0]
        call.screen.warn(f"The encoder's weights cannot be had, so recall goes by words: {reason}")
        return "none"
    return "minilm"


def _write(bank: BankMemory) -> _Written:
    from combray.importers import read

    start = perf_counter()
    with as_file(files("combray.cli") / "data" / "demo.jsonl") as path:
        for one in read(path):
            bank.remember(one.turns, session=one.session)
    seconds = perf_counter() - start
    times = [turn.said_at for turn in bank.turns()]
    info = bank.bank
    return _Written(
        turns=info.n_turns,
        sessions=info.n_sessions,
        first=min(times),
        last=max(times),
        seconds=seconds,
    )


def _ask(bank: BankMemory) -> list[Recall]:
    return [
        bank.recall(question, k=K, budget_tokens=BUDGET_TOKENS, method="fused", now=NOW)
        for question in QUESTIONS
    ]


def _show(console: Console, memory: Memory, written: _Written, found: Sequence[Recall]) -> None:
    from rich.text import Text

    size = f"{count(written.turns, 'turn')} in {count(written.sessions, 'session')}"
    span = f"{written.first:%d %B} to {written.last:%d %B %Y}"
    embedder = memory.bank(BANK).bank.embedder
    by = f"words and meaning ({embedder})" if embedder else "words alone"
    console.print()
    console.print(Text(f"Remembered {size}, {span}, in {written.seconds:.2f} s.", style="bold"))
    console.print(f"Recall goes by {by} and calls no language model.")
    console.print(f"Each answer is a pack of at most {BUDGET_TOKENS} tokens, to put before one.")
    for number, one in enumerate(found, 1):
        console.print()
        console.print(Text(f"{number}  {one.query}", style="bold cyan"))
        _pack(console, one)


def _pack(console: Console, found: Recall) -> None:
    from rich.padding import Padding
    from rich.text import Text

    def line(text: str, style: str = "") -> None:
        console.print(Padding(Text(text, style=style), (0, 0, 0, 3), expand=False))

    if found.abstained:
        line(f"No pack: {found.reason}.", "yellow")
        return
    for text in found.text.splitlines():
        line(text, "dim" if text.startswith(("<memory", "</memory")) else "")
    for item in found.items:
        line(f"[{item.cite}] {_reason(item)}", "green")
    took = found.trace.timings_ms.get("total", 0.0)
    line(f"{found.n_tokens} tokens, support {found.support:.2f}, {took:.0f} ms", "dim")


def _reason(item: PackItem) -> str:
    """Why the turn is there, in words: its two strongest channels."""
    if item.part is Part.CONTEXT:
        return f"stands beside the turn that ranks {_ordinal(item.hit.rank)}"
    added = sorted(item.hit.contributions.items(), key=lambda pair: -pair[1])
    words = [CHANNELS.get(name, name) for name, value in added if value > 0]
    return f"ranks {_ordinal(item.hit.rank)}: " + (", ".join(words[:2]) or "the best there is")


def _ordinal(rank: int) -> str:
    return {1: "first", 2: "second", 3: "third", 4: "fourth"}.get(rank, f"{rank}th")


def _farewell(console: Console, keep: Path | None) -> None:
    console.print()
    if keep is None:
        console.print("The bank is gone again. To keep one and look behind it:")
        console.print()
        console.print("   combray demo --keep demo.db")
    else:
        console.print("Look behind it:")
        console.print()
    name = keep or "demo.db"
    console.print(f'   combray --db {name} explain {BANK} "{QUESTIONS[0]}"')
    console.print()
    console.print("Your own: echo 'I moved to Leith.' | combray remember me --speaker Ana")
