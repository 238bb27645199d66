"""`combray explain`: a recall with everything that led to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.arguments import Asked, asking
from combray.cli.invocation import Invocation
from combray.cli.recall import summary
from combray.cli.screen import Screen, clipped, visible
from combray.cli.shapes import explain_fields
from combray.model import Cut, DerivedRecord, Hit, Recall, RecordHit

if TYPE_CHECKING:
    from rich.console import Console

_SNIPPET = 88
_SHOWN = 10
"""Turns that are shown where not all are asked for."""

_CUT = {
    "budget": "no room left in the budget",
    "repeat": "says the same as a turn above",
    "below_threshold": "below the threshold",
    "empty": "nothing of it can be shown",
}


@asking
def explain(
    context: typer.Context,
    asked: Asked,
    all: Annotated[
        bool, typer.Option("--all", help="Show every ranked turn, not only the first ten.")
    ] = False,
) -> None:
    """Show why a recall finds what it finds.

    The ranked turns with their scores, what each channel added to them (first line) and what it saw in them (second
    line), which turns were left out of the pack and why, the signals behind the support, and the time each stage
    took.
    """
    call = Invocation.of(context)
    with call.memory() as memory:
        bank = memory.bank(asked.bank)
        found = bank.recall(asked.query, **asked.options(bank))
    if call.screen.json:
        call.screen.value(explain_fields(found))
    else:
        _show(call.screen, found, n=None if all else _SHOWN)


def _show(screen: Screen, found: Recall, *, n: int | None) -> None:
    console = screen.console()
    trace = found.trace
    _heading(console, found.query, summary(found))
    cited = {item.turn.id: item.cite for item in found.items}
    cut = {one.hit.id: _why(one) for one in trace.cut}
    for hit in found.hits[:n]:
        _hit(console, hit, cited.get(hit.turn.id), cut.get(hit.turn.id, ""))
    if n is not None and len(found.hits) > n:
        _line(console, "ranked", f"{len(found.hits) - n:,} more turns; --all shows them")
    _notes(console, found)
    _line(console, "support", f"{found.support:.3f}, abstains below {trace.threshold:.3f}")
    _line(console, "signals", _numbers(trace.signals))
    _line(console, "weights", _numbers(trace.channels))
    _line(console, "milliseconds", _numbers(trace.timings_ms, "{:.1f}"))
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
        (_numbers(hit.contributions, "{:+.3f}"), "green"),
        (_numbers(hit.channels, "{:.3g}"), "dim"),
        (f"left out: {cut}" if cut else "", "yellow"),
    ]
    for line, style in lines:
        if line:
            console.print(Padding(Text(visible(line), style=style), (0, 0, 0, 5), expand=False))
    console.print()


def _notes(console: Console, found: Recall) -> None:
    """The notes of the pack, and the records that were left out of it."""
    for note in found.notes:
        named = ", ".join(f"[{cite}]" for cite in note.cites) or "turns not shown"
        _record(console, f"[{note.cite}]", note.record, f"from {named}")
    for one in found.trace.cut:
        if isinstance(one.hit, RecordHit):
            _record(console, "-", one.hit.record, left_out=_why(one))


def _record(
    console: Console, place: str, record: DerivedRecord, source: str = "", left_out: str = ""
) -> None:
    from rich.padding import Padding
    from rich.text import Text

    by = " ".join(filter(None, [record.method, record.made_by.model]))
    said = " · ".join(filter(None, [f"{record.kind} by {by}", source]))
    console.print(Text.assemble((f"     {place:<6}", "bold"), visible(said)))
    lines = [
        (clipped(record.text, _SNIPPET), ""),
        (f"left out: {left_out}" if left_out else "", "yellow"),
    ]
    for line, style in lines:
        if line:
            console.print(Padding(Text(visible(line), style=style), (0, 0, 0, 5), expand=False))
    console.print()


def _why(cut: Cut) -> str:
    return _CUT.get(cut.reason, cut.reason)


def _line(console: Console, name: str, value: str) -> None:
    from rich.text import Text

    if value:
        console.print(Text.assemble((f"{name:<13}", "bold"), visible(value)))


def _numbers(values: Mapping[str, float], form: str = "{:.3f}") -> str:
    """Names with their numbers, the largest first; zeros say nothing."""
    ordered = sorted(values.items(), key=lambda pair: -abs(pair[1]))
    return " · ".join(f"{name} {form.format(value)}" for name, value in ordered if value)
