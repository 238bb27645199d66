"""Experiments on benchmark data.

result = run_locomo("fused", baselines=["bm25"])
print(result.to_json()["turn_recall"]["10"]["all"])
result.save("results")
"""

from combray.eval.chats import run_longmemeval_pool, run_realmem
from combray.eval.compare import Difference, Side, compare
from combray.eval.experiment import Progress, Setup
from combray.eval.locomo import run_locomo
from combray.eval.results import Result
from combray.eval.speed import SpeedSetup, run_speed

__all__ = [
    "Difference",
    "Progress",
    "Result",
    "Setup",
    "Side",
    "SpeedSetup",
    "compare",
    "run_locomo",
    "run_longmemeval_pool",
    "run_realmem",
    "run_speed",
]
