"""The edge of the command line: arguments in, an exit code out, every failure in one sentence.

Exit codes: 0 done · 1 something is not right (`doctor` found an error, a prompt was declined) · 2 wrong usage ·
3 to 10 one for each kind of error (`combray.errors`) · 70 a bug · 74 the system refused to read or write ·
130 interrupted · 141 the reader of our output went away.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import typer

from combray import __version__
from combray.cli.app import app
from combray.cli.screen import Screen
from combray.cli.shapes import plain
from combray.errors import CombrayError

BUG = 70
SYSTEM = 74
INTERRUPTED = 130
PIPE_CLOSED = 141

# typer gives no name to the base of its usage errors that all of its versions share.
_UsageError: Any = typer.BadParameter.__base__

_WORDS = tuple(
    (re.compile(pattern), ours)
    for pattern, ours in (
        (r"Input should be a valid integer.*", "it must be a whole number"),
        (r"Input should be a valid (\w+).*", r"it must be a \1"),
        (r"Input should be greater than or equal to (\S+)", r"it must be at least \1"),
        (r"Input should be less than or equal to (\S+)", r"it must be at most \1"),
        (r"Input should be ", "it must be "),
        (r"(Value|Assertion) error, ", ""),
    )
)

_FLAGS = frozenset({"--json", "--quiet", "--traceback"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is said about an error.

    Attributes:
        code: a word for programs.
        message: a sentence for people.
        exit_code: of the process.
        facts: the error's attributes.
    """

    code: str
    message: str
    exit_code: int
    facts: dict[str, Any] = field(default_factory=dict)


def main() -> None:
    """Run the command line of this process."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; whatever goes wrong is said on standard error.

    With ``--json`` the error is an object on standard output too, so that there is always one value to read.
    """
    options, rest = common_first(arguments)
    screen = Screen(json="--json" in options, quiet="--quiet" in options)
    try:
        code = app([*options, *rest], prog_name="combray", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit:  # typer's answer to a closed pipe
        return _pipe_closed()
    except BrokenPipeError:
        return _pipe_closed()
    except typer.Abort:
        return _said(
            screen, Failure(code="aborted", message="stopped; nothing was changed.", exit_code=1)
        )
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 — the one edge: no run may end in a bare traceback
        if "--traceback" in options:
            traceback.print_exc()
        return _said(screen, failure_of(error))
    return code if isinstance(code, int) else 0


def common_first(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options that every command has, and the other arguments, each in order.

    They may stand anywhere before a ``--``; typer itself would take them in front of the command alone.

    >>> common_first(["recall", "mira", "Where?", "--json", "--db", "m.db"])
    (['--json', '--db', 'm.db'], ['recall', 'mira', 'Where?'])
    """
    common: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument == "--db":
            common += [argument, *([value] if (value := next(waiting, None)) is not None else [])]
        elif argument in _FLAGS or argument.startswith("--db="):
            common.append(argument)
        else:
            rest.append(argument)
    return common, rest


def failure_of(error: Exception) -> Failure:
    """What to say about an error."""
    if isinstance(error, CombrayError):
        facts = plain({key: value for key, value in vars(error).items() if key[0] != "_"})
        return Failure(code=error.code, message=str(error), exit_code=error.exit_code, facts=facts)
    if isinstance(error, _UsageError):
        message = plainly(error.format_message()).rstrip(".") + "."
        command = getattr(getattr(error, "ctx", None), "command_path", "combray")
        return Failure(
            code="usage",
            message=f"{message} See `{command} --help`.",
            exit_code=error.exit_code,
        )
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return Failure(
            code="system", message=f"{where}{error.strerror or error}.", exit_code=SYSTEM
        )
    return Failure(
        code="bug",
        message=(
            f"unexpected {type(error).__name__}: {error}. This is a bug in combray {__version__}; "
            "run the command again with --traceback to see where."
        ),
        exit_code=BUG,
    )


def plainly(message: str) -> str:
    """A usage error in words of ours; typer passes on those of the library that it checks values with.

    >>> plainly("Invalid value for '--k': Input should be a valid integer, unable to parse string as an integer")
    "Invalid value for '--k': it must be a whole number"
    """
    for pattern, ours in _WORDS:
        message = pattern.sub(ours, message)
    return message


def _said(screen: Screen, failure: Failure) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return _pipe_closed()
    except OSError:  # it takes no more, as on a full device; standard error may
        _drop_output()
    try:
        screen.warn(f"error: {failure.message}")
        if screen.json:
            facts = {"code": failure.code, "message": failure.message, **failure.facts}
            screen.value({"error": facts})
    except BrokenPipeError:
        return _pipe_closed()
    except OSError:
        _drop_output()
    return failure.exit_code


def _nowhere() -> TextIO:
    """Stands in for a stream that the caller has closed."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _pipe_closed() -> int:
    _drop_output()
    return PIPE_CLOSED


def _drop_output() -> None:
    # Python flushes standard output once more at exit, and would complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno() if sys.__stdout__ else 1)
