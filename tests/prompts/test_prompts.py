import hashlib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from combray.errors import ConfigError
from combray.prompts import load

FILES = sorted(
    file for file in resources.files("combray.prompts").iterdir() if file.name.endswith(".md")
)
NAMES = [file.name.removesuffix(".md") for file in FILES]
PLACES = {
    "anchor_facts": {"turns"},
    "anchor_event": {"topics", "turns"},
    "answer": {"evidence", "times", "today", "question", "rule"},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_loads_and_says_that_data_is_no_instruction(name):
    prompt = load(name)
    assert prompt.system
    assert prompt.user
    assert prompt.places
    assert "instruction" in prompt.system


@pytest.mark.parametrize("name", NAMES)
def test_the_hash_is_of_the_file(name):
    file = FILES[NAMES.index(name)]
    assert load(name).hash == hashlib.sha256(file.read_bytes()).hexdigest()[:12]


@pytest.mark.parametrize("name", PLACES)
def test_a_prompt_takes_the_values_that_its_code_gives(name):
    assert load(name).places == PLACES[name]


@pytest.mark.parametrize(("name", "form"), [("anchor_facts", "facts"), ("anchor_event", "events")])
def test_an_extraction_prompt_shows_the_form_and_the_empty_one(name, form):
    system = load(name).system
    assert f'{{"{form}": [' in system
    assert f'{{"{form}": []}}' in system


@pytest.mark.parametrize("name", NAMES)
def test_values_stand_apart_from_the_instructions(name):
    prompt = load(name)
    values = {place: f"<<{place}>>" for place in prompt.places}
    (system_role, system), (user_role, user) = prompt.messages(**values)
    assert (system_role, user_role) == ("system", "user")
    assert all((value in system) or (value in user) for value in values.values())
    # Only a rule of ours may stand among the instructions; what people said never does.
    assert [place for place in prompt.places if f"<<{place}>>" in system] in ([], ["rule"])


@given(st.text())
def test_values_are_put_in_as_they_are_and_once(text):
    (_, system), (_, user) = load("anchor_event").messages(topics="{turns}", turns=text)
    assert text in user
    assert "{turns}" in user
    assert text.strip() == "" or system == load("anchor_event").system


def test_a_value_that_is_missing_or_has_no_place_is_named():
    with pytest.raises(ConfigError, match="turns"):
        load("anchor_facts").messages()
    with pytest.raises(ConfigError, match="colour"):
        load("anchor_facts").messages(turns="", colour="red")


@pytest.mark.parametrize("name", ["nothing", "", "../errors", "anchor_facts.md", "__init__"])
def test_a_prompt_that_is_not_there_is_an_error_that_lists_those_that_are(name):
    with pytest.raises(ConfigError, match=r"there are: anchor_event, anchor_facts, answer"):
        load(name)
