"""The commands by name, and the options that all of them have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from combray import __version__
from combray.cli import (
    answer,
    banks,
    bench,
    config,
    costs,
    demo,
    doctor,
    enrich,
    explain,
    export,
    forget,
    import_,
    jobs,
    models,
    profile,
    rebuild,
    recall,
    reindex,
    remember,
    sessions,
    turns,
    work,
)
from combray.cli.invocation import EPILOG, Invocation
from combray.cli.screen import Screen

app = typer.Typer(
    name="combray",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"combray {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    db: Annotated[
        Path | None,
        typer.Option(
            "--db",
            metavar="PATH",
            help="Database to use; by default COMBRAY_DB, or the file of this user.",
        ),
    ] = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print one JSON value instead of text and tables."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Leave out notes and progress bars.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="Show where an error was raised.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Keep what was said, word for word, and find it again within a token budget.

    The options below may stand before or after the command. Results go to standard output, notes, progress and
    errors to standard error. Start with `combray demo`.
    """
    context.obj = Invocation(db=db, screen=Screen(json=json, quiet=quiet))
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command("remember", epilog=EPILOG)(remember.remember)
app.command("recall", epilog=EPILOG)(recall.recall)
app.command("explain", epilog=EPILOG)(explain.explain)
app.command("answer", epilog=EPILOG)(answer.answer)
app.command("profile", epilog=EPILOG)(profile.profile)
app.command("forget", epilog=EPILOG)(forget.forget)
app.command("export", epilog=EPILOG)(export.export)
app.command("import", epilog=EPILOG)(import_.import_)
app.command("banks", epilog=EPILOG)(banks.banks)
app.command("sessions", epilog=EPILOG)(sessions.sessions)
app.command("turns", epilog=EPILOG)(turns.turns)
app.command("doctor", epilog=EPILOG)(doctor.doctor)
app.command("config", epilog=EPILOG)(config.config)
app.command("reindex", epilog=EPILOG)(reindex.reindex)
app.command("enrich", epilog=EPILOG)(enrich.enrich)
app.command("work", epilog=EPILOG)(work.work)
app.command("jobs", epilog=EPILOG)(jobs.jobs)
app.command("rebuild", epilog=EPILOG)(rebuild.rebuild)
app.command("costs", epilog=EPILOG)(costs.costs)
app.add_typer(bench.app, name="bench", epilog=EPILOG)
app.add_typer(models.app, name="models", epilog=EPILOG)
app.command("demo", epilog=EPILOG)(demo.demo)
