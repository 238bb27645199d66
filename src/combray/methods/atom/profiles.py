"""Temporal profiles: what lastingly holds of a person, drawn from flagged facts and held against what is known.

A profile statement has *versions*, each a record with the time from which it holds; `timeline` puts them in order. Drawing gives
*candidates*, and a revision decides of each candidate what it is: known already (it is closed, and its turns count as those of what says
it too), a new version of a statement, or a new statement. When what a revision has read is forgotten, the revision goes with all that it
made, and what is left is revised anew.
"""

from __future__ import annotations

from combray.methods.atom.drawing import draw, waiting
from combray.methods.atom.params import AtomParams
from combray.methods.atom.revision import revise
from combray.methods.workbench import Failures, Workbench
from combray.model import RecordKind

_ALL = 1 << 31


def revise_profiles(bench: Workbench, params: AtomParams, failures: Failures) -> int:
    """Draw statements from the facts that wait, and hold each against the profile; returns the number of steps.

    Source:
        AtomMem, section 3.3 and appendix (profile construction): at the end of a session.  Deviation: the released code does it for every ten
        flagged facts; here it is done when all sessions that are due have been read.
    """
    n_steps = 0
    for subject, facts, old in waiting(bench):
        n_steps += 1
        with failures.kept():
            draw(bench, subject, facts, old, params)
    tried: set[int] = set()
    while True:
        found = bench.store.unstaged(bench.bank.name, bench.method, RecordKind.PROFILE, limit=_ALL)
        todo = [number for number in found if number not in tried]
        if not todo:
            return n_steps + len(tried)
        tried.add(todo[0])
        with failures.kept():
            revise(bench, todo[0], params)
