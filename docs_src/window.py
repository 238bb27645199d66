from combray import Memory

said = ["Good morning.", "Did you sleep?", "Like a stone.", "There is bread.", "And plum jam."]

with Memory.open(":memory:", embedder="none") as memory:
    bank = memory.create_bank("mira")
    for n in range(1, 6):  # an agent that sends its last three messages, one more at every turn
        done = bank.remember(said[max(0, n - 3) : n], session="breakfast")
    print(len(done.stored), "stored,", len(done.known), "known,", bank.bank.n_turns, "in all")

    edited = ["Did you sleep?", "Like a log.", "There is bread."]
    print(bank.remember(edited, session="breakfast").notes[-1].split(":")[0])
