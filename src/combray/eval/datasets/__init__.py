"""Loaders of the benchmarks: each gives a `Dataset` or fails loudly."""

from combray.eval.datasets.anchormem import anchormem
from combray.eval.datasets.atommem import atommem
from combray.eval.datasets.base import BankData, Dataset, Question, Split, TurnKey, data_root
from combray.eval.datasets.locomo import locomo
from combray.eval.datasets.longmemeval import longmemeval_pool
from combray.eval.datasets.realmem import realmem

__all__ = [
    "BankData",
    "Dataset",
    "Question",
    "Split",
    "TurnKey",
    "anchormem",
    "atommem",
    "data_root",
    "locomo",
    "longmemeval_pool",
    "realmem",
]
