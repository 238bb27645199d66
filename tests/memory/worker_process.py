"""A worker of its own process, for tests that kill it: ``worker_process.py DATABASE PAUSE_S``."""

import importlib.util
import sys
import time
from pathlib import Path

from combray import Memory
from combray.llm import FunctionLLM
from combray.memory.enriching import WorkParams

SPEC = importlib.util.spec_from_file_location("doubles", Path(__file__).with_name("doubles.py"))
doubles = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(doubles)


def main(path: str, pause_s: float) -> None:
    def slow(messages, schema):
        time.sleep(pause_s)
        return doubles.note_taker(messages, schema)

    with Memory.open(path, embedder="hash", llm=FunctionLLM(slow)) as memory:
        say("ready")
        worker = memory.worker(WorkParams(lease_s=0.3, settle_s=0, concurrency=2, max_tries=99))
        while memory.store.jobs("b"):
            worker.run(settled=False)
            time.sleep(0.05)
        say("done")


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
