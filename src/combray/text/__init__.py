"""Reading texts locally: tokens, stems, entities, dates.

`SpacyAnalyser` needs the extra ``spacy``; asking for it loads no more than its own module.
"""

from typing import TYPE_CHECKING

from combray.text.base import Analyser
from combray.text.light import LightAnalyser

if TYPE_CHECKING:
    from combray.text.spacy_analyser import SpacyAnalyser

__all__ = ["Analyser", "LightAnalyser", "SpacyAnalyser"]


def __getattr__(name: str) -> object:
    if name == "SpacyAnalyser":
        from combray.text.spacy_analyser import SpacyAnalyser

        return SpacyAnalyser
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
