"""The whole path on a real store: whatever came and went, the events are those of clustering everything at once."""

from __future__ import annotations

import random
import re

import pytest

from combray import Memory
from combray.llm import FunctionLLM
from combray.methods.anchor.clusters import candidate, prune
from combray.methods.anchor.derive import EVENT, METHOD, _Reader
from combray.methods.anchor.params import AnchorParams

COLOURS = ["red", "green", "blue", "gold", "grey", "pink"]
SAID = re.compile(r'^"((?:[^"\\]|\\.)*)" said "((?:[^"\\]|\\.)*)"', re.MULTILINE)


def reply(messages, schema):
    text = messages[-1].content
    if "<topics>" in text:
        return {"events": [text.split("<topics>")[1].split("</topics>")[0]]}
    return {"facts": [f"{speaker} said {said}" for speaker, said in SAID.findall(text)]}


def lines(chance):
    return [
        {
            "speaker": chance.choice("AB"),
            "text": "we went by the old road to town and saw a "
            + " ".join(sorted(chance.choices(COLOURS, k=3))),
        }
        for _ in range(chance.randint(1, 6))
    ]


def all_at_once(memory, bank):
    params, reader = AnchorParams(), _Reader(memory.store, bank.name)
    facts = sorted(
        record.number for record in bank.enrichment.records(METHOD) if record.kind == "fact"
    )
    near, homes = reader.neighbours(facts), reader.contexts(facts)
    found = [candidate(fact, near.get(fact, {}), homes, params) for fact in facts]
    return {cluster.members for cluster in prune([one for one in found if one], params)}


def as_kept(memory, bank):
    return {unit.inputs for unit in memory.store.units(bank.name, METHOD, EVENT)}


@pytest.mark.parametrize("seed", range(4))
def test_events_do_not_depend_on_what_came_first_or_went(tmp_path, seed):
    chance = random.Random(seed)
    with Memory.open(tmp_path / "m.db", embedder="hash", llm=FunctionLLM(reply)) as memory:
        bank = memory.create_bank("b")
        bank.enrichment.use(METHOD)
        for n in range(7):
            bank.remember(lines(chance), session=f"s{n % 4}", said_at=f"2023-05-{8 + n:02}")
            assert bank.enrichment.run().failed == []
            assert as_kept(memory, bank) == all_at_once(memory, bank)
        for turn in chance.sample(list(bank.turns()), 3):
            bank.forget(turns=[turn.id])
            assert bank.enrichment.run().failed == []
            assert as_kept(memory, bank) == all_at_once(memory, bank)
