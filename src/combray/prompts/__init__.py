"""Prompts: one Markdown file each, with its hash.

A file has the headings ``# System`` and ``# User``; ``{name}`` in the text is replaced by a value, once: braces in a value stay
as they are, so that no text can pull in another.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal

from combray.errors import ConfigError

_SECTION = re.compile(r"^# (System|User)\s*$", re.MULTILINE)
_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt as it ships.

    Attributes:
        name: of its file.
        hash: first 12 hexadecimal digits of the file's SHA-256; records say that it made them.
        system: the instructions.
        user: the request.
    """

    name: str
    hash: str
    system: str
    user: str

    @property
    def places(self) -> frozenset[str]:
        """Names of the values that it needs."""
        return frozenset(_PLACE.findall(f"{self.system}{self.user}"))

    def messages(self, **values: str) -> list[tuple[Literal["system", "user"], str]]:
        """Roles and contents, with the values in their places.

        Raises:
            ConfigError: a value is missing, or has no place.
        """
        if values.keys() != self.places:
            wrong = ", ".join(sorted(values.keys() ^ self.places))
            raise ConfigError(f"prompt {self.name!r} is missing, or does not take: {wrong}.")

        def filled(text: str) -> str:
            return _PLACE.sub(lambda place: values[place[1]], text)

        return [("system", filled(self.system)), ("user", filled(self.user))]


@lru_cache(maxsize=64)
def load(name: str) -> Prompt:
    """The prompt of that name.

    Raises:
        ConfigError: there is none.
    """
    folder = resources.files("combray.prompts")
    file = folder.joinpath(f"{name}.md")
    if not re.fullmatch(r"[a-z_]+", name) or not file.is_file():
        known = sorted(entry.name[:-3] for entry in folder.iterdir() if entry.name.endswith(".md"))
        raise ConfigError(f"there is no prompt {name!r}; there are: {', '.join(known)}.")
    raw = file.read_bytes()
    _, *parts = _SECTION.split(raw.decode("utf-8"))
    sections = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    if sections.keys() != {"System", "User"}:
        raise ConfigError(f"prompt {name!r} needs the headings '# System' and '# User'.")
    return Prompt(
        name=name,
        hash=hashlib.sha256(raw).hexdigest()[:12],
        system=sections["System"],
        user=sections["User"],
    )
