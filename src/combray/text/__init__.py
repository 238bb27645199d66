"""Reading texts locally: tokens, stems, entities, dates.

Analysers are loaded when they are asked for; `SpacyAnalyser` needs the extra ``spacy``.
"""

from typing import TYPE_CHECKING

from combray.text.base import Analyser

if TYPE_CHECKING:
    from combray.text.light import LightAnalyser
    from combray.text.spacy_analyser import SpacyAnalyser

__all__ = ["Analyser", "LightAnalyser", "SpacyAnalyser"]


def __getattr__(name: str) -> object:
    if name == "LightAnalyser":
        from combray.text.light import LightAnalyser

        return LightAnalyser
    if name == "SpacyAnalyser":
        from combray.text.spacy_analyser import SpacyAnalyser

        return SpacyAnalyser
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
