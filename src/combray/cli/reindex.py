"""`combray reindex`: make the derived rows of a bank anew."""

from __future__ import annotations

from typing import Annotated

import typer

from combray import registry
from combray.cli.arguments import BankName
from combray.cli.invocation import Invocation
from combray.cli.screen import count
from combray.cli.shapes import plain


def reindex(
    context: typer.Context,
    bank: BankName,
    embedder: Annotated[
        str | None,
        typer.Option("--embedder", metavar="NAME", help="Embed with this model: minilm, hash, or none, which drops the vectors and leaves words alone."),
    ] = None,
    analyser: Annotated[
        str | None,
        typer.Option("--analyser", metavar="NAME", help="Analyse with light or spacy; the bank's own by default."),
    ] = None,
) -> None:  # fmt: skip
    """Make the words and vectors of a bank anew from its turns.

    The bank can be read and written meanwhile. Turns are never touched.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        open_bank = memory.bank(bank)
        if embedder is not None:
            registry.embedder_name(embedder)
        call.screen.note(f"Reading {count(open_bank.bank.n_turns, 'turn')} of {bank} again.")
        done = open_bank.reindex(embedder=embedder, analyser=analyser)
    if call.screen.json:
        call.screen.value({"bank": bank, **plain(done)})
        return
    vectors = f"vectors of {done.embedder}" if done.embedder else "no vectors: recall is lexical"
    dropped = f" dropped the vectors of {done.dropped};" if done.dropped else ""
    call.screen.text(
        f"Analysed {count(done.analysed, 'turn')}, embedded {done.embedded:,};{dropped} {bank} has {vectors}."
    )
