"""What AtomMem derives: facts from each session, then, fact by fact, verification and events, and profiles at the end.

Every step works out from the bank what is lacking, so doing a job again, or half and then again, gives what doing it once gives. A
call that fails leaves its fact to the next try and does not hold up the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from combray.index.facts import FactView
from combray.methods.atom.drawing import pending
from combray.methods.atom.events import attribute, tell_again
from combray.methods.atom.extract import draw_facts
from combray.methods.atom.kinds import EVENT, VERIFIED
from combray.methods.atom.params import AtomParams
from combray.methods.atom.profiles import revise_profiles
from combray.methods.atom.similar import Near, near
from combray.methods.atom.verify import RESIDUAL, Fact, read, verify
from combray.methods.workbench import Failures, Workbench
from combray.model import RecordKind
from combray.store.derived import TURNS

_SLICE = 256
_ALL = 1 << 31


def derive(bench: Workbench, params: AtomParams) -> None:
    """See `Deriving.derive`."""
    if bench.job.kind == TURNS:
        draw_facts(bench, params)
        return
    failures = Failures()
    n_facts = _place_facts(bench, params, failures)
    wanted = bench.store.units(bench.bank.name, bench.method, EVENT, done=False)
    for unit in wanted:
        with failures.kept():
            bench.derive(tell_again(bench, unit, params))
    n_profiles = revise_profiles(bench, params, failures) if params.profiles else 0
    failures.check(n_facts + len(wanted) + n_profiles)


def _place_facts(bench: Workbench, params: AtomParams, failures: Failures) -> int:
    """Verify each new fact and find its events; returns how many were tried."""
    tried: set[int] = set()
    while True:
        waiting = bench.store.unstaged(bench.bank.name, bench.method, RecordKind.FACT, limit=_ALL)
        todo = [number for number in waiting if number not in tried][:_SLICE]
        if not todo:
            return len(tried)
        _place_slice(bench, params, failures, todo, waiting, tried)


def _place_slice(
    bench: Workbench,
    params: AtomParams,
    failures: Failures,
    todo: Sequence[int],
    waiting: Sequence[int],
    tried: set[int],
) -> None:
    """Place the facts one by one; ends early where one has changed what the others are held against."""
    view = bench.facts(bench.method)
    placed = (
        view.is_fact & view.records.current & ~np.isin(view.records.number, np.asarray(waiting))
    )
    facts = read(bench, todo)
    for close in near(view, todo, params):
        tried.add(close.number)
        fact = facts.get(close.number)
        if fact is None:
            continue
        with failures.kept():
            outcome = _place(bench, view, fact, close, placed, params)
            if outcome == "replaced":
                return
            if outcome == "placed":
                placed[view.records.rows(np.array([close.number]))[0]] = True
    tried.update(todo)


def _place(
    bench: Workbench,
    view: FactView,
    fact: Fact,
    close: Near,
    placed: NDArray[np.bool_],
    params: AtomParams,
) -> Literal["placed", "closed", "replaced"]:
    """Verify the fact and find its events; whether it holds, is closed, or another fact stands for it now."""
    if params.verify and not _is_verified(bench, fact):
        unit = verify(bench, view, fact, close, placed, params)
        if unit is not None:
            bench.derive(bench.change(units=[unit]))
            closed = {closing.record for closing in unit.closes}
            placed &= ~np.isin(view.records.number, list(closed))
            if fact.number in closed:
                return "replaced" if unit.records else "closed"
    waiting = pending(bench, fact) if params.profiles else []
    if bench.store.units_reading(bench.bank.name, bench.method, EVENT, [fact.number]):
        bench.derive(bench.change(units=waiting, staged=[fact.number]))
        return "placed"
    change = attribute(bench, view, fact, close, placed, params)
    bench.derive(
        bench.change(drop=change.drop, units=[*change.units, *waiting], staged=[fact.number])
    )
    return "placed"


def _is_verified(bench: Workbench, fact: Fact) -> bool:
    """Whether the fact is what was new of another one, or has been held against the others."""
    if fact.record.detail.get(RESIDUAL):
        return True
    return bool(bench.store.units(bench.bank.name, bench.method, VERIFIED, subject=fact.record.id))
