"""Puts measured tables into a page of the documentation, between its two marks."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
BEGIN, END = "<!-- released -->", "<!-- /released -->"


def fill(page: Path, tables: str) -> None:
    """Replace what stands between the marks."""
    before, rest = page.read_text(encoding="utf-8").split(BEGIN, 1)
    _, after = rest.split(END, 1)
    page.write_text(f"{before}{BEGIN}\n{tables}\n{END}{after}", encoding="utf-8")
