"""What a store promises to readers, and to those who embed or analyse a bank anew."""

# ruff: noqa: D102, ANN401 (the name of a contract test is its documentation)

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from combray.errors import Conflict, EmbedderMismatch, NotFound
from combray.model import Filters, Role, Session
from combray.store.base import PutReceipt, Selection, SessionState, Store, TurnRow
from combray.testing.store_rows import DIMENSION, NOON, Saying, analysed, new_bank, vector_row

_ON_A_MISSING_BANK: dict[str, Callable[[Store], object]] = {
    "bank": lambda store: store.bank("none"),
    "state": lambda store: store.state("none"),
    "known": lambda store: store.known("none", ["t1:a"]),
    "session_state": lambda store: store.session_state("none", "s1", []),
    "put": lambda store: store.put("none", Session(name="s1"), []),
    "sessions": lambda store: store.sessions("none"),
    "turns": lambda store: store.turns("none", []),
    "turns_by_doc": lambda store: store.turns_by_doc("none", []),
    "scan": lambda store: store.scan("none"),
    "matching": lambda store: store.matching("none", Filters()),
    "columns": lambda store: store.columns("none"),
    "postings": lambda store: store.postings("none", "term", []),
    "terms": lambda store: store.terms("none", "term", []),
    "vectors": lambda store: store.vectors("none", "m:1"),
    "put_vectors": lambda store: store.put_vectors("none", "m:1", 8, {}),
    "missing_vectors": lambda store: store.missing_vectors("none", "m:1", limit=1),
    "use_embedder": lambda store: store.use_embedder("none", "m:1", 8),
    "replace_analysis": lambda store: store.replace_analysis("none", "words:2", {}, final=True),
    "missing_analysis": lambda store: store.missing_analysis("none", "words:2", limit=1),
    "forget": lambda store: store.forget("none", Selection(whole_bank=True), NOON),
    "check": lambda store: store.check("none"),
}


class StoreReadingContract:
    """The half of `combray.testing.StoreContract` that reads and reindexes."""

    def make_store(self, where: Path) -> Store:
        """A store that keeps its data under `where`: the same place gives the same data again."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        """An empty store."""
        store = self.make_store(tmp_path)
        yield store
        store.close()

    @pytest.fixture
    def alpha(self, store: Store) -> Store:
        """A store with the empty bank ``alpha``, which has no embedder."""
        store.create_bank(new_bank("alpha"))
        return store

    def say(self, store: Store, *what: Saying | str, bank: str = "alpha") -> PutReceipt:
        """Put turns of one session."""
        sayings = [Saying(text=saying) if isinstance(saying, str) else saying for saying in what]
        rows = [saying.row() for saying in sayings]
        return store.put(bank, Session(name=sayings[0].session), rows)

    def put_changed(self, store: Store, **changes: Any) -> PutReceipt:
        """Put one turn with some of its fields changed, under the id and postings it had."""
        row = Saying(text="one").row()
        return self.put_row(store, turn=replace(row.turn, **changes))

    def put_row(self, store: Store, **changes: Any) -> PutReceipt:
        """Put one row with some of its fields changed."""
        row = replace(Saying(text="one").row(), **changes)
        return store.put("alpha", Session(name=row.turn.session), [row])

    # Turns

    @pytest.mark.parametrize("call", _ON_A_MISSING_BANK.values(), ids=_ON_A_MISSING_BANK)
    def test_a_missing_bank_is_not_found(
        self, store: Store, call: Callable[[Store], object]
    ) -> None:
        with pytest.raises(NotFound) as caught:
            call(store)
        assert (caught.value.kind, caught.value.name) == ("bank", "none")

    def test_a_turn_comes_back_as_it_went_in(self, alpha: Store) -> None:
        row = Saying(
            text="Où ça? \n 日本語 🫖 'quoted'; -- %_",
            speaker="Zoë",
            role=Role.TOOL,
            caption="",
            tags=["b", "a"],
            metadata={"n": 1, "deep": [None, {"x": 1.5}]},
            expires_at=NOON + timedelta(days=1),
        ).row()
        alpha.put("alpha", Session(name="s1"), [row])
        (turn,) = alpha.turns("alpha", [row.turn.id])
        assert turn == replace(row.turn, position=0)

    def test_times_keep_their_offset(self, alpha: Store) -> None:
        said_at = datetime(2023, 5, 8, 23, 30, 0, 7, tzinfo=timezone(timedelta(hours=-7)))
        receipt = self.put_changed(alpha, said_at=said_at, expires_at=said_at)
        (turn,) = alpha.turns("alpha", receipt.ids)
        assert turn.said_at == turn.expires_at == said_at
        assert turn.said_at.utcoffset() == timedelta(hours=-7)
        assert alpha.columns("alpha").said_at[0] == 1_683_613_800_000_007

    def test_absent_is_not_empty(self, alpha: Store) -> None:
        receipt = self.put_changed(alpha, caption=None, client_id=None)
        (turn,) = alpha.turns("alpha", receipt.ids)
        assert (turn.caption, turn.client_id) == (None, None)

    def test_a_megabyte_of_text_is_kept_verbatim(self, alpha: Store) -> None:
        text = "é\r\n" * 350_000
        receipt = self.put_changed(alpha, text=text)
        assert alpha.turns("alpha", receipt.ids)[0].text == text

    def test_turns_come_in_the_order_asked_for(self, alpha: Store) -> None:
        one, two = self.say(alpha, "one", "two").ids
        assert [turn.id for turn in alpha.turns("alpha", [two, one, two])] == [two, one, two]
        with pytest.raises(NotFound, match="t1:unknown"):
            alpha.turns("alpha", [one, "t1:unknown"])

    @pytest.mark.parametrize("unknown", ["t1:x", "", "\ud800", "%", "t1:\0"])
    def test_an_id_that_is_not_there_is_not_found(self, alpha: Store, unknown: str) -> None:
        self.say(alpha, "one")
        assert alpha.known("alpha", [unknown]) == {}
        with pytest.raises(NotFound):
            alpha.turns("alpha", [unknown])

    def test_known_gives_content_by_id(self, alpha: Store) -> None:
        rows = [Saying(text=text).row() for text in ("one", "two")]
        alpha.put("alpha", Session(name="s1"), rows)
        ids = [row.turn.id for row in rows]
        assert alpha.known("alpha", [*ids, "t1:x"]) == {r.turn.id: r.turn.content for r in rows}

    def test_thousands_of_ids_can_be_asked_for_at_once(self, alpha: Store) -> None:
        ids = self.say(alpha, "one").ids
        many = [f"t1:{n}" for n in range(40_000)]
        assert list(alpha.known("alpha", [*many, *ids])) == list(ids)

    def test_session_state_says_how_far_a_session_is(self, alpha: Store) -> None:
        sayings = [Saying(text=text, id=str(n)) for n, text in enumerate(["a", "b", "a", "c"])]
        self.say(alpha, *sayings)
        a, b, _, c = (saying.row().turn.content for saying in sayings)
        assert alpha.session_state("alpha", "s1", [a, "c1:none", b]) == SessionState(
            n_turns=4, head=(a, b, a), counts={a: 2, b: 1}
        )
        assert alpha.session_state("alpha", "s1", [c]).head == (a,)
        assert alpha.session_state("alpha", "none", [a]) == SessionState(n_turns=0)

    def test_documents_name_turns_of_their_bank_only(self, alpha: Store) -> None:
        alpha.create_bank(new_bank("beta"))
        self.say(alpha, "one")
        self.say(alpha, "secret", bank="beta")
        docs = [doc for bank in ("alpha", "beta") for doc in alpha.columns(bank).doc.tolist()]
        found = alpha.turns_by_doc("alpha", [*docs, 7, -1])
        assert [turn.text for turn in found.values()] == ["one"]
        assert alpha.terms("alpha", "term", docs) == {docs[0]: {"one": 1}}

    def test_scanning_goes_by_document_page_by_page(self, alpha: Store) -> None:
        self.say(alpha, "one", "two")
        self.say(alpha, Saying(text="three", session="s2"))
        self.say(alpha, "four")
        page = alpha.scan("alpha", limit=3)
        assert [turn.text for _, turn in page] == ["one", "two", "three"]
        rest = alpha.scan("alpha", after=page[-1][0])
        assert [turn.text for _, turn in rest] == ["four"]
        in_session = alpha.scan("alpha", session="s1", after=page[0][0], limit=2)
        assert [turn.text for _, turn in in_session] == ["two", "four"]
        assert alpha.scan("alpha", session="none") == []

    def test_sessions_come_in_order_of_name_page_by_page(self, alpha: Store) -> None:
        for name in ("c", "a", "b"):
            self.say(alpha, Saying(text="one", session=name))
        assert [session.name for session in alpha.sessions("alpha", limit=2)] == ["a", "b"]
        assert [session.name for session in alpha.sessions("alpha", after="b")] == ["c"]

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            (Filters(), "0123"),
            (Filters(sessions=["s2", "none"]), "23"),
            (Filters(speakers=["ZOË"]), "13"),
            (Filters(speakers=["zo"]), ""),
            (Filters(roles=[Role.ASSISTANT]), "12"),
            (Filters(tags=["x"]), "02"),
            (Filters(tags=["x", "y"]), "2"),
            (Filters(since=NOON + timedelta(minutes=2)), "23"),
            (Filters(until=NOON + timedelta(minutes=2)), "01"),
            (Filters(sessions=["s2"], speakers=["Ann"], tags=["x"]), "2"),
            (Filters(sessions=["s1"], tags=["y"]), ""),
        ],
    )
    def test_all_filters_must_hold(self, alpha: Store, filters: Filters, expected: str) -> None:
        alpha.create_bank(new_bank("beta"))
        self.say(alpha, Saying(text="other", tags=["x", "y"]), bank="beta")
        ann, zoe, assistant = "Ann", "Zoë", Role.ASSISTANT
        self.say(
            alpha,
            Saying(text="0", speaker=ann, tags=["x"]),
            Saying(text="1", speaker=zoe, role=assistant, minute=1),
        )
        self.say(
            alpha,
            Saying(text="2", speaker=ann, role=assistant, minute=2, tags=["y", "x"], session="s2"),
            Saying(text="3", speaker=zoe, minute=3, session="s2"),
        )
        docs = alpha.matching("alpha", filters)
        assert docs.dtype == np.int64
        found = alpha.turns_by_doc("alpha", docs.tolist())
        assert "".join(found[doc].text for doc in docs.tolist()) == expected

    # Arrays

    def test_columns_say_what_scanning_says(self, alpha: Store) -> None:
        self.say(
            alpha,
            Saying(text="Who is there?", minute=5, expires_at=NOON),
            Saying(text="Me, of course", speaker="Bob", role=Role.ASSISTANT),
        )
        self.say(alpha, Saying(text="Later", session="s2", minute=-1))
        columns = alpha.columns("alpha")
        for row, (doc, turn) in enumerate(alpha.scan("alpha")):
            assert columns.doc[row] == doc
            assert columns.sessions[int(columns.session[row])] == turn.session
            assert columns.position[row] == turn.position
            assert columns.speakers[columns.speaker[row]] == turn.speaker
            assert columns.roles[columns.role[row]] == turn.role
        noon = int(NOON.timestamp()) * 1_000_000
        assert (columns.said_at - noon).tolist() == [300_000_000, 0, -60_000_000]
        never = np.iinfo(np.int64).max
        assert columns.expires_at.tolist() == [noon, never, never]
        assert columns.n_terms.tolist() == [3, 3, 1]
        assert columns.question.tolist() == [True, False, False]

    def test_columns_after_a_document_are_the_tail(self, alpha: Store) -> None:
        self.say(alpha, "one", "two", "three")
        whole = alpha.columns("alpha")
        tail = alpha.columns("alpha", after=int(whole.doc[0]))
        assert tail.doc.tolist() == whole.doc[1:].tolist()
        assert len(alpha.columns("alpha", after=int(whole.doc[-1])).doc) == 0

    def test_an_empty_bank_gives_empty_arrays(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        columns = store.columns("alpha")
        assert columns.doc.shape == columns.said_at.shape == columns.question.shape == (0,)
        assert store.postings("alpha", "term", ["one"]).tf.shape == (0,)
        vectors = store.vectors("alpha", "m:1")
        assert vectors.vectors.shape == (0, DIMENSION)
        assert vectors.tokens.shape == (0, DIMENSION // 8)
        assert vectors.offsets.tolist() == [0]
        assert len(store.vectors("alpha", "unknown").doc) == 0

    def test_postings_come_in_order_of_term_and_document(self, alpha: Store) -> None:
        self.say(alpha, "tea tea cake", "cake", "Tea")
        docs = alpha.columns("alpha").doc
        postings = alpha.postings("alpha", "term", ["cake", "none", "tea"])
        assert postings.term.tolist() == [0, 0, 2, 2]
        assert postings.doc.tolist() == docs[[0, 1, 0, 2]].tolist()
        assert postings.tf.tolist() == [1, 1, 2, 1]
        assert alpha.postings("alpha", "key", ["Tea"]).doc.tolist() == [docs[2]]
        assert len(alpha.postings("alpha", "none", ["tea"]).doc) == 0

    def test_document_frequencies_are_the_banks_own(self, alpha: Store) -> None:
        alpha.create_bank(new_bank("beta"))
        self.say(alpha, "tea")
        self.say(alpha, "tea", "more tea", bank="beta")
        assert len(alpha.postings("alpha", "term", ["tea", "more"]).doc) == 1

    def test_the_same_turn_in_two_banks_is_two_turns(self, alpha: Store) -> None:
        alpha.create_bank(new_bank("beta"))
        ids = self.say(alpha, "tea").ids
        assert alpha.known("beta", ids) == {}
        assert self.say(alpha, "tea", bank="beta").stored == ids
        alpha.forget("alpha", Selection(turns=ids), NOON)
        assert len(alpha.turns("beta", ids)) == 1

    @pytest.mark.parametrize("kind", ["term", "key", "none"])
    def test_terms_are_postings_from_the_turns_side(self, alpha: Store, kind: str) -> None:
        self.say(alpha, 'Tea "tea" cake')
        (doc,) = alpha.columns("alpha").doc.tolist()
        expected = {"term": {"tea": 2, "cake": 1}, "key": {"Tea": 1}, "none": {}}[kind]
        assert alpha.terms("alpha", kind, [doc, doc + 1]) == {doc: expected}

    def test_vectors_come_back_bit_for_bit(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        rows = [vector_row(n, n_tokens=n) for n in range(4)]
        self.say(store, *(Saying(text=f"{n}", vectors=row) for n, row in enumerate(rows)))
        vectors = store.vectors("alpha", "m:1")
        assert vectors.doc.tolist() == store.columns("alpha").doc.tolist()
        assert vectors.vectors.dtype == np.float16
        assert vectors.vectors.tobytes() == b"".join(row.vector for row in rows)
        assert vectors.tokens.tobytes() == b"".join(row.tokens for row in rows)
        assert vectors.offsets.tolist() == [0, 0, 1, 3, 6]
        tail = store.vectors("alpha", "m:1", after=int(vectors.doc[1]))
        assert tail.doc.tolist() == vectors.doc[2:].tolist()
        assert tail.offsets.tolist() == [0, 2, 5]

    # Another embedder, another analyser

    def test_another_embedder_is_gathered_beside_and_switched_at_once(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="old"))
        self.say(store, *(Saying(text=f"{n}", vectors=vector_row(n)) for n in range(3)))
        missing = store.missing_vectors("alpha", "new", limit=2)
        rows = {doc: vector_row(doc, dimension=8) for doc, _ in missing}
        epoch = store.state("alpha").erase_epoch
        assert store.put_vectors("alpha", "new", 8, rows) == 2
        assert store.put_vectors("alpha", "new", 8, rows) == 0
        assert store.state("alpha").erase_epoch == epoch
        with pytest.raises(Conflict, match="new"):
            store.use_embedder("alpha", "new", 8)
        assert len(store.vectors("alpha", "old").doc) == 3
        ((last, _),) = store.missing_vectors("alpha", "new", limit=2)
        store.put_vectors("alpha", "new", 8, {last: vector_row(last, dimension=8)})
        store.use_embedder("alpha", "new", 8)
        assert (store.bank("alpha").embedder, store.bank("alpha").dimension) == ("new", 8)
        assert store.vectors("alpha", "new").vectors.shape == (3, 8)
        assert len(store.vectors("alpha", "old").doc) == 0
        assert store.state("alpha").erase_epoch > epoch
        assert store.check()[0].severity == "ok"

    def test_vectors_can_be_dropped_for_good(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        self.say(store, Saying(text="one", vectors=vector_row(1)))
        store.use_embedder("alpha", None, 0)
        assert store.bank("alpha").embedder is None
        assert len(store.vectors("alpha", "m:1").doc) == 0

    def test_an_empty_bank_takes_any_embedder(self, alpha: Store) -> None:
        alpha.use_embedder("alpha", "m:1", DIMENSION)
        self.say(alpha, Saying(text="one", vectors=vector_row(1)))
        assert len(alpha.vectors("alpha", "m:1").doc) == 1

    def test_vectors_filled_in_later_make_older_copies_invalid(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="m:1"))
        self.say(store, "one")
        before = store.state("alpha")
        (doc,) = store.columns("alpha").doc.tolist()
        store.put_vectors("alpha", "m:1", DIMENSION, {doc: vector_row(1)})
        after = store.state("alpha")
        assert (after.revision, after.erase_epoch) == (before.revision + 1, before.erase_epoch + 1)

    def test_vectors_of_another_dimension_are_refused(self, alpha: Store) -> None:
        self.say(alpha, "one")
        (doc,) = alpha.columns("alpha").doc.tolist()
        with pytest.raises(EmbedderMismatch):
            alpha.put_vectors("alpha", "m:1", 8, {doc: vector_row(1)})
        alpha.put_vectors("alpha", "m:1", DIMENSION, {doc: vector_row(1)})
        with pytest.raises(EmbedderMismatch):
            alpha.put_vectors("alpha", "m:1", 8, {doc: vector_row(1, dimension=8)})

    def test_what_was_forgotten_meanwhile_does_not_come_back(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two")
        found = alpha.scan("alpha")
        alpha.forget("alpha", Selection(turns=receipt.ids[:1]), NOON)
        vectors = {doc: vector_row(doc) for doc, _ in found}
        assert alpha.put_vectors("alpha", "m:1", DIMENSION, vectors) == 1
        rows = {doc: analysed(turn, suffix="2") for doc, turn in found}
        alpha.replace_analysis("alpha", "words:2", rows, final=True)
        alpha.use_embedder("alpha", "m:1", DIMENSION)
        assert len(alpha.postings("alpha", "term", ["one2"]).doc) == 0
        assert alpha.check()[0].severity == "ok"

    def test_another_banks_documents_take_no_vectors_and_no_analysis(self, alpha: Store) -> None:
        alpha.create_bank(new_bank("beta"))
        self.say(alpha, "secret", bank="beta")
        ((doc, turn),) = alpha.scan("beta")
        assert alpha.put_vectors("alpha", "m:1", DIMENSION, {doc: vector_row(1)}) == 0
        alpha.replace_analysis("alpha", "words:1", {doc: analysed(turn, suffix="2")}, final=False)
        assert len(alpha.vectors("alpha", "m:1").doc) == 0
        for bank in ("alpha", "beta"):
            assert len(alpha.postings(bank, "term", ["secret2"]).doc) == 0
        assert {finding.severity for finding in alpha.check()} <= {"ok", "warning"}

    def test_another_analyser_is_gathered_beside_and_switched_at_once(self, alpha: Store) -> None:
        self.say(alpha, "one two", "Who?")
        rows = self.reread(alpha, alpha.missing_analysis("alpha", "words:2", limit=9))
        alpha.replace_analysis("alpha", "words:2", rows, final=False)
        assert len(alpha.postings("alpha", "term", ["one", "one2"]).doc) == 1
        self.say(alpha, "late")
        with pytest.raises(Conflict, match="words:2"):
            alpha.replace_analysis("alpha", "words:2", {}, final=True)
        assert alpha.bank("alpha").analyser == "words:1"
        missing = alpha.missing_analysis("alpha", "words:2", limit=9)
        assert [turn.text for _, turn in missing] == ["late"]
        epoch = alpha.state("alpha").erase_epoch
        alpha.replace_analysis("alpha", "words:2", self.reread(alpha, missing), final=True)
        assert alpha.bank("alpha").analyser == "words:2"
        assert alpha.postings("alpha", "term", ["one", "late", "late2"]).term.tolist() == [2]
        assert alpha.missing_analysis("alpha", "words:1", limit=1) != []
        assert alpha.state("alpha").erase_epoch > epoch
        assert alpha.check()[0].severity == "ok"

    def test_a_conflict_at_the_switch_changes_nothing(self, alpha: Store) -> None:
        self.say(alpha, "one", "two")
        before = alpha.state("alpha")
        (doc, turn), _ = alpha.scan("alpha")
        rows = {doc: analysed(turn, suffix="2")}
        with pytest.raises(Conflict):
            alpha.replace_analysis("alpha", "words:2", rows, final=True)
        assert alpha.state("alpha") == before
        assert len(alpha.missing_analysis("alpha", "words:2", limit=9)) == 2

    def test_lengths_and_questions_follow_the_analysis(self, alpha: Store) -> None:
        self.say(alpha, "Is it so?", "yes")
        found = alpha.scan("alpha")
        shorter = {doc: analysed(replace(turn, text="so")) for doc, turn in found}
        for analyser in ("words:1", "words:2"):
            alpha.replace_analysis("alpha", analyser, shorter, final=True)
            columns = alpha.columns("alpha")
            assert columns.n_terms.tolist() == [1, 1]
            assert columns.question.tolist() == [False, False]
            assert alpha.state("alpha").n_terms == 2
            assert alpha.check()[0].severity == "ok"

    def test_forgetting_reaches_what_is_gathered_beside(self, store: Store) -> None:
        store.create_bank(new_bank("alpha", embedder="old"))
        receipt = self.say(store, Saying(text="Tea", vectors=vector_row(1)), "cake")
        found = store.scan("alpha")
        store.put_vectors("alpha", "new", 8, {doc: vector_row(1, dimension=8) for doc, _ in found})
        store.replace_analysis("alpha", "words:2", self.reread(store, found), final=False)
        forgotten = store.forget("alpha", Selection(turns=receipt.ids[:1]), NOON)
        assert (forgotten.rows["vector"], forgotten.rows["posting"]) == (2, 4)
        assert all(finding.severity == "warning" for finding in store.check())
        store.replace_analysis("alpha", "words:2", {}, final=True)
        store.use_embedder("alpha", "new", 8)
        assert len(store.vectors("alpha", "new").doc) == 1
        assert store.check()[0].severity == "ok"

    def reread(self, store: Store, found: list[tuple[int, Any]]) -> dict[int, TurnRow]:
        """The same turns with other terms."""
        return {doc: analysed(turn, suffix="2") for doc, turn in found}
