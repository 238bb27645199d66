from combray import Memory

with Memory.open(":memory:") as memory:
    bank = memory.create_bank("mira")
    bank.remember("I do night shifts at the hospital.", speaker="Mira", said_at="2024-03-03")
    bank.remember("Any colour for the nursery?", role="assistant", said_at="2024-04-09T10:00")
    bank.remember("The pale green, definitely.", speaker="Mira", said_at="2024-04-09T10:01")

    print(bank.recall("What colour will the nursery be?", k=1).text)
    print(bank.recall("What is the boiling point of mercury?").reason)
