"""What a store promises to workers, and of the ledger of their calls."""

# ruff: noqa: D102 (the name of a contract test is its documentation)

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from combray.errors import Conflict
from combray.model import Call, Job, JobState, Session
from combray.store.base import Selection, Store
from combray.store.derived import Claim
from combray.testing.derived_rows import METHOD, derive, tasks, window
from combray.testing.store_reading_contract import StoreReadingContract
from combray.testing.store_rows import NOON, Saying, new_bank

SECOND = timedelta(seconds=1)
LATER = NOON + timedelta(hours=1)


class StoreJobsContract(StoreReadingContract):
    """The part of `combray.testing.StoreContract` that concerns jobs and calls."""

    @pytest.fixture
    def working(self, store: Store) -> Store:
        """A store with the bank ``alpha``, from which `METHOD` derives."""
        store.create_bank(replace(new_bank("alpha"), methods=(METHOD,)))
        return store

    def claim(
        self,
        store: Store,
        worker: str = "w1",
        *,
        now: datetime = LATER,
        bank: str | None = None,
        methods: tuple[str, ...] = (),
        settled_before: datetime | None = None,
    ) -> Job | None:
        """Claim for a minute."""
        return store.claim(
            worker,
            now=now,
            lease_s=60,
            bank=bank,
            methods=methods,
            settled_before=settled_before,
        )

    def claimed(self, store: Store, worker: str = "w1", *, now: datetime = LATER) -> Job:
        """The same, where there must be one."""
        job = self.claim(store, worker, now=now)
        assert job is not None
        return job

    # Asking for work

    def test_a_bank_keeps_its_methods(self, store: Store) -> None:
        store.create_bank(replace(new_bank("alpha"), methods=("b", "a")))
        assert store.bank("alpha").methods == ("a", "b")
        assert store.set_methods("alpha", ["c", "b", "c"], NOON) == ("c",)
        assert store.bank("alpha").methods == store.banks()[0].methods == ("b", "c")

    def test_a_bank_without_methods_has_no_jobs(self, alpha: Store) -> None:
        self.say(alpha, "one")
        assert alpha.jobs("alpha") == []

    def test_new_turns_ask_for_a_job_of_their_session(self, working: Store) -> None:
        self.say(working, "one", "two")
        (job,) = working.jobs("alpha")
        assert (job.bank, job.method, job.kind, job.subject) == ("alpha", METHOD, "turns", "s1")
        assert (job.state, job.tries, job.due_at, job.worker) == (JobState.WAITING, 0, NOON, None)

    def test_known_turns_ask_for_nothing(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        assert working.finish("alpha", job.number, "w1", job.version)
        self.say(working, "one")
        assert working.jobs("alpha") == []

    def test_a_refused_put_asks_for_nothing(self, working: Store) -> None:
        with pytest.raises(Conflict):
            self.say(working, Saying(text="tea", id="1"), Saying(text="coffee", id="1"))
        assert working.jobs("alpha") == []

    def test_a_session_has_one_job_a_method(self, working: Store) -> None:
        working.set_methods("alpha", [METHOD, "other"], NOON)
        for text in ("one", "two", "three"):
            self.say(working, text)
        assert sorted(job.method for job in working.jobs("alpha")) == [METHOD, "other"]

    def test_a_new_method_gets_a_job_for_each_session(self, alpha: Store) -> None:
        self.say(alpha, Saying(text="one", session="s1"))
        self.say(alpha, Saying(text="two", session="s2"))
        assert alpha.set_methods("alpha", [METHOD], NOON) == (METHOD,)
        assert tasks(alpha.jobs("alpha")) == [
            ("turns", "s1", "waiting"),
            ("turns", "s2", "waiting"),
        ]
        assert alpha.set_methods("alpha", [METHOD], NOON) == ()

    def test_the_jobs_of_a_method_that_is_left_out_go(self, working: Store) -> None:
        self.say(working, "one")
        docs = working.columns("alpha").doc.tolist()
        derive(working, window(docs, "Fact"))
        working.set_methods("alpha", [], NOON)
        assert working.jobs("alpha") == []
        assert len(working.record_columns("alpha", METHOD).number) == 1

    # Claiming

    def test_nothing_is_claimed_where_nothing_is_due(self, working: Store) -> None:
        assert self.claim(working) is None
        self.say(working, "one")
        assert self.claim(working, now=NOON - SECOND) is None
        assert self.claim(working, now=NOON) is not None

    def test_a_claimed_job_is_nobody_elses(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        assert (job.state, job.worker) == (JobState.RUNNING, "w1")
        assert job.leased_until == LATER + timedelta(minutes=1)
        assert self.claim(working, "w2") is None
        assert working.jobs("alpha") == [job]

    def test_a_lease_that_has_run_out_is_claimed_by_another_worker(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        assert self.claim(working, "w2", now=LATER + 59 * SECOND) is None
        again = self.claimed(working, "w2", now=LATER + 60 * SECOND)
        assert (again.number, again.worker, again.tries) == (job.number, "w2", job.tries + 1)
        for n in (working.renew("alpha", job.number, "w1", LATER + timedelta(days=1)),
                  working.finish("alpha", job.number, "w1", job.version),
                  working.fail("alpha", job.number, "w1", code="c", error="e", due_at=None)):  # fmt: skip
            assert not n
        assert working.jobs("alpha") == [again]

    def test_a_renewed_lease_holds_longer(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        assert working.renew("alpha", job.number, "w1", LATER + timedelta(hours=1))
        assert self.claim(working, "w2", now=LATER + timedelta(minutes=59)) is None

    def test_the_job_that_has_been_due_longest_comes_first(self, working: Store) -> None:
        for session, minute in (("s1", 3), ("s2", 1), ("s3", 2)):
            row = Saying(text="one", session=session).row()
            turn = replace(row.turn, stored_at=NOON + timedelta(minutes=minute))
            working.put("alpha", Session(name=session), [replace(row, turn=turn)])
        assert [self.claimed(working).subject for _ in range(3)] == ["s2", "s3", "s1"]

    def test_banks_take_turns(self, working: Store) -> None:
        for n in range(4):
            self.say(working, Saying(text="one", session=f"s{n}"))
        for name in ("beta", "gamma"):
            working.create_bank(replace(new_bank(name), methods=(METHOD,)))
            self.say(working, "one", bank=name)
        first = [self.claimed(working).bank for _ in range(3)]
        assert sorted(first) == ["alpha", "beta", "gamma"]
        assert [self.claimed(working).bank for _ in range(3)] == ["alpha"] * 3

    def test_a_claim_may_be_of_one_bank_and_of_some_methods(self, working: Store) -> None:
        working.create_bank(replace(new_bank("beta"), methods=("other",)))
        self.say(working, "one")
        self.say(working, "one", bank="beta")
        assert self.claim(working, methods=("none",)) is None
        other = self.claim(working, methods=("other", "none"))
        assert other is not None
        assert (other.bank, other.method) == ("beta", "other")
        assert self.claim(working, bank="beta") is None
        assert self.claim(working, bank="alpha") is not None

    def test_new_turns_may_be_left_to_settle(self, working: Store) -> None:
        self.say(working, "one")
        assert self.claim(working, settled_before=NOON - SECOND) is None
        assert self.claim(working, settled_before=NOON) is not None

    def test_only_new_turns_are_left_to_settle(self, working: Store) -> None:
        self.say(working, "one")
        old = NOON - timedelta(days=1)
        working.set_methods("alpha", [], NOON)
        working.set_methods("alpha", [METHOD], NOON)
        job = self.claim(working, settled_before=old)
        assert job is not None
        working.fail("alpha", job.number, "w1", code="c", error="e", due_at=None)
        assert working.retry_jobs("alpha", (), NOON) == 1
        job = self.claim(working, settled_before=old)
        assert job is not None
        assert job.tries == 0
        working.finish("alpha", job.number, "w1", job.version)
        working.rebuild("alpha", METHOD, NOON)
        assert self.claim(working, settled_before=old) is not None

    # Ending

    def test_a_finished_job_is_gone(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        assert working.finish("alpha", job.number, "w1", job.version)
        assert working.jobs("alpha") == []
        assert not working.finish("alpha", job.number, "w1", job.version)

    def test_a_job_that_was_asked_for_meanwhile_waits_again(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        self.say(working, "two")
        assert working.jobs("alpha")[0].state is JobState.RUNNING
        assert working.finish("alpha", job.number, "w1", job.version)
        (again,) = working.jobs("alpha")
        assert (again.state, again.worker, again.leased_until) == (JobState.WAITING, None, None)
        assert again.version > job.version
        assert self.claim(working) is not None

    def test_a_failed_try_says_why_and_waits(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        due = LATER + timedelta(minutes=5)
        assert working.fail(
            "alpha", job.number, "w1", code="c", error="why \ud800", raw="{\0", due_at=due
        )
        (failed,) = working.jobs("alpha")
        assert (failed.state, failed.tries, failed.due_at) == (JobState.WAITING, 1, due)
        assert (failed.code, failed.error, failed.raw) == ("c", "why \ufffd", "{\ufffd")
        assert self.claim(working, now=due - SECOND) is None
        assert self.claim(working, now=due) is not None

    def test_a_job_that_is_given_up_waits_for_a_retry(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        working.fail("alpha", job.number, "w1", code="c", error="why", due_at=None)
        assert [one.state for one in working.jobs("alpha", states=["failed"])] == ["failed"]
        assert working.jobs("alpha", states=["waiting", "running"]) == []
        assert self.claim(working, now=LATER + timedelta(days=99)) is None
        assert working.retry_jobs("alpha", [], LATER) == 1
        assert self.claim(working) is not None

    def test_single_jobs_are_retried_but_not_running_ones(self, working: Store) -> None:
        for n in range(3):
            self.say(working, Saying(text="one", session=f"s{n}"))
        jobs = [self.claimed(working) for _ in range(3)]
        for job in jobs[:2]:
            working.fail("alpha", job.number, "w1", code="c", error="e", due_at=LATER)
        assert working.retry_jobs("alpha", [jobs[1].number, jobs[2].number, 99], NOON) == 1
        assert self.claimed(working, now=NOON + SECOND).number == jobs[1].number

    def test_new_turns_revive_a_job_that_was_given_up(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        working.fail("alpha", job.number, "w1", code="c", error="e", due_at=None)
        self.say(working, "two")
        assert self.claimed(working).number == job.number

    def test_jobs_come_page_by_page(self, working: Store) -> None:
        for n in range(5):
            self.say(working, Saying(text="one", session=f"s{n}"))
        page = working.jobs("alpha", limit=3)
        rest = working.jobs("alpha", after=page[-1].number, limit=3)
        assert [job.subject for job in page + rest] == [f"s{n}" for n in range(5)]

    # Writing in its name

    def test_a_worker_that_lost_its_job_writes_nothing(self, working: Store) -> None:
        self.say(working, "one")
        docs = working.columns("alpha").doc.tolist()
        job = self.claimed(working)
        held = Claim(job=job.number, worker="w1")
        assert derive(working, window(docs, "Mine"), claim=held).stored
        self.claimed(working, "w2", now=LATER + timedelta(hours=1))
        state = working.derived_state("alpha")
        with pytest.raises(Conflict, match="no longer"):
            derive(working, window(docs, "Late", key="late"), claim=held)
        assert working.derived_state("alpha") == state

    def test_a_worker_whose_session_was_forgotten_writes_nothing(self, working: Store) -> None:
        self.say(working, "one")
        docs = working.columns("alpha").doc.tolist()
        job = self.claimed(working)
        working.forget("alpha", Selection(session="s1"), NOON)
        with pytest.raises(Conflict):
            derive(working, window(docs, "Late"), claim=Claim(job=job.number, worker="w1"))
        assert len(working.record_columns("alpha", METHOD).number) == 0

    def test_a_number_of_a_job_is_never_given_twice(self, working: Store) -> None:
        self.say(working, "one")
        job = self.claimed(working)
        working.finish("alpha", job.number, "w1", job.version)
        self.say(working, "two")
        assert working.jobs("alpha")[0].number > job.number

    # The ledger

    def test_calls_add_up_by_phase_method_and_model(self, alpha: Store) -> None:
        call = Call(at=NOON, phase="facts", method=METHOD, model="m", prompt_tokens=10,
                    completion_tokens=3, latency_ms=7.5)  # fmt: skip
        alpha.record_calls(
            "alpha",
            [
                call,
                replace(call, at=LATER, retry=1, run="r", outcome="truncated"),
                replace(call, cached=True, attempts=0),
                replace(call, phase="event", outcome="timed_out"),
            ],
        )
        events, facts = alpha.call_summary("alpha")
        assert (events.phase, events.n_calls, events.n_failed) == ("event", 1, 1)
        assert (facts.phase, facts.method, facts.model) == ("facts", METHOD, "m")
        assert (facts.n_calls, facts.n_cached, facts.n_repairs, facts.n_failed) == (3, 1, 1, 0)
        assert (facts.prompt_tokens, facts.completion_tokens, facts.latency_ms) == (20, 6, 22.5)
        assert [one.n_calls for one in alpha.call_summary("alpha", run="r")] == [1]
        assert alpha.calls("alpha", since=LATER)[0].run == "r"
        assert alpha.calls("alpha")[:1] == [call]

    def test_calls_are_their_banks_own(self, alpha: Store) -> None:
        alpha.create_bank(new_bank("beta"))
        alpha.record_calls("alpha", [Call(at=NOON, phase="facts")])
        assert alpha.call_summary("beta") == []
        assert alpha.calls("beta") == []

    def test_a_reply_is_kept_until_a_turn_that_it_read_is_forgotten(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two", "three")
        docs = alpha.columns("alpha").doc.tolist()
        alpha.reply_put("alpha", "k1", "first", docs[:2])
        alpha.reply_put("alpha", "k2", "second", docs[2:])
        assert alpha.reply_get("alpha", "k1") == "first"
        assert alpha.reply_get("alpha", "k3") is None
        alpha.forget("alpha", Selection(turns=receipt.ids[1:2]), NOON)
        assert alpha.reply_get("alpha", "k1") is None
        assert alpha.reply_get("alpha", "k2") == "second"

    def test_a_reply_that_read_a_forgotten_turn_is_not_kept(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two")
        docs = alpha.columns("alpha").doc.tolist()
        alpha.forget("alpha", Selection(turns=receipt.ids[:1]), NOON)
        alpha.reply_put("alpha", "k1", "late", docs)
        assert alpha.reply_get("alpha", "k1") is None

    def test_a_reply_of_equal_turns_goes_with_any_of_them(self, alpha: Store) -> None:
        receipt = self.say(alpha, "one", "two")
        first, second = alpha.columns("alpha").doc.tolist()
        alpha.reply_put("alpha", "k1", "value", [first])
        alpha.reply_put("alpha", "k1", "value", [second])
        alpha.forget("alpha", Selection(turns=receipt.ids[1:]), NOON)
        assert alpha.reply_get("alpha", "k1") is None

    def test_a_reply_may_hold_what_no_database_can(self, alpha: Store) -> None:
        self.say(alpha, "one")
        alpha.reply_put("alpha", "k1", "broken \ud800", alpha.columns("alpha").doc.tolist())
        assert alpha.reply_get("alpha", "k1") == "broken \ufffd"
