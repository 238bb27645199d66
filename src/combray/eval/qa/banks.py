"""The QA benchmark over banks: write the conversations, enrich them where the method derives, answer every question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from combray import prompts, registry
from combray.answer import AnswerParams, Refusals
from combray.errors import InvalidInput
from combray.eval.datasets import BankData, locomo
from combray.eval.experiment import Setup, Written, written
from combray.eval.qa.checkpoint import Prediction
from combray.eval.qa.judges import Judge
from combray.eval.qa.questions import Posed
from combray.eval.qa.result import QaResult
from combray.eval.qa.run import QaSetup, from_answer, run_qa
from combray.eval.qa.tap import Tapped, tapped
from combray.llm.base import LLM, Occasion
from combray.memory.enriching import WorkParams
from combray.model import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """How questions are answered.

    Attributes:
        method: name of what finds the evidence.
        llm: the reader; it enriches too, where the method derives.
        k: most turns to rank; None for the method's own.
        budget_tokens: of the evidence; None for the method's own.
        params: of the reader.
        store: database to write the banks into, and to use again; None for a temporary one.
    """

    method: str
    llm: LLM
    k: int | None = None
    budget_tokens: int | None = None
    params: AnswerParams = field(default_factory=AnswerParams)
    store: Path | str | None = None

    def described(self) -> dict[str, Any]:
        """What answers depend on, as JSON."""
        return {
            "k": self.k,
            "budget_tokens": self.budget_tokens,
            "refusals": str(self.params.refusals),
            "max_tokens": self.params.max_tokens,
            "dates": self.params.dates,
            "prompt": prompts.load("answer").hash,
        }


def run_qa_locomo(
    answering: Answering, judges: Sequence[Judge] = (), *, setup: QaSetup | None = None
) -> QaResult:
    """Answer LoCoMo's questions from banks, score and judge the answers.

    Raises:
        ProviderError: enrichment failed; what was derived is kept in the store, run it again.
        others: see `run_qa`.
    """
    setup = setup or QaSetup()
    dataset = locomo(setup.data)
    names = setup.samples or tuple(bank.name for bank in dataset.banks)
    dataset = replace(dataset, banks=tuple(bank for bank in dataset.banks if bank.name in names))
    if not dataset.banks:
        raise InvalidInput(f"LoCoMo has no conversation {', '.join(names)}.")
    place = Setup(
        data=setup.data,
        store=answering.store,
        progress=setup.progress,
        llm=Tapped(llm=answering.llm),
    )
    with written(dataset, place) as there:
        calls = _enriched(answering, there, setup)
        data = {bank.name: bank for bank in dataset.banks}

        def answerer(posed: Posed, occasion: Occasion) -> Prediction:
            return _answered(answering, there, data[posed.sample], posed, occasion)

        return run_qa(
            answering.method,
            answering.llm.name,
            judges,
            answerer=answerer,
            setup=replace(
                setup,
                parameters={**answering.described(), **setup.parameters},
                refusal_named=answering.params.refusals is Refusals.ALLOWED,
                embedder=there.embedder,
                counter=there.counter,
            ),
            calls=calls,
        )


def _answered(
    answering: Answering, there: Written, data: BankData, posed: Posed, occasion: Occasion
) -> Prediction:
    with tapped(occasion.record):
        answer = there.banks[posed.sample].answer(
            posed.text,
            method=answering.method,
            k=answering.k,
            budget_tokens=answering.budget_tokens,
            now=posed.asked_at or data.ends_at,
            params=answering.params,
            abstain=answering.params.refusals is Refusals.ALLOWED,
        )
    return from_answer(answer, {"support": answer.recall.support})


def _enriched(answering: Answering, there: Written, setup: QaSetup) -> list[Call]:
    """Have the method derive what it lacks; the ledger rows of all enrichment so far."""
    if answering.method not in registry.DERIVING:
        return []
    calls: list[Call] = []
    for done, (name, bank) in enumerate(there.banks.items()):
        setup.progress(f"enriching {name}", done, len(there.banks))
        bank.enrichment.use(answering.method)
        worked = bank.enrichment.run(params=WorkParams(concurrency=setup.workers))
        if worked.failed:
            failed = worked.failed[0]
            raise InvalidInput(
                f"{len(worked.failed)} enrichment jobs of {name} failed, the first: {failed.error} "
                "What was derived is kept with --store; run it again to go on."
            )
        rows = there.memory.store.calls(bank.name, limit=1_000_000)
        calls += [call for call in rows if call.method == answering.method]
    return calls
