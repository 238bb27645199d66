"""Values: banks, sessions, turns, queries, hits. Nothing here reads, writes or computes more than itself."""

from combray.model.analysis import Analysis, Mention
from combray.model.hit import Cut, Hit, PackItem, Part, Recall, Trace
from combray.model.query import Filters, Query
from combray.model.time import Clock, Granularity, TimeSpan, aware, utc_now
from combray.model.turn import Bank, Role, Session, Turn, TurnDraft

__all__ = [
    "Analysis",
    "Bank",
    "Clock",
    "Cut",
    "Filters",
    "Granularity",
    "Hit",
    "Mention",
    "PackItem",
    "Part",
    "Query",
    "Recall",
    "Role",
    "Session",
    "TimeSpan",
    "Trace",
    "Turn",
    "TurnDraft",
    "aware",
    "utc_now",
]
