"""A model that is a function of the prompt: deterministic, and easily made to fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from combray.llm import FunctionLLM

SAID = re.compile(r'^"((?:[^"\\]|\\.)*)" said "((?:[^"\\]|\\.)*)"', re.MULTILINE)
TOPIC = re.compile(r"^- (.*)$", re.MULTILINE)


def note_taker(messages: Any, schema: Any) -> Any:
    text = messages[-1].content
    if "<topics>" in text:
        return {"events": ["Together: " + "; ".join(TOPIC.findall(text))]}
    return {"facts": [f"{speaker} said {said}" for speaker, said in SAID.findall(text)]}


def failing(wrong: Callable[[str], Any]) -> FunctionLLM:
    """A note taker for whom `wrong` gives another reply, or raises, where it is not None."""

    def reply(messages: Any, schema: Any) -> Any:
        made = wrong("\n".join(message.content for message in messages))
        return note_taker(messages, schema) if made is None else made

    return FunctionLLM(reply)
