"""Which of the filters no turn can satisfy: most likely a name that is not spelt as it was stored."""

from __future__ import annotations

from dataclasses import replace

from combray.memory.finding import near
from combray.memory.parts import Parts
from combray.model import Filters, Recall


def explained(parts: Parts, bank: str, filters: Filters, found: Recall) -> Recall:
    """The recall, with what is wrong with its filters said in the notes and, where nothing was found, the reason."""
    if not filters:
        return found
    notes = unknown_names(parts, bank, filters)
    if not found.hits:
        notes += _unknown_tags(parts, bank, filters)
    if not notes:
        return found
    trace = replace(found.trace, notes=(*found.trace.notes, *notes))
    reason = found.reason if found.hits else f"{found.reason}: {'; '.join(notes)}"
    return replace(found, trace=trace, reason=reason)


def unknown_names(parts: Parts, bank: str, filters: Filters) -> list[str]:
    """A sentence for each session and speaker to filter by that the bank does not have."""
    view = parts.views.view(bank)
    columns = view.columns
    sessions = set(view.session_names)
    speakers = {name.casefold() for name in columns.speakers}
    notes = [
        f"no session is called {name!r}. {near(name, sessions, f'combray sessions {bank}')}"
        for name in filters.sessions
        if name not in sessions
    ]
    notes += [
        f"nobody called {name!r} said anything. There are: {', '.join(columns.speakers[:8])}."
        for name in filters.speakers
        if name.casefold() not in speakers
    ]
    return [note.rstrip(".") for note in notes]


def _unknown_tags(parts: Parts, bank: str, filters: Filters) -> list[str]:
    return [
        f"no turn has the tag {tag!r}"
        for tag in filters.tags
        if not len(parts.store.matching(bank, Filters(tags=[tag])))
    ]
