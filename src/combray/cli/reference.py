"""The reference page of the command line, made from the commands themselves.

python -m combray.cli.reference > docs/reference/cli.md
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import typer.main

from combray import errors
from combray.cli.app import app
from combray.cli.run import BUG, INTERRUPTED, PIPE_CLOSED, SYSTEM
from combray.importers import BadImport

_TOP = """\
# Command line

This page is made from the help texts (`python -m combray.cli.reference`).

Results go to standard output; notes, progress and errors go to standard error. With `--json`, standard output gets exactly
one JSON value, also when something goes wrong: `{"error": {"code": ..., "message": ...}}`.

Names come first: `combray recall BANK QUERY`. The options of `combray` itself may stand before or after the command. An
argument that begins with a dash goes behind `--`.
"""


def reference() -> str:
    """The page as Markdown."""
    root = typer.main.get_command(app)
    parts = [_TOP, *(_section(name, command) for name, command in commands(root)), _exit_codes()]
    return "\n".join(parts)


def commands(command: Any, name: str = "combray") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 — typer's own
    """Every command with its whole name, the group before its members."""
    yield name, command
    for part, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, f"{name} {part}")


def _section(name: str, command: Any) -> str:  # noqa: ANN401
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join([name, *map(_usage, arguments)])
    if getattr(command, "commands", None):
        usage += " COMMAND"
    lines = [f"## {name}", "", f"    {usage}", "", _flowing(command.help or ""), ""]
    lines += [f"- `{one.metavar}`: {one.help}{_default(one)}" for one in arguments]
    lines += [f"- {_names(one)}: {one.help}{_default(one)}" for one in options if one.help]
    return "\n".join(lines).rstrip() + "\n"


def _flowing(text: str) -> str:
    """The paragraphs of a docstring, each on one line."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def _usage(argument: Any) -> str:  # noqa: ANN401
    return argument.metavar if argument.required else f"[{argument.metavar}]"


def _names(option: Any) -> str:  # noqa: ANN401
    names = [*option.opts, *option.secondary_opts]
    value = "" if option.is_flag else f" {option.metavar or 'VALUE'}"
    return " / ".join(f"`{name}{value}`" for name in names)


def _default(option: Any) -> str:  # noqa: ANN401
    value = option.default
    if getattr(option, "is_flag", False):
        names = option.opts if value else option.secondary_opts
        return f" Default: `{names[0]}`." if option.secondary_opts else ""
    return f" Default: `{value}`." if value is not None and value != "" else ""


def _exit_codes() -> str:
    meanings = {
        0: "done; a recall that abstains is done too",
        1: "something is not right: `doctor` or `models verify` found an error, or a prompt was declined",
        2: "wrong usage: `usage`",
        BUG: "a bug in combray: `bug`",
        SYSTEM: "the system refused to read or write a file: `system`",
        INTERRUPTED: "interrupted; what was acknowledged is stored",
        PIPE_CLOSED: "the program that read our output went away",
    }
    rows = [f"| {code} | {meaning} |" for code, meaning in meanings.items()]
    rows += [f"| {code} | {', '.join(names)} |" for code, names in _errors().items()]
    rows.sort(key=lambda row: int(row.split("|")[1]))
    return "\n".join(["## Exit codes", "", "| code | means |", "|---|---|", *rows]) + "\n"


def _errors() -> dict[int, list[str]]:
    """Error codes by exit code."""
    found: dict[int, list[str]] = {}
    for kind in [*vars(errors).values(), BadImport]:
        if not isinstance(kind, type) or not issubclass(kind, errors.CombrayError):
            continue
        if kind is not errors.CombrayError:
            found.setdefault(kind.exit_code, []).append(f"`{kind.code}`")
    return found


if __name__ == "__main__":
    sys.stdout.write(reference())
