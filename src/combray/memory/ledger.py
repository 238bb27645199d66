"""What the calls to a model leave in the store: a row each, and their replies where they are cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from combray.llm.base import Occasion
from combray.memory.parts import Parts
from combray.store.base import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReplies:
    """Cached replies of one bank; one that read a turn is erased with it.

    Attributes:
        store: where they are.
        bank: whose.
        docs: document numbers of the turns that the calls read.
    """

    store: Store
    bank: str
    docs: tuple[int, ...]

    def get(self, key: str) -> str | None:
        """The reply stored under the key."""
        return self.store.reply_get(self.bank, key)

    def put(self, key: str, value: str) -> None:
        """Store a reply."""
        self.store.reply_put(self.bank, key, value, self.docs)


def ledger(
    parts: Parts, bank: str, *, phase: str, method: str = "", docs: Sequence[int] = ()
) -> Occasion:
    """Calls of that phase: each becomes a row of the bank's ledger, and its reply is kept."""
    return Occasion(
        phase=phase,
        method=method,
        record=lambda call: parts.store.record_calls(bank, [call]),
        replies=StoredReplies(store=parts.store, bank=bank, docs=tuple(docs)),
        clock=parts.clock,
    )
