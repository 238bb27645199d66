"""`combray export`: a bank as a file that loses nothing."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import Advance, count
from combray.importers import combray_jsonl
from combray.model import Session, Turn

if TYPE_CHECKING:
    from combray.memory import BankMemory


def export(
    context: typer.Context,
    bank: BankName,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="Where to; '-' is standard output.", show_default=False
        ),
    ] = "-",
) -> None:
    """Write a bank as a file that loses nothing.

    All turns as JSON Lines, with ids, times and metadata; `combray import` brings them back as they were;
    only gaps that forgetting left in the positions close up. A file of that name is replaced, once the new one is
    whole.
    """
    call = Invocation.of(context)
    if file == "-" and call.screen.json:
        raise typer.BadParameter("with --json the export needs a FILE.", param_hint="FILE")
    with call.memory() as memory:
        open_bank = memory.bank(bank)
        info = open_bank.bank
        with call.screen.progress(f"Exporting {bank}", info.n_turns) as advance:
            sessions = _sessions(open_bank, advance)
            if file == "-":
                for line in combray_jsonl.lines(info, sessions):
                    sys.stdout.buffer.write(line.encode())
                sys.stdout.buffer.flush()
                return
            combray_jsonl.write(Path(file).expanduser(), info, sessions)
    if call.screen.json:
        call.screen.value({"bank": bank, **_about(Path(file).expanduser())})
        return
    call.screen.text(f"Exported {count(info.n_turns, 'turn')} of bank {bank} to {file}.")


def _sessions(bank: BankMemory, advance: Advance) -> Iterator[tuple[Session, Iterator[Turn]]]:
    after = ""
    while page := bank.sessions(after=after):
        for session in page:
            yield session, _counted(bank.turns(session.name), advance)
        after = page[-1].name


def _counted(turns: Iterator[Turn], advance: Advance) -> Iterator[Turn]:
    for turn in turns:
        yield turn
        advance(1)


def _about(path: Path) -> dict[str, str | int]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"file": str(path), "bytes": path.stat().st_size, "sha256": digest}
