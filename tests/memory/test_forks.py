"""A child process starts afresh and takes nothing from its parent."""

from __future__ import annotations

import subprocess
import sys

TEMPORARY = """
import os, sys
from combray import Memory
memory = Memory.open(":memory:", embedder="none")
bank = memory.create_bank("b")
bank.remember("The nursery is pale green.")
if os.fork() == 0:
    sys.exit(0)
os.wait()
print(len(bank.recall("nursery").items))
memory.close()
"""

THREADS = """
import os, sys, threading
from combray import Memory
memory = Memory.open(sys.argv[1], embedder="none")
bank = memory.create_bank("b")
bank.remember("The nursery is pale green.")
stop = threading.Event()
def recall():
    n = 0
    while not stop.is_set():
        n += 1
        bank.remember(f"day {n} of {threading.get_ident()}", session="s")
        bank.recall("nursery")
threads = [threading.Thread(target=recall) for _ in range(3)]
for thread in threads:
    thread.start()
wrong = 0
for _ in range(15):
    child = os.fork()
    if child == 0:
        os._exit(0 if bank.recall("nursery").items else 1)
    wrong += os.waitpid(child, 0)[1] != 0
stop.set()
for thread in threads:
    thread.join()
print("wrong", wrong)
memory.close()
"""


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_temporary_database_outlives_a_child_of_its_process():
    assert run(TEMPORARY) == "1"


def test_a_child_that_is_forked_while_threads_recall_can_recall(tmp_path):
    assert run(THREADS, tmp_path / "m.db") == "wrong 0"
