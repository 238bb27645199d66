"""Small rows to put into a store in a test: words for terms, capitals for keys, no analyser and no model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from combray.model import Bank, Role, Turn
from combray.model.ids import content_key, turn_id_from_client
from combray.store.base import TurnRow, VectorRow

NOON = datetime(2023, 5, 8, 12, 0, tzinfo=UTC)
"""When the first turn of a test is said."""

DIMENSION = 16
"""Length of the vectors that `vector_row` makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saying:
    """What a test says of a turn; the rest is made up from it.

    Attributes:
        text: what is said; its words are its terms.
        id: the client's own id; the text where not given.
        session: name.
        speaker: name.
        role: who speaks.
        minute: when, in minutes after `NOON`.
        caption: of an image.
        tags: to filter by.
        metadata: JSON.
        expires_at: aware.
        vectors: None for a bank without an embedder.
    """

    text: str
    id: str | None = None
    session: str = "s1"
    speaker: str = "Ann"
    role: Role = Role.USER
    minute: int = 0
    caption: str | None = None
    tags: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None
    vectors: VectorRow | None = None

    def row(self) -> TurnRow:
        """The turn with its postings."""
        client_id = self.id or self.text
        turn = Turn(
            id=turn_id_from_client(self.session, client_id),
            client_id=client_id,
            session=self.session,
            speaker=self.speaker,
            role=self.role,
            text=self.text,
            caption=self.caption,
            said_at=NOON + timedelta(minutes=self.minute),
            content=content_key(self.speaker, self.role, self.text, self.caption),
            tags=tuple(sorted(self.tags)),
            metadata=self.metadata,
            expires_at=self.expires_at,
            stored_at=NOON,
        )
        return analysed(turn, self.vectors)


def analysed(turn: Turn, vectors: VectorRow | None = None, *, suffix: str = "") -> TurnRow:
    """The turn with lower-case words as terms, each with `suffix`, and capitalised words as keys."""
    words = re.findall(r"\w+", turn.text)
    terms = Counter(word.lower() + suffix for word in words)
    keys = Counter(word + suffix for word in words if word[0].isupper())
    return TurnRow(
        turn=turn,
        postings={"term": terms, "key": keys},
        n_terms=terms.total(),
        question=turn.text.endswith("?"),
        vectors=vectors,
    )


def vector_row(seed: int, *, n_tokens: int = 2, dimension: int = DIMENSION) -> VectorRow:
    """Unit vector and token bits that depend on the seed alone."""
    random = np.random.default_rng(seed)
    vector = random.normal(size=dimension)
    vector /= np.linalg.norm(vector)
    bits = np.packbits(random.integers(0, 2, size=(n_tokens, dimension), dtype=np.uint8), axis=1)
    return VectorRow(vector=vector.astype("<f2").tobytes(), tokens=bits.tobytes())


def new_bank(name: str, *, embedder: str | None = None, dimension: int = DIMENSION) -> Bank:
    """An empty bank that the analyser ``words:1`` reads."""
    return Bank(
        name=name,
        analyser="words:1",
        embedder=embedder,
        dimension=dimension if embedder else 0,
        created_at=NOON,
    )
