"""The released outputs of other systems on LoCoMo by name, so that methods which rank by facts can be measured without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from combray.embed.base import Embedder
from combray.errors import ConfigError, InvalidInput, NotFound
from combray.eval.datasets.anchormem import anchormem
from combray.eval.datasets.atommem import atommem
from combray.eval.experiment import Setup, Written
from combray.eval.released import remember_anchormem
from combray.eval.released_atommem import remember_atommem
from combray.memory import BankMemory, Memory

Remember = Callable[[Memory, BankMemory, Any, Embedder], None]
"""Stores what was released of one conversation."""

RELEASED: Mapping[str, tuple[Callable[[Path | str | None], Mapping[str, Any]], Remember]] = {
    "anchormem": (anchormem, remember_anchormem),
    "atommem": (atommem, remember_atommem),
}
"""By name of the system: what loads its output, and what stores a conversation of it."""


def remember_released(name: str, banks: Written, setup: Setup) -> None:
    """Store the system's released output in each of LoCoMo's banks.

    Raises:
        ConfigError: no system of that name has released facts.
        InvalidInput: the banks have no vectors, which facts are found by.
        NotFound: the output is not here, or lacks a conversation.
    """
    if name not in RELEASED:
        raise ConfigError(f"{name!r} has no released facts; there are: {', '.join(RELEASED)}.")
    load, remember = RELEASED[name]
    released = load(_folder(setup.data))
    embedder = banks.memory.embedder()
    if embedder is None:
        raise InvalidInput(
            "released facts need vectors: name an embedder, or fetch the default one's weights."
        )
    for done, (bank, memory) in enumerate(banks.banks.items()):
        setup.progress(f"released facts of {bank}", done, len(banks.banks))
        if bank not in released:
            raise NotFound(f"released output of {name}", bank)
        remember(banks.memory, memory, released[bank], embedder)


def _folder(data: Path | str | None) -> Path | None:
    """The folder of all data, where the benchmark's own file is named."""
    if data is None or Path(data).is_dir():
        return None if data is None else Path(data)
    folder = Path(data).parent
    return folder.parent if folder.name == "locomo" else folder
