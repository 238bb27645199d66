"""What is noted of records as arrays: in step with the records, whatever came and went, and read once."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.methods.atom.hand_made import HandMade, Record, event, fact, statement, turns

from combray.index.facts import UNDATED_END, UNDATED_START
from combray.model import FactNotes, RecordKind, span_of
from combray.model.time import to_micros


def keywords_of(view, row):
    named = {column: word for word, column in view.words.columns.items()}
    return {named[column] for column in view.keywords[[row]].indices.tolist()}


def same(a, b):
    """Whether two views tell the same; columns may stand in another order."""
    assert a.records.number.tolist() == b.records.number.tolist()
    for row in range(a.n):
        assert keywords_of(a, row) == keywords_of(b, row)
    for name in ("about_start", "about_end", "doc", "doc_order"):
        assert getattr(a, name).tolist() == getattr(b, name).tolist(), name
    for name in ("people", "members", "member_of", "by_person"):
        assert (getattr(a, name).toarray() == getattr(b, name).toarray()).all(), name
    assert (a.by_keyword.toarray() == a.keywords.toarray().T).all()
    return True


def test_an_empty_bank_has_an_empty_view():
    view = HandMade([]).facts()
    assert view.n == 0
    assert view.keywords.shape == (0, 0)
    assert view.members.shape == (0, 0)
    assert view.columns_of(["tea"]).tolist() == []
    assert view.people_of(["Ann"]).tolist() == []


def test_each_row_has_its_keywords_people_time_and_document():
    made = HandMade(
        [
            fact(2, people=["Ann"], keywords=["tea", "cup"], about="2023-05"),
            fact(1, people=["Bo", "Annabel Lee"], keywords=["tea", "tea"]),
            event(
                [1, 2],
                **{"from": "2023-05-01T00:00:00.000000Z", "to": "2023-06-01T00:00:00.000000Z"},
            ),
            statement("Bo", "2023-05-08"),
        ],
        turns(2),
    )
    view = made.facts()
    assert [keywords_of(view, row) for row in range(4)] == [{"tea", "cup"}, {"tea"}, set(), set()]
    assert view.keywords.data.tolist() == [1, 1, 1]
    may = span_of("2023-05")
    assert view.about_start.tolist()[:3] == [
        to_micros(may.start),
        UNDATED_START,
        to_micros(may.start),
    ]
    assert view.about_end.tolist()[:3] == [to_micros(may.end), UNDATED_END, to_micros(may.end)]
    assert view.about_start[3] == to_micros(span_of("2023-05-08").start)
    assert view.doc.tolist() == [2, 1, 0, 0]
    assert view.doc_order.tolist() == [2, 3, 1, 0]
    assert view.members.toarray()[2].tolist() == [1, 1, 0, 0]
    assert view.timeline.tolist() == [-1, -1, -1, 0]
    assert view.is_fact.tolist() == [True, True, False, False]


def test_names_of_one_person_are_one_column():
    made = HandMade(
        [fact(people=["Mel"]), fact(people=["Melanie", "Mel"]), fact(people=["Caro"])],
        [("s", "Melanie", "2023-05-08"), ("s", "Caroline", "2023-05-08")],
    )
    view = made.facts()
    melanie, caroline = view.people_of(["Melanie"]), view.people_of(["Caroline"])
    assert view.people.data.tolist() == [1, 1, 1]
    assert view.with_people(melanie).tolist() == [True, True, False]
    assert view.with_people(caroline).tolist() == [False, False, True]
    assert view.people_of(["Mel", "Melanie"]).tolist() == melanie.tolist()


def test_a_later_name_can_tell_two_people_apart():
    made = HandMade([fact(people=["Ann"]), fact(people=["Ann Smith"])], turns(1, speakers=("Bo",)))
    first = made.facts()
    assert len(set(first.people.indices.tolist())) == 1
    made.records.append(fact(people=["Ann Miller"]))
    assert len(set(made.facts().people.indices.tolist())) == 3
    assert len(set(first.people.indices.tolist())) == 1


def test_a_new_speaker_makes_a_new_view_and_reads_nothing_old():
    made = HandMade([fact(people=["Mel"])], turns(1, speakers=("Bo",)))
    made.facts()
    made.turns.append(("s2", "Melanie", "2023-06-01"))
    assert made.facts().people_of(["Melanie"]).tolist() == made.facts().people_of(["Mel"]).tolist()
    assert made.asked == [0, 1]


def test_the_same_records_give_the_same_view():
    made = HandMade([fact(keywords=["tea"])], turns(1))
    assert made.facts() is made.facts()
    assert made.asked == [0]


def test_an_older_view_stays_as_it_was_when_the_bank_grows():
    made = HandMade([fact(keywords=["tea"])], turns(1))
    old = made.facts()
    made.records.append(fact(keywords=["cup", "tea"]))
    new = made.facts()
    assert old.keywords.shape == (1, 1)
    assert old.columns_of(["cup", "tea"]).tolist() == [0]
    assert new.columns_of(["cup", "tea"]).tolist() == [0, 1]


def test_what_was_replaced_leaves_the_view():
    made = HandMade([fact(keywords=["tea"]), fact(keywords=["cup"]), event([1, 2])], turns(1))
    made.facts()
    made.gone.add(1)
    view = made.facts()
    assert view.records.number.tolist() == [2, 3]
    assert keywords_of(view, 0) == {"cup"}
    assert view.members.toarray().tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("seed", range(5))
def test_a_view_that_grew_is_that_of_all_at_once(seed):
    chance = random.Random(seed)
    made = HandMade([], turns(6))
    for _ in range(12):
        for _ in range(chance.randint(0, 4)):
            made.records.append(any_record(chance, len(made.records)))
        if made.records and chance.random() < 0.2:
            made.gone.add(chance.randint(1, len(made.records)))
        if chance.random() < 0.1:
            made.epoch += 1
        at_once = HandMade(made.records, made.turns, made.gone)
        assert same(made.facts(), at_once.facts())


def any_record(chance, n):
    if n > 1 and chance.random() < 0.3:
        return event(chance.sample(range(1, n + 1), 2))
    return fact(
        chance.randint(0, 6),
        people=chance.sample(["Ann", "Ann Smith", "Bo", "Bob"], chance.randint(0, 2)),
        keywords=chance.sample(["tea", "cup", "dog", "sea"], chance.randint(0, 3)),
        about=chance.choice(["", "2023", "2023-05", "2023-05-08"]),
    )


def test_while_the_epoch_stands_no_detail_is_read_twice():
    made = HandMade([fact(), fact()], turns(1))
    made.facts()
    made.records.append(fact())
    made.facts()
    assert made.asked == [0, 2]
    made.epoch += 1
    made.facts()
    assert made.asked == [0, 2, 0]


def test_details_that_are_not_as_they_should_be_count_as_empty():
    made = HandMade(
        [
            Record(detail={"people": "Ann", "keywords": 3, "about": "soon"}),
            Record(kind=RecordKind.EVENT, detail={"from": "then", "to": None}),
        ]
    )
    view = made.facts()
    assert view.people.nnz == view.keywords.nnz == 0
    assert (view.about_start > view.about_end).all()


@pytest.mark.parametrize(
    "about", ["2023", " 2023-05 ", "2023-05-08", "2023-13", "May", "", None, 7]
)
@pytest.mark.parametrize("texts", [[" Ann ", "", 3], "Ann", None, {"Ann": 1}])
def test_a_record_has_what_its_notes_have(about, texts):
    detail = {"people": texts, "keywords": texts, "about": about}
    view, notes = HandMade([Record(detail=detail)]).facts(), FactNotes.of(detail)
    assert tuple(view.words.columns) == notes.keywords
    assert tuple(view.persons.numbers) == notes.people
    span = notes.span
    told = (to_micros(span.start), to_micros(span.end)) if span else (UNDATED_START, UNDATED_END)
    assert (view.about_start[0], view.about_end[0]) == told


def test_keywords_with_the_same_stems_are_found_together():
    words = HandMade([fact(keywords=["class", "classes", "art class"])]).facts().words
    assert set(words.by_stems["class"]) == {"class", "classes"}


def test_memory_counts_all_arrays():
    view = HandMade([fact(keywords=["tea"])], turns(1)).facts()
    assert view.n_bytes > np.zeros(1).nbytes
