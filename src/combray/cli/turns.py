"""`combray turns`: what a bank holds, turn by turn, the newest last."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from combray.cli.arguments import BankName, Limit
from combray.cli.invocation import Invocation
from combray.cli.screen import clipped
from combray.cli.shapes import turn_fields
from combray.model import Turn

_SNIPPET = 72


def turns(
    context: typer.Context,
    bank: BankName,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="List the turns of this session alone."),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="ID", help="Begin after the turn of this id."),
    ] = None,
    limit: Limit = 100,
    last: Annotated[
        bool, typer.Option("--last", help="List the newest ones instead of the first.")
    ] = False,
    all: Annotated[bool, typer.Option("--all", help="List all turns, however many.")] = False,
) -> None:
    """List the turns of a bank in the order they were stored, the newest last.

    Long ones are shown by their beginning; --json has them whole, and `combray export` the bank.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        open_bank = memory.bank(bank)
        if session is not None:
            open_bank.session(session)
        if last and not all:
            found = open_bank.last_turns(limit, session)
            more = False
        else:
            rest = open_bank.turns(session, after=after)
            found = list(rest) if all else list(islice(rest, limit))
            more = next(rest, None) is not None
    _show(call, bank, found, found[-1].id if more else None)


def _show(call: Invocation, bank: str, found: list[Turn], next_after: str | None) -> None:
    if call.screen.json:
        rows = [turn_fields(turn) for turn in found]
        call.screen.value({"bank": bank, "turns": rows, "next_after": next_after})
        return
    if not found:
        call.screen.note("No turns.")
        return
    columns = ("turn", "your id", "session", "said", "speaker", "text")
    call.screen.table(columns, [_row(turn) for turn in found])
    if next_after is not None:
        call.screen.note(f"There are more: --after {next_after}, --last or --all.")


def _row(turn: Turn) -> tuple[str, ...]:
    said = f"{turn.said_at:%Y-%m-%d %H:%M}"
    text = clipped(turn.spoken, _SNIPPET)
    return (turn.id, turn.client_id or "", turn.session, said, turn.speaker, text)
