"""Planning with a model: one call for a question."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from pydantic import BaseModel

from combray import prompts
from combray.llm.base import LLM, Occasion, messages_of
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.plan import MAX_TERMS, SimplePlan, distinct, local_plan
from combray.model import Query, TimeSpan, partial_date, span_of
from combray.prompts.quoting import quoted
from combray.text.lemmas import stem, stop_words
from combray.text.tokens import tokens

PROMPT = "simple_plan"


class Planned(BaseModel):
    """What a model replies about a question."""

    semantic: list[str] | None = None
    lexical: list[str] | None = None
    persons: list[str] | None = None
    entities: list[str] | None = None
    location: str | None = ""
    since: str | None = ""
    until: str | None = ""
    depth: float | None = None


def model_plan(query: Query, llm: LLM, occasion: Occasion, params: SimpleParams) -> SimplePlan:
    """The plan of a model, with what the local one finds in the question itself.

    Each round of `SimpleParams.reflection` shows the plan to the model once more and adds what it misses, until nothing is added.

    Raises:
        CombrayError: a call failed.

    Source:
        SimpleMem, section 2.3: {q_sem, q_lex, q_sym, d} from one call.  Deviation: no history H, since a recall has none; reflection
        looks at the plan and not at what was found, so that ranking never waits for a model.
    """
    own = replace(local_plan(query), model=llm.name)
    plan = _joined(own, _asked(query, llm, occasion, ""), params)
    for _ in range(params.reflection):
        further = _joined(plan, _asked(query, llm, occasion, _shown(plan)), params)
        further = replace(further, depth=max(plan.depth, further.depth))
        if further == plan:
            break
        plan = further
    return plan


def _asked(query: Query, llm: LLM, occasion: Occasion, plan: str) -> Planned:
    values = {"day": f"{query.now:%Y-%m-%d (%A)}", "question": quoted(query.text), "plan": plan}
    messages = messages_of(prompts.load(PROMPT).messages(**values))
    reply = llm.complete(messages, Planned, occasion=occasion)
    planned: Planned = reply.parsed
    return planned


def _shown(plan: SimplePlan) -> str:
    shown = {
        "semantic": plan.semantic,
        "lexical": plan.lexical,
        "persons": plan.people,
        "entities": plan.entities,
        "depth": plan.depth,
    }
    return quoted(json.dumps(shown, ensure_ascii=False))


def _joined(plan: SimplePlan, planned: Planned, params: SimpleParams) -> SimplePlan:
    """The plan with what the model adds; its depth counts where it is a number."""
    semantic = distinct((*plan.semantic, *(planned.semantic or ())), params.max_queries)
    words = [
        stem(token)
        for text in planned.lexical or ()
        for token in tokens(text)
        if token not in stop_words()
    ]
    depth = planned.depth
    if depth is None or not math.isfinite(depth):
        depth = plan.depth
    return replace(
        plan,
        semantic=semantic,
        lexical=distinct((*plan.lexical, *words), MAX_TERMS),
        people=distinct((*plan.people, *(planned.persons or ()))),
        entities=distinct((*plan.entities, *(planned.entities or ()))),
        location=(planned.location or "").strip() or plan.location,
        time=_time(planned) or plan.time,
        depth=min(1.0, max(0.0, depth)),
    )


def _time(planned: Planned) -> TimeSpan | None:
    first, last = _span(planned.since), _span(planned.until)
    if first is None or last is None:
        return first or last
    if last.end <= first.start:
        return None
    return TimeSpan(start=first.start, end=last.end, granularity=first.granularity, text="")


def _span(day: str | None) -> TimeSpan | None:
    return span_of(partial_date((day or "").strip()[:10]))
