"""Arguments and options that several commands share, and their reading."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import typer

from combray.errors import InvalidInput
from combray.model import Filters, Role, aware
from combray.model.time import zone

if TYPE_CHECKING:
    from combray.memory import BankMemory

BankName = Annotated[
    str, typer.Argument(metavar="BANK", help="Name of the bank.", show_default=False)
]
QueryText = Annotated[
    str, typer.Argument(metavar="QUERY", help="The question, in plain words.", show_default=False)
]
K = Annotated[
    int | None,
    typer.Option(
        "--k", metavar="N", help="Rank at most N turns; the method's own number by default."
    ),
]
Budget = Annotated[
    int | None,
    typer.Option("--budget", metavar="TOKENS", help="Never let the pack exceed this many tokens."),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="Rank with this method: fused, edge, anchor, atom, bm25, dense or late.",
    ),
]
Now = Annotated[
    str | None,
    typer.Option(
        "--now",
        metavar="TIME",
        help="Measure 'last week' and the like from this ISO 8601 time instead of the clock's.",
    ),
]
Speakers = Annotated[
    list[str] | None,
    typer.Option(
        "--speaker", metavar="NAME", help="Look only at what this person said; may be repeated."
    ),
]
Sessions = Annotated[
    list[str] | None,
    typer.Option("--session", metavar="NAME", help="Look only into this session; may be repeated."),
]
Roles = Annotated[
    list[Role] | None,
    typer.Option(
        "--role",
        metavar="ROLE",
        help="Look only at turns of this role (user, assistant, system, tool, other); may be repeated.",
    ),
]
Tags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="TAG",
        help="Look only at turns with this tag; repeat it to ask for several at once.",
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Look only at turns said at this time or later, such as 2024-06-01T18:30, 2024-06-01, 2024-06 or 2024.",
    ),
]
Until = Annotated[
    str | None,
    typer.Option(
        "--until",
        metavar="TIME",
        help="Look only at turns said before this time, written likewise.",
    ),
]
NoAbstain = Annotated[
    bool,
    typer.Option("--no-abstain", help="Show the best there is, even where the bank does not seem to hold an answer."),
]  # fmt: skip
Plan = Annotated[
    bool,
    typer.Option("--plan", help="Have the language model say first what the question is after, where the method can use that."),
]  # fmt: skip

Limit = Annotated[
    int, typer.Option("--limit", metavar="N", min=1, max=1000, help="List at most N of them.")
]
Zone = Annotated[
    str | None,
    typer.Option(
        "--zone",
        metavar="NAME",
        help="Read naive times of a bank that is made now in this IANA zone; COMBRAY_ZONE, or UTC, by default.",
    ),
]
Create = Annotated[
    bool, typer.Option("--create/--no-create", help="Make the bank if it does not exist.")
]


class RecallOptions(TypedDict):
    """Options of `BankMemory.recall`."""

    k: int | None
    budget_tokens: int | None
    method: str | None
    now: datetime | None
    filters: Filters
    abstain: bool
    plan: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question with the options of its recall, as the commands that ask one have them; see `asking`."""

    bank: BankName
    query: QueryText
    k: K = None
    budget: Budget = None
    method: MethodName = None
    now: Now = None
    speaker: Speakers = None
    session: Sessions = None
    role: Roles = None
    tag: Tags = None
    since: Since = None
    until: Until = None
    no_abstain: NoAbstain = False
    plan: Plan = False

    def options(self, bank: BankMemory) -> RecallOptions:
        """What `recall` of that bank is given; naive times are read in its zone."""
        filters = Filters(
            speakers=self.speaker or (),
            sessions=self.session or (),
            roles=self.role or (),
            tags=self.tag or (),
            since=self.since,
            until=self.until,
        )
        return RecallOptions(
            k=self.k,
            budget_tokens=self.budget,
            method=self.method,
            now=time_in(bank, self.now),
            filters=filters.in_zone(zone(bank.bank.zone)),
            abstain=not self.no_abstain,
            plan=self.plan,
        )


def asking(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the arguments and options of a question in the place of its parameter `asked`."""
    shared = signature(Asked, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 (whatever the command takes)
        asked = Asked(**{name: given.pop(name) for name in shared})
        command(asked=asked, **given)

    taken: list[Parameter] = []
    for name, parameter in signature(command, eval_str=True).parameters.items():
        taken += shared.values() if name == "asked" else [parameter]
    run.__signature__ = Signature(  # type: ignore[attr-defined]
        [one.replace(kind=Parameter.KEYWORD_ONLY) for one in taken]
    )
    return run


def time_in(bank: BankMemory, text: str | None) -> datetime | None:
    """The time behind the text; a naive one is read in the bank's zone.

    Raises:
        InvalidInput: it is not ISO 8601.
    """
    return None if text is None else aware(text, zone(bank.bank.zone))


def standard_input() -> str:
    """All of standard input as one text, without the line feed that a shell puts at its end.

    Raises:
        InvalidInput: it is not UTF-8, or closed.
    """
    if sys.stdin is None:
        raise InvalidInput("standard input is closed: give the text as an argument.")
    try:
        return sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 at byte {error.start}.") from error


def asks_a_person() -> bool:
    """Whether standard input is a terminal, so that somebody may answer."""
    return sys.stdin is not None and sys.stdin.isatty()
