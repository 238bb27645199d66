from datetime import UTC, datetime

import pytest

from combray.methods.atom.local import local_notes
from combray.registry import analyser

SAID_AT = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def notes(*facts, people=("Caroline", "Melanie"), said_at=SAID_AT, kind="light"):
    return local_notes(facts, [said_at] * len(facts), analyser(kind), people)


def note(fact, **options):
    return notes(fact, **options)[0]


@pytest.mark.parametrize(
    ("fact", "people"),
    [
        ("Melanie thinks it is cool that Caroline went.", ("Melanie", "Caroline")),
        ("Caroline's guinea pig is well.", ("Caroline",)),
        ("The poetry reading was special.", ()),
        ("Melanie met her friend Rob.", ("Melanie", "Rob")),
        ("Melanie has a dog named Luna.", ("Melanie", "Luna")),
        ("Rob's house is old.", ("Rob",)),
        ("Mel is at home.", ("Mel",)),
        ("Melanie lives in Lisbon.", ("Melanie",)),
        ("Melanie bought shoes by Nike.", ("Melanie",)),
        ("Caroline is proud of the LGBTQ centre.", ("Caroline",)),
    ],
)
def test_people_are_those_known_and_those_worded_as_people(fact, people):
    assert note(fact).people == people


@pytest.mark.parametrize(
    ("fact", "keywords"),
    [
        (
            "Caroline attended an LGBTQ support group on May 7, 2023.",
            ("lgbtq", "group", "support"),
        ),
        ("Melanie has two dogs and enjoys hiking with her children.", ("dog", "hiking", "child")),
        ("Caroline went to Paris and wants to adopt a kitten.", ("paris", "kitten")),
        ("Melanie thinks it is great.", ()),
        ("Melanie quickly painted her family.", ("family",)),
        ("", ()),
    ],
)
def test_keywords_are_names_and_nouns_without_people_and_times(fact, keywords):
    assert note(fact).keywords == keywords


def test_there_are_no_more_than_five_keywords_and_each_is_there_once():
    fact = "Melanie likes music, dance, pottery, camping, reading, chess and music."
    assert note(fact).keywords == ("music", "dance", "pottery", "camping", "reading")


@pytest.mark.parametrize(
    ("fact", "about"),
    [
        ("Caroline went there on May 7, 2023.", "2023-05-07"),
        ("Caroline went there yesterday.", "2023-05-07"),
        ("Caroline went there in April 2023.", "2023-04"),
        ("Caroline painted it last year.", "2022"),
        ("Caroline painted it in the summer of 2021.", "2021"),
        ("Caroline went there last week.", "2023-05"),
        ("Caroline went there a few years ago.", ""),
        ("Caroline will leave tomorrow, as planned on 3 March 2021.", "2021-03-03"),
        ("Caroline likes music.", ""),
    ],
)
def test_the_time_is_the_one_told_as_far_as_a_partial_date_can_say_it(fact, about):
    assert note(fact).about == about


@pytest.mark.parametrize(
    ("fact", "lasting"),
    [
        ("Caroline lives in Lisbon.", True),
        ("Melanie is a nurse.", True),
        ("Melanie has two kids.", True),
        ("Caroline loves pottery.", True),
        ("Caroline painted a sunset.", False),
        ("Caroline loves that Melanie came.", False),
        ("Caroline lives in Lisbon since May 2021.", True),
        ("Caroline was a guest on 3 May 2021.", False),
        ("The house is a ruin.", False),
    ],
)
def test_what_lasts_is_told_of_somebody_and_not_of_a_day(fact, lasting):
    assert note(fact).lasting is lasting


def test_a_fact_has_the_same_notes_in_whatever_company():
    facts = ("Caroline lives in Lisbon.", "Melanie met her friend Rob yesterday.")
    assert notes(*facts) == [note(facts[0]), note(facts[1])]
    assert notes(*reversed(facts)) == [note(facts[1]), note(facts[0])]


def test_no_facts_have_no_notes():
    assert notes() == []


def test_the_tagger_is_taken_at_its_word():
    pytest.importorskip("spacy")
    found = note("Melanie met Barack Obama in Paris on May 7, 2023.", kind="spacy")
    assert found.people == ("Melanie", "Barack Obama")
    assert found.keywords == ("paris",)
    assert found.about == "2023-05-07"
