"""What is shown beside the turns: what holds of a person, the facts found, and the events that they belong to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from combray.index.facts import FactView
from combray.index.records import KINDS
from combray.index.topk import top_k
from combray.methods.atom.asked import Asked
from combray.methods.atom.params import AtomParams
from combray.methods.atom.scored import Scored
from combray.methods.atom.seeds import calendar
from combray.model import RecordKind, TimeSpan


def shown(found: Scored, params: AtomParams) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of the records to show with falling scores: statements of profiles, then facts, then their events.

    Each is seen wholly: one that rests on a turn which may not be ranked is left out.

    Source:
        AtomMem, section 3.4; the scores only keep the order of the three.  Deviation: the released code finds events and does not show them.
    """
    asked, score = found.asked, found.asked.like.score
    profiles = profile_rows(asked, params)
    facts = found.best(params.n_facts, beyond=False)
    events = event_rows(asked.view, facts)
    events = events[np.lexsort((events, -score[events]))]
    rows = np.concatenate([profiles, facts, events])
    walked = found.walked[facts]
    scores = np.concatenate(
        [
            4.0 + score[profiles],
            2.0 + np.where(walked > 0, walked, np.minimum(score[facts], 0.0)),
            score[events],
        ]
    )
    numbers = asked.view.records.number[rows]
    seen = asked.evidence.seen_wholly(numbers)
    return numbers[seen], scores[seen]


def profile_rows(asked: Asked, params: AtomParams) -> NDArray[np.int64]:
    """Rows of the profile statements most like the query, of the people it names; none unless it asks for something lasting.

    Source:
        AtomMem, section 3.4 (profiles).  Deviation: the version is chosen before the nearest statements are, so that an old one is found by
        what it says itself.
    """
    people = asked.limits.people
    if not (params.profiles and params.n_profiles and asked.intent.attribute and len(people)):
        return np.zeros(0, dtype=np.int64)
    rows = np.flatnonzero((asked.view.timeline >= 0) & asked.view.with_people(people))
    rows = rows[asked.evidence.seen_wholly(asked.view.records.number[rows])]
    rows = versions(asked.view, rows, asked.intent.times)
    return rows[top_k(asked.like.score[rows], params.n_profiles)]


def versions(
    view: FactView, rows: NDArray[np.int64], times: tuple[TimeSpan, ...]
) -> NDArray[np.int64]:
    """Of each statement the version that holds now or, with times, the one that held last in them; ascending.

    A statement that began to hold later than the times is left out.

    Args:
        view: the bank's records.
        rows: of versions.
        times: that the query is about.
    """
    if times:
        until = max(calendar(span)[1] for span in times)
        rows = rows[view.about_start[rows] < until]
    else:
        rows = rows[view.records.current[rows]]
    rows = rows[np.lexsort((rows, view.about_start[rows], view.timeline[rows]))]
    last = np.diff(view.timeline[rows], append=-1) != 0
    return np.sort(rows[last])


def event_rows(view: FactView, facts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Rows of the events that the facts belong to, ascending."""
    found = np.unique(view.member_of[facts].indices).astype(np.int64)
    is_event = view.records.kind[found] == KINDS.index(RecordKind.EVENT)
    events: NDArray[np.int64] = found[is_event & view.records.current[found]]
    return events
