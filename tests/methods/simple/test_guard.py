"""A unit says what its sources say, or is kept out."""

from datetime import UTC, datetime

import pytest

from combray.methods.simple.guard import Grounds, violations
from combray.methods.simple.times import dated, dates_in
from combray.model import Role, Turn
from combray.text.light import LightAnalyser

ANALYSER = LightAnalyser()
MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def said(text, speaker="Ann", at=MONDAY, caption=None):
    return Turn(
        id=f"t1:{speaker}{text}",
        session="s",
        speaker=speaker,
        role=Role.USER,
        text=text,
        said_at=at,
        caption=caption,
        content="",
        stored_at=at,
    )


def against(unit, *turns, speakers=("Ann", "Bob"), names=()):
    return violations(unit, Grounds(turns, ANALYSER, speakers), names=names)


SUPPORTED = [
    ("Ann went to a support group on 7 May 2023.", "I went to a support group yesterday"),
    ("Ann went to a support group.", "I went to a support group yesterday"),
    ("Ann moved from Sweden in 2019.", "moved from sweden 4 years ago"),
    ("Ann was hiking in the week before 8 May 2023.", "we went hiking last week"),
    ("Ann was hiking in the week of 1 May 2023.", "we went hiking last week"),
    ("Ann has two dogs.", "i have 2 dogs"),
    ("Ann has 2 dogs named Rex and Luna.", "My two dogs, Rex & Luna, are asleep"),
    ("Ann told Bob that her order is QX-4471.", "I told you, my order is QX-4471"),
    ("Painting relaxes Ann.", "it calms me when I paint"),
    ("Ann does not like coffee.", "I don't like coffee"),
    ("Ann is looking forward to the show in June 2023.", "can't wait to see the show next month!"),
    ("Ann said on 8 May 2023 that she is happy.", "I'm so happy"),
    ("Ann will be 34 on 3 June 2023.", "I'm turning 34 on 3 June"),
    ("Ann's first marathon took 3 hours.", "my 1st marathon took three hours"),
    ("Ann paid $1,200 for a 3-day pass.", "I paid 1200 for the three day pass"),
    ("安在北京工作。", "我在北京工作"),
]


@pytest.mark.parametrize(("unit", "turn"), SUPPORTED, ids=[unit for unit, _ in SUPPORTED])
def test_what_follows_from_the_turn_is_let_through(unit, turn):
    assert against(unit, said(turn)) == []


CLAIMED = [
    ("Bob likes tea.", "I like tea", "name Bob"),
    ("Ann lives in Paris.", "I live in Lyon", "name Paris"),
    ("Ann has 3 dogs.", "I have 2 dogs", "number 3"),
    ("Ann went there on 6 May 2023.", "I went there yesterday", "date 6 May 2023"),
    ("Ann moved on 5 March 2022.", "I moved in 2022", "date 5 March 2022"),
    ("Ann marries in 2023.", "I'm getting married next year", "date 2023"),
    ("Ann was hiking on 3 May 2023.", "we went hiking last week", "date 3 May 2023"),
    ("Ann likes coffee.", "I don't like coffee", "negation"),
    ("Ann does not like coffee.", "I like coffee", "negation"),
    ("Ann's order is QX-4472.", "my order is QX-4471", "number 4472"),
    ("Ann and Sterling met.", "We met", "name Sterling"),
]


@pytest.mark.parametrize(("unit", "turn", "wrong"), CLAIMED, ids=[unit for unit, _, _ in CLAIMED])
def test_what_the_turn_does_not_say_is_named(unit, turn, wrong):
    assert wrong in against(unit, said(turn))


def test_an_image_and_its_caption_are_a_source():
    assert (
        against("Ann shared a picture of a Bengal cat.", said("look", caption="a bengal cat")) == []
    )


def test_the_other_speaker_is_known_where_somebody_speaks_to_them():
    assert against("Ann asked Bob for help.", said("Can you help me?")) == []
    assert against("Ann asked Bob for help.", said("Help me please")) == ["name Bob"]


def test_a_short_form_of_a_speaker_is_that_speaker():
    turn = said("Thanks, Mel! The cake was great.")
    assert against("Ann thanked Melanie for the cake.", turn, speakers=("Ann", "Melanie")) == []


def test_a_name_that_a_model_notes_counts_in_any_script():
    turn = said("我喜欢茶")
    assert against("李明喜欢茶", turn, names=["李明"]) == ["name 李明"]
    assert against("李明喜欢茶", said("我喜欢茶", speaker="李明"), names=["李明"]) == []


def test_each_source_is_read_from_its_own_day():
    later = said("I saw Rex yesterday", at=datetime(2023, 6, 2, tzinfo=UTC))
    assert against("Ann saw Rex on 1 June 2023.", said("Rex is a dog"), later) == []
    assert against("Ann saw Rex on 7 May 2023.", said("Rex is a dog"), later) == ["date 7 May 2023"]


def test_a_date_in_words_that_no_rule_reads_is_held_by_its_numbers():
    assert against("Ann reiste am 7. Mai 2023 ab.", said("Ich reise am 7. Mai 2023 ab")) == []
    assert "number 9" in against("Ann reiste am 9. Mai ab.", said("Ich reise am 7. Mai 2023 ab"))


def test_a_relative_date_that_is_left_gets_its_day():
    turn = said("I went yesterday")
    dates = dates_in("Ann went yesterday.", [turn], ANALYSER)
    assert dated("Ann went yesterday.", dates) == "Ann went yesterday (2023-05-07)."
    dates = dates_in("Ann went on 7 May 2023.", [turn], ANALYSER)
    assert dated("Ann went on 7 May 2023.", dates) == "Ann went on 7 May 2023."


def test_a_very_long_text_with_a_table_is_a_source_like_any_other():
    table = "\n".join(f"| row {n} | {n * 37} |" for n in range(3000))
    assert against("Ann's table gives 111,000 less 37 as 110963 in row 2999.", said(table)) == [
        "number 111000"
    ]
