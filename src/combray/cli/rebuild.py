"""`combray rebuild`: drop what a method derived, and derive it anew."""

from __future__ import annotations

from typing import Annotated

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import count


def rebuild(
    context: typer.Context,
    bank: BankName,
    method: Annotated[str, typer.Option("--method", metavar="NAME", help="Of this method.")],
) -> None:
    """Drop what a method has derived from a bank, and queue all of it anew.

    Turns are never touched. The jobs need calls to the model again; replies that are cached cost nothing.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        enrichment = memory.bank(bank).enrichment
        removed = enrichment.rebuild(method)
        waiting, used = len(enrichment.jobs("waiting")), method in enrichment.methods
    if call.screen.json:
        call.screen.value({"bank": bank, "method": method, "removed": removed, "waiting": waiting})
        return
    n_records = count(removed.get("record", 0), "record")
    call.screen.text(f"Dropped {n_records} of {method}; {count(waiting, 'job')} waiting.")
    if not used:
        call.screen.note(
            f"{bank} does not use {method}: `combray enrich {bank} --method {method}` would."
        )
