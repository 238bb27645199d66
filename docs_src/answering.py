from combray import Memory
from combray.llm import FunctionLLM


def model(messages, schema):
    """Stands in for a language model that has read the evidence."""
    return "The pale green [2]." if "nursery" in messages[-1].content else "?"


with Memory.open(":memory:", llm=FunctionLLM(model)) as memory:
    bank = memory.create_bank("mira")
    bank.remember("Any colour for the nursery?", role="assistant", said_at="2024-04-09T10:00")
    bank.remember("The pale green, definitely.", speaker="Mira", said_at="2024-04-09T10:01")

    answer = bank.answer("What colour will the nursery be?")
    print(answer.text)
    for citation in answer.citations:
        turn = citation.source.turn
        print(f"[{citation.cite}] {turn.said_at:%Y-%m-%d} {turn.speaker}: {turn.text}")

    asked = bank.answering("What colour will the nursery be?")
    print("".join(asked), "=", asked.answer().text)  # a served model writes piece by piece

    refused = bank.answer("What is the boiling point of mercury?")
    print(refused.text, "|", refused.reason)
    print([f"{cost.phase}: {cost.n_calls} calls" for cost in bank.enrichment.costs()])
