import re

from combray import Memory
from combray.llm import FunctionLLM


def model(messages, schema):
    """Stands in for a language model: one fact a turn, one account for facts that belong together."""
    asked = messages[-1].content
    if topics := re.findall(r"^- (.+)$", asked, re.MULTILINE):
        return {"events": [" And ".join(topics)]}
    said = re.findall(r'^"(.+)" said "(.+)"', asked, re.MULTILINE)
    return {"facts": [f"{speaker} said: {text}" for speaker, text in said]}


with Memory.open(":memory:", llm=FunctionLLM(model)) as memory:
    bank = memory.create_bank("mel")
    bank.enrichment.use("anchor")

    bank.remember("I painted a sunrise by the lake.", speaker="Mel", said_at="2024-05-04")
    bank.remember("I painted a sunrise by the lake again.", speaker="Mel", said_at="2024-05-11")
    print([f"{job.kind} of {job.subject}: {job.state}" for job in bank.enrichment.jobs()])

    print(bank.enrichment.run().done, "jobs done,", len(bank.enrichment.jobs()), "left")
    for record in bank.enrichment.records("anchor"):
        print(f"{record.kind}, {len(record.sources)} source(s): {record.text}")

    print(bank.recall("What did Mel paint?", method="anchor").text)
