"""What an analyser must do."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from combray.model import Analysis


class Analyser(Protocol):
    """Reads texts locally and deterministically; never calls a model server.

    The same id and text always give the same analysis: a change of behaviour is a new id.
    """

    @property
    def id(self) -> str:
        """Name and version, such as ``light:1``; a bank records it."""

    def analyse(
        self, texts: Sequence[str], said_at: Sequence[datetime], people: Sequence[str] = ()
    ) -> list[Analysis]:
        """The analysis of each text, in order.

        Args:
            texts: any text, the empty one included.
            said_at: aware, one per text; what "yesterday" is measured from.
            people: names known to be people (the speakers), whatever a tagger says.
        """

    def analyse_query(self, text: str, now: datetime, people: Sequence[str] = ()) -> Analysis:
        """As `analyse` for one question; noun chunks join the keys where the analyser has them."""
