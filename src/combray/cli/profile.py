"""`combray profile`: what holds of a person, and since when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import Screen, clipped, count, visible
from combray.model import Profile, ProfileEntry

if TYPE_CHECKING:
    from rich.console import Console

_EVIDENCE_CHARS = 200


def profile(
    context: typer.Context,
    bank: BankName,
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT", help="Whose profile: a name, or a short form.", show_default=False
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            metavar="DAY",
            help="Show what held on this day, such as 2024-06-01, or on the first day of 2024-06 or 2024.",
        ),
    ] = None,
    history: Annotated[bool, typer.Option("--history", help="Show what held before, too.")] = False,
) -> None:
    """Show what lastingly holds of a person, or held on a day.

    Each statement with the time from which it holds, and the turns that it was drawn from. A method with a language
    model draws them: `combray enrich BANK --method atom`, then `combray work`.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        found = memory.bank(bank).profile(subject, at=at)
    if call.screen.json:
        call.screen.value({"bank": bank, **profile_fields(found, history=history)})
    else:
        _show(call.screen, found, history=history)


def profile_fields(found: Profile, *, history: bool) -> dict[str, object]:
    """A profile as JSON; without what held before unless it is asked for."""
    shown = found.json()
    if not history:
        shown["entries"] = [
            {name: value for name, value in entry.items() if name != "earlier"}
            for entry in shown["entries"]
        ]
    return shown


def _show(screen: Screen, found: Profile, *, history: bool) -> None:
    when = "now" if found.at is None else f"on {found.at}"
    if not found.entries:
        screen.note(f"Nothing is known to hold of {found.subject} {when}.")
        return
    console = screen.console()
    for entry in found:
        _entry(console, entry)
        if history:
            for before in reversed(entry.earlier):
                _entry(console, before, indent=4)
    said = f"{found.subject} {when}: {count(len(found), 'statement')}"
    n_earlier = sum(len(entry.earlier) for entry in found)
    more = f"; --history shows {n_earlier} earlier" if n_earlier and not history else ""
    screen.note(said + more)


def _entry(console: Console, entry: ProfileEntry, indent: int = 0) -> None:
    from rich.padding import Padding
    from rich.text import Text

    console.print(
        Padding(
            Text.assemble((visible(" ".join(entry.text.split())), "bold"), f" ({_when(entry)})"),
            (0, 0, 0, indent),
            expand=False,
        )
    )
    for turn in entry.turns:
        said = f"{turn.said_at:%Y-%m-%d} {turn.speaker}: {turn.spoken}"
        line = Text(visible(clipped(said, _EVIDENCE_CHARS)), style="dim")
        console.print(Padding(line, (0, 0, 0, indent + 4), expand=False))


def _when(entry: ProfileEntry) -> str:
    since = f"since {entry.valid_from}" if entry.valid_from else "undated"
    if entry.valid_to is None:
        return since
    return (
        f"{entry.valid_from} to {entry.valid_to}" if entry.valid_from else f"until {entry.valid_to}"
    )
