"""`combray export`: a bank as a file that loses nothing."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import Advance, count
from combray.importers import combray_jsonl


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
    only gaps that forgetting left in the positions close up. An earlier export of that name is replaced, once the
    new one is whole; any other file is left alone.
    """
    call = Invocation.of(context)
    if file == "-" and call.screen.json:
        raise typer.BadParameter("with --json the export needs a FILE.", param_hint="FILE")
    with call.memory() as memory:
        open_bank = memory.bank(bank)
        info = open_bank.bank
        with call.screen.progress(f"Exporting {bank}", info.n_turns) as advance:
            rows = _counted(open_bank.export(), advance)
            if file == "-":
                for row in rows:
                    sys.stdout.buffer.write(combray_jsonl.line(row).encode())
                sys.stdout.buffer.flush()
                return
            combray_jsonl.write(Path(file).expanduser(), rows)
    if call.screen.json:
        call.screen.value({"bank": bank, **_about(Path(file).expanduser())})
        return
    call.screen.text(f"Exported {count(info.n_turns, 'turn')} of bank {bank} to {file}.")


def _counted(rows: Iterator[dict[str, Any]], advance: Advance) -> Iterator[dict[str, Any]]:
    for row in rows:
        yield row
        advance("turn" in row)


def _about(path: Path) -> dict[str, str | int]:
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return {"file": str(path), "bytes": path.stat().st_size, "sha256": digest}
