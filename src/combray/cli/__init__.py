"""The command line: one file per command."""

from combray.cli.run import main

__all__ = ["main"]
