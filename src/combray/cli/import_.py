"""`combray import`: bring conversations in from a file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from combray.cli.arguments import BankName, Create, Zone
from combray.cli.invocation import Invocation
from combray.cli.loading import Request, load


class Format(StrEnum):
    """Formats by name."""

    AUTO = "auto"
    COMBRAY = "combray"
    OPENAI = "openai"
    LOCOMO = "locomo"


def import_(
    context: typer.Context,
    bank: BankName,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="What to read; '-' is standard input.", show_default=False
        ),
    ],
    format: Annotated[
        Format,
        typer.Option(
            "--format",
            metavar="NAME",
            help="What the file is: combray, openai, locomo, or auto, which looks into it.",
        ),
    ] = Format.AUTO,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="CONVERSATION",
            help="Take only this conversation of a LoCoMo file, into BANK itself.",
        ),
    ] = None,
    create: Create = True,
    zone: Zone = None,
) -> None:
    """Store the turns of a file.

    It may be an export of combray, messages in OpenAI's shape, or a LoCoMo release. The file is checked as a whole
    first. An import that was cut off goes on when it is run again, and importing the same file twice changes
    nothing. A LoCoMo file with several conversations becomes a bank for each, BANK/conv-26 and so on.
    """
    wanted = None if format is Format.AUTO else str(format)
    request = Request(bank=bank, path=file, format=wanted, only=only, create=create, zone=zone)
    load(Invocation.of(context), request)
