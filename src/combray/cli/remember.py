"""`combray remember`: store what was said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from combray.cli.arguments import BankName, Create, Zone, asks_a_person, standard_input
from combray.cli.invocation import Invocation
from combray.cli.loading import Request, load, opened_bank
from combray.cli.shapes import plain
from combray.memory import Remembered
from combray.memory.drafts import checked
from combray.model import Role, Session, TurnDraft
from combray.model.time import read_time
from combray.model.time import zone as zone_of


def remember(
    context: typer.Context,
    bank: BankName,
    text: Annotated[
        str | None,
        typer.Argument(
            metavar="TEXT",
            help="What was said. Left out or '-', it is read from standard input.",
            show_default=False,
        ),
    ] = None,
    speaker: Annotated[
        str | None,
        typer.Option("--speaker", metavar="NAME", help="Who said it; the role's name by default."),
    ] = None,
    role: Annotated[
        Role | None,
        typer.Option(
            "--role",
            metavar="ROLE",
            help="In which role: user (the default), assistant, system, tool or other.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="In which session; the day's by default."),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="TIME", help="When, such as 2024-06-01T18:30; now by default."
        ),
    ] = None,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="A name to filter by; may be repeated."),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option("--id", metavar="ID", help="Your own id of the turn, unique in its session."),
    ] = None,
    caption: Annotated[
        str | None,
        typer.Option("--caption", metavar="TEXT", help="What an image showed that came with it."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Remember a whole file instead, as `combray import` does.",
        ),
    ] = None,
    create: Create = True,
    zone: Zone = None,
) -> None:
    """Store a turn, word for word, and print its id.

    It is durable when the command returns. The same turn again (the same --id, or the same words at the same --at)
    is a no-op that says so.
    """
    call = Invocation.of(context)
    if file is not None:
        given = (text, speaker, role, session, at, tag, id, caption)
        if any(value for value in given):
            raise typer.BadParameter(
                "a file says itself who said what, and when.", param_hint="--file"
            )
        load(call, Request(bank=bank, path=str(file), create=create, zone=zone))
        return
    draft = TurnDraft(
        text=_said(text, caption),
        speaker=speaker,
        role=role,
        said_at=at,
        caption=caption,
        id=id,
        tags=tuple(tag or ()),
    )
    _check(draft, session, zone)
    with call.memory(create=create) as memory:
        open_bank, created = opened_bank(call, memory, bank, create=create, zone=zone)
        done = open_bank.remember(draft, session=session)
    _show(call, bank, done, created=created)


def _check(draft: TurnDraft, session: str | None, zone: str | None) -> None:
    """Refuse what cannot be stored before a bank, or even a file, is made for it."""
    checked(draft)
    if session is not None:
        Session(name=session)
    if draft.said_at is not None:
        read_time(draft.said_at)
    if zone is not None:
        zone_of(zone)


def _said(text: str | None, caption: str | None) -> str:
    if text is not None and text != "-":
        return text
    if text is None and caption is not None:
        return ""
    if text is None and asks_a_person():
        raise typer.BadParameter(
            "give the text, --file, or pipe it into standard input.", param_hint="TEXT"
        )
    return standard_input()


def _show(call: Invocation, bank: str, done: Remembered, *, created: bool) -> None:
    for note in done.notes:
        call.screen.note(note)
    if call.screen.json:
        call.screen.value({"bank": bank, "created": created, **plain(done)})
        return
    call.screen.text(_sentence(bank, done.session, done.stored, done.known))


def _sentence(bank: str, session: str, stored: Sequence[str], known: Sequence[str]) -> str:
    what = "Remembered" if stored else "Known already:"
    return f"{what} {', '.join(stored or known)} in session {session} of bank {bank}."
