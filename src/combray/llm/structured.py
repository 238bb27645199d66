"""Structured replies, read tolerantly: models fence them, talk around them, quote them wrongly, and stop in the middle.

What is accepted is always whole: of a list that breaks off, the elements before the break.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError

_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_END_OF_THINKING = re.compile(r"^.*</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"```[\w-]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_STRING = re.compile(r'"(?:\\.|[^"\\])*(?:"|\Z)', re.DOTALL)
_OPENING = re.compile(r"[\[{]")
_BRACE = re.compile(r"\{")
_MARK = re.compile(r"[\[\]{},]")
_OPENS = {"{": "}", "[": "]"}


class Unreadable(ValueError):
    """A reply that does not fit the schema; the message says why, for a model to mend it."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply as a value.

    Attributes:
        value: of the schema.
        truncated: whether the reply broke off; a list then lacks what came after.
    """

    value: BaseModel
    truncated: bool


def without_thinking(text: str) -> str:
    """The reply without a reasoning model's thoughts, stripped."""
    return _END_OF_THINKING.sub("", _THINKING.sub("", text)).strip()


def parse(text: str, schema: type[BaseModel]) -> Parsed:
    """The reply as a value of the schema.

    Read in turn: strict JSON in a fence or in prose; JSON that breaks off, up to its last whole element; JSON with small
    sins (wrong quotes, trailing commas), mended. A bare list is taken for the schema's only list field.

    Raises:
        Unreadable: there is no JSON, or it is not what the schema says.
    """
    wrong = "there is no JSON in it"
    for candidate in _candidates(text):
        for value, truncated in _readings(candidate):
            try:
                return Parsed(schema.model_validate(_shaped(value, schema)), truncated)
            except ValidationError as error:
                wrong = _told(error)
    raise Unreadable(wrong)


def _candidates(text: str) -> list[str]:
    """Parts of the reply that may be the JSON: what is fenced, else the whole, from its first bracket or brace."""
    found: dict[str, None] = {}
    for part in [*_FENCE.findall(text), text]:
        for opening in (_OPENING, _BRACE):
            if start := opening.search(part):
                found[part[start.start() :]] = None
    return list(found)


def _readings(text: str) -> list[tuple[Any, bool]]:
    try:
        return [(json.JSONDecoder(strict=False).raw_decode(text)[0], False)]
    except (json.JSONDecodeError, RecursionError):
        pass
    if not text.rstrip("` \n").endswith(tuple(_OPENS.values())):
        whole = _whole_elements(text)
        return [] if whole is None else [(whole, True)]
    return [(value, False)] if isinstance(value := _mended(text), dict | list) else []


def _mended(text: str) -> Any:  # noqa: ANN401 — any JSON value
    from json_repair import loads

    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _whole_elements(text: str) -> Any | None:  # noqa: ANN401 — any JSON value
    """The value with its outermost list cut after the last element that is whole; None where there is no list.

    An element is whole when a comma follows it: ``[12`` may have been on its way to ``[123``.
    """
    bare = _STRING.sub(lambda string: "-" * len(string[0]), text)
    stack: list[str] = []
    cut = depth = 0
    closers = ""
    for mark in _MARK.finditer(bare):
        if mark[0] in _OPENS:
            stack.append(_OPENS[mark[0]])
            if mark[0] == "[" and not depth:
                depth, cut, closers = len(stack), mark.end(), "".join(reversed(stack))
        elif mark[0] == ",":
            cut = mark.start() if len(stack) == depth else cut
        elif not stack or stack.pop() != mark[0] or len(stack) < depth:
            break
    if not depth:
        return None
    try:
        return json.JSONDecoder(strict=False).decode(text[:cut] + closers)
    except (json.JSONDecodeError, RecursionError):
        return None


def _shaped(value: Any, schema: type[BaseModel]) -> Any:  # noqa: ANN401 — any JSON value
    """A bare list, or an object with one list of another name, as the schema's only list field."""
    lists = [
        name for name, field in schema.model_fields.items() if get_origin(field.annotation) is list
    ]
    if len(lists) != 1:
        return value
    if isinstance(value, list):
        return {lists[0]: value}
    if isinstance(value, dict) and lists[0] not in value:
        found = [inner for inner in value.values() if isinstance(inner, list)]
        if len(found) == 1 and len(value) == 1:
            return {lists[0]: found[0]}
    return value


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the reply"
    return f"{place}: {first['msg']}"
