"""`combray enrich`: which methods derive from a bank with a language model."""

from __future__ import annotations

from typing import Annotated

import typer

from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import count
from combray.errors import InvalidInput


def enrich(
    context: typer.Context,
    bank: BankName,
    method: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="NAME", help="Let this method derive from the bank; may be repeated: anchor."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Let no method derive any more.")] = False,
) -> None:  # fmt: skip
    """Choose the methods that derive from a bank with a language model.

    Without options, show them. A method that is new to the bank gets a job for each session; `combray work` does them.
    What was derived before stays.
    """
    call = Invocation.of(context)
    if off and method:
        raise InvalidInput("give --method or --off, not both.")
    with call.memory() as memory:
        enrichment = memory.bank(bank).enrichment
        added = enrichment.use(*(method or ())) if off or method else ()
        methods, waiting = enrichment.methods, len(enrichment.jobs("waiting"))
        lexical = memory.bank(bank).bank.embedder is None
    if call.screen.json:
        call.screen.value({"bank": bank, "methods": methods, "added": added, "waiting": waiting})
        return
    if not methods:
        call.screen.text(f"No method derives from {bank}.")
        return
    call.screen.text(f"{', '.join(methods)} derives from {bank}; {count(waiting, 'job')} waiting.")
    if waiting:
        call.screen.note("`combray work` does them.")
        if not call.settings.llm_model:
            call.screen.note(
                "It needs a language model: set COMBRAY_LLM_MODEL, and COMBRAY_LLM_URL and COMBRAY_LLM_KEY."
            )
    if lexical:
        call.screen.warn(
            f"{bank} has no vectors, so what is derived is not found by them; see `combray doctor`."
        )
