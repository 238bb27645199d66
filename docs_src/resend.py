from combray import Memory

transcript = [
    {"role": "user", "text": "My sister Ana visits on 7 May."},
    {"role": "assistant", "text": "Noted. Shall I look for concerts that week?"},
    {"role": "user", "text": "Yes, something quiet."},
]

with Memory.open(":memory:") as memory:
    bank = memory.create_bank("mira", zone="Europe/Lisbon")
    for n in (1, 2, 3):  # an agent that sends its whole transcript at every turn
        done = bank.remember(transcript[:n], session="chat-1")
        print(f"{len(done.stored)} stored, {len(done.known)} known")
    print(bank.bank.n_turns, "turns in all")
