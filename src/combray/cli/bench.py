"""`combray bench`: the same measurements every time."""

import typer

app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def bench(context: typer.Context) -> None:
    """Measure retrieval on the benchmarks."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
