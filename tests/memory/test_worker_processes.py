"""Workers in processes of their own: killed at any moment, and several at once."""

from __future__ import annotations

import importlib.util
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from combray import Memory
from combray.llm import FunctionLLM

HERE = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("doubles", HERE / "doubles.py")
doubles = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(doubles)

THINGS = ["a sunrise", "the harbour", "a fox", "an old boat", "the lighthouse"]


def fill(memory):
    bank = memory.create_bank("b")
    for i, thing in enumerate(THINGS):
        lines = [
            {"speaker": "Mel", "text": f"I painted {thing} again, and it took {i} hours."},
            {"speaker": "Caroline", "text": "I went to the support group again."},
            {"speaker": "Mel", "text": f"Tell me about {thing} some day."},
            {"speaker": "Caroline", "text": "The support group was powerful."},
        ]
        bank.remember(lines, session=f"s{i}", said_at=f"2023-05-0{i + 1}")
    bank.enrichment.use("anchor")
    return bank


def derived(bank):
    return sorted(
        (record.id, record.text, record.sources, record.members)
        for record in bank.enrichment.records("anchor")
    )


@pytest.fixture
def expected(tmp_path):
    with Memory.open(
        tmp_path / "whole.db", embedder="hash", llm=FunctionLLM(doubles.note_taker)
    ) as memory:
        bank = fill(memory)
        assert bank.enrichment.run().failed == []
        return derived(bank)


def start(path):
    process = subprocess.Popen(
        [sys.executable, str(HERE / "worker_process.py"), str(path), "0.02"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_a_worker_that_is_killed_again_and_again_loses_and_doubles_nothing(tmp_path, expected):
    path = tmp_path / "killed.db"
    with Memory.open(path, embedder="hash") as memory:
        fill(memory)
    moments = random.Random(7)
    for _ in range(8):
        process = start(path)
        try:
            process.wait(timeout=moments.uniform(0.01, 0.25))
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate()
    last = start(path)
    out, _ = last.communicate(timeout=240)
    assert out == "done\n"
    with Memory.open(path, embedder="hash") as memory:
        bank = memory.bank("b")
        assert derived(bank) == expected
        assert not [finding for finding in memory.check("b") if finding.severity == "error"]


@pytest.mark.slow
def test_several_workers_at_once_make_what_one_makes(tmp_path, expected):
    path = tmp_path / "several.db"
    with Memory.open(path, embedder="hash") as memory:
        fill(memory)
    workers = [start(path) for _ in range(3)]
    for worker in workers:
        out, _ = worker.communicate(timeout=240)
        assert out == "done\n"
    with Memory.open(path, embedder="hash") as memory:
        assert derived(memory.bank("b")) == expected


def test_turns_are_written_and_read_while_a_worker_is_at_work(tmp_path):
    path = tmp_path / "m.db"
    with Memory.open(path, embedder="hash") as memory:
        bank = fill(memory)
        worker = start(path)
        for i in range(10):
            bank.remember(f"Another day, number {i}.", speaker="Mel", session="later")
            assert bank.recall("support group", method="bm25").items
            time.sleep(0.01)
        out, _ = worker.communicate(timeout=240)
        assert out == "done\n"
        texts = [record.text for record in bank.enrichment.records("anchor")]
        assert any("number 9" in text for text in texts)
