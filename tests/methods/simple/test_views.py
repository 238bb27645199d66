"""The three views, each on its own."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy.sparse import csr_array

from combray.index.facts import UNDATED_END, UNDATED_START, Persons
from combray.index.records import RecordView
from combray.methods.simple.plan import SimplePlan
from combray.methods.simple.symbolic import counted, symbolic
from combray.methods.simple.views import dense, lexical
from combray.model import FactNotes, span_of
from combray.model.time import to_micros
from combray.store.derived import DerivedState
from combray.text.light import LightAnalyser

UNITS = [
    ("Ann has two Bengal cats.", FactNotes(people=("Ann Smith",), entities=("Bengal cats",))),
    (
        "Bob moved to Rome in May 2023.",
        FactNotes(people=("Bob",), about="2023-05", location="Rome"),
    ),
    ("Ann and Bob met on 7 June 2023.", FactNotes(people=("Ann", "Bob"), about="2023-06-07")),
    ("Zoe likes cats and cats like Zoe.", FactNotes(people=("Zoe",))),
]
NUMBERS = np.array([3, 5, 8, 13])
SAID = datetime(2023, 5, 20, 9, tzinfo=UTC)


@dataclass
class Postings:
    term: np.ndarray
    record: np.ndarray
    tf: np.ndarray
    length: np.ndarray
    n: int
    mean_length: float


def held():
    texts = [text for text, _ in UNITS]
    found = LightAnalyser().analyse(texts, [SAID] * len(texts))
    return [counted(one.terms, notes) for one, (_, notes) in zip(found, UNITS, strict=True)]


def read(terms):
    bags = held()
    lengths = [sum(bag.values()) for bag in bags]
    rows = [
        (t, int(NUMBERS[i]), bag[term], lengths[i])
        for t, term in enumerate(terms)
        for i, bag in enumerate(bags)
        if term in bag
    ]
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    return Postings(*table.T, n=len(bags), mean_length=float(np.mean(lengths)))


def records():
    return RecordView(
        state=DerivedState(revision=1, epoch=1, dimension=2),
        number=NUMBERS,
        kind=np.zeros(4, dtype=np.int8),
        current=np.ones(4, dtype=np.bool_),
        vectors=np.array([[1, 0], [0, 1], [0.6, 0.8], [-1, 0]], dtype=np.float32),
    )


class Facts:
    """As much of a `FactView` as the symbolic view reads."""

    def __init__(self):
        self.records = records()
        self.n = self.records.n
        names = [notes.people for _, notes in UNITS]
        self.persons = Persons.of(["Ann", "Bob", *(name for row in names for name in row)])
        table = np.zeros((self.n, self.persons.n), dtype=np.float32)
        for row, own in enumerate(names):
            table[row, [self.persons.numbers[name] for name in own]] = 1
        self.people = csr_array(table)
        spans = [notes.span for _, notes in UNITS]
        self.about_start = np.array([to_micros(s.start) if s else UNDATED_START for s in spans])
        self.about_end = np.array([to_micros(s.end) if s else UNDATED_END for s in spans])
        self.doc = np.array([1, 2, 3, 4])


class Turns:
    """As much of a `BankView` as the symbolic view reads."""

    @dataclass
    class columns:
        said_at = np.array([to_micros(SAID)] * 4)

    @staticmethod
    def rows(docs):
        return docs - 1


def met(**plan):
    found = symbolic(SimplePlan(semantic=("q",), **plan), Facts(), read, Turns())
    return [None if value == -np.inf else round(float(value), 2) for value in found]


def test_people_are_found_by_any_of_their_names_and_counted_in_part():
    assert met(people=("Ann",)) == [1, None, 1, None]
    assert met(people=("Ann", "Bob")) == [0.5, 0.5, 1, None]
    assert met(people=("Carl",)) == [None] * 4


def test_entities_and_places_are_found_by_their_words():
    assert met(entities=("Bengal cat",)) == [1, None, None, None]
    assert met(entities=("cats",)) == [1, None, None, None]
    assert met(location="Rome") == [None, 1, None, None]


def test_a_time_is_met_by_what_is_about_it_and_half_by_what_was_said_then():
    assert met(time=span_of("2023-05")) == [0.5, 1, None, 0.5]
    assert met(time=span_of("2023-06-07")) == [None, None, 1, None]
    assert met(time=span_of("2023")) == [0.5, 1, 1, 0.5]


def test_conditions_add_up_and_none_is_a_must():
    assert met(people=("Bob",), location="Rome", time=span_of("2023-05")) == [0.5, 3, 1, 0.5]


def test_a_plan_without_conditions_meets_nothing():
    assert met() == [None] * 4


def test_bm25_of_units_is_that_of_the_formula():
    scores = lexical(records(), read, ["cat", "rome", "cat"], k1=1.2, b=0.75)
    lengths = [sum(bag.values()) for bag in held()]
    average = np.mean(lengths)

    def weight(tf, df, length):
        return (
            np.log1p((4 - df + 0.5) / (df + 0.5))
            * tf
            / (tf + 1.2 * (0.25 + 0.75 * length / average))
        )

    assert scores[0] == pytest.approx(weight(1, 2, lengths[0]))
    assert scores[1] == pytest.approx(weight(1, 1, lengths[1]))
    assert scores[2] == -np.inf
    assert scores[3] == pytest.approx(weight(2, 2, lengths[3]))


def test_no_words_and_unknown_words_find_nothing():
    assert (lexical(records(), read, [], k1=1.2, b=0.75) == -np.inf).all()
    assert (lexical(records(), read, ["zebra"], k1=1.2, b=0.75) == -np.inf).all()


def test_the_dense_view_takes_the_nearest_of_several_queries():
    queries = np.array([[1, 0], [0, 1]], dtype=np.float32)
    assert dense(records(), queries).round(2).tolist() == [1, 1, 0.8, 0]
