"""Random lives of derived records, against sets that follow the rules of deletion and of closing."""

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from combray.index.records import RecordCache
from combray.model import Session
from combray.store import SqliteStore
from combray.store.base import Selection
from combray.store.derived import Closing
from combray.testing.derived_rows import (
    METHOD,
    cluster,
    derive,
    event,
    fact,
    texts,
    verdict,
    window,
)
from combray.testing.store_rows import NOON, Saying, new_bank

FACTS = ("A", "B", "C", "D")
some = st.lists(st.integers(0, 99), min_size=1, max_size=3)


@dataclass
class PlainUnit:
    """What a unit read, by document and by text, and what was made of it."""

    docs: frozenset[int]
    inputs: frozenset[str]
    made: set[str] = field(default_factory=set)
    done: bool = True
    closes: set[str] = field(default_factory=set)
    least: int = 0


class DerivedMachine(RuleBasedStateMachine):
    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = SqliteStore(Path(self.folder.name) / "evidence.db", synchronous="NORMAL")
        self.store.create_bank(replace(new_bank("alpha"), methods=(METHOD,)))
        self.docs: list[int] = []
        self.units: dict[tuple[str, str], PlainUnit] = {}
        self.edges: set[tuple[str, str]] = set()
        self.n_said = 0
        self.cache = RecordCache(self.store, 1 << 30)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def chosen(self, numbers: list[int]) -> tuple[int, ...]:
        return tuple(dict.fromkeys(self.docs[n % len(self.docs)] for n in numbers))

    def number(self, text: str) -> int:
        ids = [fact(text).id, event(text).id]
        (record,) = self.store.find_records("alpha", ids).values()
        return record.number

    def records(self) -> set[str]:
        return {text for unit in self.units.values() for text in unit.made}

    def closed(self) -> set[str]:
        return {text for unit in self.units.values() for text in unit.closes}

    def without_what_went(self, unit: PlainUnit) -> PlainUnit | None:
        """The unit if it lost nothing, else what is left to read of it, if that is enough."""
        docs, inputs = unit.docs & set(self.docs), unit.inputs & self.records()
        if (docs, inputs) == (unit.docs, unit.inputs):
            return unit
        if not 0 < unit.least <= len(inputs):
            return None
        return PlainUnit(docs, inputs, done=False, least=unit.least)

    def settle(self) -> None:
        """Follow the rule until nothing changes any more."""
        while True:
            seen = {key: self.without_what_went(unit) for key, unit in self.units.items()}
            left = {key: unit for key, unit in seen.items() if unit is not None}
            if left == self.units:
                self.edges = {pair for pair in self.edges if set(pair) <= self.records()}
                return
            self.units = left

    @rule(n=st.integers(1, 3))
    def say(self, n: int) -> None:
        rows = [Saying(text=f"turn {self.n_said + i}").row() for i in range(n)]
        self.n_said += n
        ids = self.store.put("alpha", Session(name="s1"), rows).ids
        self.docs += self.store.docs("alpha", ids)

    @precondition(lambda self: self.docs)
    @rule(numbers=some, made=st.lists(st.sampled_from(FACTS), unique=True), also=some)
    def read_a_window(self, numbers: list[int], made: list[str], also: list[int]) -> None:
        docs, others = self.chosen(numbers), self.chosen(also)
        unit, other = window(docs, *made), window(others, "Z")
        receipt = derive(self.store, unit, other)
        for row, what in ((unit, set(made)), (other, {"Z"})):
            if ("facts", row.key) not in self.units:
                self.units["facts", row.key] = PlainUnit(frozenset(row.turns), frozenset(), what)
                assert row.key in receipt.stored
            elif row is unit or row.key != unit.key:
                assert row.key in receipt.known

    @precondition(lambda self: self.records())
    @rule(numbers=some, also=some, done=st.booleans(), least=st.integers(0, 2))
    def put_together(self, numbers: list[int], also: list[int], done: bool, least: int) -> None:
        known = sorted(self.records())
        members = list(dict.fromkeys(known[n % len(known)] for n in numbers))
        docs = self.chosen(also)
        key = "+".join(members)
        text = f"({key})" if done else ""
        row = cluster([self.number(m) for m in members], docs, text, key=key, least=least)
        receipt = derive(self.store, row)
        before = self.units.get(("event", key))
        if before is not None and (before.done or not done):
            assert receipt.known == (key,)
            return
        assert receipt.stored == (key,)
        made = {text} if done else set()
        unit = PlainUnit(frozenset(docs), frozenset(members), made, done, least=least)
        self.units["event", key] = unit

    @precondition(lambda self: self.records())
    @rule(numbers=some, also=some, n_closed=st.integers(0, 2), least=st.integers(0, 2))
    def judge(self, numbers: list[int], also: list[int], n_closed: int, least: int) -> None:
        known = sorted(self.records())
        members = list(dict.fromkeys(known[n % len(known)] for n in numbers))
        docs, key, closes = self.chosen(also), "+".join(members), members[:n_closed]
        (by,) = self.store.records("alpha", [self.number(members[-1])]).values()
        row = verdict(
            [self.number(m) for m in members],
            *(Closing(record=self.number(m), by=by.id) for m in closes),
            docs=docs,
            key=key,
        )
        receipt = derive(self.store, replace(row, least_inputs=least))
        before = self.units.get(("verdict", key))
        if before is not None and before.done:
            assert receipt.known == (key,)
            return
        assert receipt.stored == (key,)
        self.units["verdict", key] = PlainUnit(
            frozenset(docs), frozenset(members), closes=set(closes), least=least
        )

    @precondition(lambda self: len(self.records()) > 1)
    @rule(a=st.integers(0, 99), b=st.integers(0, 99))
    def link(self, a: int, b: int) -> None:
        known = sorted(self.records())
        one, other = known[a % len(known)], known[b % len(known)]
        if one != other:
            derive(self.store, edges=[(self.number(one), self.number(other))])
            self.edges |= {(one, other), (other, one)}

    @precondition(lambda self: self.units)
    @rule(n=st.integers(0, 99), numbers=some)
    def replace_a_unit(self, n: int, numbers: list[int]) -> None:
        kind, key = sorted(self.units)[n % len(self.units)]
        gone = self.units.pop((kind, key))
        row = window(self.chosen(numbers), "A") if self.docs else None
        derive(self.store, *([row] if row else []), drop=[(kind, key), ("facts", "unknown")])
        assert gone
        if row and ("facts", row.key) not in self.units:
            self.units["facts", row.key] = PlainUnit(frozenset(row.turns), frozenset(), {"A"})
        self.settle()

    @precondition(lambda self: self.docs)
    @rule(numbers=some)
    def forget(self, numbers: list[int]) -> None:
        docs = self.chosen(numbers)
        found = self.store.turns_by_doc("alpha", docs)
        self.store.forget("alpha", Selection(turns=[turn.id for turn in found.values()]), NOON)
        self.docs = [doc for doc in self.docs if doc not in docs]
        self.settle()

    @precondition(lambda self: self.units)
    @rule()
    def relink(self) -> None:
        self.store.relink("alpha", METHOD, NOON)
        self.units = {key: unit for key, unit in self.units.items() if not unit.inputs}
        self.edges = set()

    @invariant()
    def the_store_is_as_expected(self) -> None:
        if not hasattr(self, "units"):
            return
        assert set(texts(self.store)) == self.records() - self.closed()
        view, columns = self.cache.view("alpha", METHOD), self.store.record_columns("alpha", METHOD)
        assert view.number[view.current].tolist() == columns.number[columns.current].tolist()
        assert set(columns.number.tolist()) <= set(view.number.tolist())
        names = {self.number(text): text for text in self.records()}
        stored = {
            (kind, unit.key): unit
            for kind in ("facts", "event", "verdict")
            for unit in self.store.units("alpha", METHOD, kind)
        }
        assert set(stored) == set(self.units)
        for key, unit in stored.items():
            assert set(unit.turns) == self.units[key].docs
            assert {names[number] for number in unit.inputs} == self.units[key].inputs
            assert (unit.done, unit.least_inputs) == (self.units[key].done, self.units[key].least)
            assert len(unit.records) == len(self.units[key].made)
        edges = self.store.edges("alpha", METHOD, "similar", list(names))
        pairs = zip(edges.a.tolist(), edges.b.tolist(), strict=True)
        assert {(names[a], names[b]) for a, b in pairs} == self.edges
        assert self.store.check()[0].severity == "ok", self.store.check()


DerivedMachine.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestDerivedMachine = DerivedMachine.TestCase
