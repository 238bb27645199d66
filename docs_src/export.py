import json

from combray import Memory

with Memory.open(":memory:", embedder="none") as memory:
    bank = memory.create_bank("mira")
    bank.remember({"text": "The kite flew.", "id": "k1"}, session="may", said_at="2024-05-04")

    print(bank.get("k1")[0].text)  # an id of yours will do where only one session has it
    for row in bank.export():  # the rows of an export file; bank.export_to(path) writes one
        print(json.dumps(row)[:60])
