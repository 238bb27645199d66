"""Support and abstention of the default method, by words and with the real encoder where it is here."""

import json
from pathlib import Path

import pytest

from combray import Memory
from combray.embed.onnx import MiniLM
from combray.errors import WeightsUnavailable
from combray.methods.fused import Fused, FusedParams

PAIRS = Path(__file__).parents[3] / "benchmarks/support_pairs.json"


@pytest.fixture(scope="module")
def encoder():
    made = MiniLM(offline=True)
    try:
        made.load()
    except WeightsUnavailable:
        pytest.skip("the weights of the default encoder are not here")
    return made


@pytest.fixture(scope="module")
def held():
    return json.loads(PAIRS.read_text("utf-8"))


def refused(memory, pairs, *, together):
    """The pairs whose question is refused."""
    shared = memory.create_bank("shared")
    for turn, _ in pairs if together else []:
        shared.remember(turn, speaker="Ana")
    declined = []
    for i, (turn, question) in enumerate(pairs):
        bank = shared if together else memory.create_bank(str(i))
        if not together:
            bank.remember(turn, speaker="Ana")
        if bank.recall(question).abstained:
            declined.append((turn, question))
    return declined


@pytest.mark.parametrize("together", [False, True])
def test_paraphrases_are_hardly_ever_refused(encoder, held, together):
    with Memory.open(":memory:", embedder=encoder) as memory:
        pairs = held["newcomer"] + held["pairs"]
        assert len(refused(memory, pairs, together=together)) <= len(pairs) * 0.05


@pytest.mark.parametrize("together", [False, True])
def test_what_shares_a_word_is_seldom_refused_by_words_alone(memory, held, together):
    pairs = held["newcomer"] + held["pairs"]
    shared = [pair for pair in pairs if shares_a_term(memory, *pair)]
    declined = refused(memory, pairs, together=together)
    assert len([pair for pair in shared if tuple(pair) in declined]) <= len(shared) * 0.25


def shares_a_term(memory, fact, question):
    bank = memory.create_bank(f"terms of {fact} {question}")
    bank.remember(fact)
    return bool(bank.recall(question, method="bm25", abstain=False).hits)


def test_support_is_lower_for_what_the_bank_does_not_hold(encoder, held):
    with Memory.open(":memory:", embedder=encoder) as memory:
        bank = memory.create_bank("a")
        for turn, _ in held["pairs"]:
            bank.remember(turn, speaker="Ana")
        yes = [bank.recall(question).support for _, question in held["pairs"]]
        no = [bank.recall(question).support for question in held["unanswerable"]]
    wins = sum(a > b for a in yes for b in no) / (len(yes) * len(no))
    assert wins > 0.9


@pytest.mark.parametrize("kind", ["vectors", "words"])
def test_a_question_about_a_time_is_answered_by_what_was_said_then(memory, held, kind, request):
    if kind == "vectors":
        with Memory.open(":memory:", embedder=request.getfixturevalue("encoder")) as opened:
            check_times(opened, held["dated"])
    else:
        check_times(memory, held["dated"])


def check_times(memory, dated):
    bank = memory.create_bank("a")
    for at, text in dated["turns"]:
        bank.remember(text, speaker="Ana", said_at=at)
    for question, places in dated["questions"]:
        recall = bank.recall(question, now=dated["now"])
        right = {dated["turns"][place][1] for place in places}
        assert not recall.abstained, question
        assert right & {hit.turn.text for hit in recall.hits[:2]}, question
    for question in dated["empty"]:
        assert bank.recall(question, now=dated["now"]).support < 0.5, question


def test_what_was_said_on_a_day_is_not_what_was_said_after_it(memory):
    bank = memory.create_bank("a")
    for day in (13, 14, 15, 19):
        bank.remember(f"Tea number {day}.", speaker="Ana", said_at=f"2024-06-{day}T10:00")
    said = bank.recall("What did I say on 14 June?", now="2024-07-01")
    assert said.hits[0].turn.said_at.day == 14
    assert [hit.channels.get("time", 0) for hit in said.hits[1:]] == [0, 0, 0]
    done = bank.recall("What did Ana do on 14 June?", now="2024-07-01")
    near = {hit.turn.said_at.day: hit.channels.get("time", 0) for hit in done.hits}
    assert near[14] == 1 > near[15] > near[19] > near[13] == 0


def test_a_month_without_a_year_is_that_of_the_last_year_with_turns_in_it(memory):
    bank = memory.create_bank("a")
    for day in ("2021-03-05", "2022-02-28", "2022-03-05", "2022-12-31", "2023-05-01", "2026-03-01"):
        bank.remember(f"Tea on {day}.", speaker="Ana", said_at=f"{day}T10:00")

    def said_at_best(question):
        hits = bank.recall(question, now="2025-07-01", abstain=False).hits
        return {str(h.turn.said_at.date()) for h in hits if h.channels.get("time", 0) == 1}

    assert said_at_best("What was said in March?") == {"2022-03-05"}
    assert said_at_best("What was said on 5 March?") == {"2022-03-05"}
    assert said_at_best("What was said in December?") == {"2022-12-31"}
    assert said_at_best("What was said in May?") == {"2023-05-01"}
    assert said_at_best("What was said in October?") == set()
    assert said_at_best("What was said on 29 February?") == set()
    assert said_at_best("What was said in March 2024?") == set()
    assert said_at_best("What was said last March?") == set()
    bank.remember("Tea again.", speaker="Ana", said_at="2025-03-31T23:59")
    assert said_at_best("What was said in March?") == {"2025-03-31"}


def test_what_nobody_mentioned_counts_for_less_in_a_small_bank(memory):
    bank = memory.create_bank("a")
    signals = []
    for n in range(40):
        bank.remember(f"We walked to the harbour and saw boat {n} with sails.", speaker="Ana")
        if n in (0, 39):
            found = bank.recall("Which harbour has tungsten?", abstain=False)
            signals.append(found.trace.signals)
    assert 0 < signals[0]["unknown"] < signals[1]["unknown"] < 1
    assert 0 < signals[0]["size"] < signals[1]["size"] < 1


def test_a_large_bank_without_any_match_gives_nothing(memory):
    bank = memory.create_bank("a")
    few = FusedParams(candidates=3)
    for word in ("apple", "pear", "plum", "cherry"):
        bank.remember(f"A {word} tree.")
    assert bank.recall("zebra", method=Fused(params=few), abstain=False).hits == ()
    assert len(bank.recall("zebra", abstain=False).hits) == 4


def test_turns_beside_a_match_are_found_by_words_alone(memory):
    bank = memory.create_bank("a")
    for text in ("Did you find a flat near the canal?", "Yes, number nine.", "It rained all day."):
        bank.remember(text, speaker=f"S{len(text) % 2}", session="s")
    hits = bank.recall("flat canal", k=2).hits
    assert {hit.turn.text for hit in hits} == {
        "Did you find a flat near the canal?",
        "Yes, number nine.",
    }
