"""Structured replies, read tolerantly: models fence them, talk around them, quote them wrongly, and stop in the middle.

What is accepted is always whole: of a list that breaks off, the elements before the break.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, get_origin

from pydantic import BaseModel, ValidationError

from combray.llm.lenient import Broken, read

_FENCED = re.compile(r"```[\w-]*\s*(?=[\[{])")
_OPENING = re.compile(r"[\[{]")
# What else stands in brackets, such as [sorry] or [12 people], is prose.
_LIKE_JSON = re.compile(
    r"""\[\s*(?:["'“\[{\]]|-?\d[\d.]*\s*[,\]]|(?:true|false|null)\b|\Z)"""
    r"""|\{\s*(?:["'“}]|\w+\s*:\s*["'“\[{\d]|\Z)"""
)
_END_OF_FENCE = re.compile(r"\n\s*```")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_MOST_FENCES = 10
_MOST_OPENINGS = 200
_LONGEST_MENDED = 100_000


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

    @property
    def hollow(self) -> bool:
        """Whether the reply broke off before anything was whole."""
        return self.truncated and not any(value for _, value in self.value)


def parse(text: str, schema: type[BaseModel], *, cut: bool = False) -> Parsed:
    """The reply as a value of the schema.

    Read are JSON in a fence or in prose, and JSON that breaks off, up to its last whole element; JSON with other small sins
    is mended. A bare list is taken for the schema's only list field.

    Args:
        text: the reply, without thinking.
        schema: what it must be.
        cut: whether the provider says that the reply broke off; it is then not mended, since mending closes half a string.

    Raises:
        Unreadable: there is no JSON, or it is not what the schema says.
    """
    wrong = "there is no JSON in it"
    for value, whole in _values(text, cut=cut):
        shaped = _shaped(value, schema)
        try:
            made = schema.model_validate(
                _well_formed(shaped) if _SURROGATE.search(text) else shaped
            )
        except ValidationError as error:
            wrong = _told(error)
        else:
            return Parsed(made, truncated=not whole)
    raise Unreadable(wrong)


def _values(text: str, *, cut: bool) -> Iterator[tuple[Any, bool]]:
    """The lists and objects in the reply, none of them inside another, and whether each is whole; fenced ones first."""
    if _OPENING.match(text.lstrip()) is None:
        for fence in islice(_FENCED.finditer(text), _MOST_FENCES):
            yield from _values_from(text, fence.end(), cut=cut)
    yield from _values_from(text, 0, cut=cut)


def _values_from(text: str, at: int, *, cut: bool) -> Iterator[tuple[Any, bool]]:
    for _ in range(_MOST_OPENINGS):
        if (opening := _OPENING.search(text, at)) is None:
            return
        at = opening.start()
        if _LIKE_JSON.match(text, at) is None:
            at += 1
            continue
        try:
            value, whole, at = _read(text, at)
        except Broken:
            # What is inside is a part of the reply at best, so the search ends here.
            mended = None if cut else _mended(text[at:])
            if isinstance(mended, dict | list):
                yield mended, True
            return
        yield value, whole


def _read(text: str, at: int) -> tuple[Any, bool, int]:
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, at)
    except (ValueError, RecursionError):
        return read(text, at)
    return value, True, end


def _mended(text: str) -> Any:  # noqa: ANN401 — any JSON value
    from json_repair import loads

    fence = _END_OF_FENCE.search(text)
    text = text[: fence.start()] if fence else text
    text = text[: max(text.rfind("]"), text.rfind("}")) + 1]
    if len(text) > _LONGEST_MENDED:
        return None
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return None


def _shaped(value: Any, schema: type[BaseModel]) -> Any:  # noqa: ANN401 — any JSON value
    """A bare list, an object with one list of another name, or several objects, as the schema's only list field."""
    lists = [
        name for name, field in schema.model_fields.items() if get_origin(field.annotation) is list
    ]
    if len(lists) != 1:
        return value
    name = lists[0]
    if isinstance(value, list):
        parts = [part.get(name) if isinstance(part, dict) else None for part in value]
        if parts and all(isinstance(part, list) for part in parts):
            return {name: [element for part in parts for element in part or ()]}
        return {name: value}
    if isinstance(value, dict) and name not in value and len(value) == 1:
        (only,) = value.values()
        return {name: only} if isinstance(only, list) else value
    return value


def _well_formed(value: Any) -> Any:  # noqa: ANN401 — any JSON value
    """The value without halves of characters, which no store takes."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_well_formed(inner) for inner in value]
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(inner) for key, inner in value.items()}
    return value


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"])) or "the reply"
    return f"{place}: {first['msg']}"
