"""`combray config`: the settings in force, and where each comes from."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

import typer

from combray.cli.invocation import Invocation
from combray.config import Settings, default_models
from combray.errors import NotFound


def config(context: typer.Context) -> None:
    """Show every setting as it is in force, and where its value comes from."""
    call = Invocation.of(context)
    rows = [_row(call, name) for name in (field.name for field in fields(Settings))]
    for name in unknown_variables():
        call.screen.warn(f"{name} is set, but no setting has that name.")
    if call.screen.json:
        call.screen.value({row["name"]: row for row in rows})
        return
    columns = ("setting", "value", "from", "variable")
    table = [(row["name"], _shown(row["value"]), row["source"], row["variable"]) for row in rows]
    call.screen.table(columns, table)


def unknown_variables() -> list[str]:
    """Variables named like ours that set nothing: most likely misspelt."""
    known = {variable(field.name) for field in fields(Settings)}
    return sorted(name for name in os.environ if name.startswith("COMBRAY_") and name not in known)


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"COMBRAY_{name.upper()}"


def _row(call: Invocation, name: str) -> dict[str, Any]:
    value: object = getattr(call.settings, name)
    source = "environment" if os.environ.get(variable(name)) else "default"
    if name == "db":
        value, source = str(call.database), source if call.db is None else "option"
    elif name == "llm_key" and value:
        value = "(set)"
    elif name == "models" and not value:
        value = str(default_models())
    elif name == "data" and not value:
        value = _data()
    return {"name": name, "value": value, "source": source, "variable": variable(name)}


def _data() -> str:
    """The folder that benchmarks would read where none is set; empty where there is none."""
    from combray.eval.datasets.base import data_root

    try:
        return str(data_root())
    except NotFound:
        return ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value != "" else "-"
