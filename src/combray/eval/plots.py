"""Results as PNG files, with matplotlib if it is installed; drawn without a display."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from combray.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def locomo(document: Mapping[str, Any], path: Path) -> None:
    """Recall by depth and by budget, a line for each method."""
    methods = {document["method"]: document, **document["baselines"]}
    figure, (depth, budget) = _figure(2)
    for name, values in methods.items():
        _line(depth, {k: v["all"] for k, v in values["turn_recall"].items()}, name)
        _line(budget, {k: v["all"] for k, v in values["budget_recall"].items()}, name)
    _label(depth, "LoCoMo: turns ranked", "evidence recall")
    _label(budget, "LoCoMo: tokens of the pack", "evidence recall")
    _save(figure, path)


def realmem(document: Mapping[str, Any], path: Path) -> None:
    """Session recall by depth, a line for each method."""
    _methods(document, "session_recall", ("RealMem: sessions ranked", "session recall"), path)


def longmemeval_pool(document: Mapping[str, Any], path: Path) -> None:
    """Turn recall by depth, a line for each method."""
    labels = ("LongMemEval pool: turns ranked", "evidence recall")
    _methods(document, "turn_recall", labels, path)


def speed(document: Mapping[str, Any], path: Path) -> None:
    """Median latency by size of the bank, with the bare operations below it."""
    figure, (axes,) = _figure(1)
    lines = {
        "recall": document["recall_latency_ms"],
        "search": document["search_latency_ms"],
        "bare numpy product": {k: v["numpy_ms"] for k, v in document["floor"].items()},
        "bare bm25s query": {k: v["bm25s_ms"] for k, v in document["floor"].items()},
    }
    for name, by_size in lines.items():
        _line(axes, {size: v["p50"] for size, v in by_size.items() if v}, name)
    axes.set_yscale("log")
    _label(axes, "turns in the bank", "median latency, ms")
    _save(figure, path)


def _methods(
    document: Mapping[str, Any], measure: str, labels: tuple[str, str], path: Path
) -> None:
    figure, (axes,) = _figure(1)
    for name, values in document["methods"].items():
        _line(axes, values[measure], name)
    _label(axes, *labels)
    _save(figure, path)


def _figure(n: int) -> tuple[Figure, list[Axes]]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plots", "drawing a result") from error
    figure = Figure(figsize=(5.5 * n, 4), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(1, n, i + 1) for i in range(n)]


def _line(axes: Axes, by_step: Mapping[str, float | None], name: str) -> None:
    points = [(float(step), value) for step, value in by_step.items() if value is not None]
    axes.plot([x for x, _ in points], [y for _, y in points], marker="o", label=name)


def _label(axes: Axes, x: str, y: str) -> None:
    axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    axes.legend()


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=120)
