"""JSON as models write it: it may break off, have a comma too many, or be quoted as Python does.

What is read is always whole. Of a list that breaks off the elements before the break are kept, of an object its finished
members and an unfinished list; a string, number or nested object that breaks off is left out.
"""

from __future__ import annotations

import json
import re
from typing import Any

_SPACE = re.compile(r"\s*")
_DOUBLE = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
# An apostrophe closes only where JSON goes on after it; whether one at the very end does cannot be known.
_SINGLE = re.compile(
    r"'([^'\\]*(?:(?:\\.|'(?!\s*[,\]}:]))[^'\\]*)*)'(?=\s*[,\]}:])",
    re.DOTALL,
)
_CURLY = re.compile(r"“([^”]*)”")
_STRINGS = {'"': _DOUBLE, "'": _SINGLE, "“": _CURLY}
_SCALAR = re.compile(r"[^\s,\[\]{}:\"'“]+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_WORDS = {"True": True, "False": False, "None": None}
_DEEPEST = 50


class Broken(ValueError):
    """This is not JSON that broke off."""


def read(text: str, start: int = 0) -> tuple[Any, bool, int]:
    """The list or object that begins at `start`, whether it is whole, and where it ends.

    >>> read('["a", "b", "c')
    (['a', 'b'], False, 13)
    >>> read("{'facts': ['Ann's', 1,]} Done.")
    ({'facts': ["Ann's", 1]}, True, 24)

    Raises:
        Broken: something stands where JSON cannot have it, or it nests more than 50 deep.
    """
    reader = _Reader(text, start)
    value, whole = reader.value(0)
    return value, whole, reader.at


class _Reader:
    """Reads one value; each method gives it and whether it is whole."""

    def __init__(self, text: str, start: int) -> None:
        self._text = text
        self.at = start

    def value(self, depth: int) -> tuple[Any, bool]:
        if depth > _DEEPEST:
            raise Broken
        mark = self._mark()
        if mark == "[":
            return self._list(depth)
        if mark == "{":
            return self._object(depth)
        return self._string() if mark in _STRINGS else self._scalar()

    def _list(self, depth: int) -> tuple[list[Any], bool]:
        found: list[Any] = []
        self.at += 1
        while self._more("]"):
            value, whole = self.value(depth + 1)
            if not whole:
                return found, False
            found.append(value)
            self._separated("]")
        return found, self._closed()

    def _object(self, depth: int) -> tuple[dict[str, Any], bool]:
        found: dict[str, Any] = {}
        self.at += 1
        while self._more("}"):
            if self._mark() not in _STRINGS:
                raise Broken
            key, whole = self._string()
            if not whole or not self._mark():
                return found, False
            self._take(":")
            value, whole = self.value(depth + 1)
            if whole or isinstance(value, list):
                found[key] = value
            if not whole:
                return found, False
            self._separated("}")
        return found, self._closed()

    def _string(self) -> tuple[str, bool]:
        match = _STRINGS[self._text[self.at]].match(self._text, self.at)
        if match is None:
            self.at = len(self._text)
            return "", False
        self.at = match.end()
        return _unescaped(match[1]), True

    def _scalar(self) -> tuple[Any, bool]:
        match = _SCALAR.match(self._text, self.at)
        if match is None:
            if self._mark():
                raise Broken
            return None, False
        self.at = match.end()
        if self.at == len(self._text):
            return None, False
        if match[0] in _WORDS:
            return _WORDS[match[0]], True
        try:
            return json.loads(match[0]), True
        except ValueError as error:
            raise Broken from error

    def _mark(self) -> str:
        """The next character that is no white space; empty at the end."""
        self.at = _SPACE.match(self._text, self.at).end()  # type: ignore[union-attr]
        return self._text[self.at : self.at + 1]

    def _more(self, closer: str) -> bool:
        return self._mark() not in {"", closer}

    def _closed(self) -> bool:
        """Step over the closing bracket, if the text goes that far."""
        whole = bool(self._mark())
        self.at += whole
        return whole

    def _separated(self, closer: str) -> None:
        if self._more(closer):
            self._take(",")

    def _take(self, mark: str) -> None:
        if self._mark() != mark:
            raise Broken
        self.at += 1


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    # A character beyond the first plane is escaped as two halves.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)
