"""`combray profile`, as a process of its own."""

import json

import pytest
from tests.methods.atom.scripted import Scripted

from combray import Memory
from combray.llm import FunctionLLM

SAID = [("I live in Lisbon.", "2023-05-01"), ("I moved, I live in Porto now.", "2023-07-20")]


def remember_the_move(database):
    """A bank that knows where Caroline lived, and lives, and one that knows nothing."""
    with Memory.open(database, embedder="hash", llm=Scripted().llm()) as memory:
        bank = memory.create_bank("caro")
        bank.enrichment.use("atom")
        for text, day in SAID:
            bank.remember([{"speaker": "Caroline", "text": text}], session=day, said_at=day)
            bank.enrichment.run()
        memory.create_bank("plain")


@pytest.fixture
def moved(database):
    remember_the_move(database)


def test_what_holds_is_shown_with_its_turns(process, moved):
    done = process("profile", "caro", "Caro")
    assert (done.code, done.out) == (
        0,
        "Caroline lives in Porto. (since 2023-07-01)\n"
        "    2023-07-20 Caroline: I moved, I live in Porto now.\n",
    )
    assert done.err == "Caroline now: 1 statement; --history shows 1 earlier\n"


def test_the_history_is_shown_where_it_is_asked_for(process, moved):
    done = process("profile", "caro", "Caroline", "--history")
    assert done.out == (
        "Caroline lives in Porto. (since 2023-07-01)\n"
        "    2023-07-20 Caroline: I moved, I live in Porto now.\n"
        "    Caroline lives in Lisbon. (2023-05-01 to 2023-07-01)\n"
        "        2023-05-01 Caroline: I live in Lisbon.\n"
    )


def test_a_day_shows_what_held_on_it(process, moved):
    done = process("profile", "caro", "Caroline", "--at", "2023-06")
    assert done.out.startswith("Caroline lives in Lisbon. (2023-05-01 to 2023-07-01)\n")
    assert done.err == "Caroline on 2023-06-01: 1 statement\n"
    before = process("profile", "caro", "Caroline", "--at", "2020")
    assert (before.code, before.out) == (0, "")
    assert before.err == "Nothing is known to hold of Caroline on 2020-01-01.\n"


def test_json_has_the_evidence_and_the_history_if_asked_for(process, moved):
    shown = json.loads(process("profile", "caro", "Caroline", "--json").out)
    assert (shown["bank"], shown["subject"], shown["at"]) == ("caro", "Caroline", None)
    (entry,) = shown["entries"]
    assert (entry["valid_from"], entry["valid_to"]) == ("2023-07-01", None)
    assert entry["facts"][0]["text"] == "Caroline lives in Porto."
    assert entry["turns"][0]["text"] == SAID[1][0]
    assert "earlier" not in entry
    whole = json.loads(process("profile", "caro", "Caroline", "--history", "--json").out)
    assert [one["valid_to"] for one in whole["entries"][0]["earlier"]] == ["2023-07-01"]


def test_a_forgotten_turn_takes_its_statement_along(process, moved):
    assert process("forget", "caro", "--session", "2023-07-20", "--yes").code == 0
    done = process("profile", "caro", "Caroline")
    assert done.out.startswith("Caroline lives in Lisbon. (since 2023-05-01)\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("caro", "Zora"), 3, "no profile 'Zora'. There are those of 'Caroline'."),
        (("plain", "Caroline"), 3, "`combray enrich plain --method atom`"),
        (("caro", " "), 2, "a person's name is empty"),
        (("caro", "Caroline", "--at", "May"), 2, "not an ISO 8601 time"),
    ],
)
def test_what_cannot_be_shown_says_why(process, moved, arguments, code, said):
    done = process("profile", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_statement_cannot_take_over_the_terminal(terminal, database):
    def wild(messages, schema):
        reply = Scripted().reply(messages, schema)
        for statement in reply.get("profile", ()):
            statement["statement"] += " \x1b[2J"
        return reply

    with Memory.open(database, embedder="hash", llm=FunctionLLM(wild)) as memory:
        bank = memory.create_bank("caro")
        bank.enrichment.use("atom")
        bank.remember(SAID[0][0], speaker="Caroline", said_at="2023-05-01")
        bank.enrichment.run()
        assert "\x1b[2J" in bank.profile("Caroline").entries[0].text
    shown = terminal("profile", "caro", "Caroline").out
    assert "Caroline lives in Lisbon." in shown
    assert "\x1b[2J" not in shown
