"""`combray banks`: what is there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from combray.cli.invocation import Invocation
from combray.cli.shapes import plain
from combray.config import default_database
from combray.model import Bank


def banks(
    context: typer.Context,
    after: Annotated[
        str, typer.Option("--after", metavar="NAME", help="Begin after the bank of this name.")
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="List at most N banks.")
    ] = 100,
    all: Annotated[bool, typer.Option("--all", help="List all banks, however many.")] = False,
) -> None:
    """List the banks with their numbers of turns and sessions."""
    call = Invocation.of(context)
    found: list[Bank] = []
    more = False
    if call.database_exists:
        with call.memory() as memory:
            while page := memory.banks(after=found[-1].name if found else after, limit=limit + 1):
                found += page[:limit]
                more = len(page) > limit
                if not (all and more):
                    break
    else:
        call.screen.note(_no_database(call.database))
    _show(call, found, found[-1].name if more else None)


def _no_database(path: Path) -> str:
    if not path.parent.exists() and path != default_database():
        return f"There is no database at {path}, nor a folder {path.parent}: make it, or choose another path."
    return f"There is no database at {path} yet; `combray remember` makes it."


def _show(call: Invocation, found: list[Bank], next_after: str | None) -> None:
    if call.screen.json:
        call.screen.value({"banks": plain(found), "next_after": next_after})
        return
    if not found:
        call.screen.note("No banks.")
        return
    rows = [
        (
            bank.name,
            bank.n_turns,
            bank.n_sessions,
            bank.embedder or "none",
            bank.analyser,
            bank.zone,
        )
        for bank in found
    ]
    call.screen.table(("bank", "turns", "sessions", "embedder", "analyser", "zone"), rows)
    if next_after is not None:
        call.screen.note(f"There are more: --after {next_after!r}, or --all.")
