"""Answers to benchmark questions: scored, judged, counted and resumed.

from combray.eval.qa import JUDGES, QaSetup, judge, run_qa

result = run_qa("fused", "my-model", [judge("strict", llm)], answerer=answerer, setup=QaSetup(checkpoint="qa.jsonl"))
print(result.to_json()["scores"]["f1_squad"]["question_weighted"])

Names are imported when they are first used: the scorers need the extra ``eval``, a run does not need it to be imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from combray.eval.qa.averages import Averages
    from combray.eval.qa.banks import Answering, run_qa_locomo
    from combray.eval.qa.bootstrap import PairedDifference, paired
    from combray.eval.qa.checkpoint import Prediction
    from combray.eval.qa.costs import PhaseCost, Price, by_phase
    from combray.eval.qa.judges import JUDGES, Judge, Label, Verdict, judge
    from combray.eval.qa.questions import GoldQuestion, Posed, locomo_questions
    from combray.eval.qa.result import QaResult
    from combray.eval.qa.run import Answerer, QaSetup, from_answer, run_qa
    from combray.eval.qa.scorers import SCORERS, Scorer
    from combray.eval.qa.tap import Tapped, tapped

_HOMES = {
    "averages": ("Averages",),
    "banks": ("Answering", "run_qa_locomo"),
    "bootstrap": ("PairedDifference", "paired"),
    "checkpoint": ("Prediction",),
    "costs": ("PhaseCost", "Price", "by_phase"),
    "judges": ("JUDGES", "Judge", "Label", "Verdict", "judge"),
    "questions": ("GoldQuestion", "Posed", "locomo_questions"),
    "result": ("QaResult",),
    "run": ("Answerer", "QaSetup", "from_answer", "run_qa"),
    "scorers": ("SCORERS", "Scorer"),
    "tap": ("Tapped", "tapped"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "JUDGES",
    "SCORERS",
    "Answerer",
    "Answering",
    "Averages",
    "GoldQuestion",
    "Judge",
    "Label",
    "PairedDifference",
    "PhaseCost",
    "Posed",
    "Prediction",
    "Price",
    "QaResult",
    "QaSetup",
    "Scorer",
    "Tapped",
    "Verdict",
    "by_phase",
    "from_answer",
    "judge",
    "locomo_questions",
    "paired",
    "run_qa",
    "run_qa_locomo",
    "tapped",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
