"""What a small served model makes of five turns and five questions: printed to be read, not scored.

Usage: COMBRAY_LLM_URL=http://127.0.0.1:PORT/v1 COMBRAY_LLM_MODEL=NAME python benchmarks/small_model.py
"""

from __future__ import annotations

from combray import Memory

TURNS = [
    ("Caroline", "I went to the support group for parents yesterday. It was powerful."),
    ("Mel", "That is great! I painted a sunrise over the lake last weekend."),
    ("Caroline", "Lovely. My son Tim starts school in Ghent on Monday."),
    ("Mel", "My sister Joan moved to Porto in March."),
    ("Caroline", "I'm allergic to walnuts, by the way."),
]
QUESTIONS = [
    "Where does Tim start school?",
    "When did Caroline go to the support group?",
    "Who moved to Porto?",
    "What is Caroline allergic to?",
    "What is Mel's dog called?",
]


def main() -> None:
    with Memory.open(":memory:") as memory:
        bank = memory.create_bank("b")
        bank.enrichment.use("anchor")
        turns = [{"speaker": speaker, "text": text} for speaker, text in TURNS]
        bank.remember(turns, session="s1", said_at="2023-05-08T13:56")
        print("failed:", [failed.error for failed in bank.enrichment.run().failed])
        for record in bank.enrichment.records("anchor"):
            print(f"{record.kind}: {record.text}")
        for question in QUESTIONS:
            answer = bank.answer(question, abstain=False)
            cites = [citation.cite for citation in answer.citations]
            print(f"{question} -> {answer.text} (refused: {answer.refused}, cites: {cites})")
        for cost in bank.enrichment.costs():
            print(cost)


if __name__ == "__main__":
    main()
