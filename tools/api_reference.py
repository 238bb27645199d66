"""Writes docs/reference/python.md from the docstrings of what `combray` gives to programs.

Usage: python tools/api_reference.py [--check]
"""

# ruff: noqa: ANN401 (anything may be documented)

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import combray
from combray import errors
from combray.answer import Answer, AnswerParams, Citation, Refusals
from combray.config import Settings
from combray.importers import ImportedSession, detect, from_messages, read
from combray.llm import LLM, Completion, FunctionLLM, OpenAILLM, ReplayLLM
from combray.llm.openai import ChatEndpoint
from combray.memory.answering import Answering
from combray.memory.enriching import Failed, Worked, Worker, WorkParams
from combray.memory.enrichment import Enrichment
from combray.memory.parts import LexicalOnly
from combray.methods.anchor import AnchorParams
from combray.methods.fused import FusedParams
from combray.model import Bank, Cut, DerivedRecord, Job, MadeBy, Note, PackItem, Trace
from combray.store.base import Finding, ForgetReceipt
from combray.store.derived import CallSummary

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "python.md"
TOP = """\
# Python

This page is made from the docstrings (`python tools/api_reference.py`).

What most programs need comes from `combray` itself: {names}. Every error that is raised on purpose is a `combray.CombrayError`.

Wherever a time is asked for, a datetime, a date (its midnight) or ISO 8601 text will do; a naive one is read in the bank's zone.
Calls are synchronous and safe from threads; in `async` code use `await asyncio.to_thread(bank.recall, question)`.
"""
SECTIONS: dict[str, list[Any]] = {
    "Memory and banks": [combray.Memory, combray.BankMemory],
    "What goes in": [combray.TurnDraft, combray.Session, combray.Filters, combray.Role],
    "What comes out": [
        combray.Remembered,
        combray.Recall,
        PackItem,
        combray.Hit,
        Trace,
        Cut,
        combray.Turn,
        combray.Profile,
        combray.ProfileEntry,
        Bank,
        combray.Reindexed,
        ForgetReceipt,
        Finding,
    ],
    "Language models": [
        Enrichment,
        Worker,
        WorkParams,
        Worked,
        Failed,
        Answering,
        Answer,
        AnswerParams,
        Refusals,
        Citation,
        Note,
        DerivedRecord,
        MadeBy,
        Job,
        CallSummary,
        LLM,
        Completion,
        OpenAILLM,
        ChatEndpoint,
        FunctionLLM,
        ReplayLLM,
    ],
    "Importing": [read, detect, from_messages, ImportedSession],
    "Settings": [Settings, FusedParams, AnchorParams],
}
HIDDEN = {"with_traceback", "add_note"}
CONSTRUCTED = {
    combray.TurnDraft,
    combray.Session,
    combray.Filters,
    Settings,
    FusedParams,
    AnchorParams,
    AnswerParams,
    WorkParams,
    OpenAILLM,
    ChatEndpoint,
    FunctionLLM,
    ReplayLLM,
}
"""What programs make themselves."""


def page() -> str:
    """The whole page as Markdown."""
    names = ", ".join(f"`{name}`" for name in combray.__all__ if not name.startswith("_"))
    parts = [TOP.format(names=names)]
    for title, things in SECTIONS.items():
        parts += [f"## {title}\n", *map(_thing, things)]
    parts += ["## Errors\n", _errors()]
    return "\n".join(parts)


def _thing(thing: Any) -> str:
    name = thing.__name__
    head = f"### `{name}`\n\nfrom `{_home(thing)}`\n"
    if not inspect.isclass(thing):
        return f"{head}\n{_signature(name, thing)}\n{_prose(thing)}"
    parts = [head, _prose(thing)]
    if _constructed(thing):
        parts.append(_signature(name, thing))
        if "__init__" in _written(thing) and vars(thing)["__init__"].__doc__:
            parts.append(_prose(vars(thing)["__init__"]))
    for member, value in _members(thing):
        parts.append(_member(name, member, value))
    return "\n".join(parts)


def _home(thing: Any) -> str:
    """The module to import it from: the shortest that gives it."""
    if thing.__name__ in combray.__all__:
        return "combray"
    package = thing.__module__.rsplit(".", 1)[0]
    given = getattr(sys.modules.get(package), thing.__name__, None)
    return package if given is thing else thing.__module__


def _constructed(thing: type) -> bool:
    """Whether programs make one themselves."""
    return thing in CONSTRUCTED


def _members(thing: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, in the order they were written; without those that only fill in a base class."""
    for member, value in vars(thing).items():
        pointer = (getattr(value, "__doc__", None) or "").startswith("See `")
        if member.startswith("_") or member in HIDDEN or pointer:
            continue
        if isinstance(value, property | classmethod) or inspect.isfunction(value):
            yield member, value


def _member(owner: str, name: str, value: Any) -> str:
    if isinstance(value, property):
        return f"#### `{owner}.{name}`\n\n{_prose(value)}"
    function = value.__func__ if isinstance(value, classmethod) else value
    return f"#### `{owner}.{name}`\n\n{_signature(f'{owner}.{name}', function)}\n{_prose(function)}"


def _signature(name: str, thing: Any) -> str:
    """The call, a parameter a line where it is long."""
    if is_dataclass(thing) and "__init__" not in _written(thing):
        parts = ["*", *(_field(one) for one in fields(thing) if one.init)]
        result = ""
    else:
        found = inspect.signature(thing.__init__ if inspect.isclass(thing) else thing)
        kept = [one for one in found.parameters.values() if one.name not in {"self", "cls"}]
        bare = found.replace(parameters=kept, return_annotation=inspect.Signature.empty)
        parts = _split(_unquoted(str(bare))[1:-1])
        returns = found.return_annotation
        result = "" if returns in {inspect.Signature.empty, "None"} or inspect.isclass(thing) else f" -> {_unquoted(str(returns))}"  # fmt: skip
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) > 88:
        inner = "".join(f"    {part},\n" for part in parts)
        line = f"{name}(\n{inner}){result}"
    return f"```python\n{line}\n```\n"


def _written(thing: type) -> set[str]:
    """Methods that stand in the source of a class, and were not made for it."""
    return set(re.findall(r"def (\w+)\(", inspect.getsource(thing)))


def _field(one: Any) -> str:
    kind = _unquoted(str(one.type))
    if one.default is not MISSING:
        default = one.default
        shown = f"{kind}.{default.name}" if isinstance(default, Enum) else repr(default)
        return f"{one.name}: {kind} = {shown}"
    return f"{one.name}: {kind}" + (" = …" if one.default_factory is not MISSING else "")


def _unquoted(text: str) -> str:
    """Annotations as they are written, without the quotes of a postponed evaluation or addresses."""
    text = re.sub(r": '([^']*)'", r": \1", text)
    return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", text)


def _split(text: str) -> list[str]:
    """Parameters at the commas that stand outside all brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def _prose(thing: Any) -> str:
    """A Google docstring as Markdown: sections become lists."""
    lines = (inspect.getdoc(thing) or "").replace("``", "`").splitlines()
    shown: list[str] = []
    inside = example = False
    for line in lines:
        example = line.startswith(">>>") or (example and bool(line.strip()))
        if example:
            continue
        if re.fullmatch(r"(Args|Attributes|Returns|Raises|Source):", line):
            inside = True
            shown += [f"*{line}*", ""]
        elif inside and re.match(r"    \S", line):
            shown.append(_item(line.strip()))
        elif inside and line.startswith("     "):
            shown[-1] += f" {line.strip()}"
        else:
            inside = inside and not line.strip()
            shown.append(line)
    return "\n".join(shown).rstrip() + "\n"


def _item(text: str) -> str:
    name, colon, rest = text.partition(": ")
    return f"- `{name}`: {rest}" if colon and " " not in name else f"- {text}"


def _errors() -> str:
    kinds = [
        kind
        for kind in vars(errors).values()
        if inspect.isclass(kind) and issubclass(kind, errors.CombrayError)
    ]
    rows = [
        f"| `{kind.__name__}` | `{kind.__mro__[1].__name__}` | `{kind.code}` | {(kind.__doc__ or '').splitlines()[0]} |"
        for kind in kinds
    ]
    head = "Import them from `combray.errors` (`CombrayError` from `combray` too). Facts about a failure are attributes; the message says what to do.\n"
    warning = (
        f"\n`{LexicalOnly.__module__}.{LexicalOnly.__name__}` is a warning: {LexicalOnly.__doc__}\n"
    )
    return "\n".join([head, "| error | is a | code | means |", "|---|---|---|---|", *rows, warning])


def main() -> int:
    """Rewrite the page, or with --check say whether it is stale."""
    made = page()
    if "--check" in sys.argv:
        return int(PAGE.read_text("utf-8") != made)
    PAGE.write_text(made, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
