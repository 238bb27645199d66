"""What holds for one run of the command line: the database, the settings, and the screen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from combray.cli.screen import Screen
from combray.config import Settings
from combray.errors import NotFound
from combray.model import Clock, utc_now

if TYPE_CHECKING:
    from combray.memory import Memory

IN_MEMORY = ":memory:"
EPILOG = "Every command also takes --db, --json and --quiet; see `combray --help`."
"""Stands at the end of the help of each command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """The options that every command has.

    Attributes:
        db: the database that the user named, or None for the settings' one.
        screen: where results and notes go.
    """

    db: Path | None = None
    screen: Screen = field(default_factory=Screen)

    @classmethod
    def of(cls, context: typer.Context) -> Invocation:
        """The invocation that the root command has put into the context."""
        found = context.find_object(cls)
        return found if found is not None else cls()

    @property
    def settings(self) -> Settings:
        """The settings of the environment."""
        return Settings.from_environment()

    @property
    def database(self) -> Path:
        """The file to open."""
        return self.settings.database if self.db is None else self.db.expanduser()

    @property
    def database_exists(self) -> bool:
        """Whether there is a file (or the database is one in memory)."""
        return str(self.database) == IN_MEMORY or self.database.exists()

    def memory(self, *, create: bool = False, clock: Clock = utc_now) -> Memory:
        """The memory over the database.

        Args:
            create: make the file if it does not exist; otherwise that is an error, and no file is left behind.
            clock: what time it is.

        Raises:
            NotFound: there is no such file and `create` is off.
        """
        from combray.memory import Memory

        if not create and not self.database_exists:
            raise NotFound(
                "database", str(self.database), "`combray remember` makes one; --db names another."
            )
        # A path from the settings stays None: only there are missing folders made.
        named = IN_MEMORY if str(self.database) == IN_MEMORY else self.db
        return Memory.open(named, settings=self.settings, clock=clock)
