"""Names to parts: the one place where a string becomes an analyser, an embedder, a method or a counter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from combray.config import Settings
from combray.embed.base import Embedder
from combray.errors import ConfigError
from combray.methods.base import Method
from combray.pack.budget import ApproximateCounter, TokenCounter
from combray.text.base import Analyser

if TYPE_CHECKING:
    from combray.llm.base import LLM
    from combray.methods.anchor import Anchor
    from combray.methods.atom import Atom
    from combray.methods.workbench import Deriving

T = TypeVar("T")


def _light(*, function_words: bool = False) -> Analyser:
    from combray.text.light import LightAnalyser

    return LightAnalyser(function_words=function_words)


def _spacy(*, function_words: bool = False) -> Analyser:
    from combray.text.spacy_analyser import SpacyAnalyser

    return SpacyAnalyser(function_words=function_words)


def _minilm(settings: Settings) -> Embedder:
    from combray.embed.onnx import MiniLM

    models = Path(settings.models).expanduser() if settings.models else None
    made = MiniLM(models=models, offline=settings.offline or None)
    made.load()
    return made


def _hash(settings: Settings) -> Embedder:
    from combray.embed.hashing import HashEmbedder

    return HashEmbedder()


def _tiktoken() -> TokenCounter:
    from combray.pack.budget import TiktokenCounter

    return TiktokenCounter()


def _fused() -> Method:
    from combray.methods.fused import Fused

    return Fused()


def _edge() -> Method:
    from combray.methods.edge import Edge

    return Edge()


def _anchor() -> Anchor:
    from combray.methods.anchor import Anchor

    return Anchor()


def _atom() -> Atom:
    from combray.methods.atom import Atom

    return Atom()


def _single(channel: str) -> Callable[[], Method]:
    def make() -> Method:
        from combray.methods.single import Single

        return Single(channel=channel)

    return make


FUNCTION_WORDS = "+function-words"
"""Ends the name of an analyser whose terms keep stop words, as EdgeMem's do."""

ANALYSERS: Mapping[str, Callable[[], Analyser]] = {
    "light": _light,
    "spacy": _spacy,
    f"light{FUNCTION_WORDS}": partial(_light, function_words=True),
    f"spacy{FUNCTION_WORDS}": partial(_spacy, function_words=True),
}
EMBEDDERS: Mapping[str, Callable[[Settings], Embedder]] = {"minilm": _minilm, "hash": _hash}
COUNTERS: Mapping[str, Callable[[], TokenCounter]] = {
    "approximate": ApproximateCounter,
    "tiktoken": _tiktoken,
}
METHODS: Mapping[str, Callable[[], Method]] = {
    "fused": _fused,
    "edge": _edge,
    "anchor": _anchor,
    "atom": _atom,
    "bm25": _single("bm25"),
    "dense": _single("dense"),
    "late": _single("late"),
}

DERIVING: Mapping[str, Callable[[], Deriving]] = {
    "anchor": _anchor,
    "atom": _atom,
}
"""The methods that derive records with a language model."""


def analyser(name: str) -> Analyser:
    """The analyser of that name, or of that id (``light:1``).

    Raises:
        ConfigError: no analyser has that name, or this version cannot make analyses of that id.
    """
    made = _named("an analyser", analyser_name(name), ANALYSERS)
    if ":" in name and made.id != name:
        raise ConfigError(
            f"the bank was analysed by {name}, this version has {made.id}: "
            "run `combray reindex` to analyse it anew."
        )
    return made


def analyser_name(id_: str) -> str:
    """The name of the analyser that made analyses of that id."""
    kept = FUNCTION_WORDS if id_.endswith(FUNCTION_WORDS) else ""
    return id_.removesuffix(FUNCTION_WORDS).split(":", 1)[0] + kept


def embedder(name: str, settings: Settings) -> Embedder:
    """The embedder of that name, loaded.

    Raises:
        ConfigError: no embedder has that name.
        WeightsUnavailable: its weights are neither here nor to be fetched.
    """
    return _known("an embedder", name, EMBEDDERS)(settings)


def embedder_name(name: str) -> str:
    """The name, if it stands for an embedder, for none, or for the default one if its weights can be had.

    Raises:
        ConfigError: it does not; lists what does.
    """
    _known("an embedder", name, {**EMBEDDERS, "auto": None, "none": None})
    return name


def method(name: str) -> Method:
    """The method of that name."""
    return _named("a method", name, METHODS)


def deriving(name: str) -> Deriving:
    """The method of that name that derives records.

    Raises:
        ConfigError: no deriving method has that name.
    """
    return _named("a method that derives", name, DERIVING)


def llm(settings: Settings) -> LLM:
    """The language model of the settings.

    Raises:
        ConfigError: they name none.
        MissingExtra: the client is not installed.
    """
    if not settings.llm_model:
        raise ConfigError(
            "no language model is configured: set COMBRAY_LLM_MODEL, and COMBRAY_LLM_URL and COMBRAY_LLM_KEY "
            "as its endpoint wants them, or pass `llm` to Memory."
        )
    from combray.llm.openai import ChatEndpoint, OpenAILLM

    endpoint = ChatEndpoint(
        base_url=settings.llm_url or None,
        api_key=settings.llm_key or None,
        timeout_s=settings.llm_timeout_s,
    )
    return OpenAILLM(settings.llm_model, endpoint)


def counter(name: str) -> TokenCounter:
    """The token counter of that name."""
    return _named("a token counter", name, COUNTERS)


def _named(what: str, name: str, parts: Mapping[str, Callable[[], T]]) -> T:
    return _known(what, name, parts)()


def _known(what: str, name: str, parts: Mapping[str, T]) -> T:
    if name not in parts:
        raise ConfigError(f"{name!r} is not {what}; there are: {', '.join(sorted(parts))}.")
    return parts[name]
