"""Values: banks, sessions, turns, queries, hits. Nothing here reads, writes or computes more than itself."""

from combray.model.analysis import Analysis, Mention
from combray.model.call import Call, Outcome
from combray.model.fact import FactNotes, partial_date, span_of
from combray.model.hit import Cut, Hit, Note, PackItem, Part, Recall, RecordHit, Trace
from combray.model.profile import Profile, ProfileEntry
from combray.model.query import Filters, Query
from combray.model.record import DerivedRecord, Job, JobState, MadeBy, RecordKind, Status, record_id
from combray.model.time import Clock, Granularity, TimeSpan, aware, utc_now
from combray.model.turn import Bank, Role, Session, Turn, TurnDraft

__all__ = [
    "Analysis",
    "Bank",
    "Call",
    "Clock",
    "Cut",
    "DerivedRecord",
    "FactNotes",
    "Filters",
    "Granularity",
    "Hit",
    "Job",
    "JobState",
    "MadeBy",
    "Mention",
    "Note",
    "Outcome",
    "PackItem",
    "Part",
    "Profile",
    "ProfileEntry",
    "Query",
    "Recall",
    "RecordHit",
    "RecordKind",
    "Role",
    "Session",
    "Status",
    "TimeSpan",
    "Trace",
    "Turn",
    "TurnDraft",
    "aware",
    "partial_date",
    "record_id",
    "span_of",
    "utc_now",
]
