import pytest

from combray.errors import InvalidInput
from combray.model import Hit, Part, Role
from combray.pack import MIN_BUDGET_TOKENS, ApproximateCounter, PackParams, pack

LONG_ANSWER = " ".join(
    f"Point {number} is about {topic} and why it matters to people who travel a lot."
    for number, topic in enumerate(["trains", "hotels", "visas", "vaccines", "luggage"] * 12, 1)
)


@pytest.fixture
def packed(beside, ranked):
    """Packs turns ranked as given; `session` are further turns that can be neighbours."""

    def run(*turns, session=(), budget_tokens=1024, terms=(), counter=None, **params):
        return pack(
            ranked(*turns),
            beside(*turns, *session),
            budget_tokens=budget_tokens,
            counter=counter or ApproximateCounter(),
            params=PackParams(**params),
            terms=terms,
        )

    return run


def texts(packed):
    return [item.text for item in packed.items]


def test_no_hits_make_an_empty_pack(packed):
    assert packed() == packed(budget_tokens=MIN_BUDGET_TOKENS)
    assert (packed().text, packed().n_tokens, packed().items, packed().cut) == ("", 0, (), ())


def test_cites_are_the_numbers_in_the_text(said, packed):
    result = packed(*(said(f"thing number {n}", session=f"s{n % 3}") for n in range(9)))
    for item in result.items:
        assert f"\n[{item.cite}] Mira: {item.text}\n" in result.text


def test_the_ranks_count_not_the_order_of_the_argument(said, beside, ranked):
    hits = ranked(*(said(f"thing number {n} of many more to come") for n in range(40)))
    options = {"budget_tokens": 128, "counter": ApproximateCounter()}
    forwards = pack(hits, beside(), **options)
    assert forwards == pack(hits[::-1], beside(), **options)
    assert forwards.cut


def test_a_hit_that_does_not_fit_gives_way_to_a_smaller_one(said, packed):
    first = said("the very first thing that was said")
    big = said("word " * 60)
    small = said("a small thing")
    result = packed(first, big, small, budget_tokens=70)
    assert texts(result) == [first.text, small.text]
    assert [(cut.hit.turn, cut.reason) for cut in result.cut] == [(big, "budget")]


def test_the_first_hit_is_clipped_rather_than_left_out(said, packed):
    turn = said(LONG_ANSWER, "assistant", role=Role.ASSISTANT)
    result = packed(turn, budget_tokens=64, terms=["vaccin"])
    (item,) = result.items
    assert item.clipped
    assert "vaccines" in item.text
    assert "…" in result.text
    assert result.n_tokens <= 64
    assert item.turn.text == LONG_ANSWER


def test_a_later_hit_is_clipped_too_while_nothing_has_fitted(said, packed):
    unfit = said("\x00" * 3, "漢" * 200)
    turn = said(LONG_ANSWER)
    result = packed(unfit, turn, budget_tokens=60)
    assert [item.turn for item in result.items] == [turn]


def test_a_long_turn_takes_at_most_its_share(said, packed):
    counter = ApproximateCounter()
    long, short = said(LONG_ANSWER), said("something else")
    result = packed(long, short, budget_tokens=1024)
    assert [item.clipped for item in result.items] == [True, False]
    assert counter.count(result.items[0].text) <= 256


def test_a_wider_share_shows_the_whole_turn(said, packed):
    result = packed(said(LONG_ANSWER), budget_tokens=2048, turn_share=1.0)
    assert texts(result) == [LONG_ANSWER]
    assert not result.items[0].clipped


def test_a_budget_below_the_minimum_is_refused_with_the_minimum(packed):
    with pytest.raises(InvalidInput, match=f"at least {MIN_BUDGET_TOKENS}"):
        packed(budget_tokens=MIN_BUDGET_TOKENS - 1)


def test_the_minimum_holds_a_line(said, packed):
    result = packed(
        said("I keep the spare key under the blue pot."), budget_tokens=MIN_BUDGET_TOKENS
    )
    assert "spare key" in result.text


def test_a_budget_that_holds_no_line_gives_an_empty_pack_and_says_budget(said, packed):
    class Characters:
        name = "characters"

        def count(self, text):
            return len(text)

    result = packed(said("hello"), budget_tokens=60, counter=Characters())
    assert (result.text, result.items, result.n_tokens) == ("", (), 0)
    assert [cut.reason for cut in result.cut] == ["budget"]


def test_a_whole_that_counts_more_than_its_lines_loses_lines_until_it_fits(said, packed):
    class Squares:
        name = "squares"

        def count(self, text):
            return len(text.split()) ** 2 // 8

    turns = [said(f"thing number {n}") for n in range(30)]
    result = packed(*turns, budget_tokens=300, counter=Squares())
    assert 0 < result.n_tokens <= 300
    assert [item.turn for item in result.items] == turns[: len(result.items)]
    assert {cut.hit.turn.id for cut in result.cut} == {t.id for t in turns[len(result.items) :]}


@pytest.mark.parametrize(
    "bad",
    [
        {"turn_share": 0.0},
        {"turn_share": 1.5},
        {"repeat_similarity": float("nan")},
        {"turn_floor_tokens": 0},
        {"context_tokens": 0},
        {"question_words": -1},
        {"answer_words": -1},
        {"session_hits": -1},
    ],
)
def test_parameters_out_of_range_are_refused(bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        PackParams(**bad)


# The question beside the answer


def test_a_short_answer_brings_its_question(said, packed):
    question = said("Which colour for the nursery?", "assistant", role=Role.ASSISTANT)
    answer = said("The pale green, definitely.", "Tom")
    result = packed(answer, session=[question])
    assert texts(result) == [question.text, answer.text]
    assert [item.part for item in result.items] == [Part.CONTEXT, Part.HIT]
    assert result.items[0].hit.turn == answer


def test_a_long_question_before_a_short_answer_is_clipped_to_what_it_asks(said, packed):
    question = said(
        LONG_ANSWER + " Which colour for the nursery?", "assistant", role=Role.ASSISTANT
    )
    result = packed(said("Green.", "Tom"), session=[question], context_tokens=36)
    assert result.items[0].clipped
    assert result.items[0].text.startswith("… ")
    assert result.items[0].text.endswith("Which colour for the nursery?")


@pytest.mark.parametrize(
    ("before", "speaker", "after"),
    [
        ("I painted all day.", "assistant", "The pale green, definitely."),
        ("Which colour for the nursery?", "Tom", "The pale green, definitely."),
        (
            "Which colour for the nursery?",
            "assistant",
            "The pale green, since it goes so well with the curtains that my mother made.",
        ),
    ],
    ids=["no question", "the same speaker", "a long answer"],
)
def test_a_turn_that_stands_on_its_own_brings_nothing(said, packed, before, speaker, after):
    earlier = said(before, speaker)
    assert texts(packed(said(after, "Tom"), session=[earlier])) == [after]


def test_a_question_brings_the_answer_after_it(said, packed):
    question = said("Where did you put the spare key?", "Tom")
    answer = said("I keep it under the blue pot.", "Mira")
    result = packed(question, session=[answer])
    assert texts(result) == [question.text, answer.text]
    assert [item.part for item in result.items] == [Part.HIT, Part.CONTEXT]


def test_questions_and_answers_can_be_switched_off(said, packed):
    question = said("Which colour?", "Tom")
    answer = said("Green.", "Mira")
    assert texts(packed(answer, session=[question], question_words=0)) == ["Green."]
    assert texts(packed(question, session=[answer], answer_words=0)) == ["Which colour?"]


def test_a_hit_that_is_there_as_context_becomes_a_hit(said, packed):
    question = said("Which colour?", "Tom")
    answer = said("Green.", "Mira")
    result = packed(answer, question)
    assert [item.part for item in result.items] == [Part.HIT, Part.HIT]
    assert [item.hit.rank for item in result.items] == [2, 1]
    assert result.cut == ()


def test_context_that_does_not_fit_is_left_out_silently(said, packed):
    question = said("Which colour " + "oh which colour " * 20 + "?", "Tom")
    answer = said("Green, and I will not say it again.", "Mira")
    result = packed(answer, session=[question], budget_tokens=52, context_tokens=500)
    assert texts(result) == [answer.text]
    assert result.cut == ()


def test_neighbours_fill_only_what_is_left(said, packed):
    before, hit, after = said("I went out."), said("The market sold cod."), said("Then it rained.")
    assert texts(packed(hit, session=[before, after])) == [hit.text]
    full = packed(hit, session=[before, after], neighbours=True)
    assert texts(full) == [before.text, hit.text, after.text]
    assert [item.part for item in full.items] == [Part.CONTEXT, Part.HIT, Part.CONTEXT]
    tight = packed(hit, session=[before, after], neighbours=True, budget_tokens=full.n_tokens - 1)
    assert texts(tight) == [before.text, hit.text]


# Repeats


def test_a_repeat_is_recorded_and_not_shown(said, packed):
    one, two = said("I love oat milk."), said("I love oat milk!")
    result = packed(one, two)
    assert texts(result) == [one.text]
    assert result.items[0].repeats == (two.id,)
    assert [(cut.hit.turn, cut.reason) for cut in result.cut] == [(two, "repeat")]


def test_a_repeat_on_another_day_leaves_its_date(said, packed):
    one, two = said("My phone is 555-0101."), said("My phone is 555-0101.", day=20, session="s2")
    assert "[1] Mira (also 2023-05-20): My phone is 555-0101." in packed(one, two).text


def test_only_the_latest_days_of_many_repeats_are_shown(said, packed):
    turns = [said("I went for a run.", day=day) for day in (1, 9, 3, 7, 5)]
    assert "Mira (also 2023-05-05 2023-05-07 2023-05-09): I went" in packed(*turns).text


def test_other_numbers_are_other_facts(said, packed):
    one, two = said("My phone is 555-0101."), said("My phone is 555-0199.")
    assert len(packed(one, two).items) == 2


def test_the_same_turn_twice_is_a_repeat_of_itself(said, beside):
    turn = said("I love oat milk.")
    hits = [Hit(turn=turn, rank=1, score=2.0), Hit(turn=turn, rank=2, score=1.0)]
    result = pack(hits, beside(turn), budget_tokens=100, counter=ApproximateCounter())
    assert [item.hit.rank for item in result.items] == [1]
    assert [(cut.hit.rank, cut.reason) for cut in result.cut] == [(2, "repeat")]


def test_a_date_of_a_repeat_never_breaks_the_budget(said, packed):
    one, two = said("My phone is 555-0101."), said("My phone is 555-0101.", day=20)
    alone = max(packed(one, budget_tokens=100).n_tokens, MIN_BUDGET_TOKENS)
    for room in range(20):
        result = packed(one, two, budget_tokens=alone + room)
        assert result.n_tokens <= alone + room
    assert result.items[0].repeats == (two.id,)


def test_a_hit_that_no_room_is_left_for_is_cut_unread(said, packed):
    turns = [
        said(f"Line number {n} speaks of quite other things, {n * 7} of them.") for n in range(9)
    ]
    result = packed(*turns, budget_tokens=MIN_BUDGET_TOKENS + 20)
    assert {cut.reason for cut in result.cut} == {"budget"}
    assert len(result.items) + len(result.cut) == 9


# Spread over sessions


def test_hits_beyond_the_limit_of_a_session_wait_for_the_others(said, packed):
    crowd = [said(f"one of many things, number {n}", session="crowd") for n in range(20)]
    lonely = said("one thing from elsewhere", session="lonely")
    turns = [*crowd, lonely]
    assert lonely.text not in texts(packed(*turns, budget_tokens=128))
    assert lonely.text in texts(packed(*turns, budget_tokens=128, session_hits=2))


# How much fits


def test_at_least_24_turns_of_a_chat_fit_in_1024_tokens(said, packed):
    sentence = (
        "We finally went to see that house by the river on Sunday, Caroline, and I think it could be "
        "just right for all {n} of us!"
    )
    turns = [
        said(sentence.format(n=n), "Caroline", session=f"s{n % 11}", day=1 + n % 11)
        for n in range(2, 40)
    ]
    assert len(sentence.split()) == 26
    assert len(packed(*turns).items) >= 24


def test_repeats_cost_no_counting_once_their_latest_days_are_known(said, beside, ranked):
    counted = []

    class Counting(ApproximateCounter):
        def count(self, text):
            counted.append(text)
            return super().count(text)

    turns = [said("I went out for a walk.", day=day) for day in (9, 8, 7, 6, *[5, 6, 7] * 100)]
    made = pack(ranked(*turns), beside(*turns), budget_tokens=500, counter=Counting())
    assert "(also 2023-05-06 2023-05-07 2023-05-08)" in made.text
    assert len(made.items[0].repeats) == len(turns) - 1
    assert len(counted) < 12
