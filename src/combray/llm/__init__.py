"""The one narrow edge to language models."""

from typing import TYPE_CHECKING

from combray.llm.base import LLM, Call, Completion, Message, Occasion, Usage

if TYPE_CHECKING:
    from combray.llm.doubles import FunctionLLM, ReplayLLM
    from combray.llm.openai import OpenAILLM

__all__ = [
    "LLM",
    "Call",
    "Completion",
    "FunctionLLM",
    "Message",
    "Occasion",
    "OpenAILLM",
    "ReplayLLM",
    "Usage",
]


def __getattr__(name: str) -> object:
    if name == "OpenAILLM":
        from combray.llm.openai import OpenAILLM

        return OpenAILLM
    if name in {"FunctionLLM", "ReplayLLM"}:
        from combray.llm import doubles

        return getattr(doubles, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
