"""`combray models`: the weights of local models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from combray.cli.invocation import EPILOG, Invocation
from combray.errors import WeightsUnavailable

if TYPE_CHECKING:
    from combray.embed.cards import ModelCard

app = typer.Typer(
    rich_markup_mode=None,
)
DEFAULT = "all-MiniLM-L6-v2"
ModelName = Annotated[str, typer.Argument(metavar="MODEL", help="Name of the model.")]


@app.callback(invoke_without_command=True)
def models(context: typer.Context) -> None:
    """List, fetch and check the weights of local models."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command("list", epilog=EPILOG)
def list_(context: typer.Context) -> None:
    """List the models that combray knows and where they are."""
    from combray.embed import weights

    call = Invocation.of(context)
    found = [(card, _located(card.name, call)) for card in weights.list_models()]
    if call.screen.json:
        call.screen.value([_about(card, folder) for card, folder in found])
        return
    columns = ("model", "revision", "licence", "dimension", "MB", "folder")
    rows = [
        (card.name, card.revision[:8], card.licence, card.dimension, card.size // 1_000_000,
         folder or "not here")
        for card, folder in found
    ]  # fmt: skip
    call.screen.table(columns, rows)


@app.command("fetch", epilog=EPILOG)
def fetch(context: typer.Context, model: ModelName = DEFAULT) -> None:
    """Fetch the weights of a model and check them.

    Nothing happens if they are here.
    """
    from combray.embed import weights

    call = Invocation.of(context)
    settings = call.settings
    folder = weights.fetch(model, _folder(call), offline=settings.offline or None)
    if call.screen.json:
        call.screen.value({"model": model, "folder": str(folder)})
    else:
        call.screen.text(f"{model} is in {folder}.")


@app.command("verify", epilog=EPILOG)
def verify(context: typer.Context, model: ModelName = DEFAULT) -> None:
    """Compare the weights on this machine with the official hashes.

    The exit code is 1 if they differ or are missing.
    """
    from combray.embed import weights

    call = Invocation.of(context)
    checks = weights.verify(model, _folder(call))
    if call.screen.json:
        call.screen.value(
            [
                {
                    "file": check.file.name,
                    "path": check.path,
                    "sha256": check.file.sha256,
                    "problem": check.problem,
                }
                for check in checks
            ]
        )
    else:
        rows = [(check.file.name, check.problem or "good", check.path) for check in checks]
        call.screen.table(("file", "state", "path"), rows)
    if any(check.problem for check in checks):
        raise typer.Exit(1)


def _about(card: ModelCard, folder: Path | None) -> dict[str, object]:
    return {
        "name": card.name,
        "revision": card.revision,
        "licence": card.licence,
        "dimension": card.dimension,
        "bytes": card.size,
        "folder": folder,
    }


def _folder(call: Invocation) -> Path | None:
    models = call.settings.models
    return Path(models) if models else None


def _located(name: str, call: Invocation) -> Path | None:
    from combray.embed import weights

    try:
        return weights.locate(name, _folder(call))
    except WeightsUnavailable:
        return None
