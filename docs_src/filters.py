from combray import Filters, Memory, TurnDraft

with Memory.open(":memory:", embedder="none") as memory:  # words alone, no model
    bank = memory.create_bank("trips")
    drafts = [
        TurnDraft(text="We hiked to the blue lake.", speaker="Ada", tags=["trip"]),
        TurnDraft(text="The blue paint for the fence arrived.", speaker="Tom"),
    ]
    bank.remember(drafts, session="may", said_at="2024-05-04T18:00+02:00")

    hits = bank.rank("something blue", filters=Filters(tags=["trip"]))
    print([hit.turn.text for hit in hits])

    receipt = bank.forget(session="may")
    print(len(receipt.turns), "turns forgotten, bytes gone:", receipt.erased)
