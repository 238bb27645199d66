"""`combray sessions`: the sessions of a bank, the newest last."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from combray.cli.arguments import BankName, Limit
from combray.cli.invocation import Invocation
from combray.cli.shapes import plain
from combray.errors import NotFound
from combray.memory.finding import near
from combray.model import Session


def sessions(
    context: typer.Context,
    bank: BankName,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="NAME", help="Begin after the session of this name."),
    ] = None,
    limit: Limit = 100,
    last: Annotated[
        bool, typer.Option("--last", help="List the newest ones instead of the first.")
    ] = False,
    all: Annotated[bool, typer.Option("--all", help="List all sessions, however many.")] = False,
) -> None:
    """List the sessions of a bank in order of time, the newest last."""
    call = Invocation.of(context)
    with call.memory() as memory:
        found = _in_time(list(memory.bank(bank).all_sessions()))
    if after is not None:
        names = [one.name for one in found]
        if after not in names:
            raise NotFound("session", after, near(after, names, f"combray sessions {bank}"))
        found = found[names.index(after) + 1 :]
    shown = found if all else found[-limit:] if last else found[:limit]
    more = bool(shown) and shown[-1] is not found[-1]
    _show(call, bank, shown, shown[-1].name if more else None)


def _in_time(sessions: list[Session]) -> list[Session]:
    """In order of their first turn; sessions of the same instant in order of name."""
    return sorted(sessions, key=lambda one: (_start(one), one.name))


def _start(session: Session) -> float:
    return session.started_at.timestamp() if session.started_at else float("-inf")


def _show(call: Invocation, bank: str, found: list[Session], next_after: str | None) -> None:
    if call.screen.json:
        call.screen.value({"bank": bank, "sessions": plain(found), "next_after": next_after})
        return
    if not found:
        call.screen.note("No sessions.")
        return
    rows = [
        (one.name, one.n_turns, _minute(one.started_at), one.title or "", one.source or "")
        for one in found
    ]
    call.screen.table(("session", "turns", "begins", "title", "source"), rows)
    if next_after is not None:
        call.screen.note(f"There are more: --after {next_after!r}, --last or --all.")


def _minute(time: datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"
