"""`combray bench`: the same measurements every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.invocation import EPILOG, Invocation

if TYPE_CHECKING:
    from combray.eval import Difference, Progress, Result, Setup
    from combray.eval.qa.costs import Price

app = typer.Typer(rich_markup_mode=None)

Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="The benchmark's file, or the folder it lies in; COMBRAY_DATA by default.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", metavar="NAME", help="Measure this method; may be repeated."),
]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="FOLDER",
        help="Write the JSON, the per-question rows and the plot into this folder.",
    ),
]
StorePath = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="PATH",
        help="Write the banks into this database and use them again; a temporary one by default.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every random choice.")]


@app.callback(invoke_without_command=True)
def bench(context: typer.Context) -> None:
    """Measure retrieval on the benchmarks.

    The data are not part of combray; a benchmark whose data are missing says where they can be had.
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("locomo", epilog=EPILOG)
def locomo(
    context: typer.Context,
    method: Methods = None,
    facts: Annotated[
        str | None,
        typer.Option("--facts", metavar="NAME", help="Put these released facts into the banks: anchormem or atommem."),
    ] = None,
    data: Data = None,
    store: StorePath = None,
    save: Save = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Measure evidence recall on all of LoCoMo.

    By depth, by budget of tokens, by category, and on both halves, beside plain BM25. The first method is the one
    that is measured, fused by default; further ones join the baselines. The methods anchor and atom rank by facts: they
    need --facts, from the folder of --data.
    """
    from combray.eval import run_locomo

    call = Invocation.of(context)
    first, *others = method or ["fused"]
    baselines = list(dict.fromkeys([*others, "bm25"]))
    with call.screen.stages() as progress:
        setup = _setup(data, store, seed, progress)
        result = run_locomo(first, baselines=baselines, setup=setup, facts=facts)
    _show(call, result, save)


@app.command("realmem", epilog=EPILOG)
def realmem(
    context: typer.Context,
    method: Methods = None,
    data: Data = None,
    store: StorePath = None,
    save: Save = None,
    seed: Seed = 0,
) -> None:
    """Measure session recall on RealMem.

    The methods are fused and its single channels by default.
    """
    from combray.eval import run_realmem
    from combray.eval.chats import METHODS

    call = Invocation.of(context)
    with call.screen.stages() as progress:
        result = run_realmem(method or METHODS, setup=_setup(data, store, seed, progress))
    _show(call, result, save)


@app.command("longmemeval-pool", epilog=EPILOG)
def longmemeval_pool(
    context: typer.Context,
    method: Methods = None,
    data: Data = None,
    store: StorePath = None,
    save: Save = None,
    seed: Seed = 0,
) -> None:
    """Measure turn recall on the LongMemEval pool.

    All evidence sessions in one bank; this is not LongMemEval-S. The methods are fused and its single channels by
    default.
    """
    from combray.eval import run_longmemeval_pool
    from combray.eval.chats import METHODS

    call = Invocation.of(context)
    with call.screen.stages() as progress:
        setup = _setup(data, store, seed, progress)
        result = run_longmemeval_pool(method or METHODS, setup=setup)
    _show(call, result, save)


@app.command("speed", epilog=EPILOG)
def speed(
    context: typer.Context,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="Measure this method.")
    ] = "fused",
    size: Annotated[
        list[int] | None,
        typer.Option(
            "--size", metavar="N", min=1, help="Measure a bank of N turns; may be repeated."
        ),
    ] = None,
    save: Save = None,
    seed: Seed = 0,
) -> None:
    """Measure latency by size of the bank.

    Rates of writing too. The turns are synthetic; banks have 600, 10,000 and 100,000 turns by default.
    """
    from combray.eval import SpeedSetup, run_speed
    from combray.eval.speed import SIZES

    call = Invocation.of(context)
    with call.screen.stages() as progress:
        setup = SpeedSetup(sizes=tuple(size or SIZES), seed=seed, progress=progress)
        result = run_speed(method, setup=setup)
    _show(call, result, save)


@app.command("qa", epilog=EPILOG)
def qa(
    context: typer.Context,
    benchmark: Annotated[
        str, typer.Argument(metavar="BENCHMARK", help="Which questions: locomo.")
    ] = "locomo",
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="Find the evidence with this method.")
    ] = "fused",
    reader: Annotated[
        str | None,
        typer.Option("--reader", metavar="MODEL", help="Answer with this model; COMBRAY_LLM_MODEL by default."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option("--judge", metavar="NAME", help="Have answers judged: strict or lenient; may be repeated."),
    ] = None,
    judge_model: Annotated[
        str | None,
        typer.Option("--judge-model", metavar="MODEL", help="Judge with this model; the reader by default."),
    ] = None,
    guess: Annotated[
        bool, typer.Option("--guess", help="Have the reader guess where it would decline.")
    ] = False,
    budget: Annotated[
        int | None,
        typer.Option("--budget", metavar="TOKENS", help="Budget of the evidence; the method's own by default."),
    ] = None,
    sample: Annotated[
        list[str] | None,
        typer.Option("--sample", metavar="NAME", help="Ask about this conversation only; may be repeated."),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="Ask the first N questions of each conversation."),
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, max=64, help="Answer N questions at a time.")
    ] = 4,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FILE", help="Keep each step in this file, and go on from it."),
    ] = None,
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="Money for a million tokens by model, as JSON."),
    ] = None,
    data: Data = None,
    store: StorePath = None,
    save: Save = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Answer LoCoMo's questions with a language model, and score the answers.

    F1, BLEU, ROUGE-L and exact match in the variants of the papers, judges, refusals, tokens, time and money by phase.
    The endpoint is that of COMBRAY_LLM_URL and COMBRAY_LLM_KEY, for the reader and the judges.
    """
    from dataclasses import replace

    from combray import registry
    from combray.answer import AnswerParams, Refusals
    from combray.errors import ConfigError
    from combray.eval.qa import Answering, QaSetup, run_qa_locomo
    from combray.eval.qa import judge as judge_named

    if benchmark != "locomo":
        raise ConfigError(f"{benchmark!r} has no questions with answers; there is: locomo.")
    call = Invocation.of(context)
    settings = call.settings
    llm = registry.llm(replace(settings, llm_model=reader or settings.llm_model))
    judging = registry.llm(replace(settings, llm_model=judge_model)) if judge_model else llm
    answering = Answering(
        method=method,
        llm=llm,
        budget_tokens=budget,
        params=AnswerParams(refusals=Refusals.NEVER if guess else Refusals.ALLOWED),
        store=store,
    )
    with call.screen.stages() as progress:
        setup = QaSetup(
            data=data,
            checkpoint=checkpoint,
            samples=tuple(sample or ()),
            limit=limit,
            workers=workers,
            prices=_prices(prices),
            seed=seed,
            progress=progress,
        )
        judges = [judge_named(name, judging) for name in judge or ()]
        result = run_qa_locomo(answering, judges, setup=setup)
    _show(call, result, save)


def _prices(path: Path | None) -> dict[str, Price]:
    from combray.errors import InvalidInput
    from combray.eval.qa.costs import read_prices

    if path is None:
        return {}
    try:
        return read_prices(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}.") from error


@app.command("compare", epilog=EPILOG)
def compare(
    context: typer.Context,
    first: Annotated[
        Path, typer.Argument(metavar="FIRST", help="Rows (CSV) that were saved before.")
    ],
    second: Annotated[Path, typer.Argument(metavar="SECOND", help="Rows to compare with them.")],
    measure: Annotated[
        str, typer.Option("--measure", metavar="NAME", help="The column to compare.")
    ] = "recall@10",
    first_method: Annotated[
        str | None,
        typer.Option("--first-method", metavar="NAME", help="Take this method of FIRST."),
    ] = None,
    second_method: Annotated[
        str | None,
        typer.Option("--second-method", metavar="NAME", help="Take this method of SECOND."),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Compare two saved runs, question by question.

    By category, with intervals from a bootstrap over conversations.
    """
    from combray.eval import Side, compare

    call = Invocation.of(context)
    found = compare(
        Side(path=first, method=first_method),
        Side(path=second, method=second_method),
        measure,
        seed=seed,
    )
    if call.screen.json:
        call.screen.value({"measure": measure, "groups": found})
        return
    columns = ("questions", "n", "first", "second", "difference", "low", "high", "better", "worse")
    call.screen.table(columns, [(name, *_row(one)) for name, one in found.items()])


def _row(found: Difference) -> tuple[float, ...]:
    gap = found.difference
    return (found.n, found.first, found.second, gap.mean, gap.low, gap.high, found.better, found.worse)  # fmt: skip


def _setup(data: Path | None, store: Path | None, seed: int, progress: Progress) -> Setup:
    from combray.eval import Setup

    return Setup(data=data, store=store, seed=seed, progress=progress)


def _show(call: Invocation, result: Result, save: Path | None) -> None:
    # Shown first: a folder that cannot be written must not cost the measurements.
    call.screen.drawing(result.table())
    saved = result.save(save) if save is not None else []
    if call.screen.json:
        call.screen.value(result.to_json())
    for path in saved:
        call.screen.note(f"Wrote {path}.")
