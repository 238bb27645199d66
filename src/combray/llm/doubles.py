"""Deterministic stand-ins for a language model: for tests, and for replies that were recorded before."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from combray.errors import ConfigError, NotFound
from combray.llm.base import Message
from combray.llm.chat import Ask, Chat, Reply, estimated

Function = Callable[
    [Sequence[Message], Mapping[str, Any] | None], str | Mapping[str, Any] | list[Any]
]
"""Gives the reply to the messages, as text or as JSON, or raises."""


class FunctionLLM(Chat):
    """A model that is a function.

    Args:
        function: gives the reply; what it raises is raised.
        name: of the model; cached replies are found by it, so two functions over one bank need two names.
    """

    def __init__(self, function: Function, name: str = "function") -> None:
        super().__init__(name)
        self._function = function

    def request(self, ask: Ask) -> Reply:
        """See `Chat.request`."""
        made = self._function(ask.messages, ask.schema)
        text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
        return Reply(text=text, usage=estimated(ask, text), model=self.name)


class ReplayLLM(Chat):
    """A model that says what it once said.

    Args:
        replies: reply by the text of the last message.
        name: of the model that made them.
    """

    def __init__(self, replies: Mapping[str, str], name: str = "replay") -> None:
        super().__init__(name)
        self._replies = dict(replies)

    @classmethod
    def load(cls, path: str | Path, name: str = "replay") -> ReplayLLM:
        """Replies of a file with one JSON object a line: ``{"prompt": …, "reply": …}``.

        Raises:
            ConfigError: the file cannot be read, or a line is no such object; names the line.
        """
        try:
            lines = Path(path).read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"recorded replies cannot be read: {error}.") from error
        rows = [_row(line, at) for at, line in enumerate(lines, start=1) if line.strip()]
        return cls(dict(rows), name)

    def request(self, ask: Ask) -> Reply:
        """See `Chat.request`.

        Raises:
            NotFound: no reply is known; the message shows how the request ends.
        """
        prompt = ask.messages[-1].content
        if prompt not in self._replies:
            raise NotFound("recorded reply", prompt[-80:])
        text = self._replies[prompt]
        return Reply(text=text, usage=estimated(ask, text), model=self.name)


def _row(line: str, at: int) -> tuple[str, str]:
    try:
        row = json.loads(line)
        prompt, reply = row["prompt"], row["reply"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f'line {at} of the recorded replies is no object {{"prompt": …, "reply": …}}.'
        ) from error
    if not isinstance(prompt, str) or not isinstance(reply, str):
        raise ConfigError(f"line {at} of the recorded replies: prompt and reply must be text.")
    return prompt, reply
