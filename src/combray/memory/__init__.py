"""The façade: opens a store, wires the parts, and gives banks their verbs."""

from combray.memory.bank import BankMemory
from combray.memory.memory import Memory
from combray.memory.writing import Reindexed, Remembered

__all__ = ["BankMemory", "Memory", "Reindexed", "Remembered"]
