"""Reading texts locally: tokens, stems, entities, dates."""

from combray.text.base import Analyser
from combray.text.light import LightAnalyser

__all__ = ["Analyser", "LightAnalyser"]
