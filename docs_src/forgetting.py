import re

from combray import Memory
from combray.llm import FunctionLLM


def model(messages, schema):
    """Stands in for a language model: one fact a turn."""
    said = re.findall(r'^"(.+)" said "(.+)"', messages[-1].content, re.MULTILINE)
    return {"facts": [f"{speaker}: {text}" for speaker, text in said]}


def show(title):
    texts = [record.text for record in bank.enrichment.records("anchor")]
    costs = {cost.phase: (cost.n_calls, cost.n_cached) for cost in bank.enrichment.costs()}
    print(f"{title}: {texts}, calls and cached: {costs}")


with Memory.open(":memory:", llm=FunctionLLM(model)) as memory:
    bank = memory.create_bank("ana")
    bank.enrichment.use("anchor")
    bank.remember("I moved to Porto.", speaker="Ana", session="monday")
    secret = bank.remember("My code is 4711.", speaker="Ana", session="tuesday")
    bank.enrichment.run()
    show("written")

    bank.enrichment.rebuild("anchor")
    bank.enrichment.run()
    show("rebuilt")

    bank.forget(turns=secret.ids)
    show("forgotten")
