"""Enrichment in this process: jobs, what they derive, and what happens when the model fails."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from combray import Memory
from combray.errors import ConfigError, ProviderError, RateLimited, TimedOut, Unauthorised
from combray.llm import FunctionLLM
from combray.memory.enriching import WorkParams

SPEC = importlib.util.spec_from_file_location("doubles", Path(__file__).with_name("doubles.py"))
doubles = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(doubles)

SESSION_1 = [
    ("Caroline", "I went to the support group yesterday."),
    ("Mel", "How was it?"),
    ("Caroline", "Powerful. I will go again."),
    ("Mel", "I painted a sunrise last week."),
]
SESSION_2 = [
    ("Caroline", "I went to the support group again yesterday."),
    ("Mel", "I painted a sunrise once more last week."),
]


class Clock:
    def __init__(self):
        self.now = datetime(2024, 5, 1, tzinfo=UTC)

    def __call__(self):
        return self.now

    def move(self, **by):
        self.now += timedelta(**by)


def turns(lines):
    return [{"speaker": speaker, "text": text} for speaker, text in lines]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def opened(tmp_path, clock):
    made = []

    def make(llm=None, name="m.db"):
        memory = Memory.open(
            tmp_path / name,
            embedder="hash",
            clock=clock,
            llm=llm or FunctionLLM(doubles.note_taker),
        )
        made.append(memory)
        return memory

    yield make
    for memory in made:
        memory.close()


def filled(memory, name="b"):
    bank = memory.create_bank(name)
    bank.remember(turns(SESSION_1), session="s1", said_at="2023-05-08")
    bank.remember(turns(SESSION_2), session="s2", said_at="2023-06-09")
    bank.enrichment.use("anchor")
    return bank


def texts(bank, kind=None):
    return sorted(
        record.text
        for record in bank.enrichment.records("anchor")
        if kind is None or record.kind == kind
    )


def test_a_write_queues_its_session_and_does_not_ask_the_model(opened):
    memory = opened(FunctionLLM(lambda *_: pytest.fail("the model was asked")))
    bank = memory.create_bank("b")
    bank.enrichment.use("anchor")
    bank.remember("Hello.", session="s1")
    (job,) = bank.enrichment.jobs()
    assert (job.kind, job.subject, job.state) == ("turns", "s1", "waiting")


def test_a_bank_without_methods_has_no_jobs(opened):
    bank = opened().create_bank("b")
    bank.remember("Hello.", session="s1")
    assert bank.enrichment.jobs() == []


def test_facts_come_with_their_turns_and_lead_back_to_them(opened):
    bank = filled(opened())
    worked = bank.enrichment.run()
    assert (worked.failed, worked.stopped) == ([], "")
    assert bank.enrichment.jobs() == []
    facts = [record for record in bank.enrichment.records("anchor") if record.kind == "fact"]
    assert len(facts) == 6
    said = {turn.id: turn.text for turn in bank.turns()}
    for fact in facts:
        assert any(said[source] in fact.text for source in fact.sources)
        assert (fact.made_by.method, fact.made_by.model) == ("anchor", "function")
        assert len(fact.made_by.prompt) == 12


def test_new_turns_wait_until_their_session_has_settled(opened, clock):
    memory = opened()
    bank = memory.create_bank("b")
    bank.enrichment.use("anchor")
    bank.remember(turns(SESSION_1), session="s1", said_at="2023-05-08")
    worker = memory.worker(WorkParams(settle_s=60))
    assert worker.run().done == 0
    clock.move(seconds=61)
    assert worker.run().done > 0
    assert texts(bank)


def test_a_window_that_has_grown_is_read_anew_and_leaves_nothing_behind(opened):
    memory = opened()
    bank = memory.create_bank("b")
    bank.enrichment.use("anchor")
    bank.remember(turns(SESSION_1[:1]), session="s1", said_at="2023-05-08")
    bank.enrichment.run()
    bank.remember(turns(SESSION_1[1:]), session="s1", said_at="2023-05-08")
    bank.enrichment.run()
    other = memory.create_bank("all at once")
    other.enrichment.use("anchor")
    other.remember(turns(SESSION_1), session="s1", said_at="2023-05-08")
    other.enrichment.run()
    assert texts(bank) == texts(other)


def test_doing_it_again_asks_for_nothing(opened):
    bank = filled(opened())
    bank.enrichment.run()
    before = len(bank.enrichment.costs()), texts(bank)
    calls = sum(one.n_calls for one in bank.enrichment.costs())
    bank.remember(turns(SESSION_1), session="s1", said_at="2023-05-08")
    bank.enrichment.run()
    assert (len(bank.enrichment.costs()), texts(bank)) == before
    assert sum(one.n_calls for one in bank.enrichment.costs()) == calls


def test_a_rebuild_gives_the_same_from_cached_replies(opened):
    bank = filled(opened())
    bank.enrichment.run()
    before = texts(bank)
    removed = bank.enrichment.rebuild("anchor")
    assert removed["record"] == len(before)
    assert texts(bank) == []
    bank.enrichment.run()
    assert texts(bank) == before
    assert sum(one.n_cached for one in bank.enrichment.costs()) > 0


def test_what_was_made_of_a_forgotten_turn_goes_and_the_rest_is_made_anew(opened):
    bank = filled(opened())
    bank.enrichment.run()
    (gone,) = [turn for turn in bank.turns() if "Powerful" in turn.text]
    bank.forget(turns=[gone.id])
    assert not any("Powerful" in text for text in texts(bank))
    bank.enrichment.run()
    assert not any("Powerful" in text for text in texts(bank))
    assert any("How was it" in text for text in texts(bank))


def test_no_byte_of_a_forgotten_turn_stays_in_the_file(opened, tmp_path):
    memory = opened()
    bank = memory.create_bank("b")
    bank.enrichment.use("anchor")
    bank.remember("My code word is zanzibarwhistle.", speaker="Mel", session="s1")
    bank.enrichment.run()
    assert any("zanzibarwhistle" in text for text in texts(bank))
    receipt = bank.forget(session="s1")
    assert receipt.erased
    for file in tmp_path.iterdir():
        assert b"zanzibarwhistle" not in file.read_bytes(), file


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (lambda _: "I would rather not.", "extraction"),
        (lambda _: '{"facts": [1, 2]}', "extraction"),
        (lambda _: '{"facts": "none"}', "extraction"),
        (TimedOut("too late"), "timed_out"),
        (ProviderError("down"), "provider"),
        (RateLimited("wait", 500.0), "rate_limited"),
        (ValueError("a bug"), "bug"),
    ],
)
def test_a_failure_is_seen_in_the_job_and_tried_again(opened, clock, wrong, code):
    broken = [True]

    def reply(text):
        if not broken[0] or "Powerful" not in text or "<topics>" in text:
            return None
        if isinstance(wrong, Exception):
            raise wrong
        return wrong(text)

    memory = opened(doubles.failing(reply))
    bank = filled(memory)
    worked = bank.enrichment.run()
    assert [failed.code for failed in worked.failed] == [code]
    (job,) = bank.enrichment.jobs()
    assert (job.subject, job.state, job.code, job.tries) == ("s1", "waiting", code, 1)
    if code != "bug":
        assert "turns 1 to 3 of session 's1'" in job.error
    if code == "extraction":
        assert job.raw
    # What went well is there all the same, and nothing of what did not.
    assert any("support group again" in text for text in texts(bank))
    assert bank.recall("support group", method="bm25").items
    broken[0] = False
    clock.move(seconds=600)
    assert bank.enrichment.run().failed == []
    assert bank.enrichment.jobs() == []
    assert any("Powerful" in text for text in texts(bank))


def test_a_rate_limit_is_waited_for(opened, clock):
    def reply(text):
        raise RateLimited("wait", 3000.0)

    bank = filled(opened(doubles.failing(reply)))
    worked = bank.enrichment.run()
    assert all(failed.due_at >= clock.now + timedelta(seconds=3000) for failed in worked.failed)


def test_a_refused_key_stops_the_worker_and_loses_nothing(opened, clock):
    refused = [True]

    def reply(text):
        if refused[0]:
            raise Unauthorised("the endpoint refused the key (401).")

    bank = filled(opened(doubles.failing(reply)))
    worked = bank.enrichment.run()
    assert "refused the key" in worked.stopped
    assert len(worked.failed) == 1
    assert {job.state for job in bank.enrichment.jobs()} == {"waiting"}
    refused[0] = False
    clock.move(hours=1)
    assert bank.enrichment.run().failed == []
    assert len(texts(bank, "fact")) == 6


def test_a_job_that_fails_too_often_waits_to_be_asked_for(opened, clock):
    broken = [True]

    def reply(text):
        if broken[0]:
            raise ProviderError("down")

    memory = opened(doubles.failing(reply))
    bank = memory.create_bank("b")
    bank.enrichment.use("anchor")
    bank.remember(turns(SESSION_1), session="s1", said_at="2023-05-08")
    for _ in range(3):
        bank.enrichment.run(params=WorkParams(max_tries=3))
        clock.move(days=1)
    (job,) = bank.enrichment.jobs("failed")
    assert job.tries == 3
    assert bank.enrichment.run().done == 0
    broken[0] = False
    assert bank.enrichment.retry() == 1
    assert bank.enrichment.run().failed == []
    assert texts(bank)


def test_a_chunk_without_facts_is_done_and_not_asked_about_again(opened):
    asked = []

    def reply(messages, schema):
        asked.append(messages[-1].content)
        return []

    bank = filled(opened(FunctionLLM(reply)))
    assert bank.enrichment.run().failed == []
    n = len(asked)
    bank.remember("Later.", speaker="Mel", session="s3")
    bank.enrichment.run()
    assert len(asked) == n + 1
    assert texts(bank) == []


def test_a_turn_that_is_forgotten_while_the_model_thinks_leaves_no_trace(opened):
    holder = {}

    def reply(text):
        if "Powerful" in text and "<topics>" not in text and (bank := holder.pop("bank", None)):
            (gone,) = [turn for turn in bank.turns() if "Powerful" in turn.text]
            bank.forget(turns=[gone.id])

    bank = filled(opened(doubles.failing(reply)))
    holder["bank"] = bank
    bank.enrichment.run()
    bank.enrichment.run()
    assert not any("Powerful" in text for text in texts(bank))
    assert any("How was it" in text for text in texts(bank))


def test_banks_do_not_meet(opened):
    memory = opened()
    one, other = filled(memory, "one"), filled(memory, "other")
    one.enrichment.run()
    assert texts(one)
    assert texts(other) == []
    assert other.enrichment.jobs()
    other.enrichment.run()
    assert texts(one) == texts(other)
    assert [record.id for record in one.enrichment.records("anchor")]


def test_anchor_shows_events_as_notes_and_turns_as_evidence(opened):
    bank = filled(opened())
    bank.enrichment.run()
    found = bank.recall("support group", method="anchor")
    assert found.items
    assert found.n_tokens <= found.budget_tokens
    for note in found.notes:
        cited = {item.turn.id for item in found.items if item.cite in note.cites}
        assert cited <= set(note.record.sources)


def test_a_filter_hides_events_that_read_a_hidden_turn(opened):
    from combray import Filters

    bank = filled(opened())
    bank.enrichment.run()
    found = bank.recall("support group", method="anchor", filters=Filters(sessions=["s1"]))
    assert {item.turn.session for item in found.items} == {"s1"}
    ids = {turn.id for turn in bank.turns() if turn.session == "s1"}
    assert all(set(note.record.sources) <= ids for note in found.notes)


def test_anchor_says_what_is_missing(opened, tmp_path):
    bank = opened().create_bank("b")
    bank.remember("Hello.")
    found = bank.recall("hello", method="anchor")
    assert found.abstained
    assert any("combray work" in note for note in found.trace.notes)


def test_without_a_model_the_message_says_how_to_configure_one(tmp_path):
    with Memory.open(tmp_path / "m.db", embedder="none") as memory:
        bank = memory.create_bank("b")
        bank.enrichment.use("anchor")
        bank.remember("The nursery is pale green.")
        with pytest.raises(ConfigError, match="COMBRAY_LLM_MODEL"):
            bank.enrichment.run()
        assert bank.recall("What colour is the nursery?").items


def test_an_unknown_method_lists_what_exists(opened):
    bank = opened().create_bank("b")
    with pytest.raises(ConfigError, match="anchor"):
        bank.enrichment.use("nothing")


def test_the_ledger_has_a_row_a_call_and_no_text(opened):
    memory = opened()
    bank = filled(memory)
    bank.enrichment.run()
    rows = memory.store.calls("b")
    assert {row.phase for row in rows} == {"facts", "event"}
    assert all(row.prompt_tokens > 0 and row.outcome == "ok" for row in rows)
    assert not any("support" in str(row) for row in rows)


def test_another_embedder_takes_the_records_along_and_links_them_anew(opened):
    from combray.embed.hashing import HashEmbedder

    class Other(HashEmbedder):
        @property
        def id(self):
            return "other@1-64"

    memory = opened()
    bank = filled(memory)
    bank.enrichment.run()
    before = texts(bank)
    bank.reindex(embedder=Other())
    assert [job.kind for job in bank.enrichment.jobs()] == ["link"]
    memory.close()
    with Memory.open(
        memory.store.path, embedder=Other(), llm=FunctionLLM(doubles.note_taker)
    ) as again:
        bank = again.bank("b")
        assert bank.enrichment.run().failed == []
        assert texts(bank) == before
        assert bank.recall("support group", method="anchor").items


def test_a_job_whose_workers_all_die_is_given_up_and_says_so(opened, clock):
    memory = opened()
    bank = memory.create_bank("b")
    bank.enrichment.use("anchor")
    bank.remember(turns(SESSION_1), session="s1", said_at="2023-05-08")
    clock.move(minutes=5)
    for i in range(2):
        job = memory.store.claim(f"doomed {i}", now=clock.now, lease_s=10)
        assert job is not None
        clock.move(minutes=5)
    worked = bank.enrichment.run(params=WorkParams(max_tries=2))
    assert [failed.code for failed in worked.failed] == ["abandoned"]
    assert [job.state for job in bank.enrichment.jobs()] == ["failed"]
    assert bank.enrichment.retry() == 1


def test_what_a_model_cannot_find_is_a_failed_job_and_does_not_end_the_worker(opened):
    from combray.errors import NotFound

    def reply(text):
        if "Powerful" in text and "<topics>" not in text:
            raise NotFound("recorded reply", "…")

    bank = filled(opened(doubles.failing(reply)))
    worked = bank.enrichment.run()
    assert [failed.code for failed in worked.failed] == ["not_found"]
    assert worked.done > 0
    assert any("support group again" in text for text in texts(bank))
