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

BUDGET_TOKENS = 180
K = 4
QUESTIONS = (
    "Where is Lena getting married?",
    "Which nuts can Idris not eat?",
    "When is Maya's recital?",
    "What did Nora plan in October?",
    "What is the wifi password?",
)
REMARKS = {
    QUESTIONS[0]: (
        "What was true in March is there beside what is true now, each under its day: nothing said is overwritten, and "
        "whoever reads the pack goes by the latest."
    ),
    QUESTIONS[2]: "The answer is four words long; it is found beside the question that it answers.",
    QUESTIONS[3]: "A date in the question favours what was said, or is spoken of, at that time.",
}
"""What a question shows, for those that need a word."""

FORGOTTEN = "tea-in-march"
"""The session that is forgotten at the end, and with it what answers the third question."""

CHANNELS = {
    "lexical": ("the same words", "words of the question are in it, the rarer the better"),
    "dense": ("the same meaning", "it means much the same as the question as a whole"),
    "late": ("matching phrases", "word by word, something in it means what the question says"),
    "neighbours": ("beside a match", "the turn before or after it matches"),
    "episode": ("from a session that fits", "its session as a whole is about the question"),
    "cooccurrence": ("shares a rare name", "it shares names with turns that match"),
    "time": ("at the right time", "it was said, or speaks of, when the question asks for"),
    "speaker": ("said by the one asked about", "the question names who said it"),
    "question": ("no question itself", "it tells, where others ask"),
    "recency": ("said lately", "it is among the latest"),
}
"""The channels of the default method: a reason in words, and what it means."""


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
    """Remember a small conversation, ask it five questions, and forget some.

    Two friends talk in March and in September, and one of them plans a dinner with an assistant in October. Plans
    change, an answer is four words long, one question names a month, and one has no answer. Nothing of yours is read
    or written. The encoder's weights (90 MB) are fetched first if they are not here; without them recall goes by
    words alone. With --keep nothing is forgotten.
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
        console = call.screen.console()
        _show(console, memory, written, found)
        if keep is None:
            _forget(console, bank)
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
    return [_asked(bank, question) for question in QUESTIONS]


def _asked(bank: BankMemory, question: str) -> Recall:
    return bank.recall(question, k=K, budget_tokens=BUDGET_TOKENS, method="fused", now=NOW)


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
    _legend(console, found)


def _legend(console: Console, found: Sequence[Recall]) -> None:
    """What the reasons mean that were given."""
    given = [name for one in found for item in one.items for name in _channels(item)]
    console.print()
    console.print(
        "The reasons, each a channel of the method; `combray explain` shows all with their numbers:"
    )
    for name in dict.fromkeys(given):
        if name in CHANNELS:
            words, meaning = CHANNELS[name]
            console.print(f"   {words}: {meaning}")


def _forget(console: Console, bank: BankMemory) -> None:
    from rich.text import Text

    receipt = bank.forget(session=FORGOTTEN)
    again = _asked(bank, QUESTIONS[2])
    gone = not any(item.turn.session == FORGOTTEN for item in again.items)
    console.print()
    console.print(
        Text(f"Forgot the session {FORGOTTEN}: {count(len(receipt.turns), 'turn')}.", style="bold")
    )
    console.print(f"Their bytes have left the file: {'yes' if receipt.erased else 'not yet'}.")
    console.print(f"Question 3 again finds nothing of them: {'yes' if gone else 'no'}.")


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
    if found.query in REMARKS:
        line(REMARKS[found.query])
    line(f"{found.n_tokens} tokens, support {found.support:.2f}, {took:.0f} ms", "dim")


def _reason(item: PackItem) -> str:
    """Why the turn is there, in words: its two strongest channels."""
    if item.part is Part.CONTEXT:
        return f"stands beside the turn that ranks {_ordinal(item.hit.rank)}"
    words = [CHANNELS[name][0] if name in CHANNELS else name for name in _channels(item)]
    return f"ranks {_ordinal(item.hit.rank)}: " + (", ".join(words) or "the best there is")


def _channels(item: PackItem) -> list[str]:
    if item.part is Part.CONTEXT:
        return []
    added = sorted(item.hit.contributions.items(), key=lambda pair: -pair[1])
    return [name for name, value in added if value > 0][:2]


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
