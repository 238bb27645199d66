import pytest

from combray.text.entities import entity_key, find_mentions


def labelled(text, people=()):
    return [(mention.text, mention.label) for mention in find_mentions(text, people)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We flew to Lisbon with Anna Keller.", [("Lisbon", "NAME"), ("Anna Keller", "NAME")]),
        ("I met Dr. Okafor there", [("Dr. Okafor", "PERSON")]),
        ("She works at Brightwater University now", [("Brightwater University", "ORG")]),
        ("a job at University of Porto", [("University of Porto", "ORG")]),
        ("swimming in Lake Como", [("Lake Como", "PLACE")]),
        ("at the Harbour Jazz Festival", [("Harbour Jazz Festival", "EVENT")]),
        ("a Portuguese tart", [("Portuguese", "GROUP")]),
        ("He joined NASA", [("NASA", "NAME")]),
        ("I read “The Hollow Lantern” twice", [("The Hollow Lantern", "NAME")]),
        ('I read "The Hollow Lantern" twice', [("The Hollow Lantern", "NAME")]),
        ("I love The Wheel of Time", [("Wheel of Time", "NAME")]),
        ("with Luna and Oliver", [("Luna", "NAME"), ("Oliver", "NAME")]),
        ("dinner at Marta's place", [("Marta", "NAME")]),
        ("It was in March, on a Monday", [("March", "DATE"), ("Monday", "DATE")]),
        ("Luna is my cat", [("Luna", "NAME")]),
        ("João lives in São Paulo", [("João", "NAME"), ("São Paulo", "NAME")]),
    ],
)
def test_named_things_are_found_and_labelled(text, expected):
    assert labelled(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What did you do? Thanks for asking! That was fun.",
        "I'm glad. You've made it. Can't wait!",
        "Wow, nice. Last time I saw it...",
        "Painting is fun",
        "THIS IS ALL SHOUTED OUT LOUD",
        "no capitals here at all",
        "- Yes\n- No",
        "東京に行った",
    ],
)
def test_words_with_a_capital_for_another_reason_are_not_names(text):
    assert labelled(text) == []


def test_known_people_are_persons_in_any_case_and_place():
    assert labelled("mel called. Mel's late. Is Mira in?", ["Mel"])[:2] == [
        ("mel", "PERSON"),
        ("Mel", "PERSON"),
    ]


def test_a_known_persons_full_name_stays_whole():
    assert labelled("I saw Mel Keller", ["Mel"]) == [("Mel Keller", "PERSON")]


def test_people_with_signs_in_their_names_are_looked_up_literally():
    assert labelled("ask (bot)+1 again", ["(bot)+1", " "]) == [("(bot)+1", "PERSON")]


def test_mentions_stand_where_they_say():
    text = "“The Hollow Lantern” by Anna Keller’s aunt, in Lisbon."
    assert all(text[m.start : m.end] == m.text for m in find_mentions(text))


@pytest.mark.parametrize(
    ("surface", "key"),
    [
        ("The  Golden\nGate", "golden gate"),
        ("my Mum", "mum"),
        ("Mel's Kitchen", "kitchen"),
        ("Mel’s", "mel"),
        ("The", "the"),
        ("São Paulo", "sao paulo"),
        ("", ""),
    ],
)
def test_a_key_is_lower_case_with_single_spaces_and_no_determiner(surface, key):
    assert entity_key(surface) == key


def test_a_key_is_never_longer_than_a_posting_takes():
    assert len(entity_key("Word " * 100)) <= 64
