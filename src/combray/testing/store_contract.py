"""Every promise of `combray.store.base.Store` as a test.

Subclass `StoreContract` in a test module and say how a store is made::

    class TestSqliteStore(StoreContract):
        def make_store(self, where: Path) -> Store:
            return SqliteStore(where / "evidence.db")
"""

# ruff: noqa: D102 (the name of a contract test is its documentation)

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from combray.errors import Conflict, EmbedderMismatch, InvalidInput, NotFound, StoreError
from combray.model import Filters, Session
from combray.store.base import ForgetReceipt, PutReceipt, Selection, Store, VectorRow
from combray.testing.store_closing_contract import StoreClosingContract
from combray.testing.store_rows import NOON, Saying, new_bank, vector_row


class StoreContract(StoreClosingContract):
    """Subclass it, give `make_store`, and every promise of the Protocol is tested."""

    # Banks

    def test_a_new_bank_is_empty(self, store: Store) -> None:
        bank = store.create_bank(new_bank("alpha", embedder="m:1"))
        assert (bank.n_turns, bank.n_sessions, bank.embedder) == (0, 0, "m:1")
        assert bank.created_at == NOON
        assert store.bank("alpha") == bank
        assert store.state("alpha").n_turns == 0

    def test_a_second_bank_of_the_same_name_conflicts(self, store: Store) -> None:
        store.create_bank(new_bank("alpha"))
        with pytest.raises(Conflict, match="alpha"):
            store.create_bank(new_bank("alpha"))

    def test_an_embedder_needs_a_dimension(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="dimension"):
            store.create_bank(new_bank("alpha", embedder="m:1", dimension=0))

    def test_banks_come_in_order_of_name_page_by_page(self, store: Store) -> None:
        for name in ("c", "a", "d", "b"):
            store.create_bank(new_bank(name))
        assert [bank.name for bank in store.banks(limit=3)] == ["a", "b", "c"]
        assert [bank.name for bank in store.banks(after="c", limit=3)] == ["d"]

    @pytest.mark.parametrize("name", ["x' OR '1'='1", "%", 'a"b', "ключ", "a b"])
    def test_odd_names_are_only_names(self, store: Store, name: str) -> None:
        store.create_bank(new_bank("other"))
        store.create_bank(new_bank(name))
        self.say(store, Saying(text="Hello", session=name, speaker=name, tags=[name]), bank=name)
        assert store.sessions(name)[0].name == name
        assert (
            len(store.matching(name, Filters(sessions=[name], speakers=[name], tags=[name]))) == 1
        )
        assert len(store.postings(name, name, [name]).doc) == 0
        assert store.scan("other") == []

    # Putting

    def test_putting_the_same_turns_again_is_a_no_op(self, alpha: Store) -> None:
        first = self.say(alpha, "one", "two")
        again = self.say(alpha, "one", "two")
        assert again == PutReceipt(
            ids=first.ids, stored=(), known=first.ids, revision=first.revision
        )
        assert alpha.state("alpha").n_turns == 2

    def test_the_new_tail_of_a_resent_transcript_is_stored(self, alpha: Store) -> None:
        self.say(alpha, "one", "two")
        receipt = self.say(alpha, "one", "two", "three")
        assert receipt.stored == receipt.ids[2:]
        assert receipt.known == receipt.ids[:2]
        assert [turn.position for _, turn in alpha.scan("alpha")] == [0, 1, 2]

    def test_an_id_that_comes_twice_in_a_batch_is_stored_once(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "one")
        assert receipt.stored == receipt.known == receipt.ids[:1]
        assert alpha.state("alpha").n_turns == 1

    def test_conflict_stores_nothing(self, alpha: Store) -> None:
        self.say(alpha, Saying(text="tea", id="1"))
        before = alpha.state("alpha")
        with pytest.raises(Conflict, match="other content"):
            self.say(alpha, Saying(text="new", id="0"), Saying(text="coffee", id="1"))
        assert alpha.state("alpha") == before
        assert len(alpha.postings("alpha", "term", ["new", "coffee"]).doc) == 0

    def test_conflict_within_a_batch_stores_nothing(self, alpha: Store) -> None:
        with pytest.raises(Conflict):
            self.say(alpha, Saying(text="tea", id="1"), Saying(text="coffee", id="1"))
        assert alpha.state("alpha").n_turns == 0
        assert alpha.sessions("alpha") == []

    def test_a_session_that_has_moved_on_conflicts(self, alpha: Store) -> None:
        row = Saying(text="one").row()
        alpha.put("alpha", Session(name="s1"), [row], if_session_turns=0)
        with pytest.raises(Conflict, match="has 1 turns, not 0"):
            alpha.put("alpha", Session(name="s1"), [row], if_session_turns=0)
        alpha.put("alpha", Session(name="s1"), [Saying(text="two").row()], if_session_turns=1)
        assert alpha.state("alpha").n_turns == 2

    def test_a_row_of_another_session_is_refused(self, alpha: Store) -> None:
        with pytest.raises(InvalidInput, match="s2"):
            alpha.put("alpha", Session(name="s1"), [Saying(text="one", session="s2").row()])

    def test_a_naive_time_is_refused(self, alpha: Store) -> None:
        naive = datetime(2023, 5, 8)  # noqa: DTZ001 (the point)
        for field in ("said_at", "expires_at", "stored_at"):
            with pytest.raises(InvalidInput, match="naive"):
                self.put_changed(alpha, **{field: naive})
        assert alpha.state("alpha").n_turns == 0

    @pytest.mark.parametrize(
        "postings",
        [{"term": {"one": 2}}, {}, {"term": {"one": 1}, "key": {"a": 0}}, {"term": {"o\0": 1}}],
    )
    def test_postings_that_contradict_the_turn_are_refused(
        self, alpha: Store, postings: dict[str, dict[str, int]]
    ) -> None:
        with pytest.raises(InvalidInput):
            self.put_row(alpha, postings=postings)
        assert alpha.state("alpha").n_turns == 0

    def test_a_lone_surrogate_is_refused_not_mangled(self, alpha: Store) -> None:
        with pytest.raises(InvalidInput):
            self.put_changed(alpha, text="broken \ud800")
        with pytest.raises(InvalidInput):
            self.put_changed(alpha, metadata={"key": "\udfff"})
        assert alpha.state("alpha").n_turns == 0

    def test_putting_nothing_makes_no_session(self, alpha: Store) -> None:
        receipt = alpha.put("alpha", Session(name="s1", title="Empty"), [])
        assert receipt.ids == ()
        assert alpha.sessions("alpha") == []

    def test_a_session_is_filled_but_never_overwritten(self, alpha: Store) -> None:
        row = Saying(text="one").row()
        alpha.put("alpha", Session(name="s1", title="First", metadata={"a": 1}), [row])
        revision = alpha.state("alpha").revision
        other = Session(name="s1", title="Second", source="chat", metadata={"a": 2, "b": 3})
        assert alpha.put("alpha", other, [row]).revision == revision + 1
        assert alpha.put("alpha", other, [row]).revision == revision + 1
        (session,) = alpha.sessions("alpha")
        assert (session.title, session.source) == ("First", "chat")
        assert session.metadata == {"a": 1, "b": 3}

    def test_a_session_starts_with_its_earliest_turn_where_nothing_else_is_said(
        self, alpha: Store
    ) -> None:
        self.say(alpha, Saying(text="later", minute=9), Saying(text="latest", minute=10))
        self.say(alpha, Saying(text="earliest", minute=-5))
        assert alpha.sessions("alpha")[0].started_at == NOON - timedelta(minutes=5)
        alpha.put("alpha", Session(name="s1", started_at=NOON), [])
        assert alpha.sessions("alpha")[0].started_at == NOON

    def test_every_commit_moves_the_revision_and_counters(self, alpha: Store) -> None:
        for n in range(1, 4):
            receipt = self.say(alpha, f"turn number {n}")
            state = alpha.state("alpha")
            assert receipt.revision == state.revision
            assert (state.n_turns, state.n_terms, state.erase_epoch) == (n, 3 * n, 0)

    def test_vectors_that_do_not_fit_are_refused(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        good = vector_row(1)
        misfits = (
            vector_row(1, dimension=8),
            VectorRow(vector=good.vector, tokens=b"x"),
            VectorRow(vector=b""),
        )
        for vectors in misfits:
            with pytest.raises(EmbedderMismatch, match="alpha"):
                self.say(store, Saying(text="one", vectors=vectors))
        assert store.state("alpha").n_turns == 0

    def test_vectors_are_refused_by_a_bank_without_an_embedder(self, alpha: Store) -> None:
        with pytest.raises(EmbedderMismatch):
            self.say(alpha, Saying(text="one", vectors=vector_row(1)))

    def test_a_turn_without_vectors_is_stored_all_the_same(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        self.say(store, "one")
        assert [turn.text for _, turn in store.missing_vectors("alpha", "m:1", limit=9)] == ["one"]

    def test_a_writer_with_another_embedder_or_analyser_is_refused(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        rows = [Saying(text="one").row()]
        with pytest.raises(EmbedderMismatch, match=r"m:1/16.*m:0"):
            store.put("alpha", Session(name="s1"), rows, embedder="m:0")
        with pytest.raises(Conflict, match="words:1"):
            store.put("alpha", Session(name="s1"), rows, analyser="words:0")
        store.put("alpha", Session(name="s1"), rows, embedder="m:1", analyser="words:1")

    # Deleting

    def test_forgetting_a_turn_removes_all_of_it(self, alpha: Store) -> None:
        receipt = self.say(alpha, Saying(text="Tea with Eve", tags=["x"]), "Tea alone")
        forgotten = self.forget(alpha, turns=receipt.ids[:1])
        assert forgotten.turns == receipt.ids[:1]
        assert forgotten.ids_sha256 == hashlib.sha256(receipt.ids[0].encode()).hexdigest()
        assert (forgotten.bank, forgotten.at, forgotten.erased) == ("alpha", NOON, True)
        assert forgotten.rows["turn"] == 1
        assert forgotten.rows["posting"] == 5
        assert len(alpha.postings("alpha", "term", ["tea"]).doc) == 1
        assert len(alpha.postings("alpha", "key", ["Eve"]).doc) == 0
        assert len(alpha.matching("alpha", Filters(tags=["x"]))) == 0
        with pytest.raises(NotFound, match="turn"):
            alpha.turns("alpha", receipt.ids[:1])

    def test_forgetting_moves_counters_revision_and_epoch(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one two", "three")
        before = alpha.state("alpha")
        self.forget(alpha, turns=receipt.ids[:1])
        after = alpha.state("alpha")
        assert (after.n_turns, after.n_terms) == (1, 1)
        assert after.revision == before.revision + 1
        assert after.erase_epoch == before.erase_epoch + 1
        assert alpha.sessions("alpha")[0].n_turns == 1

    def test_positions_and_documents_are_never_used_twice(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two")
        last = alpha.columns("alpha").doc[-1]
        self.forget(alpha, turns=receipt.ids[1:])
        self.say(alpha, "three")
        assert [turn.position for _, turn in alpha.scan("alpha")] == [0, 2]
        assert alpha.columns("alpha").doc[-1] > last

    def test_a_session_vanishes_with_its_last_turn(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one")
        assert self.forget(alpha, turns=receipt.ids).rows["session"] == 1
        assert alpha.sessions("alpha") == []
        assert alpha.bank("alpha").n_sessions == 0

    def test_the_start_of_a_session_moves_with_what_is_left(self, alpha: Store) -> None:
        receipt = self.say(alpha, Saying(text="early"), Saying(text="late", minute=7))
        self.forget(alpha, turns=receipt.ids[:1])
        assert alpha.sessions("alpha")[0].started_at == NOON + timedelta(minutes=7)

    def test_forgetting_a_session_leaves_the_others(self, alpha: Store) -> None:
        gone = self.say(alpha, "one", "two")
        self.say(alpha, Saying(text="one", session="s2"))
        forgotten = self.forget(alpha, session="s1")
        assert forgotten.turns == tuple(sorted(gone.ids))
        assert [session.name for session in alpha.sessions("alpha")] == ["s2"]
        assert len(alpha.postings("alpha", "term", ["one", "two"]).doc) == 1

    def test_forgetting_a_bank_leaves_the_others(self, alpha: Store) -> None:
        alpha.create_bank(new_bank("beta", embedder="m:1"))
        said = Saying(text="Tea", vectors=vector_row(1), tags=["x"])
        self.say(alpha, "Tea", "one")
        kept = self.say(alpha, said, bank="beta")
        forgotten = self.forget(alpha, whole_bank=True)
        assert len(forgotten.turns) == 2
        assert forgotten.rows["bank"] == 1
        with pytest.raises(NotFound, match="bank"):
            alpha.bank("alpha")
        assert [turn.id for _, turn in alpha.scan("beta")] == list(kept.ids)
        assert len(alpha.postings("beta", "term", ["tea"]).doc) == 1
        assert len(alpha.vectors("beta", "m:1").doc) == 1
        assert alpha.check()[0].severity == "ok"

    def test_a_bank_of_a_forgotten_name_is_another_bank(self, alpha: Store) -> None:
        self.say(alpha, "one")
        before = set(alpha.columns("alpha").doc.tolist())
        self.forget(alpha, whole_bank=True)
        alpha.create_bank(new_bank("alpha"))
        assert alpha.scan("alpha") == []
        self.say(alpha, "one")
        assert before.isdisjoint(alpha.columns("alpha").doc.tolist())

    def test_a_forgotten_turn_can_be_said_again(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two")
        self.forget(alpha, turns=receipt.ids[:1])
        assert self.say(alpha, "one").stored == receipt.ids[:1]

    def test_an_unknown_turn_or_session_removes_nothing(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one")
        with pytest.raises(NotFound, match="turn"):
            self.forget(alpha, turns=[*receipt.ids, "t1:unknown"])
        with pytest.raises(NotFound, match="session"):
            self.forget(alpha, session="s2")
        assert alpha.state("alpha").n_turns == 1

    @pytest.mark.parametrize(
        "selection",
        [
            Selection(),
            Selection(turns=["t1:a"], session="s1"),
            Selection(session="s1", whole_bank=True),
            Selection(turns="t1:a"),
        ],
    )
    def test_a_selection_names_exactly_one_thing(self, alpha: Store, selection: Selection) -> None:
        self.say(alpha, "one")
        with pytest.raises(InvalidInput):
            alpha.forget("alpha", selection, NOON)
        assert alpha.state("alpha").n_turns == 1

    def test_forgetting_what_was_named_twice_counts_it_once(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two")
        forgotten = self.forget(alpha, turns=[receipt.ids[0], receipt.ids[0]])
        assert forgotten.turns == receipt.ids[:1]
        assert alpha.state("alpha").n_turns == 1

    # Life of a store

    def test_what_was_acknowledged_is_there_after_reopening(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.create_bank(new_bank("alpha"))
        receipt = self.say(store, "one")
        store.close()
        again = self.make_store(tmp_path)
        assert [turn.id for _, turn in again.scan("alpha")] == list(receipt.ids)
        assert again.state("alpha").revision == receipt.revision
        again.close()

    def test_a_closed_store_says_so_and_closes_again(self, tmp_path: Path) -> None:
        store = self.make_store(tmp_path)
        store.close()
        store.close()
        with pytest.raises(StoreError, match="closed"):
            store.banks()

    def test_a_healthy_store_has_nothing_to_report(self, alpha: Store) -> None:
        receipt = self.say(alpha, Saying(text="Tea?", tags=["a", "b"]), "Coffee")
        self.forget(alpha, turns=receipt.ids[:1])
        assert [finding.severity for finding in alpha.check()] == ["ok"]
        assert [finding.severity for finding in alpha.check("alpha")] == ["ok"]
        assert alpha.erase()

    def forget(self, store: Store, bank: str = "alpha", **what: object) -> ForgetReceipt:
        """Forget in a bank at noon."""
        return store.forget(bank, Selection(**what), NOON)  # type: ignore[arg-type]
