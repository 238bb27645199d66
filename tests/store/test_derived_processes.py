"""Real workers on one file: none takes the other's job, and none that is killed leaves anything by halves."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from combray.model import Session
from combray.store import SqliteStore
from combray.testing.derived_rows import METHOD, texts
from combray.testing.store_rows import Saying, new_bank

CLAIMER = """
import sys
from datetime import timedelta
from combray.store import SqliteStore
from combray.testing.store_rows import NOON
path, worker = sys.argv[1], sys.argv[2]
with SqliteStore(path) as store:
    while job := store.claim(worker, now=NOON, lease_s=3600):
        print(job.number, flush=True)
        if job.number % 2:
            assert store.finish("alpha", job.number, worker, job.version)
"""

# Each session has two windows of one turn; the clock runs ahead, so that leases of the dead run out.
WORKER = """
import os, sys
from datetime import timedelta
from combray.errors import Conflict
from combray.store import SqliteStore
from combray.store.derived import Claim
from combray.testing.derived_rows import cluster, derive, numbers, window
from combray.testing.store_rows import NOON
path, first = sys.argv[1], int(sys.argv[2])
worker = str(os.getpid())
with SqliteStore(path, synchronous="NORMAL") as store:
    print("ready", flush=True)
    now = NOON + timedelta(hours=first)
    while job := store.claim(worker, now=now, lease_s=60):
        held = Claim(job=job.number, worker=worker)
        docs = [doc for doc, _ in store.scan("alpha", session=job.subject)]
        for doc in docs:
            derive(store, window([doc], f"Fact {doc}", "Fact of all", subject=job.subject), claim=held)
            fact, every = numbers(store, f"Fact {doc}", "Fact of all")
            derive(store, cluster([fact, every], [doc], f"Event {doc}"), edges=[(fact, every)], claim=held)
        store.finish("alpha", job.number, worker, job.version)
print("done", flush=True)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def with_sessions(path, n_sessions: int) -> None:
    with SqliteStore(path, synchronous="NORMAL") as store:
        store.create_bank(replace(new_bank("alpha"), methods=(METHOD,)))
        for n in range(n_sessions):
            rows = [Saying(text=f"{n}.{m}", session=f"s{n}").row() for m in range(2)]
            store.put("alpha", Session(name=f"s{n}"), rows)


def test_two_processes_never_hold_the_same_job(tmp_path):
    path = tmp_path / "evidence.db"
    with_sessions(path, 120)
    workers = [start(CLAIMER, path, f"w{n}") for n in range(2)]
    taken = [worker.communicate(timeout=60)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    assert sorted(int(number) for numbers in taken for number in numbers) == list(range(1, 121))
    with SqliteStore(path) as store:
        assert len(store.jobs("alpha", states=["running"])) == 60


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_worker_loses_and_doubles_nothing(tmp_path):
    path = tmp_path / "evidence.db"
    with_sessions(path, 150)
    chance = random.Random(11)
    for kill_round in range(12):
        worker = start(WORKER, path, kill_round)
        assert worker.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0.0, 0.1))
        os.kill(worker.pid, signal.SIGKILL)
        worker.communicate(timeout=60)
        with SqliteStore(path) as store:
            assert {finding.severity for finding in store.check()} == {"ok"}, store.check()
            for unit in store.units("alpha", METHOD, "facts"):
                assert len(unit.records) == 2
    last = start(WORKER, path, 99)
    assert last.communicate(timeout=60)[0] == "ready\ndone\n"
    with SqliteStore(path) as store:
        docs = store.columns("alpha").doc.tolist()
        expected = ["Fact of all", *(f"{what} {doc}" for doc in docs for what in ("Fact", "Event"))]
        assert sorted(texts(store)) == sorted(expected)
        assert store.jobs("alpha") == []
        assert store.check()[0].severity == "ok"
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
