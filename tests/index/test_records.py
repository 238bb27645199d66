from dataclasses import replace

import numpy as np
import pytest

from combray.index.records import RecordCache
from combray.model import RecordKind, Session
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.testing.derived_rows import METHOD, cluster, derive, numbers, verdict, window
from combray.testing.store_rows import NOON, Saying, new_bank


class Counting(RecordCache):
    """A cache of a store that counts the rows that are read."""

    def __init__(self, store):
        self.rows = []
        super().__init__(self, 1 << 30)
        self.store = store
        self.derived_state, self.record_changes = store.derived_state, store.record_changes

    def record_columns(self, bank, method, *, after=0):
        columns = self.store.record_columns(bank, method, after=after)
        self.rows.append(len(columns.number))
        return columns

    def now(self):
        return self.view("alpha", METHOD)


@pytest.fixture
def store(tmp_path):
    with SqliteStore(tmp_path / "evidence.db", synchronous="NORMAL") as store:
        store.create_bank(replace(new_bank("alpha"), methods=(METHOD,)))
        store.put("alpha", Session(name="s1"), [Saying(text=f"turn {n}").row() for n in range(4)])
        docs = store.columns("alpha").doc.tolist()
        derive(store, *(window([doc], name) for doc, name in zip(docs, "ABCD", strict=True)))
        yield store


def test_a_closed_record_keeps_its_row_and_is_of_no_kind_any_more(store):
    cache = Counting(store)
    first = cache.now()
    a, b, c, d = numbers(store, *"ABCD")
    docs = store.columns("alpha").doc.tolist()
    derive(store, verdict([a, b], b), cluster([a], docs[:1], "E"))
    view = cache.now()
    assert view.number[:4].tolist() == [a, b, c, d]
    assert view.current.tolist() == [True, False, True, True, True]
    assert view.of_kind(RecordKind.FACT).tolist() == [0, 2, 3]
    assert view.all_of_kind(RecordKind.FACT).tolist() == [0, 1, 2, 3]
    assert view.of_kind(RecordKind.EVENT).tolist() == [4]
    assert cache.rows == [4, 1]
    assert first.current.tolist() == [True] * 4


def test_a_record_that_was_replaced_keeps_its_row_until_the_next_epoch(store):
    cache = Counting(store)
    first = cache.now()
    docs = store.columns("alpha").doc.tolist()
    derive(store, window(docs[:2], "New"), drop=[("facts", window(docs[:1]).key)])
    view = cache.now()
    assert view.state.epoch == first.state.epoch
    assert view.current.tolist() == [False, True, True, True, True]
    assert cache.rows == [4, 1]
    assert cache.now() is view
    turn = store.turns_by_doc("alpha", docs[3:])[docs[3]]
    store.forget("alpha", Selection(turns=[turn.id]), NOON)
    after = cache.now()
    assert after.number.tolist() == numbers(store, "B", "C", "New")
    assert after.current.all()
    assert view.current.tolist() == [False, True, True, True, True]


def test_a_record_that_came_and_went_between_two_looks_has_no_row(store):
    cache = Counting(store)
    cache.now()
    docs = store.columns("alpha").doc.tolist()
    derive(store, window(docs[:2], "New", key="k"))
    derive(store, window(docs[:2], "Newer", key="l"), drop=[("facts", "k")])
    view = cache.now()
    assert view.number.tolist() == numbers(store, *"ABCD", "Newer")
    assert view.current.all()


def test_a_record_that_holds_again_is_current_again(store):
    cache = Counting(store)
    a, *_ = numbers(store, *"ABCD")
    derive(store, verdict([a], a, key="v"))
    assert not cache.now().current[0]
    derive(store, drop=[("verdict", "v")])
    assert cache.now().current.all()


def test_a_view_follows_a_bank_through_many_replacements(store):
    cache = RecordCache(store, 1 << 30)
    doc = store.columns("alpha").doc.tolist()[0]
    for n in range(12):
        texts = [f"{n}.{i}" for i in range(60)]
        derive(store, window([doc], *texts, key=f"k{n}"), drop=[("facts", f"k{n - 1}")])
        view, columns = cache.view("alpha", METHOD), store.record_columns("alpha", METHOD)
        assert np.array_equal(view.number[view.current], columns.number[columns.current])
