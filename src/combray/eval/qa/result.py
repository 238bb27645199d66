"""A finished QA run: its JSON, its per-question rows, its tables and its plot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from combray.errors import MissingExtra
from combray.eval.qa.averages import ANSWERABLE
from combray.eval.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType
    from rich.table import Table

_AVERAGES = ("question_weighted", "category_weighted")
_PLOTTED = ("f1_squad", "f1_locomo", "f1_set_word", "bleu1_nltk", "rouge_l")


@dataclass(frozen=True, slots=True, kw_only=True)
class QaResult(Result):
    """What a QA run found; saved, shown and drawn like any benchmark's result."""

    def table(self) -> RenderableType:
        """Scores and judges by category, refusals, and costs by phase."""
        from rich.console import Group

        document = self.document
        return Group(_scores(document), _refusals(document), _costs(document))

    def plot(self, path: Path | str) -> None:
        """Draw scores and judges by category, and tokens by phase, as a PNG.

        Raises:
            MissingExtra: matplotlib is not installed.
        """
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise MissingExtra("plots", "drawing a result") from error
        figure = Figure(figsize=(13, 4), layout="constrained")
        FigureCanvasAgg(figure)
        scores, tokens = figure.subplots(1, 2, width_ratios=[2, 1])
        _draw_scores(scores, self.document)
        _draw_tokens(tokens, self.document)
        figure.savefig(path, dpi=120)


def _scores(document: Mapping[str, Any]) -> Table:
    title = (
        f"LoCoMo answers: {document['method']} read by {document['reader']}, "
        f"{document['n_answered']} of {document['n_questions']} answered"
    )
    table = _table(title, ["measure", *_AVERAGES, "95%", *ANSWERABLE, "failed"])
    for name, values in document["scores"].items():
        table.add_row(name, *_cells(document, name, values), "")
    for judge, values in document["judges"].items():
        name = f"judge_{judge}"
        table.add_row(name, *_cells(document, name, values), str(values["n_failed"]))
    return table


def _cells(document: Mapping[str, Any], name: str, values: Mapping[str, Any]) -> list[str]:
    bounds = document["intervals"].get(name, {}).get("question_weighted")
    interval = f"{100 * bounds['low']:.1f}–{100 * bounds['high']:.1f}" if bounds else "–"
    averages = [_percent(values[average]) for average in _AVERAGES]
    return [*averages, interval, *(_percent(values.get(category)) for category in ANSWERABLE)]


def _refusals(document: Mapping[str, Any]) -> Table:
    table = _table("Refusals", ["measure", "exact", "lenient", "matched"])
    adversarial, false = document["adversarial"], document["false_refusals"]
    right = [adversarial[caliber] for caliber in ("exact", "lenient", "matched")]
    table.add_row(f"adversarial accuracy, {adversarial['n']} questions", *map(_percent, right))
    wrong = [false["exact"], false["lenient"], None]
    table.add_row(f"false refusals, {document['n_answerable']} questions", *map(_percent, wrong))
    return table


def _costs(document: Mapping[str, Any]) -> Table:
    columns = ["phase", "calls", "cached", "failed", "tokens read", "written", "seconds", "money"]
    table = _table("Costs by phase", columns)
    for phase, cost in document["costs"]["phases"].items():
        table.add_row(
            phase or "unnamed",
            *(f"{cost[name]:,}" for name in ("calls", "cached", "failed")),
            *(f"{cost[name]:,}" for name in ("prompt_tokens", "completion_tokens")),
            f"{cost['latency_ms'] / 1000:,.1f}",
            "–" if cost["money"] is None else f"{cost['money']:.4f}",
        )
    return table


def _draw_scores(axes: Axes, document: Mapping[str, Any]) -> None:
    groups = [*ANSWERABLE, "question_weighted", "category_weighted"]
    series: dict[str, Mapping[str, Any]] = {
        **{name: document["scores"][name] for name in _PLOTTED},
        **{f"judge, {name}": values for name, values in document["judges"].items()},
    }
    width = 0.8 / len(series)
    for n, (name, values) in enumerate(series.items()):
        heights = [100 * (values.get(group) or 0.0) for group in groups]
        axes.bar([x + n * width for x in range(len(groups))], heights, width, label=name)
    centre = 0.4 - width / 2
    axes.set_xticks([x + centre for x in range(len(groups))], _worded(groups))
    axes.set_ylabel("score, %")
    axes.set_title(f"LoCoMo answers: {document['method']}, {document['reader']}")
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small")


def _draw_tokens(axes: Axes, document: Mapping[str, Any]) -> None:
    phases = document["costs"]["phases"]
    names = [phase or "unnamed" for phase in phases]
    read = [cost["prompt_tokens"] for cost in phases.values()]
    written = [cost["completion_tokens"] for cost in phases.values()]
    axes.barh(names, read, label="read")
    axes.barh(names, written, left=read, label="written")
    axes.set_xlabel("tokens")
    axes.set_title("Tokens by phase")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(fontsize="small")


def _worded(names: Iterable[str]) -> list[str]:
    return [name.replace("_", "\n") for name in names]


def _table(title: str, columns: Iterable[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column.replace("_", " "), justify="right" if number else "left")
    return table


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.2f}"
