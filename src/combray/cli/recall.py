"""`combray recall`: the evidence for a question, within a budget."""

from __future__ import annotations

from typing import Annotated

import typer

from combray.cli.arguments import Asked, asking
from combray.cli.invocation import Invocation
from combray.cli.screen import Screen, count
from combray.cli.shapes import recall_fields
from combray.model import Recall


@asking
def recall(
    context: typer.Context,
    asked: Asked,
    show_ids: Annotated[
        bool,
        typer.Option("--show-ids", help="List the id of each turn of the pack on standard error."),
    ] = False,
) -> None:
    """Print the evidence for a question, within a budget of tokens.

    What was said, by whom and when, ready to put before a model. The pack alone goes to standard output; how well it
    is supported and how many tokens it has goes to standard error. Where the bank does not seem to hold an answer
    the pack is empty, and that is not an error.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        bank = memory.bank(asked.bank)
        found = bank.recall(asked.query, **asked.options(bank))
    _show(call.screen, found, ids=show_ids)


def _show(screen: Screen, found: Recall, *, ids: bool) -> None:
    for note in found.trace.notes:
        screen.note(note)
    if screen.json:
        screen.value(recall_fields(found))
        return
    if found.text:
        screen.text(found.text)
    if ids:
        for item in found.items:
            screen.warn(f"[{item.cite}] {item.turn.id}  session {item.turn.session}")
        for one in found.notes:
            screen.warn(f"[{one.cite}] {one.record.id}  {one.record.kind} by {one.record.method}")
    screen.note(summary(found))


def summary(found: Recall) -> str:
    """One line about a recall: support, size, method; or why there is nothing."""
    support = f"support {found.support:.2f}"
    if found.abstained:
        return f"nothing to show: {found.reason}"
    shown = count(len(found.items), "turn")
    if found.notes:
        shown += f" and {count(len(found.notes), 'note')}"
    size = f"{found.n_tokens} of {found.budget_tokens} tokens ({found.counter})"
    return f"{support} · {shown} · {size} · {found.trace.method}"
