"""`combray explain`: a recall with everything that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.arguments import (
    BankName,
    Budget,
    K,
    MethodName,
    NoAbstain,
    Now,
    QueryText,
    Roles,
    Sessions,
    Since,
    Speakers,
    Tags,
    Until,
    filters_of,
    time_in,
)
from combray.cli.invocation import Invocation
from combray.cli.recall import summary
from combray.cli.screen import Screen, clipped, visible
from combray.cli.shapes import explain_fields
from combray.model import Hit, Recall

if TYPE_CHECKING:
    from rich.console import Console

_SNIPPET = 88
_CUTS = 5
"""Turns that were left out are shown up to this many."""

_CUT = {
    "budget": "no room left in the budget",
    "repeat": "says the same as a turn above",
    "below_threshold": "below the threshold",
}


def explain(
    context: typer.Context,
    bank: BankName,
    query: QueryText,
    k: K = None,
    budget: Budget = None,
    method: MethodName = None,
    now: Now = None,
    speaker: Speakers = None,
    session: Sessions = None,
    role: Roles = None,
    tag: Tags = None,
    since: Since = None,
    until: Until = None,
    no_abstain: NoAbstain = False,
    all: Annotated[
        bool, typer.Option("--all", help="Show every turn that was left out, not only the first.")
    ] = False,
) -> None:
    """Show why a recall finds what it finds.

    Every ranked turn with its score, what each channel saw in it and added to it, which turns were left out of the
    pack and why, the signals behind the support, and the time each stage took.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        open_bank = memory.bank(bank)
        filters = filters_of(
            open_bank,
            speakers=speaker,
            sessions=session,
            roles=role,
            tags=tag,
            since=since,
            until=until,
        )
        found = open_bank.recall(
            query,
            k=k,
            budget_tokens=budget,
            method=method,
            now=time_in(open_bank, now),
            filters=filters,
            abstain=not no_abstain,
        )
    if call.screen.json:
        call.screen.value(explain_fields(found))
    else:
        _show(call.screen, found, all_cuts=all)


def _show(screen: Screen, found: Recall, *, all_cuts: bool) -> None:
    console = screen.console()
    trace = found.trace
    _heading(console, found.query, summary(found))
    cited = {item.turn.id: item.cite for item in found.items}
    cut = {one.hit.turn.id: _CUT.get(one.reason, one.reason) for one in trace.cut}
    left = 0
    for hit in found.hits:
        left += hit.turn.id not in cited
        if hit.turn.id in cited or all_cuts or left <= _CUTS:
            _hit(console, hit, cited.get(hit.turn.id), cut.get(hit.turn.id, ""))
    if left > _CUTS and not all_cuts:
        _line(console, "left out", f"{left - _CUTS:,} more turns; --all shows them")
    _line(console, "support", f"{found.support:.3f}, abstains below {trace.threshold:.3f}")
    _line(console, "signals", _numbers(trace.signals))
    _line(console, "weights", _numbers(trace.channels))
    _line(console, "milliseconds", _numbers(trace.timings_ms, places=1))
    for note in trace.notes:
        _line(console, "note", note)


def _heading(console: Console, query: str, line: str) -> None:
    from rich.text import Text

    console.print(Text(visible(query), style="bold"))
    console.print(Text(visible(line), style="dim"))
    console.print()


def _hit(console: Console, hit: Hit, cite: int | None, cut: str) -> None:
    from rich.padding import Padding
    from rich.text import Text

    place = f"[{cite}]" if cite is not None else "-"
    turn = hit.turn
    said = f"{turn.speaker} · {turn.said_at:%Y-%m-%d %H:%M} · {turn.session} #{turn.position}"
    head = f"{hit.rank:>3}. {place:<4} {hit.score:8.3f}  "
    console.print(Text.assemble((head, "bold"), visible(said)))
    lines = [
        (clipped(turn.spoken, _SNIPPET), ""),
        (_channels(hit), "dim"),
        (f"left out: {cut}" if cut else "", "yellow"),
    ]
    for line, style in lines:
        if line:
            console.print(Padding(Text(visible(line), style=style), (0, 0, 0, 5), expand=False))
    console.print()


def _channels(hit: Hit) -> str:
    """Each channel's raw score, and in brackets what it added."""
    names = dict.fromkeys([*hit.contributions, *hit.channels])
    parts = []
    for name in sorted(names, key=lambda name: -abs(hit.contributions.get(name, 0.0))):
        raw = f" {hit.channels[name]:.3g}" if name in hit.channels else ""
        added = f" ({hit.contributions[name]:+.3f})" if name in hit.contributions else ""
        parts.append(f"{name}{raw}{added}")
    return " · ".join(parts)


def _line(console: Console, name: str, value: str) -> None:
    from rich.text import Text

    if value:
        console.print(Text.assemble((f"{name:<13}", "bold"), visible(value)))


def _numbers(values: Mapping[str, float], places: int = 3) -> str:
    return " · ".join(f"{name} {value:.{places}f}" for name, value in values.items())
