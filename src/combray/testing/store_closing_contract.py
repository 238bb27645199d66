"""What a store promises of records that hold no longer, of units that are wanted again, and of copies kept up to date."""

# ruff: noqa: D102 (the name of a contract test is its documentation)

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from combray.errors import InvalidInput
from combray.model import RecordKind, Status
from combray.store.base import Selection, Store
from combray.store.derived import Closing, UnitRow
from combray.testing.derived_rows import (
    MADE_BY,
    METHOD,
    cluster,
    derive,
    event,
    fact,
    numbers,
    tasks,
    texts,
    verdict,
    window,
)
from combray.testing.store_derived_contract import StoreDerivedContract
from combray.testing.store_rows import NOON, new_bank

MAY = datetime(2023, 5, 1, tzinfo=timezone(timedelta(hours=9)))
JUNE = datetime(2023, 6, 1, tzinfo=UTC)


class StoreClosingContract(StoreDerivedContract):
    """The part of `combray.testing.StoreContract` that concerns closed records and units that are wanted again."""

    @pytest.fixture
    def facts(self, told: Store) -> Store:
        """A store with the facts A, B, C and D of one turn each, all linked."""
        derive(
            told, *(window([doc], name) for doc, name in zip(self.docs(told), "ABCD", strict=True))
        )
        derive(told, staged=numbers(told, *"ABCD"))
        return told

    def epoch(self, store: Store) -> int:
        """Of the derived records of the bank ``alpha``."""
        return store.derived_state("alpha").epoch

    def window_of(self, store: Store, place: int) -> tuple[str, str]:
        """Kind and key of the unit that made a fact of the turn at that place."""
        return "facts", window(self.docs(store)[place : place + 1]).key

    # Closing

    def test_a_closed_record_stays_with_what_it_was(self, facts: Store) -> None:
        a, b, *_ = numbers(facts, *"ABCD")
        before = facts.derived_state("alpha")
        old = facts.records("alpha", [a])[a]
        closing = Closing(record=a, by=fact("B").id, valid_to=MAY)
        unit = verdict([b, a], closing)
        later = NOON + timedelta(hours=1)
        receipt = derive(facts, unit, at=later)
        assert receipt.stored == (unit.key,)
        record = facts.records("alpha", [a])[a]
        assert record == replace(
            old,
            status=Status.SUPERSEDED,
            retired_at=later,
            superseded_by=fact("B").id,
            valid_to=MAY,
        )
        assert record.valid_to is not None
        assert record.valid_to.utcoffset() == MAY.utcoffset()
        assert texts(facts) == ["B", "C", "D"]
        columns = facts.record_columns("alpha", METHOD)
        assert columns.current.tolist() == [False, True, True, True]
        assert self.epoch(facts) == before.epoch
        changes = facts.record_changes("alpha", METHOD, since=before.revision)
        assert (changes.closed.tolist(), changes.gone.tolist()) == ([a], [])
        state = facts.derived_state("alpha")
        changes = facts.record_changes("alpha", METHOD, since=state.revision)
        assert (changes.closed.tolist(), changes.gone.tolist()) == ([], [])
        assert facts.check()[0].severity == "ok"

    def test_since_when_a_record_holds_comes_back(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], replace(fact("A", docs[0]), valid_from=MAY), "B"))
        a, b = numbers(told, "A", "B")
        found = told.records("alpha", [a, b])
        assert (found[a].valid_from, found[b].valid_from) == (MAY, None)
        assert f"{found[a].valid_from:%Y-%m-%d}" == "2023-05-01"
        assert (found[a].valid_to, found[a].superseded_by) == (None, "")

    def test_a_record_may_be_closed_by_one_that_the_same_unit_makes(self, facts: Store) -> None:
        docs, (a, b, *_) = self.docs(facts), numbers(facts, *"ABCD")
        closes = [
            Closing(record=n, status=Status.MERGED, by=event("AB").id, valid_to=None)
            for n in (a, b)
        ]
        (number,) = derive(
            facts, replace(cluster([a, b], docs[:2], "AB"), closes=tuple(closes))
        ).records.values()
        found = facts.records("alpha", [a, b, number])
        assert {found[n].superseded_by for n in (a, b)} == {found[number].id}
        assert {found[n].status for n in (a, b)} == {Status.MERGED}
        assert texts(facts) == ["C", "D", "AB"]

    def test_a_closed_record_is_not_to_be_linked(self, facts: Store) -> None:
        facts.relink("alpha", METHOD, NOON)
        a, b, c, d = numbers(facts, *"ABCD")
        derive(facts, verdict([a], a))
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == [b, c, d]

    def test_a_record_whose_closing_is_dropped_holds_again(self, facts: Store) -> None:
        a, b, *_ = numbers(facts, *"ABCD")
        old = facts.records("alpha", [a])[a]
        derive(facts, verdict([a, b], a, key="v"))
        epoch = self.epoch(facts)
        receipt = derive(facts, drop=[("verdict", "v")])
        assert receipt.removed["closing"] == 1
        assert facts.records("alpha", [a])[a] == old
        assert self.epoch(facts) > epoch
        assert facts.record_changes("alpha", METHOD, since=0).closed.tolist() == []
        # What a method drops itself it has its own plans for.
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == []
        assert facts.check()[0].severity == "ok"

    def test_a_record_holds_again_when_what_its_closing_read_is_forgotten(
        self, facts: Store
    ) -> None:
        docs, (a, b, *_) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, verdict([a, b], a, docs=[docs[3]]))
        epoch = self.epoch(facts)
        self.forget_docs(facts, docs[3])
        assert texts(facts) == ["A", "B", "C"]
        assert self.epoch(facts) > epoch
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == [a, b]
        assert ("link", "", "waiting") in tasks(facts.jobs("alpha"))
        assert facts.check()[0].severity == "ok"

    def test_a_record_holds_again_when_the_one_that_holds_instead_goes(self, facts: Store) -> None:
        a, b, *_ = numbers(facts, *"ABCD")
        derive(facts, verdict([a, b], Closing(record=a, by=fact("B").id)))
        epoch = self.epoch(facts)
        derive(facts, drop=[self.window_of(facts, 1)])
        record = facts.records("alpha", [a])[a]
        assert (record.status, record.retired_at, record.superseded_by) == ("current", None, "")
        assert texts(facts) == ["A", "C", "D"]
        assert self.epoch(facts) > epoch
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == [a]
        assert tasks(facts.jobs("alpha")) == [("link", "", "waiting")]
        assert facts.check()[0].severity == "ok"

    def test_of_two_closings_the_earlier_end_decides(self, facts: Store) -> None:
        a, b, c, d = numbers(facts, *"ABCD")
        later = NOON + timedelta(hours=1)
        undated = Closing(record=a, by=fact("D").id, status=Status.RETRACTED)
        june = Closing(record=a, by=fact("C").id, valid_to=JUNE)
        may = Closing(record=a, by=fact("B").id, status=Status.MERGED, valid_to=MAY)
        derive(facts, verdict([a, d], undated, key="undated"))
        derive(facts, verdict([a, c], june, key="june"), at=later)
        epoch = self.epoch(facts)
        derive(facts, verdict([a, b], may, key="may"), at=later)
        for key, expected in (("may", may), ("june", june), ("undated", undated)):
            record = facts.records("alpha", [a])[a]
            assert (record.superseded_by, record.status) == (expected.by, expected.status)
            assert (record.valid_to, record.retired_at) == (expected.valid_to, NOON)
            assert self.epoch(facts) == epoch
            derive(facts, drop=[("verdict", key)])
        assert facts.records("alpha", [a])[a].status is Status.CURRENT
        assert facts.check()[0].severity == "ok"

    def test_of_two_undated_closings_the_first_decides(self, facts: Store) -> None:
        a, b, c, _ = numbers(facts, *"ABCD")
        derive(facts, verdict([a, c], Closing(record=a, by=fact("C").id)))
        derive(facts, verdict([a, b], Closing(record=a, by=fact("B").id)))
        assert facts.records("alpha", [a])[a].superseded_by == fact("C").id

    def test_a_closing_that_is_replaced_leaves_the_record_closed(self, facts: Store) -> None:
        a, *_ = numbers(facts, *"ABCD")
        derive(facts, verdict([a], a, key="v"))
        epoch, later = self.epoch(facts), NOON + timedelta(hours=1)
        again = verdict([a], Closing(record=a, status=Status.RETRACTED), key="w")
        derive(facts, again, drop=[("verdict", "v")], at=later)
        record = facts.records("alpha", [a])[a]
        assert (record.status, record.retired_at) == (Status.RETRACTED, NOON)
        assert self.epoch(facts) == epoch

    def test_the_turns_of_a_merged_record_are_those_of_the_one_that_holds(
        self, facts: Store
    ) -> None:
        docs, (a, b, c, d) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, verdict([a, b], Closing(record=a, status=Status.MERGED, by=fact("B").id)))
        derive(facts, verdict([b, c], Closing(record=b, status=Status.MERGED, by=fact("C").id)))
        derive(facts, verdict([d, c], Closing(record=d, by=fact("C").id), key="v"))
        found = facts.sources("alpha", [c, d])
        assert found.record.tolist() == [c, c, c, d]
        assert found.doc.tolist() == docs
        assert facts.records("alpha", [c])[c].sources == tuple(self.ids(facts, *docs[:3]))
        assert facts.sources("alpha", [a]).doc.tolist() == docs[:1]
        self.forget_docs(facts, docs[0])
        assert facts.sources("alpha", [c]).doc.tolist() == docs[1:3]

    @pytest.mark.parametrize(
        ("unit", "said"),
        [
            (verdict([1], 2), "read"),
            (verdict([1], 1, 1), "once"),
            (verdict([1], Closing(record=1, status=Status.CURRENT)), "status"),
            (verdict([1], Closing(record=1, valid_to=datetime(2023, 5, 1))), "naive"),  # noqa: DTZ001
            (replace(verdict([1], 1), done=False), "not done"),
            (cluster([1], least=-1), "least_inputs"),
        ],
    )
    def test_a_closing_that_contradicts_itself_is_refused(
        self, facts: Store, unit: UnitRow, said: str
    ) -> None:
        state, (a, *_) = facts.derived_state("alpha"), numbers(facts, *"ABCD")
        shifted = tuple(replace(one, record=one.record - 1 + a) for one in unit.closes)
        with pytest.raises(InvalidInput, match=said):
            derive(facts, replace(unit, inputs=(a,), closes=shifted))
        assert facts.derived_state("alpha") == state

    def test_a_closing_of_or_by_what_is_gone_is_stale(self, facts: Store) -> None:
        docs, (a, b, *_) = self.docs(facts), numbers(facts, *"ABCD")
        self.forget_docs(facts, docs[0])
        of_gone = verdict([a], a)
        by_gone = verdict([b], Closing(record=b, by=fact("A").id))
        assert derive(facts, of_gone, by_gone).stale == (of_gone.key, by_gone.key)
        assert texts(facts) == ["B", "C", "D"]

    # Wanted again

    def test_a_unit_that_loses_a_turn_is_wanted_again_without_it(self, facts: Store) -> None:
        docs, (a, b, c, _) = self.docs(facts), numbers(facts, *"ABCD")
        unit = cluster([a, b, c], docs[:3], "ABC", key="k", least=2)
        derive(facts, unit, staged=[a, b, c])
        assert facts.units("alpha", METHOD, "event")[0].least_inputs == 2
        self.forget_docs(facts, docs[0])
        (wanted,) = facts.units("alpha", METHOD, "event", done=False)
        assert (wanted.key, wanted.turns, wanted.inputs) == ("k", tuple(docs[1:3]), (b, c))
        assert (wanted.records, wanted.least_inputs) == ((), 2)
        assert texts(facts) == ["B", "C", "D"]
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == [b, c]
        assert ("link", "", "waiting") in tasks(facts.jobs("alpha"))
        assert facts.check()[0].severity == "ok"
        assert derive(facts, cluster([b, c], docs[1:3], "BC", key="k", least=2)).stored == ("k",)
        assert texts(facts) == ["B", "C", "D", "BC"]

    def test_a_unit_that_loses_only_a_turn_keeps_all_its_records(self, facts: Store) -> None:
        docs, (a, b, *_) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, cluster([a, b], docs, "AB", least=2))
        self.forget_docs(facts, docs[3])
        (wanted,) = facts.units("alpha", METHOD, "event", done=False)
        assert (wanted.turns, wanted.inputs) == (tuple(docs[:3]), (a, b))
        assert texts(facts) == ["A", "B", "C"]

    def test_a_unit_that_loses_a_record_is_wanted_again_without_it(self, facts: Store) -> None:
        docs, (a, b, c, _) = self.docs(facts), numbers(facts, *"ABCD")
        (made,) = derive(facts, cluster([a, b, c], docs[1:3], "ABC", least=2)).records.values()
        before = facts.derived_state("alpha")
        receipt = derive(facts, drop=[self.window_of(facts, 0)])
        assert (receipt.removed["record"], receipt.removed["unit"]) == (2, 1)
        (wanted,) = facts.units("alpha", METHOD, "event", done=False)
        assert (wanted.turns, wanted.inputs) == (tuple(docs[1:3]), (b, c))
        assert tasks(facts.jobs("alpha")) == [("link", "", "waiting")]
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == [b, c]
        assert self.epoch(facts) == before.epoch
        changes = facts.record_changes("alpha", METHOD, since=before.revision)
        assert changes.gone.tolist() == [a, made]
        assert facts.check()[0].severity == "ok"

    def test_a_unit_goes_when_too_few_records_are_left(self, facts: Store) -> None:
        docs, (a, b, c, _) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, cluster([a, b, c], docs[:3], "ABC", least=2))
        for doc, left in zip(docs[:2], (1, 0), strict=True):
            self.forget_docs(facts, doc)
            assert len(facts.units("alpha", METHOD, "event")) == left
        assert facts.unstaged("alpha", METHOD, "fact", limit=9) == [c]
        assert facts.check()[0].severity == "ok"

    def test_a_wanted_unit_stays_wanted_without_what_went(self, facts: Store) -> None:
        docs, (a, b, c, _) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, cluster([a, b, c], least=1), cluster([a, c]))
        self.forget_docs(facts, docs[0])
        (wanted,) = facts.units("alpha", METHOD, "event")
        assert (wanted.done, wanted.inputs) == (False, (b, c))

    def test_a_unit_that_is_dropped_goes_wholly(self, facts: Store) -> None:
        docs, (a, b, *_) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, cluster([a, b], docs[:2], "AB", key="k", least=1))
        derive(facts, drop=[("event", "k")])
        assert facts.units("alpha", METHOD, "event") == []
        assert texts(facts) == ["A", "B", "C", "D"]

    def test_a_chain_of_units_is_wanted_again_where_it_can(self, facts: Store) -> None:
        docs, (a, b, *_) = self.docs(facts), numbers(facts, *"ABCD")
        (e,) = derive(facts, cluster([a, b], docs[:2], "E", least=1)).records.values()
        (f,) = derive(facts, cluster([e, b], docs[1:2], "F", least=1)).records.values()
        derive(facts, cluster([f], docs[1:2], "G", least=1))
        self.forget_docs(facts, docs[0])
        wanted = facts.units("alpha", METHOD, "event")
        assert [(unit.done, unit.inputs) for unit in wanted] == [(False, (b,))] * 2
        assert texts(facts) == ["B", "C", "D"]

    def test_what_a_unit_closed_holds_again_while_it_is_wanted(self, facts: Store) -> None:
        docs, (a, b, c, _) = self.docs(facts), numbers(facts, *"ABCD")
        derive(facts, replace(verdict([c, a, b], b, docs=docs[:1]), least_inputs=1))
        assert texts(facts) == ["A", "C", "D"]
        self.forget_docs(facts, docs[0])
        assert texts(facts) == ["B", "C", "D"]
        (wanted,) = facts.units("alpha", METHOD, "verdict", done=False)
        assert wanted.inputs == (c, b)

    def test_a_record_that_another_unit_makes_too_outlives_the_reply(self, facts: Store) -> None:
        docs, (a, b, c, d) = self.docs(facts), numbers(facts, *"ABCD")
        first = cluster([a, b], docs[:2], "E", least=1)
        first = replace(first, records=(replace(first.records[0], detail={"of": "ab"}),))
        (e,) = derive(facts, first).records.values()
        derive(facts, cluster([c, d], docs[2:], "E"))
        self.forget_docs(facts, docs[0])
        record = facts.records("alpha", [e])[e]
        assert (record.text, record.detail) == ("E", {})
        assert record.members == (fact("C").id, fact("D").id)
        assert facts.sources("alpha", [e]).doc.tolist() == docs[2:]

    # Copies that are kept up to date

    def test_records_that_are_replaced_leave_the_epoch_alone(self, facts: Store) -> None:
        docs, (a, *_) = self.docs(facts), numbers(facts, *"ABCD")
        before = facts.derived_state("alpha")
        receipt = derive(facts, window(docs[:2], "New"), drop=[self.window_of(facts, 0)])
        state = facts.derived_state("alpha")
        assert (state.epoch, state.revision) == (before.epoch, receipt.revision)
        changes = facts.record_changes("alpha", METHOD, since=before.revision)
        assert (changes.closed.tolist(), changes.gone.tolist()) == ([], [a])
        assert facts.record_changes("alpha", "other", since=0).gone.tolist() == []
        changes = facts.record_changes("alpha", METHOD, since=state.revision)
        assert changes.gone.tolist() == []

    @pytest.mark.parametrize("how", ["forget", "drop_derived", "rebuild", "relink"])
    def test_records_that_are_removed_begin_another_epoch(self, facts: Store, how: str) -> None:
        docs = self.docs(facts)
        derive(facts, window(docs[:2], "New"), drop=[self.window_of(facts, 0)])
        epoch = self.epoch(facts)
        if how == "forget":
            self.forget_docs(facts, docs[3])
        else:
            getattr(facts, how)("alpha", METHOD, NOON)
        assert self.epoch(facts) > epoch
        assert facts.record_changes("alpha", METHOD, since=0).gone.tolist() == []

    def test_a_record_that_another_unit_tells_of_begins_another_epoch(self, told: Store) -> None:
        docs = self.docs(told)
        rows = [replace(fact("A", docs[0]), detail={"n": n}) for n in (1, 2)]
        derive(told, window(docs[:1], rows[0]))
        (a,) = numbers(told, "A")
        epoch = self.epoch(told)
        second = replace(
            window(docs[:2], replace(rows[1], valid_from=MAY)),
            made_by=replace(MADE_BY, model="other"),
        )
        derive(told, second, drop=[self.window_of(told, 0)])
        record = told.records("alpha", [a])[a]
        assert (record.detail, record.valid_from) == ({"n": 2}, MAY)
        assert record.made_by.model == "other"
        assert self.epoch(told) > epoch

    def test_notes_of_what_was_replaced_do_not_grow_for_ever(self, told: Store) -> None:
        doc = self.docs(told)[0]
        epoch = self.epoch(told)
        for n in range(30):
            rows = [fact(f"{n}.{i}", doc) for i in range(100)]
            drop = [("facts", f"k{n - 1}")]
            derive(told, window([doc], *rows, key=f"k{n}"), drop=drop)
            assert len(told.record_changes("alpha", METHOD, since=0).gone) < 1000
        assert epoch < self.epoch(told) < epoch + 15

    def test_what_is_noted_of_records_comes_as_columns(self, told: Store) -> None:
        docs = self.docs(told)
        rows = [
            replace(fact("A", docs[1], docs[0]), detail={"x": "é"}),
            fact("B", docs[2]),
        ]
        derive(told, window(docs[:3], *rows))
        a, b = numbers(told, "A", "B")
        (e,) = derive(told, cluster([b, a], docs[1:2], "E")).records.values()
        derive(told, verdict([a], a), window(docs[3:], "A"))
        found = told.record_details("alpha", METHOD)
        assert found.number.tolist() == [a, b, e]
        assert [json.loads(text) for text in found.detail] == [{"x": "é"}, {}, {}]
        assert found.doc.tolist() == [docs[0], docs[2], docs[1]]
        assert found.member.tolist() == [[e, b], [e, a]]
        later = told.record_details("alpha", METHOD, after=b)
        assert (later.number.tolist(), later.member.tolist()) == ([e], [[e, b], [e, a]])

    def test_columns_of_nothing_have_their_shapes(self, told: Store) -> None:
        details = told.record_details("alpha", METHOD)
        assert (details.number.shape, details.doc.shape, details.member.shape) == (
            (0,),
            (0,),
            (0, 2),
        )
        assert details.detail == []
        changes = told.record_changes("alpha", METHOD, since=0)
        assert (changes.closed.shape, changes.gone.shape) == ((0,), (0,))
        assert told.record_columns("alpha", METHOD).current.shape == (0,)

    def test_banks_do_not_close_each_others_records(self, facts: Store) -> None:
        a, *_ = numbers(facts, *"ABCD")
        facts.create_bank(new_bank("beta"))
        self.say(facts, "one", bank="beta")
        assert derive(facts, verdict([a], a), bank="beta").stale
        derive(facts, window(self.docs(facts, "beta"), "A"), bank="beta")
        (mine,) = numbers(facts, "A", bank="beta")
        derive(facts, verdict([mine], mine), bank="beta")
        assert texts(facts) == ["A", "B", "C", "D"]
        facts.forget("beta", Selection(whole_bank=True), NOON)
        assert facts.record_changes("alpha", METHOD, since=0).closed.tolist() == []
        assert facts.records("alpha", [a])[a].kind is RecordKind.FACT
        assert facts.check()[0].severity == "ok"
