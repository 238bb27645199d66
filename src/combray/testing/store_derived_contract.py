"""What a store promises of units, records and edges."""

# ruff: noqa: D102 (the name of a contract test is its documentation)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from combray.errors import Conflict, EmbedderMismatch, InvalidInput, NotFound
from combray.model import RecordKind, Status
from combray.store.base import Selection, Store
from combray.store.derived import Derivation
from combray.testing.derived_rows import (
    MADE_BY,
    METHOD,
    cluster,
    derive,
    fact,
    half_floats,
    numbers,
    tasks,
    texts,
    window,
)
from combray.testing.store_jobs_contract import StoreJobsContract
from combray.testing.store_rows import DIMENSION, NOON, Saying, new_bank, vector_row

_ON_A_MISSING_BANK: dict[str, Callable[[Store], object]] = {
    "set_methods": lambda store: store.set_methods("none", [], NOON),
    "claim": lambda store: store.claim("w", now=NOON, lease_s=1, bank="none"),
    "renew": lambda store: store.renew("none", 1, "w", NOON),
    "finish": lambda store: store.finish("none", 1, "w", 1),
    "fail": lambda store: store.fail("none", 1, "w", code="", error="", due_at=None),
    "jobs": lambda store: store.jobs("none"),
    "retry_jobs": lambda store: store.retry_jobs("none", (), NOON),
    "derive": lambda store: store.derive("none", METHOD, Derivation(), at=NOON),
    "drop_derived": lambda store: store.drop_derived("none", METHOD, NOON),
    "rebuild": lambda store: store.rebuild("none", METHOD, NOON),
    "relink": lambda store: store.relink("none", METHOD, NOON),
    "derived_state": lambda store: store.derived_state("none"),
    "units": lambda store: store.units("none", METHOD, "facts"),
    "units_reading": lambda store: store.units_reading("none", METHOD, "facts", [1]),
    "records": lambda store: store.records("none", [1]),
    "find_records": lambda store: store.find_records("none", ["f1:a"]),
    "record_columns": lambda store: store.record_columns("none", METHOD),
    "record_changes": lambda store: store.record_changes("none", METHOD, since=0),
    "record_details": lambda store: store.record_details("none", METHOD),
    "sources": lambda store: store.sources("none", [1]),
    "unstaged": lambda store: store.unstaged("none", METHOD, "fact", limit=1),
    "edges": lambda store: store.edges("none", METHOD, "similar", [1]),
    "docs": lambda store: store.docs("none", ["t1:a"]),
    "missing_record_vectors": lambda store: store.missing_record_vectors("none", "m:1", limit=1),
    "put_record_vectors": lambda store: store.put_record_vectors("none", "m:1", 8, {}),
    "record_calls": lambda store: store.record_calls("none", []),
    "calls": lambda store: store.calls("none"),
    "call_summary": lambda store: store.call_summary("none"),
    "reply_get": lambda store: store.reply_get("none", "k"),
    "reply_put": lambda store: store.reply_put("none", "k", "v", [1]),
}


class StoreDerivedContract(StoreJobsContract):
    """The part of `combray.testing.StoreContract` that concerns what models derive."""

    @pytest.fixture
    def told(self, working: Store) -> Store:
        """A store with the bank ``alpha``, four turns and no job."""
        self.say(working, "one", "two", "three", "four")
        self.done(working)
        return working

    def done(self, store: Store) -> None:
        """Finish every job."""
        while job := store.claim("w", now=NOON + timedelta(days=1), lease_s=60):
            assert store.finish(job.bank, job.number, "w", job.version)

    def docs(self, store: Store, bank: str = "alpha") -> list[int]:
        """Every document."""
        return [int(doc) for doc in store.columns(bank).doc]

    def ids(self, store: Store, *docs: int) -> list[str]:
        """Ids of the turns of these documents."""
        found = store.turns_by_doc("alpha", docs)
        return [found[doc].id for doc in docs]

    def forget_docs(self, store: Store, *docs: int) -> None:
        """Forget the turns of these documents."""
        store.forget("alpha", Selection(turns=self.ids(store, *docs)), NOON)

    @pytest.mark.parametrize("call", _ON_A_MISSING_BANK.values(), ids=_ON_A_MISSING_BANK)
    def test_nothing_is_derived_from_a_missing_bank(
        self, store: Store, call: Callable[[Store], object]
    ) -> None:
        with pytest.raises(NotFound) as caught:
            call(store)
        assert (caught.value.kind, caught.value.name) == ("bank", "none")

    # Deriving

    def test_a_record_comes_back_with_where_it_comes_from(self, told: Store) -> None:
        docs = self.docs(told)
        row = replace(fact("Ann likes 🫖", docs[1], docs[0]), detail={"n": 1, "deep": [None]})
        receipt = derive(told, window(docs[:3], row))
        assert receipt.stored == (window(docs[:3]).key,)
        ((id_, number),) = receipt.records.items()
        assert id_ == row.id
        record = told.records("alpha", [number])[number]
        assert (record.number, record.id, record.kind) == (number, id_, RecordKind.FACT)
        assert (record.method, record.text, record.made_by) == (METHOD, "Ann likes 🫖", MADE_BY)
        assert record.sources == tuple(self.ids(told, *docs[:2]))
        assert record.members == ()
        assert (record.recorded_at, record.retired_at) == (NOON, None)
        assert (record.status, record.detail) == (Status.CURRENT, row.detail)
        assert told.find_records("alpha", [id_, "f1:none"]) == {id_: record}

    def test_sources_are_in_the_order_in_which_they_were_said(self, working: Store) -> None:
        late, early = Saying(text="late", minute=9), Saying(text="early", minute=1)
        receipt = self.say(working, late, early)
        docs = self.docs(working)
        derive(working, window(docs, "Fact"))
        (number,) = numbers(working, "Fact")
        record = working.records("alpha", [number])[number]
        assert record.sources == (receipt.ids[1], receipt.ids[0])

    def test_an_event_names_its_members_the_main_one_first(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A", "B"))
        a, b = numbers(told, "A", "B")
        receipt = derive(told, cluster([b, a], docs[:2], "Both"))
        (number,) = receipt.records.values()
        record = told.records("alpha", [number])[number]
        found = told.records("alpha", [a, b])
        assert record.members == (found[b].id, found[a].id)
        assert record.kind is RecordKind.EVENT

    def test_doing_it_again_changes_nothing(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A"))
        state = told.derived_state("alpha")
        again = derive(told, window(docs[:2], "A", "Something else"))
        assert (again.stored, again.known, again.stale) == ((), (window(docs[:2]).key,), ())
        assert texts(told) == ["A"]
        assert told.derived_state("alpha") == state

    def test_a_fact_of_two_windows_is_one_record_of_two_units(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], fact("Ann  likes tea", docs[0])))
        derive(told, window(docs[1:3], fact("Ann likes tea ", docs[2])))
        assert texts(told) == ["Ann  likes tea"]
        (number,) = told.record_columns("alpha", METHOD).number.tolist()
        sources = told.sources("alpha", [number])
        assert sources.record.tolist() == [number, number]
        assert sources.doc.tolist() == [docs[0], docs[2]]
        assert len(set(sources.unit.tolist())) == 2

    def test_a_reply_without_facts_is_a_unit_all_the_same(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2]))
        (unit,) = told.units("alpha", METHOD, "facts")
        assert (unit.done, unit.turns, unit.inputs, unit.records) == (True, tuple(docs[:2]), (), ())
        assert derive(told, window(docs[:2], "A")).known

    def test_a_wanted_unit_is_filled(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A", "B"))
        a, b = numbers(told, "A", "B")
        derive(told, cluster([a, b]))
        assert [unit.inputs for unit in told.units("alpha", METHOD, "event", done=False)] == [
            (a, b)
        ]
        assert derive(told, cluster([a, b])).known
        receipt = derive(told, cluster([a, b], docs[:2], "Both"))
        assert receipt.stored == (cluster([a, b]).key,)
        assert told.units("alpha", METHOD, "event", done=False) == []
        (unit,) = told.units("alpha", METHOD, "event")
        assert (unit.turns, unit.inputs) == (tuple(docs[:2]), (a, b))
        assert unit.records == tuple(receipt.records.values())
        assert derive(told, cluster([a, b], docs[:2], "Other")).known
        assert texts(told) == ["A", "B", "Both"]

    def test_what_a_filled_unit_read_counts(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A"))
        (a,) = numbers(told, "A")
        derive(told, cluster([a]))
        derive(told, cluster([a], docs[:3], "Event"))
        self.forget_docs(told, docs[2])
        assert texts(told) == ["A"]

    def test_units_are_found_by_subject_and_by_what_they_read(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A", subject="s1"), window(docs[1:2], "B", subject="s2"))
        a, b = numbers(told, "A", "B")
        derive(told, cluster([a, b]), cluster([b]))
        assert [unit.subject for unit in told.units("alpha", METHOD, "facts")] == ["s1", "s2"]
        assert [unit.turns for unit in told.units("alpha", METHOD, "facts", subject="s2")] == [
            (docs[1],)
        ]
        assert [u.inputs for u in told.units_reading("alpha", METHOD, "event", [a])] == [(a, b)]
        assert len(told.units_reading("alpha", METHOD, "event", [a, b])) == 2
        assert told.units_reading("alpha", METHOD, "facts", [a, b]) == []

    def test_numbers_of_records_grow_and_are_never_used_twice(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A"))
        (a,) = numbers(told, "A")
        derive(told, drop=[("facts", window(docs[:1]).key)])
        derive(told, window(docs[:1], "A"))
        assert numbers(told, "A")[0] > a

    def test_a_unit_that_reads_nothing_is_refused(self, told: Store) -> None:
        with pytest.raises(InvalidInput):
            derive(told, window([]))

    def test_a_source_that_was_not_read_is_refused_with_all_the_rest(self, told: Store) -> None:
        docs = self.docs(told)
        state = told.derived_state("alpha")
        with pytest.raises(InvalidInput, match="source"):
            derive(told, window(docs[:1], "A"), window(docs[1:2], fact("B", docs[2])))
        with pytest.raises(InvalidInput, match="source"):
            derive(told, window(docs[:1], fact("B")))
        assert texts(told) == []
        assert told.derived_state("alpha") == state

    def test_a_unit_that_is_only_wanted_makes_no_records(self, told: Store) -> None:
        docs = self.docs(told)
        with pytest.raises(InvalidInput, match="done"):
            derive(told, replace(window(docs[:1], "A"), done=False))

    def test_a_derivation_asks_for_jobs(self, told: Store) -> None:
        derive(told, window(self.docs(told), "A"), queue=[("link", ""), ("link", "")])
        assert tasks(told.jobs("alpha")) == [("link", "", "waiting")]

    # Stale

    def test_a_unit_whose_turn_was_forgotten_is_not_stored(self, told: Store) -> None:
        docs = self.docs(told)
        self.forget_docs(told, docs[1])
        receipt = derive(told, window(docs[:2], "A"), window(docs[2:], "B"))
        assert receipt.stale == (window(docs[:2]).key,)
        assert receipt.stored == (window(docs[2:]).key,)
        assert texts(told) == ["B"]

    def test_a_unit_whose_record_is_gone_is_not_stored(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A"), window(docs[1:2], "B"))
        a, b = numbers(told, "A", "B")
        derive(told, cluster([a, b]))
        self.forget_docs(told, docs[0])
        receipt = derive(told, cluster([a, b], docs[1:2], "Both"), edges=[(a, b)], staged=[a, b])
        assert receipt.stale == (cluster([a, b]).key,)
        assert texts(told) == ["B"]
        assert len(told.edges("alpha", METHOD, "similar", [a, b]).a) == 0
        assert told.check()[0].severity == "ok"

    def test_documents_and_records_of_another_bank_are_stale(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A", "B"))
        a, b = numbers(told, "A", "B")
        told.create_bank(new_bank("beta"))
        self.say(told, "one", bank="beta")
        mine = self.docs(told, "beta")
        receipt = derive(
            told,
            window(docs[:1], "X"),
            cluster([a], mine, "Y"),
            bank="beta",
            edges=[(a, b)],
            staged=[a],
        )
        assert len(receipt.stale) == 2
        assert told.records("beta", [a]) == {}
        assert told.find_records("beta", [fact("A").id]) == {}
        assert (
            len(told.sources("beta", [a]).doc)
            == len(told.edges("beta", METHOD, "similar", [a]).a)
            == 0
        )
        assert told.unstaged("alpha", METHOD, "fact", limit=9) == [a, b]

    # Cascade

    def test_forgetting_a_turn_removes_what_was_made_of_it(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A", "Both windows"), window(docs[1:3], "B", "Both windows"))
        a, both, b = numbers(told, "A", "Both windows", "B")
        derive(
            told, cluster([a, b], docs[2:], "E1"), cluster([both], docs[2:3], "E2"), cluster([b, a])
        )
        epoch = told.derived_state("alpha").epoch
        receipt = told.forget("alpha", Selection(turns=self.ids(told, docs[0])), NOON)
        assert texts(told) == ["Both windows", "B", "E2"]
        assert told.sources("alpha", [both]).doc.tolist() == docs[1:3]
        assert [unit.inputs for unit in told.units("alpha", METHOD, "event")] == [(both,)]
        assert receipt.rows["record"] == 2
        assert receipt.rows["unit"] == 3
        assert told.derived_state("alpha").epoch == epoch + 1
        assert told.check()[0].severity == "ok"

    def test_a_chain_of_records_goes_to_its_end(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A"))
        (last,) = numbers(told, "A")
        for text in ("E1", "E2", "E3"):
            (last,) = derive(told, cluster([last], docs[1:2], text)).records.values()
        self.forget_docs(told, docs[0])
        assert texts(told) == []
        assert told.units("alpha", METHOD, "event") == []
        assert told.check()[0].severity == "ok"

    def test_a_record_that_is_left_keeps_nothing_of_a_unit_that_went(self, told: Store) -> None:
        docs = self.docs(told)
        other = replace(MADE_BY, model="other")
        first = replace(window(docs[:1]), records=(replace(fact("A", docs[0]), detail={"q": "x"}),))
        second = replace(window(docs[1:2], "A"), made_by=other)
        derive(told, first, second)
        self.forget_docs(told, docs[0])
        (number,) = numbers(told, "A")
        record = told.records("alpha", [number])[number]
        assert (record.detail, record.made_by) == ({}, other)

    def test_a_forgotten_session_leaves_no_job(self, told: Store) -> None:
        self.say(told, Saying(text="five", session="s2"))
        told.forget("alpha", Selection(session="s2"), NOON)
        assert told.jobs("alpha") == []

    def test_a_session_that_is_left_is_derived_from_anew(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A"))
        self.forget_docs(told, docs[0])
        assert tasks(told.jobs("alpha")) == [("link", "", "waiting"), ("turns", "s1", "waiting")]
        assert all(job.due_at == NOON for job in told.jobs("alpha"))

    def test_forgetting_blanks_what_errors_say(self, told: Store) -> None:
        self.say(told, Saying(text="five", session="s2"))
        self.say(told, "six")
        derive(told, queue=[("link", "")])
        for _ in range(3):
            job = told.claim("w", now=NOON + timedelta(days=1), lease_s=60)
            assert job is not None
            told.fail("alpha", job.number, "w", code="c", error="said six", raw="six", due_at=None)
        self.forget_docs(told, self.docs(told)[-1])
        kept = {job.subject: job.error + job.raw for job in told.jobs("alpha")}
        assert kept["s2"] == "said sixsix"
        assert "six" not in kept["s1"] + kept[""]

    def test_neighbours_of_what_went_are_to_be_linked_again(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, *(window([doc], name) for doc, name in zip(docs, "ABCD", strict=True)))
        a, b, c, d = numbers(told, *"ABCD")
        derive(told, edges=[(a, b), (c, d)], staged=[a, b, c, d])
        assert told.unstaged("alpha", METHOD, "fact", limit=9) == []
        receipt = derive(told, drop=[("facts", window(docs[:1]).key), ("facts", "unknown")])
        assert receipt.removed["record"] == 1
        assert told.unstaged("alpha", METHOD, "fact", limit=9) == [b]
        assert tasks(told.jobs("alpha")) == [("link", "", "waiting")]
        assert told.edges("alpha", METHOD, "similar", [a, b, c]).b.tolist() == [d]

    def test_a_record_that_moves_to_another_unit_stays_the_same(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A", "B"))
        before = numbers(told, "A")
        derive(told, cluster(before, docs[:1], "E"))
        derive(told, window(docs[:3], "A"), drop=[("facts", window(docs[:2]).key)])
        assert numbers(told, "A") == before
        assert texts(told) == ["A", "E"]

    def test_a_unit_may_be_dropped_and_stored_at_once(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A"))
        receipt = derive(told, window(docs[:2], "B"), drop=[("facts", window(docs[:2]).key)])
        assert receipt.stored
        assert texts(told) == ["B"]

    def test_forgetting_a_bank_leaves_what_others_derived(self, told: Store) -> None:
        told.create_bank(replace(new_bank("beta"), methods=(METHOD,)))
        self.say(told, "one", bank="beta")
        for bank in ("alpha", "beta"):
            derive(told, window(self.docs(told, bank), "A", "B"), bank=bank)
            a, b = numbers(told, "A", "B", bank=bank)
            derive(told, cluster([a, b], self.docs(told, bank), "E"), bank=bank, edges=[(a, b)])
            told.reply_put(bank, "k", "v", self.docs(told, bank))
        receipt = told.forget("alpha", Selection(whole_bank=True), NOON)
        assert (receipt.rows["record"], receipt.rows["unit"], receipt.rows["reply"]) == (3, 2, 1)
        assert texts(told, "beta") == ["A", "B", "E"]
        assert told.reply_get("beta", "k") == "v"
        assert len(told.edges("beta", METHOD, "similar", numbers(told, "A", bank="beta")).a) == 1
        assert told.check()[0].severity == "ok"

    def test_methods_do_not_meet(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A"))
        told.derive("alpha", "other", Derivation(units=[
            replace(window(docs[:1]), records=(replace(fact("A", docs[0]), id="f1:other"),))
        ]), at=NOON)  # fmt: skip
        removed = told.drop_derived("alpha", "other", NOON)
        assert (removed["unit"], removed["record"]) == (1, 1)
        assert texts(told) == ["A"]
        assert texts(told, method="other") == []

    def test_a_rebuild_drops_all_and_asks_for_every_session(self, told: Store) -> None:
        self.say(told, Saying(text="five", session="s2"))
        self.done(told)
        derive(told, window(self.docs(told)[:2], "A", "B"))
        a, b = numbers(told, "A", "B")
        derive(told, cluster([a, b], self.docs(told), "E"), edges=[(a, b)])
        removed = told.rebuild("alpha", METHOD, NOON)
        assert (removed["unit"], removed["record"], removed["record_edge"]) == (2, 3, 2)
        assert texts(told) == []
        assert told.units("alpha", METHOD, "facts") == []
        assert tasks(told.jobs("alpha")) == [("turns", "s1", "waiting"), ("turns", "s2", "waiting")]

    def test_a_rebuild_of_a_method_that_is_not_used_only_drops(self, told: Store) -> None:
        derive(told, window(self.docs(told), "A"))
        told.set_methods("alpha", [], NOON)
        assert told.rebuild("alpha", METHOD, NOON)["record"] == 1
        assert told.jobs("alpha") == []

    def test_relinking_leaves_what_was_made_of_turns_alone(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:2], "A", "B"))
        a, b = numbers(told, "A", "B")
        derive(told, cluster([a, b], docs[:2], "E"), edges=[(a, b)], staged=[a, b])
        removed = told.relink("alpha", METHOD, NOON)
        assert (removed["unit"], removed["record"], removed["record_edge"]) == (1, 1, 2)
        assert texts(told) == ["A", "B"]
        assert told.unstaged("alpha", METHOD, "fact", limit=9) == [a, b]
        assert tasks(told.jobs("alpha")) == [("link", "", "waiting")]

    # Edges and columns

    def test_edges_are_there_from_both_sides(self, told: Store) -> None:
        derive(told, window(self.docs(told), "A", "B", "C"))
        a, b, c = numbers(told, "A", "B", "C")
        derive(told, edges=[(c, a), (a, b), (b, a)])
        found = told.edges("alpha", METHOD, "similar", [a, b])
        assert list(zip(found.a.tolist(), found.b.tolist(), strict=True)) == [
            (a, b),
            (a, c),
            (b, a),
        ]
        assert found.weight.tolist() == [0.5, 0.5, 0.5]
        assert len(told.edges("alpha", METHOD, "other", [a, b]).a) == 0
        with pytest.raises(InvalidInput, match="itself"):
            derive(told, edges=[(a, a)])

    def test_unstaged_records_come_in_order(self, told: Store) -> None:
        derive(told, window(self.docs(told), "A", "B", "C"))
        a, b, c = numbers(told, "A", "B", "C")
        derive(told, staged=[b])
        assert told.unstaged("alpha", METHOD, "fact", limit=1) == [a]
        assert told.unstaged("alpha", METHOD, "fact", limit=9) == [a, c]
        assert told.unstaged("alpha", METHOD, "event", limit=9) == []

    def test_columns_grow_from_where_a_reader_left_off(self, told: Store) -> None:
        docs = self.docs(told)
        derive(told, window(docs[:1], "A"))
        (a,) = numbers(told, "A")
        before = told.derived_state("alpha")
        derive(told, cluster([a], docs[:1], "E"))
        after = told.derived_state("alpha")
        assert (after.epoch, after.dimension) == (before.epoch, 0)
        assert after.revision > before.revision
        columns = told.record_columns("alpha", METHOD, after=a)
        assert [tuple(RecordKind)[kind] for kind in columns.kind.tolist()] == [RecordKind.EVENT]
        assert columns.vector.shape == (1, 0)
        assert columns.embedded.tolist() == [False]
        assert len(told.record_columns("alpha", METHOD).number) == 2

    def test_docs_of_turns_are_found(self, told: Store) -> None:
        docs = self.docs(told)
        assert told.docs("alpha", [*self.ids(told, docs[2], docs[0]), "t1:none"]) == [
            docs[0],
            docs[2],
        ]

    # Vectors

    def embedded(self, store: Store) -> tuple[list[int], Store]:
        """Documents of the bank ``beta``, which has an embedder."""
        store.create_bank(new_bank("beta", embedder="m:1"))
        self.say(store, "one", "two", bank="beta")
        return self.docs(store, "beta"), store

    def test_vectors_of_records_come_back(self, store: Store) -> None:
        docs, _ = self.embedded(store)
        rows = [fact("A", docs[0], vector=half_floats(1)), fact("B", docs[0])]
        derive(store, window(docs, *rows), bank="beta", embedder="m:1")
        columns = store.record_columns("beta", METHOD)
        assert columns.vector.shape == (2, DIMENSION)
        assert columns.vector[0].tobytes() == half_floats(1)
        assert not columns.vector[1].any()
        assert columns.embedded.tolist() == [True, False]
        assert store.derived_state("beta").dimension == DIMENSION

    def test_vectors_of_another_embedder_are_refused(self, store: Store) -> None:
        docs, _ = self.embedded(store)
        unit = window(docs, fact("A", docs[0], vector=half_floats(1)))
        with pytest.raises(EmbedderMismatch, match="m:0"):
            derive(store, unit, bank="beta", embedder="m:0")
        with pytest.raises(InvalidInput, match="embedder"):
            derive(store, unit, bank="beta")
        short = window(docs, fact("A", docs[0], vector=b"1234"))
        with pytest.raises(EmbedderMismatch):
            derive(store, short, bank="beta", embedder="m:1")
        assert texts(store, "beta") == []

    def test_records_may_be_embedded_anew_before_the_switch(self, store: Store) -> None:
        docs, _ = self.embedded(store)
        derive(
            store,
            window(docs, fact("A", docs[0], vector=half_floats(1))),
            bank="beta",
            embedder="m:1",
        )
        (a,) = numbers(store, "A", bank="beta")
        found = dict(store.missing_vectors("beta", "m:2", limit=9))
        store.put_vectors("beta", "m:2", DIMENSION, {doc: vector_row(1) for doc in found})
        assert store.missing_record_vectors("beta", "m:1", limit=9) == []
        assert store.missing_record_vectors("beta", "m:2", limit=9) == [(a, "A")]
        with pytest.raises(Conflict, match="record"):
            store.use_embedder("beta", "m:2", DIMENSION)
        with pytest.raises(EmbedderMismatch):
            store.put_record_vectors("beta", "m:2", DIMENSION, {a: b"12"})
        rows = {a: half_floats(2), a + 99: half_floats(3)}
        assert store.put_record_vectors("beta", "m:2", DIMENSION, rows) == 1
        assert store.put_record_vectors("beta", "m:2", DIMENSION, rows) == 0
        epoch = store.derived_state("beta").epoch
        assert store.record_columns("beta", METHOD).vector[0].tobytes() == half_floats(1)
        store.use_embedder("beta", "m:2", DIMENSION)
        assert store.derived_state("beta").epoch > epoch
        assert np.array_equal(
            store.record_columns("beta", METHOD).vector[0], np.frombuffer(half_floats(2), "<f2")
        )
        assert store.check()[0].severity == "ok"
