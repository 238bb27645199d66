import re

from combray import Memory
from combray.llm import FunctionLLM


def model(messages, schema):
    """Stands in for a language model: one fact a turn, one sentence for facts that belong together."""
    asked = messages[-1].content
    if topics := re.findall(r"^- (.+)$", asked, re.MULTILINE):
        return {"events": [f"{len(topics)} times: {topics[0]}"]}
    said = re.findall(r'^"(.+)" said "(.+)"', asked, re.MULTILINE)
    return {"facts": [f"{speaker} said: {text}" for speaker, text in said]}


with Memory.open(":memory:", llm=FunctionLLM(model)) as memory:
    bank = memory.create_bank("mel")
    bank.enrichment.use("anchor")

    for day in ("2024-05-04", "2024-05-11"):
        bank.remember("I painted a sunrise by the lake.", speaker="Mel", said_at=day)
    print([(job.kind, job.subject, job.state) for job in bank.enrichment.jobs()])

    print(bank.enrichment.run().done, "jobs done,", len(bank.enrichment.jobs()), "left")
    for record in bank.enrichment.records("anchor"):
        print(record.kind, "|", record.text, "|", len(record.sources), "turns")

    print(bank.recall("What did Mel paint?", method="anchor").text)
