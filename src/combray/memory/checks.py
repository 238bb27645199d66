"""What callers hand in, checked before anything is done with it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeVar

from combray.errors import InvalidInput
from combray.model import Session
from combray.model.query import as_list

T = TypeVar("T")


def whole_number(value: object, what: str, *, least: int = 1) -> int:
    """The value as an int; numpy's integers count, truth values, floats and digits do not.

    Raises:
        InvalidInput: it is no whole number, or too small.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # whatever has no index is refused
    except TypeError as error:
        raise InvalidInput(f"{what} must be a whole number, not {value!r}.") from error
    if isinstance(value, bool):
        raise InvalidInput(f"{what} must be a whole number, not {value!r}.")
    if number < least:
        raise InvalidInput(f"{what} must be at least {least}, not {number}.")
    return number


def optional_number(value: object, what: str) -> int | None:
    """The same, or None where nothing was given."""
    return None if value is None else whole_number(value, what)


def text(value: object, what: str) -> str:
    """The value, if it is text.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{what} must be text, not {value!r}.")
    return value


def ids(value: object, what: str) -> Sequence[str]:
    """Ids in order; one may stand without a list.

    Raises:
        InvalidInput: there is something else among them.
    """
    return [text(one, "a turn's id") for one in as_list(value, what)]


def session(value: object) -> Session | None:
    """The session that a name or a `Session` stands for.

    Raises:
        InvalidInput: it is neither.
    """
    if value is None or isinstance(value, Session):
        return value
    if isinstance(value, str):
        return Session(name=value)
    raise InvalidInput(f"a session is a name or a Session, not {value!r}.")


def made(value: T, what: str, *needed: str) -> T:
    """The part, if it looks like one.

    Raises:
        InvalidInput: it lacks what such a part must have.
    """
    if not all(hasattr(value, name) for name in needed):
        raise InvalidInput(f"{value!r} is not {what}; pass one, or its name.")
    return value
