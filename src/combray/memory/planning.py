"""A model's reading of a query, where one is asked for; the recall goes on without it where the model fails."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from combray.errors import ExtractionError, ProviderError
from combray.memory.ledger import ledger
from combray.memory.parts import Parts
from combray.methods.base import Method, Planning
from combray.model import Query

PHASE = "plan"


def planned(parts: Parts, bank: str, method: Method, query: Query) -> tuple[Query, tuple[str, ...]]:
    """The query with what a model says that it is after, or as it was with a note that says why.

    Raises:
        ConfigError: no language model is configured.
    """
    if not callable(getattr(method, "plan", None)):
        note = f"{method.name} does not plan: a model was not asked what the query is after"
        return query, (note,)
    occasion = ledger(parts, bank, phase=PHASE, method=method.name)
    llm = parts.llm()
    try:
        plan = cast("Planning", method).plan(query, llm, occasion)
    except (ProviderError, ExtractionError) as error:
        note = (
            f"the query was read by rules, since the model could not plan ({error.code}): {error}"
        )
        return query, (note.rstrip("."),)
    return replace(query, plan=plan), ()
