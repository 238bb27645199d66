"""`combray forget`: delete for good, with a receipt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.arguments import BankName, asks_a_person
from combray.cli.invocation import Invocation
from combray.cli.screen import clipped, count
from combray.errors import InvalidInput
from combray.model import Turn

if TYPE_CHECKING:
    from combray.memory import BankMemory, Memory
    from combray.store.base import ForgetReceipt

_SHOWN = 5
_SNIPPET = 72


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What is to be forgotten: turns by id, one session, or the bank itself."""

    turns: tuple[str, ...]
    session: str | None
    whole_bank: bool


def forget(
    context: typer.Context,
    bank: BankName,
    turn: Annotated[
        list[str] | None,
        typer.Option(
            "--turn",
            metavar="ID",
            help="Forget the turn of this id, or of this id of your own; may be repeated.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="Forget this session with all its turns."),
    ] = None,
    whole_bank: Annotated[
        bool, typer.Option("--bank", help="Forget the bank itself, with everything in it.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before deleting.")] = False,
) -> None:
    """Delete turns, a session or a bank for good, with a receipt.

    Everything derived from them goes too, and the bytes leave the file. What would go is shown first and has to be
    confirmed; where nobody can be asked, --yes must say so. There is no way back but an export.
    """
    call = Invocation.of(context)
    target = _Target(turns=tuple(turn or ()), session=session, whole_bank=whole_bank)
    named = sum([bool(target.turns), session is not None, whole_bank])
    if named != 1:
        problem = "name what to forget" if named == 0 else "name one thing to forget at a time"
        raise InvalidInput(f"{problem}: only one of --turn, --session and --bank.")
    with call.memory() as memory:
        open_bank = memory.bank(bank)
        call.screen.note(_preview(open_bank, target))
        if not yes and not _confirmed():
            raise typer.Abort
        receipt = _delete(memory, open_bank, target)
    _show(call, receipt)


def _preview(bank: BankMemory, target: _Target) -> str:
    """What would go, in words.

    Raises:
        NotFound: one of the turns, or the session, does not exist.
    """
    if target.turns:
        turns = bank.get(target.turns)
        lines = [f"This forgets {count(len(turns), 'turn')} of bank {bank.name}:"]
        lines += [_line(turn) for turn in turns[:_SHOWN]]
        lines += [f"  … and {len(turns) - _SHOWN:,} more"] if len(turns) > _SHOWN else []
        return "\n".join(lines)
    if target.session is not None:
        n = bank.session(target.session).n_turns
        return f"This forgets session {target.session} of bank {bank.name}: {count(n, 'turn')}."
    info = bank.bank
    held = f"{count(info.n_turns, 'turn')} in {count(info.n_sessions, 'session')}"
    return f"This forgets the whole bank {bank.name}: {held}."


def _line(turn: Turn) -> str:
    return f"  {turn.said_at:%Y-%m-%d} {turn.speaker}: {clipped(turn.spoken, _SNIPPET)}"


def _confirmed() -> bool:
    if not asks_a_person():
        raise InvalidInput(
            "nobody can be asked here, and nothing was deleted: add --yes to delete."
        )
    return typer.confirm("Delete for good?", default=False, err=True)


def _delete(memory: Memory, bank: BankMemory, target: _Target) -> ForgetReceipt:
    if target.whole_bank:
        return memory.forget_bank(bank.name)
    return bank.forget(turns=target.turns, session=target.session)


def _show(call: Invocation, receipt: ForgetReceipt) -> None:
    if not receipt.erased:
        call.screen.warn(
            "the bytes are still in the file, because a reader holds an older view; "
            "`combray doctor --fix` finishes it."
        )
    if call.screen.json:
        call.screen.value(receipt)
        return
    call.screen.text(
        f"Forgot {count(len(receipt.turns), 'turn')} of bank {receipt.bank} "
        f"at {receipt.at.isoformat(timespec='seconds')}."
    )
    rows = [(table, n) for table, n in receipt.rows.items()]
    call.screen.table(("removed from", "rows"), rows)
    call.screen.text(f"SHA-256 of the forgotten ids: {receipt.ids_sha256}")
