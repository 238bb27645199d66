"""`combray answer`: a short answer with the turns it rests on."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated

import typer

from combray.answer import Answer, AnswerParams, Citation, Refusals
from combray.cli.arguments import Asked, asking
from combray.cli.invocation import Invocation
from combray.cli.screen import clipped
from combray.cli.shapes import plain, recall_fields
from combray.model import PackItem

_CITED_CHARS = 300


@asking
def answer(
    context: typer.Context,
    asked: Asked,
    guess: Annotated[
        bool,
        typer.Option("--guess", help="Have the model guess where the evidence does not say."),
    ] = False,
    stream: Annotated[
        bool, typer.Option("--stream", help="Print the answer while the model writes it.")
    ] = False,
) -> None:
    """Answer a question from the evidence of a bank, with a language model.

    The answer goes to standard output, the turns that it cites to standard error. Where the bank does not seem to hold
    an answer the model is not asked.
    """
    call = Invocation.of(context)
    params = AnswerParams(refusals=Refusals.NEVER if guess else Refusals.ALLOWED)
    with call.memory() as memory:
        bank = memory.bank(asked.bank)
        answering = bank.answering(asked.query, params=params, **asked.options(bank))
        if stream and not call.screen.json:
            for piece in answering:
                call.screen.piece(piece)
            call.screen.text("")
        found = answering.answer()
    _show(call, found, printed=stream and not call.screen.json)


def _show(call: Invocation, found: Answer, *, printed: bool) -> None:
    for note in found.recall.trace.notes:
        call.screen.note(note)
    if call.screen.json:
        call.screen.value(answer_fields(found))
        return
    if not printed:
        call.screen.text(found.text)
    for citation in found.citations:
        call.screen.note(_cited(citation))
    if found.refused:
        call.screen.note(found.reason)
    if found.unknown_cites:
        call.screen.warn(
            f"the model cites lines that are not there: {', '.join(found.unknown_cites)}."
        )


def _cited(citation: Citation) -> str:
    source = citation.source
    if isinstance(source, PackItem):
        said = f"{source.turn.said_at:%Y-%m-%d} {source.turn.speaker}"
    else:
        said = "note"
    return f"[{citation.cite}] {clipped(f'{said}: {source.text}', _CITED_CHARS)}"


def answer_fields(found: Answer) -> dict[str, object]:
    """An answer as JSON: its text, the turns it cites, and the recall behind it."""
    own = [one.name for one in fields(found) if one.name not in {"citations", "recall"}]
    cites = [
        {"cite": citation.cite, "id": citation.id, "text": citation.source.text}
        for citation in found.citations
    ]
    return {
        **{name: plain(getattr(found, name)) for name in own},
        "citations": cites,
        "recall": recall_fields(found.recall),
    }
