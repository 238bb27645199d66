"""What a command shows: results on standard output, everything else on standard error.

Stored text is other people's text. It is never read as markup, and on a terminal its control characters are
shown as escapes, so that no turn can move the cursor, hide a line or change a colour.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from combray.cli.shapes import plain

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Advance = Callable[[int], None]
"""Moves a progress bar on by that many steps."""

Stage = Callable[[str, int, int], None]
"""Says what is being done, how much of it is done, and how much there is."""

# Joiners (U+200C, U+200D) stay, as in a pack: emoji and Indic scripts need them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_NOT_RAW_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNBOUNDED = 100_000


def visible(text: str) -> str:
    r"""The text with control characters, also those that turn or hide text, as escapes; line feeds and tabs stay.

    >>> visible("\x1b[31mred\r")
    '\\x1b[31mred\\x0d'
    """
    return _CONTROL.sub(_escaped, text.replace("\r\n", "\n"))


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def to_json(value: object, *, indent: int | None = None) -> str:
    """One line of JSON (or indented), in which no control character is raw."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)
    return _NOT_RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where a command puts what it has to say.

    Attributes:
        json: standard output gets one JSON value and nothing else.
        quiet: notes and progress are left out; errors and results are not.
    """

    json: bool = False
    quiet: bool = False

    def value(self, value: object) -> None:
        """The result as JSON: indented for a person, on one line for a program."""
        _write(sys.stdout, to_json(value, indent=2 if sys.stdout.isatty() else None) + "\n")

    def text(self, text: str) -> None:
        """A result in words, as it is; with visible control characters on a terminal."""
        shown = visible(text) if sys.stdout.isatty() else text
        _write(sys.stdout, shown if shown.endswith("\n") else shown + "\n")

    def piece(self, text: str) -> None:
        """A part of a result that is still being made; no line break is added."""
        _write(sys.stdout, visible(text) if sys.stdout.isatty() else text)

    def note(self, text: str) -> None:
        """Something beside the result."""
        if not self.quiet:
            self.warn(text)

    def warn(self, text: str) -> None:
        """Something that is said even when quiet."""
        sys.stdout.flush()
        _write(sys.stderr, visible(text) + "\n")

    def console(self, *, stderr: bool = False) -> Console:
        """A rich console that takes nothing for markup; not cut to any width unless it is a terminal."""
        from rich.console import Console

        stream = sys.stderr if stderr else sys.stdout
        width = None if stream.isatty() else _UNBOUNDED
        return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """A table; with `json` on standard error, because the value is the result."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, header_style="bold")
        numeric = [
            all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))
        ]
        for name, right in zip(columns, numeric, strict=True):
            table.add_column(Text(name), justify="right" if right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(visible(_cell(value))) for value in row))
        self.drawing(table)

    def drawing(self, drawing: RenderableType) -> None:
        """Something that rich draws; goes where tables go."""
        if self.json and self.quiet:
            return
        console = self.console(stderr=self.json)
        with console.capture() as drawn:
            console.print(drawing)
        lines = (line.rstrip() for line in drawn.get().splitlines())
        _write(sys.stderr if self.json else sys.stdout, "\n".join(lines) + "\n")

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Advance]:
        """A bar on standard error while the block runs, if a person is watching."""
        if not self._watched:
            yield lambda _: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=self.console(stderr=True), transient=True) as bar:
            task = bar.add_task(_literal(what), total=total)
            yield lambda n: bar.update(task, advance=n)

    @contextmanager
    def stages(self) -> Iterator[Stage]:
        """The same for work in several stages, each with a name and a size of its own."""
        if not self._watched:
            yield lambda _what, _done, _total: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress

        columns = ("{task.description}", BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=self.console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=None)

            def stage(what: str, done: int, total: int) -> None:
                bar.update(task, description=_literal(what), completed=done, total=total)

            yield stage

    @property
    def _watched(self) -> bool:
        """Whether a person is watching, and wants to."""
        return not self.json and not self.quiet and sys.stderr.isatty()


def count(n: int, noun: str) -> str:
    """The number with its noun.

    >>> count(1, "turn"), count(1200, "turn")
    ('1 turn', '1,200 turns')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def clipped(text: str, width: int) -> str:
    """One line of at most that many characters.

    >>> clipped("It rained.  Then it snowed.", 12)
    'It rained. …'
    """
    line = " ".join(text.split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _literal(text: str) -> str:
    """The text as it is, for a progress bar, which reads markup."""
    from rich.markup import escape

    return escape(visible(text))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def _write(stream: TextIO, text: str) -> None:
    stream.write(text)
    stream.flush()
