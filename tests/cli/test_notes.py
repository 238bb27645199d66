"""`recall` and `explain` show what a model made of turns as notes."""

import json
from datetime import UTC, datetime

import pytest

from combray import Memory
from combray.llm import FunctionLLM

FACT = "Ana sailed in the old wooden boat from the river to the port of Lisbon"
EVENT = "Ana sailed to Lisbon, and Ben baked bread there.\x1b[2J"


def reply(messages, schema):
    if "events" in schema["properties"]:
        return {"events": [EVENT]}
    return {"facts": [FACT, f"{FACT} again"]}


@pytest.fixture
def enriched(cli, database):
    with Memory.open(database, embedder="hash", llm=FunctionLLM(reply)) as memory:
        bank = memory.create_bank("mira")
        bank.enrichment.use("anchor")
        for day, text in enumerate(("We sail to Lisbon.", "Ben bakes bread in Lisbon."), 1):
            at = datetime(2024, 3, day, tzinfo=UTC)
            bank.remember(text, speaker="Ana", session=f"s{day}", said_at=at)
        bank.enrichment.run()
    return cli


ASKED = ("mira", "Ana sailed to Lisbon", "--method", "anchor", "--no-abstain")


def test_recall_counts_the_notes_and_lists_their_ids(enriched):
    done = enriched("recall", *ASKED, "--show-ids")
    assert done.code == 0, done.err
    assert "\n[n1] (from " in done.out
    assert " and 1 note · " in done.err
    assert "[n1] e1:" in done.err


def test_the_json_of_a_recall_gives_each_note_with_its_record(enriched):
    found = json.loads(enriched("recall", *ASKED, "--json").out)
    (note,) = found["derived"]
    assert (note["cite"], note["text"], note["clipped"]) == ("n1", EVENT, False)
    cited = {item["turn"]["id"] for item in found["items"] if item["cite"] in note["from"]}
    assert cited
    assert cited <= set(note["record"]["sources"])
    assert note["record"]["made_by"]["method"] == "anchor"


def test_explain_shows_notes_and_where_they_come_from(enriched):
    done = enriched("explain", *ASKED)
    assert done.code == 0, done.err
    assert "[n1]  event by anchor" in done.out
    assert " · from [1]" in done.out
    assert "Ana sailed to Lisbon, and Ben baked bread there.\\x1b[2J" in done.out


def test_explain_says_which_records_were_left_out(enriched):
    small = (*ASKED, "--budget", "48")
    done = enriched("explain", *small)
    assert "-     event by anchor" in done.out
    assert "left out: no room left in the budget" in done.out
    (cut,) = [
        one
        for one in json.loads(enriched("explain", *small, "--json").out)["cut"]
        if one["id"].startswith("e1:")
    ]
    assert (cut["rank"], cut["reason"]) == (1, "budget")
