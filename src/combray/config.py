"""Settings as a value: read from the environment once, at the edge, and passed in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from combray.errors import ConfigError


def default_database() -> Path:
    """The database of a user who names none."""
    from platformdirs import user_data_path

    return user_data_path("combray") / "memory.db"


def default_models() -> Path:
    """The folder of model weights of a user who names none."""
    from platformdirs import user_cache_path

    return user_cache_path("combray", appauthor=False) / "models"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a deployment may set; tuned numbers are a method's `Params` instead.

    Attributes:
        db: path of the database.
        embedder: ``auto`` (the default model if its weights can be had, else none), ``minilm``, ``none``, ``hash``.
        analyser: ``light`` or ``spacy``; counts for new banks.
        method: name of the default method.
        zone: zone of naive times in new banks.
        counter: ``approximate`` or ``tiktoken``.
        synchronous: ``FULL`` (survives a power cut) or ``NORMAL`` (survives a crash of the process).
        cache_mb: memory for the arrays of recently used banks.
        models: folder of model weights, in place of the user's cache; empty for that.
        offline: never fetch anything.
        data: folder of benchmark data; empty for none, or, in a checkout of the source, ``../shared/data`` beside it.
        llm_model: name of the language model, as its endpoint calls it; empty for none.
        llm_url: of an OpenAI-compatible API; empty for the client's own default.
        llm_key: for it; empty where it needs none, or where the client's own variable holds it.
        llm_timeout_s: for one request.
    """

    db: str = ""
    embedder: str = "auto"
    analyser: str = "light"
    method: str = "fused"
    zone: str = "UTC"
    counter: str = "approximate"
    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    cache_mb: int = 1024
    models: str = ""
    offline: bool = False
    data: str = ""
    llm_model: str = ""
    llm_url: str = ""
    llm_key: str = field(default="", repr=False)
    llm_timeout_s: int = 120

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Settings from ``COMBRAY_<NAME>`` variables; an empty variable counts as unset.

        Raises:
            ConfigError: a value does not fit.
        """
        environment = os.environ if environment is None else environment
        values: dict[str, object] = {}
        for one in fields(cls):
            raw = environment.get(f"COMBRAY_{one.name.upper()}", "")
            if raw:
                values[one.name] = _parsed(one.name, raw, type(one.default))
        return cls(**values)  # type: ignore[arg-type]

    @property
    def database(self) -> Path:
        """The database to open."""
        return Path(self.db).expanduser() if self.db else default_database()


def _parsed(name: str, raw: str, kind: type) -> object:
    variable = f"COMBRAY_{name.upper()}"
    if kind is bool:
        if raw.lower() not in {"0", "1", "true", "false", "yes", "no"}:
            raise ConfigError(f"{variable} must be 1 or 0, not {raw!r}.")
        return raw.lower() in {"1", "true", "yes"}
    if kind is int:
        if not (raw.isascii() and raw.isdigit() and len(raw) < 10) or int(raw) < 1:
            raise ConfigError(
                f"{variable} must be a whole number from 1 to 999999999, not {raw[:40]!r}."
            )
        return int(raw)
    if name == "synchronous" and raw not in {"FULL", "NORMAL"}:
        raise ConfigError(f"{variable} must be FULL or NORMAL, not {raw!r}.")
    return raw
