"""What SimpleMem derives: units from the windows of a session, then denser ones from those that belong together.

Both steps work out from the bank what is lacking, so doing a job again, or half and then again, gives what doing it once gives.
"""

from __future__ import annotations

from combray.methods.simple.compress import compressed
from combray.methods.simple.params import SimpleParams
from combray.methods.simple.rows import METHOD
from combray.methods.simple.synthesis import synthesise
from combray.methods.simple.windows import WINDOW, windows
from combray.methods.workbench import Failures, Workbench, in_pool
from combray.store.derived import TURNS, Derivation


def derive(bench: Workbench, params: SimpleParams) -> None:
    """See `Deriving.derive`."""
    if bench.job.kind == TURNS:
        compress(bench, params)
        sessions = [bench.job.subject]
    else:
        units = bench.store.units(bench.bank.name, METHOD, WINDOW)
        sessions = sorted({unit.subject for unit in units})
    if params.synthesis:
        for session in sessions:
            synthesise(bench, session, params)


def compress(bench: Workbench, params: SimpleParams) -> None:
    """Draw units from the windows of the job's session that have not been read yet.

    A window that is no longer there (it has grown, or lost a turn) goes once all others have been read. Nothing is merged before.

    Raises:
        CombrayError: a call failed; the other windows are stored, and this one is read by the next try.

    Source:
        SimpleMem, section 2.1.  Deviation: a failed call is done again, where the released code takes it for a window without content.
    """
    session = bench.job.subject
    wanted = {window.key: window for window in windows(bench.turns(session), params)}
    there = bench.store.units(bench.bank.name, METHOD, WINDOW, subject=session)
    known = {unit.key for unit in there}
    missing = [window for key, window in wanted.items() if key not in known]
    failures = Failures()
    for _, row in in_pool(
        lambda window: compressed(bench, window, params),
        missing,
        failures,
        n_threads=bench.concurrency,
    ):
        bench.derive(bench.change(units=[row]))
    failures.check(len(missing))
    gone = [(WINDOW, key) for key in known if key not in wanted]
    if gone:
        bench.derive(Derivation(drop=gone))
