"""Long-term memory for LLM agents that keeps the evidence.

from combray import Memory

with Memory.open("memory.db") as memory:
    bank = memory.bank("mira", create=True)
    bank.remember("I do night shifts at the harbour hospital.", speaker="Mira")
    print(bank.recall("Where does Mira work?").text)
"""

from combray.errors import CombrayError
from combray.memory import BankMemory, Memory, Reindexed, Remembered
from combray.model import (
    Filters,
    Hit,
    Profile,
    ProfileEntry,
    Recall,
    Role,
    Session,
    Turn,
    TurnDraft,
)

__version__ = "0.1.0"

__all__ = [
    "BankMemory",
    "CombrayError",
    "Filters",
    "Hit",
    "Memory",
    "Profile",
    "ProfileEntry",
    "Recall",
    "Reindexed",
    "Remembered",
    "Role",
    "Session",
    "Turn",
    "TurnDraft",
    "__version__",
]
