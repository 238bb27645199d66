import json
from datetime import date

import pytest

from combray.errors import ConfigError, InvalidInput, NotFound
from combray.eval import Setup, run_locomo
from combray.eval.datasets import locomo
from combray.eval.datasets.atommem import TurnFacts, atommem
from combray.eval.experiment import written
from combray.eval.released_atommem import remember_atommem
from combray.eval.released_facts import remember_released
from combray.methods.atom.grouping import GroupingParams
from combray.model import FactNotes

FACTS = {
    "D1:1": ["Ana sails to Lisbon in June 2023.", "Ana has a boat."],
    "D1:2": ["Ben's bread came out flat."],
    "D2:1": ["Ana has a boat.", "Ana sailed to Lisbon in the boat."],
}


@pytest.fixture
def data(tmp_path):
    conversation = {
        "speaker_a": "Ana",
        "speaker_b": "Ben",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Ana", "dia_id": "D1:1", "text": "I sail to Lisbon in June. My boat is ready."},
            {"speaker": "Ben", "dia_id": "D1:2", "text": "My bread came out flat."},
            {"speaker": "Ana", "dia_id": "D1:3", "text": "Oh no!"},
        ],
        "session_2_date_time": "1:56 pm on 8 July, 2023",
        "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "I sailed the boat to Lisbon."}],
    }  # fmt: skip
    qa = [
        {"question": "Where does Ana sail?", "answer": "x", "evidence": ["D1:1"], "category": 4},
        {"question": "What of Ben's bread?", "answer": "x", "evidence": ["D1:2"], "category": 1},
    ]
    file = tmp_path / "locomo10.json"
    samples = [
        {"sample_id": name, "conversation": conversation, "qa": qa}
        for name in ("conv-26", "conv-44")
    ]
    file.write_text(json.dumps(samples))
    released = tmp_path / "locomo_facts_atommem"
    released.mkdir()
    turns = [
        {"session": f"session_{turn[1]}", "dia_id": turn, "facts": facts}
        for turn, facts in FACTS.items()
    ]
    for name in ("conv-26", "conv-44"):
        (released / f"{name}.json").write_text(json.dumps({"results": turns}))
    return tmp_path


@pytest.fixture
def there(data):
    setup = Setup(data=data, embedder="hash")
    with written(locomo(data), setup) as banks:
        yield banks, setup


def units(banks, kind):
    return banks.memory.store.units("locomo/conv-26", "atom", kind)


def facts_of(banks):
    store = banks.memory.store
    numbers = [n for unit in units(banks, "facts") for n in unit.records]
    return {record.text: record for record in store.records("locomo/conv-26", numbers).values()}


def client_ids(banks, record):
    turns = banks.banks["conv-26"].get(list(record.sources))
    return [turn.client_id for turn in turns]


def test_facts_hang_on_the_turns_they_were_drawn_from_with_notes_and_time(there):
    banks, setup = there
    remember_released("atommem", banks, setup)
    facts = facts_of(banks)
    assert set(facts) == {text for texts in FACTS.values() for text in texts}
    sail = facts["Ana sails to Lisbon in June 2023."]
    notes = FactNotes.of(sail.detail)
    assert (notes.people, notes.about) == (("Ana",), "2023-06")
    assert "lisbon" in notes.keywords
    assert sail.valid_from.date() == date(2023, 6, 1)
    assert facts["Ben's bread came out flat."].valid_from.date() == date(2023, 5, 8)
    assert client_ids(banks, sail) == ["D1:1"]


def test_a_fact_of_two_turns_is_one_record_with_both(there):
    banks, setup = there
    remember_released("atommem", banks, setup)
    assert sorted(client_ids(banks, facts_of(banks)["Ana has a boat."])) == ["D1:1", "D2:1"]


def test_every_turn_counts_as_read_with_the_turn_before_it(there):
    banks, setup = there
    remember_released("atommem", banks, setup)
    read = [len(unit.turns) for unit in units(banks, "facts")]
    assert sorted(read) == [1, 1, 2, 2]
    assert sum(not unit.records for unit in units(banks, "facts")) == 1


def test_events_have_two_facts_at_least_and_say_so(there):
    banks, setup = there
    remember_released("atommem", banks, setup)
    events = units(banks, "event")
    assert events
    assert all(len(unit.inputs) >= 2 and unit.least_inputs == 2 for unit in events)


def test_storing_twice_stores_nothing_more_and_another_grouping_replaces_the_events(there):
    banks, setup = there
    remember_released("atommem", banks, setup)
    before = [(unit.number, unit.key) for unit in units(banks, "event")]
    assert before
    remember_released("atommem", banks, setup)
    assert [(unit.number, unit.key) for unit in units(banks, "event")] == before
    bank, facts = banks.banks["conv-26"], atommem(setup.data)["conv-26"]
    embedder = banks.memory.embedder()
    remember_atommem(banks.memory, bank, facts, embedder, GroupingParams(similarity=1.0))
    assert units(banks, "event") == []


def test_a_fact_of_a_turn_that_is_not_there_stores_nothing(there):
    banks, _ = there
    stray = [TurnFacts(turn=("conv-26/session_9", "D9:1"), facts=("Ana is lost.",))]
    with pytest.raises(NotFound, match="D9:1"):
        remember_atommem(banks.memory, banks.banks["conv-26"], stray, banks.memory.embedder())
    assert units(banks, "facts") == []


def test_a_system_without_released_facts_is_named_with_those_that_have_some(there):
    with pytest.raises(ConfigError, match="anchormem, atommem"):
        remember_released("edgemem", *there)


def test_released_facts_need_vectors(data):
    setup = Setup(data=data, embedder="none")
    with written(locomo(data), setup) as banks, pytest.raises(InvalidInput, match="vectors"):
        remember_released("atommem", banks, setup)


def test_a_conversation_that_was_not_released_is_named(there, data):
    (data / "locomo_facts_atommem" / "conv-44.json").unlink()
    with pytest.raises(NotFound, match="conv-44"):
        remember_released("atommem", *there)


def test_atom_is_measured_on_released_facts_from_beside_the_benchmarks_file(data):
    setup = Setup(data=data / "locomo10.json", embedder="hash")
    result = run_locomo("atom", baselines=[], setup=setup, facts="atommem").to_json()
    assert result["turn_recall"]["5"]["all"] == 1.0
    assert "released facts: atommem" in str(result["provenance"])
    bare = run_locomo("atom", baselines=[], setup=setup).to_json()
    assert bare["turn_recall"]["5"]["all"] == 0.0
