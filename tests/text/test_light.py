from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from combray.errors import InvalidInput
from combray.model import Analysis
from combray.text import LightAnalyser

SAID = datetime(2023, 5, 25, 14, 30, tzinfo=UTC)


def analysis(text, people=(), **options) -> Analysis:
    (found,) = LightAnalyser(**options).analyse([text], [SAID], people)
    return found


def test_a_turn_is_read_whole():
    found = analysis("Mel's painting class in Lisbon was last Friday!", ["Mel"])

    assert found.terms == ("mel", "paint", "class", "lisbon", "last", "friday")
    assert found.keys == ("class", "friday", "last", "last friday", "lisbon", "mel", "paint")
    assert [(m.text, m.label) for m in found.mentions] == [
        ("Mel", "PERSON"),
        ("Lisbon", "NAME"),
        ("last Friday", "DATE"),
    ]
    assert [span.start.date().isoformat() for span in found.spans] == ["2023-05-19"]
    assert (found.question, found.enumerative) == (False, False)


def test_terms_keep_repeats_and_order():
    assert analysis("cats and dogs and cats").terms == ("cat", "dog", "cat")


def test_function_words_are_terms_only_where_they_are_asked_for():
    kept = analysis("Where is the cat?", function_words=True)
    assert analysis("Where is the cat?").terms == ("cat",)
    assert kept.terms == ("where", "is", "the", "cat")
    assert kept.keys == ("cat",)


def test_the_id_names_what_changes_the_terms():
    assert LightAnalyser().id == analysis("").analyser == "light:1"
    assert LightAnalyser(function_words=True).id == "light:1+function-words"


def test_an_empty_text_has_an_empty_analysis():
    assert analysis("") == Analysis(terms=(), keys=(), analyser="light:1")


def test_no_texts_give_no_analyses():
    assert LightAnalyser().analyse([], []) == []


def test_each_text_is_read_against_its_own_time():
    times = [datetime(2023, 5, 25, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)]
    found = LightAnalyser().analyse(["yesterday", "yesterday"], times)
    assert [a.spans[0].start.year for a in found] == [2023, 2019]


def test_a_question_is_flagged_and_so_is_one_for_a_set():
    asked = LightAnalyser().analyse_query(
        "Which cities has Mel visited in May 2023?", SAID, ["Mel"]
    )
    assert (asked.question, asked.enumerative) == (True, True)
    assert asked.spans[0].explicit


def test_a_statement_about_several_things_is_not_enumerative():
    assert not analysis("I know all the answers.").enumerative


def test_a_query_is_read_like_a_turn():
    query = "what did Mel paint last week"
    assert LightAnalyser().analyse_query(query, SAID, ["Mel"]) == analysis(query, ["Mel"])


def test_texts_without_as_many_times_are_refused():
    with pytest.raises(InvalidInput, match="2 texts need as many times, not 1"):
        LightAnalyser().analyse(["a", "b"], [SAID])


def test_a_naive_time_is_refused():
    naive = SAID.replace(tzinfo=None)
    with pytest.raises(InvalidInput, match="aware"):
        LightAnalyser().analyse(["today"], [naive])
    with pytest.raises(InvalidInput, match="aware"):
        LightAnalyser().analyse_query("today", naive)


def test_threads_read_the_same_as_one():
    texts = [f"On {day} May I saw Anna{day} and 3 hours ago she left" for day in range(1, 29)] * 4
    analyser = LightAnalyser()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: analyser.analyse([text], [SAID])[0], texts))
    assert found == analyser.analyse(texts, [SAID] * len(texts))
