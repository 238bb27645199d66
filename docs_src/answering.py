from combray import Memory
from combray.llm import FunctionLLM


def model(messages, schema):
    """Stands in for a language model that has read the evidence."""
    return "The pale green [2]." if "nursery" in messages[-1].content else "Not mentioned."


with Memory.open(":memory:", llm=FunctionLLM(model)) as memory:
    bank = memory.create_bank("mira")
    bank.remember("Any colour for the nursery?", role="assistant", said_at="2024-04-09T10:00")
    bank.remember("The pale green, definitely.", speaker="Mira", said_at="2024-04-09T10:01")

    answer = bank.answer("What colour will the nursery be?")
    print(answer.text)
    for citation in answer.citations:
        print(f"[{citation.cite}]", citation.source.turn.speaker, citation.source.turn.said_at.date())

    for piece in bank.answering("What colour will the nursery be?"):
        print(piece, end="\n")

    refused = bank.answer("What is the boiling point of mercury?")
    print(refused.refused, "|", refused.text, "|", refused.reason)
    print([(cost.phase, cost.n_calls, cost.n_cached) for cost in bank.enrichment.costs()])
