"""Associative recall on records made by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.methods.atom.hand_made import HandMade, event, fact, query, statement, turns

from combray.methods.atom import Atom, AtomParams, Intent
from combray.methods.atom.asked import ANY_TIME, ANYBODY
from combray.methods.atom.atom import NO_FACTS, NO_VECTORS
from combray.model import span_of

NEAR, NEARER, FAR = (0.8, 0.6, 0, 0), (0.9, 0.4, 0, 0), (0, 0, 1, 0)


def ranked(made, text="What about it?", *, allowed=None, params=None, **asked):
    method = Atom(params=params or AtomParams())
    return method.rank(query(text, **asked), made.evidence(allowed))


def turns_of(ranking):
    return (ranking.rows + 1).tolist()


def assert_sound(ranking, k):
    assert len(ranking.rows) == len(set(ranking.rows.tolist())) <= k
    assert (np.diff(ranking.scores) <= 0).all()
    assert sum(ranking.contributions.values()) == pytest.approx(ranking.scores)
    assert all(len(channel) == len(ranking.rows) for channel in ranking.channels.values())
    assert 0 <= ranking.support <= 1
    assert len(ranking.records) == len(ranking.record_scores)
    assert (np.diff(ranking.record_scores) <= 0).all()


@pytest.mark.parametrize("records", [[], [event([])], [fact(1, current=False)]])
def test_without_facts_a_note_says_so(records):
    ranking = ranked(HandMade(records, turns(1)))
    assert turns_of(ranking) == []
    assert ranking.notes == (NO_FACTS,)


def test_one_fact_leads_to_its_turn():
    ranking = ranked(HandMade([fact(1, NEAR, keywords=["tea"])], turns(2)))
    assert turns_of(ranking) == [1]
    assert ranking.records.tolist() == [1]
    assert ranking.support == pytest.approx(0.8)
    assert_sound(ranking, 10)


def test_all_sources_of_a_fact_come_in_its_place():
    made = HandMade([fact(docs=(3, 1), vector=NEARER), fact(2, NEAR)], turns(3))
    assert turns_of(ranked(made)) == [1, 3, 2]
    assert turns_of(ranked(made, k=1)) == [1]


def test_a_closed_fact_leads_nowhere_and_is_not_shown():
    made = HandMade(
        [
            fact(1, NEARER, keywords=["tea"], current=False),
            fact(2, NEAR, keywords=["tea"]),
            event([1, 2]),
        ],
        turns(2),
    )
    ranking = ranked(made, "Which tea?")
    assert turns_of(ranking) == [2]
    assert ranking.records.tolist() == [2, 3]


def test_what_shares_an_event_with_the_best_fact_comes_before_what_is_nearer():
    records = [fact(1, (1, 0, 0, 0)), fact(2, FAR), fact(3, (0.3, 1, 0, 0)), event([1, 2], NEAR)]
    made = HandMade(records, [(f"s{n}", "Ann", "2023-05-08") for n in range(3)])
    one = AtomParams(n_primary=1)
    assert turns_of(ranked(made, params=one)) == [1, 2, 3]
    assert turns_of(ranked(made, params=replace(one, n_compensatory=0, graph=False))) == [1, 3, 2]


def test_the_walk_leads_to_a_fact_that_the_query_is_not_like():
    records = [
        fact(1, (1, 0, 0, 0), keywords=["bowl"]),
        fact(2, FAR, keywords=["bowl"]),
        *(fact(n, (0.2, 1, 0, 0), keywords=["other"]) for n in range(3, 7)),
    ]
    made = HandMade(records, [(f"s{n}", "Ann", "2023-05-08") for n in range(6)])
    one = AtomParams(n_primary=1)
    assert turns_of(ranked(made, params=one))[:2] == [1, 2]
    flat = ranked(made, params=replace(one, graph=False))
    assert turns_of(flat) == [1, 3, 4, 5, 6, 2]
    assert ranked(made, params=one).channels["walk"][1] > 0


def test_equal_facts_stand_in_order_of_their_number():
    made = HandMade([fact(n, NEAR) for n in (4, 2, 1, 3)], turns(4))
    assert turns_of(ranked(made, params=AtomParams(graph=False, seed_rank_bonus=0))) == [4, 2, 1, 3]


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_that_of_the_facts_whatever_came_first(seed):
    chance = random.Random(seed)
    said = [(f"s{n % 4}", "Ann", "2023-05-08") for n in range(30)]
    facts = [
        fact(n, [chance.random() for _ in range(4)], keywords=chance.sample("abcdef", 2))
        for n in range(1, 31)
    ]
    mixed = chance.sample(facts, len(facts))
    one, other = (
        ranked(HandMade(records, said), "What of a and b?", k=30) for records in (facts, mixed)
    )
    assert turns_of(one) == turns_of(other)
    assert one.scores == pytest.approx(other.scores)
    assert_sound(one, 30)


def test_with_fill_the_facts_go_on_until_there_are_enough_turns():
    # Three facts a turn: twice as many facts as turns are too few.
    records = [fact(1 + n // 3, (1, n / 100, 0, 0)) for n in range(90)]
    made = HandMade(records, [(f"s{n}", "Ann", "2023-05-08") for n in range(30)])
    assert len(ranked(made, k=25).rows) == 25
    assert len(ranked(made, k=100).rows) == 30
    short = ranked(made, k=25, params=AtomParams(fill=False))
    assert 0 < len(short.rows) <= 10
    assert len(short.records) == 10
    assert_sound(ranked(made, k=25), 25)


def two_people():
    return HandMade(
        [
            fact(1, NEAR, people=["Ann"], about="2023-05-02"),
            fact(2, NEARER, people=["Bo"], about="2023-06"),
            fact(3, FAR, people=["Ann"]),
        ],
        [("s1", "Ann", "2023-05-08"), ("s2", "Bo", "2023-06-08"), ("s3", "Ann", "2023-07-08")],
    )


def test_facts_about_the_people_asked_for_come_before_nearer_ones():
    ranking = ranked(two_people(), "What did Ann do?")
    assert turns_of(ranking) == [1, 3, 2]
    assert ranking.contributions["outside"].tolist() == [0, 0, -2]
    assert ranking.notes == ()
    assert turns_of(ranked(two_people(), "What did Ann do?", params=AtomParams(relax=False))) == [
        1,
        3,
    ]


def test_people_whom_no_fact_is_about_do_not_empty_the_result():
    ranking = ranked(two_people(), plan=Intent(people=("Zoe",)))
    assert turns_of(ranking)[:2] == [2, 1]
    assert ranking.notes == (ANYBODY,)
    strict = ranked(two_people(), plan=Intent(people=("Zoe",)), params=AtomParams(relax=False))
    assert turns_of(strict) == []
    assert strict.records.tolist() == []


@pytest.mark.parametrize(
    ("about", "found"),
    [
        ("2023-05", [1]),  # told of a day in it
        ("2023-06-08", [2]),  # said on it
        ("2023-06", [2]),
        ("2023-07", [3]),
        ("2023", [2, 1, 3]),
    ],
)
def test_facts_of_the_time_are_those_that_tell_of_it_or_were_said_in_it(about, found):
    ranking = ranked(two_people(), plan=Intent(times=(span_of(about),)))
    fits = ranking.contributions["outside"] == 0
    assert turns_of(ranking)[: int(fits.sum())] == found
    assert ranking.notes == ()


def test_the_time_is_given_up_before_the_people():
    ranking = ranked(two_people(), plan=Intent(people=("Ann",), times=(span_of("2020"),)))
    assert turns_of(ranking) == [1, 3, 2]
    assert ranking.notes == (ANY_TIME,)
    both = ranked(two_people(), plan=Intent(people=("Zoe",), times=(span_of("2020"),)))
    assert set(both.notes) == {ANY_TIME, ANYBODY}
    people = ranked(two_people(), plan=Intent(people=("Zoe",), times=(span_of("2023-05"),)))
    assert people.notes == (ANYBODY,)
    assert turns_of(people)[0] == 1


def test_without_vectors_keywords_alone_lead_to_turns():
    made = HandMade(
        [fact(1), fact(2, keywords=["tea"]), fact(3, keywords=["tea", "cup"])], turns(3)
    )
    ranking = ranked(made, "Which tea is it?", vector=None)
    assert turns_of(ranking)[0] == 2
    assert 1 not in turns_of(ranking)
    assert ranking.notes == (NO_VECTORS,)
    assert ranking.support == 0
    nothing = ranked(made, "Which car is it?", vector=None)
    assert turns_of(nothing) == []
    assert nothing.notes == (NO_VECTORS,)


def test_a_keyword_of_the_question_lifts_a_fact():
    made = HandMade([fact(1, NEAR), fact(2, NEAR, keywords=["tea"])], turns(2))
    ranking = ranked(made, "Which teas?", params=AtomParams(graph=False))
    assert turns_of(ranking) == [2, 1]
    assert ranking.channels["keyword"].tolist() == [1.0, 0.0]


def test_turns_that_may_not_be_ranked_hide_their_facts():
    made = HandMade([fact(1, NEARER), fact(2, NEAR), fact(docs=(1, 3), vector=NEAR)], turns(3))
    ranking = ranked(made, allowed=[2, 3])
    assert turns_of(ranking) == [2, 3]
    # The third fact may lead to a turn, but rests on one that is hidden, so it is not shown.
    assert ranking.records.tolist() == [2]
    assert turns_of(ranked(made, allowed=[])) == []


def test_an_event_that_rests_on_a_hidden_turn_is_not_shown():
    records = [
        fact(1, NEARER),
        fact(2, NEAR),
        event([1, 2], NEAR, docs=(1, 2)),
        event([2], docs=(2,)),
    ]
    made = HandMade(records, turns(2))
    assert ranked(made).records.tolist() == [1, 2, 3, 4]
    assert ranked(made, allowed=[2]).records.tolist() == [2, 4]


def profiles():
    return HandMade(
        [
            fact(1, NEAR, people=["Ann"]),
            statement("Ann", "2023-01-01", NEAR, timeline="home", docs=(1,), current=False),
            statement("Ann", "2023-06-01", FAR, timeline="home", docs=(2,)),
            statement("Ann", "2023-02-01", NEARER, timeline="work", docs=(1,)),
            statement("Bo", "2023-01-01", NEARER, timeline="bo", docs=(2,)),
            replace(
                statement("Ann", "2023-01-01", NEARER),
                detail={"people": ["Ann"], "candidate": True},
            ),
        ],
        turns(2),
    )


HOME = Intent(attribute=True, people=("Ann",))


def test_profile_statements_that_hold_come_first_for_a_question_about_a_person():
    assert ranked(profiles(), plan=HOME).records.tolist() == [4, 3, 1]
    assert ranked(profiles(), "Where does Ann live?").records.tolist() == [4, 3, 1]
    assert ranked(profiles(), plan=HOME, params=AtomParams(n_profiles=1)).records.tolist() == [4, 1]


@pytest.mark.parametrize(
    "intent",
    [Intent(people=("Ann",)), Intent(attribute=True), Intent(attribute=True, people=("Zoe",))],
)
def test_without_a_person_or_something_lasting_there_are_no_profiles(intent):
    assert ranked(profiles(), plan=intent).records.tolist() == [1]


def test_profiles_can_be_left_out():
    assert ranked(profiles(), plan=HOME, params=AtomParams(profiles=False)).records.tolist() == [1]


@pytest.mark.parametrize(
    ("about", "statements"),
    [("2022", []), ("2023-01", [2]), ("2023-04", [4, 2]), ("2023-08", [4, 3])],
)
def test_a_time_chooses_the_versions_that_held_then(about, statements):
    intent = replace(HOME, times=(span_of(about),))
    assert [n for n in ranked(profiles(), plan=intent).records.tolist() if n > 1] == statements


def test_a_statement_that_rests_on_a_hidden_turn_is_not_shown():
    assert ranked(profiles(), plan=HOME, allowed=[1]).records.tolist() == [4, 1]


def test_a_plan_of_another_method_is_passed_over():
    made = two_people()
    assert turns_of(ranked(made, "What did Ann do?", plan={"people": ["Bo"]})) == [1, 3, 2]


@pytest.mark.parametrize("seed", range(6))
def test_whatever_is_there_the_ranking_is_sound_and_the_same_again(seed):
    chance = random.Random(seed)
    said = [(f"s{n % 5}", chance.choice(["Ann", "Bo"]), f"2023-0{1 + n % 9}-08") for n in range(40)]
    records = [
        fact(
            docs=tuple(chance.sample(range(1, 41), chance.randint(1, 2))),
            vector=[chance.gauss(0, 1) for _ in range(4)],
            people=chance.sample(["Ann", "Bo", "Cy"], chance.randint(0, 2)),
            keywords=chance.sample(["tea", "cup", "dog", "sea", "art"], chance.randint(0, 3)),
            about=chance.choice(["", "2023", "2023-05"]),
            current=chance.random() < 0.8,
        )
        for _ in range(60)
    ]
    records += [
        event(chance.sample(range(1, 61), 3), [chance.gauss(0, 1) for _ in range(4)], docs=(1,))
        for _ in range(15)
    ]
    made = HandMade(records, said)
    allowed = chance.sample(range(1, 41), 25)
    for text in ("Which tea does Ann like?", "What did Bo do in May 2023?", "Why?"):
        for k in (1, 7, 100):
            ranking = ranked(made, text, k=k, allowed=allowed)
            assert_sound(ranking, k)
            assert set(turns_of(ranking)) <= set(allowed)
            again = ranked(made, text, k=k, allowed=allowed)
            assert turns_of(again) == turns_of(ranking)
