"""Real processes on one file: several writers, a reader that watches, and writers killed at random moments."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest

from combray.model import Session
from combray.store import SqliteStore
from combray.testing.store_rows import Saying, new_bank, vector_row

WRITER = """
import sys
from combray.model import Session
from combray.store import SqliteStore
from combray.testing.store_rows import Saying, vector_row
path, name, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with SqliteStore(path) as store:
    for n in range(first, last):
        said = Saying(text=f"Turn {n} of {name}", session=name, vectors=vector_row(n))
        (id_,) = store.put("alpha", Session(name=name), [said.row()]).ids
        print(id_, flush=True)
"""

READER = """
import sys
from pathlib import Path
from combray.store import SqliteStore
path, stop = sys.argv[1], Path(sys.argv[2])
n_looks = n_turns = 0
with SqliteStore(path) as store:
    while not stop.exists():
        before = store.state("alpha")
        docs = store.columns("alpha").doc
        posted = set(store.postings("alpha", "term", ["turn"]).doc.tolist())
        embedded = set(store.vectors("alpha", "m:1").doc.tolist())
        missing = [doc for doc in docs.tolist() if doc not in posted or doc not in embedded]
        assert not missing, missing
        after = store.state("alpha")
        assert before.n_turns <= len(docs) <= after.n_turns
        assert after.revision >= before.revision
        assert n_turns <= len(docs)
        n_looks, n_turns = n_looks + 1, len(docs)
print(n_looks)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "evidence.db"
    with SqliteStore(path) as store:
        store.create_bank(new_bank("alpha", embedder="m:1"))
    return path


def assert_holds_exactly(path, ids: Counter[str]) -> None:
    with SqliteStore(path) as store:
        stored = Counter(turn.id for _, turn in store.scan("alpha", limit=100_000))
        assert stored == ids
        assert store.check()[0].severity == "ok", store.check()


@pytest.mark.slow
def test_four_writers_and_a_reader_agree(path, tmp_path):
    stop = tmp_path / "stop"
    reader = start(READER, path, stop)
    writers = [start(WRITER, path, f"w{n}", 0, 250) for n in range(4)]
    printed = Counter(
        line for writer in writers for line in writer.communicate(timeout=120)[0].split()
    )
    stop.touch()
    looks, _ = reader.communicate(timeout=60)
    assert [process.returncode for process in (*writers, reader)] == [0] * 5
    assert int(looks) > 3
    assert printed.total() == 1000
    assert_holds_exactly(path, printed)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_a_killed_writer_loses_nothing_that_was_acknowledged(path):
    chance = random.Random(7)
    acknowledged: set[str] = set()
    for kill_round in range(8):
        writers = [start(WRITER, path, f"w{kill_round}.{n}", 0, 100_000) for n in range(2)]
        # Wait for the first put, so that the kill falls into the writing and not into the start.
        first = [writer.stdout.readline().strip() for writer in writers]
        time.sleep(chance.uniform(0.0, 0.25))
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
        # The last line may be cut off in the middle: only whole lines are acknowledgements.
        rest = [writer.communicate(timeout=60)[0] for writer in writers]
        acknowledged.update(first)
        for text in rest:
            acknowledged.update(text.split("\n")[:-1])
        started = time.monotonic()
        with SqliteStore(path) as store:
            stored = Counter(turn.id for _, turn in store.scan("alpha", limit=100_000))
            # A lock file of the dead holds nobody up.
            store.put(
                "alpha", Session(name="s"), [Saying(text=f"Turn {kill_round}", session="s").row()]
            )
        assert time.monotonic() - started < 10
        assert acknowledged <= set(stored)
        assert set(stored.values()) == {1}
    assert len(acknowledged) > 16
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    with SqliteStore(path) as store:
        assert {finding.severity for finding in store.check()} <= {"ok", "warning"}


def test_two_threads_write_and_read_one_store(path):
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for n in range(40):
                said = Saying(text=f"Turn {n} of {name}", session=name, vectors=vector_row(n))
                store.put("alpha", Session(name=name), [said.row()])
                docs = store.columns("alpha").doc
                assert len(store.turns_by_doc("alpha", docs.tolist())) == len(docs)
        except BaseException as error:  # noqa: BLE001 (handed to the test's own thread)
            failures.append(error)

    with SqliteStore(path) as store:
        threads = [threading.Thread(target=work, args=(f"t{n}",)) for n in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert failures == []
        assert store.state("alpha").n_turns == 80
        assert store.check()[0].severity == "ok"


def test_the_same_turn_from_two_processes_is_stored_once(path):
    writers = [start(WRITER, path, "same", 0, 50) for _ in range(2)]
    printed = [writer.communicate(timeout=60)[0].split() for writer in writers]
    assert printed[0] == printed[1]
    assert_holds_exactly(path, Counter(printed[0]))


def test_two_processes_make_one_new_file(tmp_path):
    script = "import sys; from combray.store import SqliteStore; SqliteStore(sys.argv[1]).close()"
    makers = [start(script, tmp_path / "new.db") for _ in range(4)]
    for maker in makers:
        maker.communicate(timeout=60)
    assert [maker.returncode for maker in makers] == [0] * 4
    with SqliteStore(tmp_path / "new.db") as store:
        assert store.check()[0].severity == "ok"
