"""Random lives of several banks, against a dictionary that does the same."""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from combray.errors import Conflict, NotFound
from combray.model import Filters, Session, Turn
from combray.store import SqliteStore
from combray.store.base import Selection, TurnRow
from combray.testing.store_rows import NOON, Saying, new_bank, vector_row

BANKS = ("a", "b", "a'b")
SESSIONS = ("s1", "s2")
WORDS = ("tea", "Cake", "who", 'quo"te')

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
sayings = st.lists(st.tuples(st.sampled_from("123456"), texts), min_size=1, max_size=4)


@dataclass
class PlainBank:
    """What a bank must hold: rows by turn id, in order of arrival."""

    rows: dict[str, TurnRow] = field(default_factory=dict)
    turns: dict[str, Turn] = field(default_factory=dict)
    next_position: Counter[str] = field(default_factory=Counter)
    revision: int = 0
    epoch: int = 0

    def forget(self, ids: list[str]) -> None:
        for id_ in ids:
            del self.rows[id_], self.turns[id_]
        for session in SESSIONS:
            if not any(turn.session == session for turn in self.turns.values()):
                self.next_position[session] = 0
        self.revision += 1
        self.epoch += 1

    def frequency(self, kind: str, term: str) -> int:
        return sum(term in row.postings[kind] for row in self.rows.values())


class StoreMachine(RuleBasedStateMachine):
    def make_store(self, where: Path) -> SqliteStore:
        return SqliteStore(where / "evidence.db", synchronous="NORMAL")

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = self.make_store(Path(self.folder.name))
        self.plain: dict[str, PlainBank] = {}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.store.check()[0].severity == "ok", self.store.check()
            self.store.close()
            self.folder.cleanup()

    @rule(name=st.sampled_from(BANKS))
    def create(self, name: str) -> None:
        if name in self.plain:
            with pytest.raises(Conflict):
                self.store.create_bank(new_bank(name))
        else:
            self.store.create_bank(new_bank(name, embedder="m:1"))
            self.plain[name] = PlainBank()

    @precondition(lambda self: self.plain)
    @rule(data=st.data(), session=st.sampled_from(SESSIONS), said=sayings)
    def put(self, data: st.DataObject, session: str, said: list[tuple[str, str]]) -> None:
        name = data.draw(st.sampled_from(sorted(self.plain)))
        rows = [
            Saying(
                text=text, id=id_, session=session, tags=[id_], vectors=vector_row(int(id_))
            ).row()
            for id_, text in said
        ]
        bank = self.plain[name]
        seen = {id_: row.turn.content for id_, row in bank.rows.items()}
        if any(seen.setdefault(row.turn.id, row.turn.content) != row.turn.content for row in rows):
            with pytest.raises(Conflict):
                self.store.put(name, Session(name=session), rows)
            return
        receipt = self.store.put(name, Session(name=session), rows)
        new: list[str] = []
        for row in rows:
            if row.turn.id not in bank.rows:
                bank.rows[row.turn.id] = row
                bank.turns[row.turn.id] = row.turn
                new.append(row.turn.id)
                position = bank.next_position[session]
                assert self.store.turns(name, [row.turn.id])[0].position == position
                bank.next_position[session] += 1
        bank.revision += bool(new)
        assert receipt.ids == tuple(row.turn.id for row in rows)
        assert receipt.stored == tuple(new)
        assert set(receipt.known) == {id_ for id_ in receipt.ids if id_ not in new} | {
            id_ for id_ in new if receipt.ids.count(id_) > 1
        }
        assert receipt.revision == bank.revision

    @precondition(lambda self: any(bank.rows for bank in self.plain.values()))
    @rule(data=st.data())
    def forget_turns(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(n for n, bank in self.plain.items() if bank.rows)))
        bank = self.plain[name]
        ids = data.draw(st.lists(st.sampled_from(sorted(bank.rows)), min_size=1, unique=True))
        receipt = self.store.forget(name, Selection(turns=ids), NOON)
        self.assert_receipt(receipt, bank, ids)
        bank.forget(ids)

    @precondition(lambda self: self.plain)
    @rule(data=st.data(), session=st.sampled_from(SESSIONS))
    def forget_session(self, data: st.DataObject, session: str) -> None:
        name = data.draw(st.sampled_from(sorted(self.plain)))
        bank = self.plain[name]
        ids = [id_ for id_, turn in bank.turns.items() if turn.session == session]
        if not ids:
            with pytest.raises(NotFound):
                self.store.forget(name, Selection(session=session), NOON)
            return
        receipt = self.store.forget(name, Selection(session=session), NOON)
        self.assert_receipt(receipt, bank, ids)
        bank.forget(ids)

    @precondition(lambda self: self.plain)
    @rule(data=st.data())
    def forget_bank(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.plain)))
        receipt = self.store.forget(name, Selection(whole_bank=True), NOON)
        bank = self.plain.pop(name)
        self.assert_receipt(receipt, bank, list(bank.rows))

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.make_store(Path(self.folder.name))

    def assert_receipt(self, receipt, bank: PlainBank, ids: list[str]) -> None:
        assert receipt.turns == tuple(sorted(ids))
        assert receipt.erased
        n_postings = sum(len(terms) for id_ in ids for terms in bank.rows[id_].postings.values())
        expected = {
            "turn": len(ids),
            "posting": n_postings,
            "vector": len(ids),
            "turn_tag": len(ids),
        }
        assert {table: receipt.rows.get(table, 0) for table in expected} == expected

    @invariant()
    def banks_are_as_expected(self) -> None:
        if not hasattr(self, "plain"):
            return
        assert [bank.name for bank in self.store.banks()] == sorted(self.plain)
        for name, bank in self.plain.items():
            self.assert_bank(name, bank)

    def assert_bank(self, name: str, bank: PlainBank) -> None:
        state = self.store.state(name)
        assert (state.revision, state.erase_epoch) == (bank.revision, bank.epoch)
        assert state.n_turns == len(bank.rows)
        assert state.n_terms == sum(row.n_terms for row in bank.rows.values())
        scanned = self.store.scan(name)
        assert [turn.id for _, turn in scanned] == list(bank.turns)
        columns = self.store.columns(name)
        docs = [doc for doc, _ in scanned]
        assert columns.doc.tolist() == docs
        assert columns.position.tolist() == [turn.position for _, turn in scanned]
        assert self.store.vectors(name, "m:1").doc.tolist() == docs
        per_session = Counter(turn.session for turn in bank.turns.values())
        assert {s.name: s.n_turns for s in self.store.sessions(name)} == dict(per_session)
        self.assert_frequencies(name, bank)
        others = {id_ for other in self.plain.values() if other is not bank for id_ in other.rows}
        known = self.store.known(name, sorted(others | set(bank.rows)))
        assert known == {id_: turn.content for id_, turn in bank.turns.items()}

    def assert_frequencies(self, name: str, bank: PlainBank) -> None:
        for kind, terms in {"term": ("tea", "cake", "who", "quo"), "key": ("Cake",)}.items():
            found = Counter(self.store.postings(name, kind, terms).term.tolist())
            expected = {n: bank.frequency(kind, term) for n, term in enumerate(terms)}
            assert found == Counter(expected)
        for tag in "123456":
            tagged = [turn.id for turn in bank.turns.values() if turn.tags == (tag,)]
            assert len(self.store.matching(name, Filters(tags=[tag]))) == len(tagged)


StoreMachine.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestStoreMachine = StoreMachine.TestCase
