"""Everything Combray raises on purpose.

Facts about a failure are attributes; the message is a sentence that says what to do. Each class carries
the process exit code of the command line, so that the translation happens in one place.

    CombrayError
    ├── InvalidInput         a value that cannot be stored or searched (also a ValueError)
    ├── ConfigError          a setting or name we cannot use (lists what exists)
    ├── NotFound             no such bank, session or turn
    ├── Conflict             the same id with different content; a precondition that no longer holds
    ├── ScopeError           a bank is missing or not the caller's
    ├── StoreError           the database refused
    │   ├── StoreFull        no space left for a write; nothing of it was stored
    │   ├── NotOurFile       the file is not a Combray database, or is damaged
    │   └── MigrationError   its schema is not one we know
    ├── EmbedderMismatch     vectors of another model or dimension; says how to reindex
    ├── WeightsUnavailable   model weights are neither here nor to be fetched
    ├── ProviderError        a model provider failed
    │   ├── Unauthorised
    │   ├── TimedOut
    │   └── RateLimited      knows retry_after_s
    ├── ExtractionError      a model's output did not fit its schema (keeps the raw text)
    └── MissingExtra         also an ImportError; names the `pip install` line
"""

from __future__ import annotations

from typing import ClassVar


class CombrayError(Exception):
    """The base of all errors raised on purpose."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


class InvalidInput(CombrayError, ValueError):
    """A value that cannot be stored or searched; nothing was changed."""

    code = "invalid_input"
    exit_code = 2


class ConfigError(CombrayError):
    """A setting or a name that cannot be used; the message lists what exists."""

    code = "config"
    exit_code = 2


class NotFound(CombrayError):
    """No such bank, session or turn.

    Attributes:
        kind: what was looked for: ``bank``, ``session``, ``turn``, ``profile``.
        name: the name or id that was asked for.
    """

    code = "not_found"
    exit_code = 3

    def __init__(self, kind: str, name: str, hint: str = "") -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"no {kind} {name!r}." + (f" {hint}" if hint else ""))


class Conflict(CombrayError):
    """The same id with different content, or a precondition that no longer holds; nothing was stored."""

    code = "conflict"
    exit_code = 4


class ScopeError(CombrayError):
    """A bank is missing from the call, or is not the caller's."""

    code = "scope"
    exit_code = 5


class StoreError(CombrayError):
    """The database refused; what was acknowledged before is safe."""

    code = "store"
    exit_code = 6


class StoreFull(StoreError):
    """There is no space left for a write; nothing of that write was stored."""

    code = "store_full"


class NotOurFile(StoreError):
    """The file is not a Combray database, or is damaged; it was not touched."""

    code = "not_our_file"


class MigrationError(StoreError):
    """The schema of the database is not one that this version knows; it was not touched."""

    code = "migration"


class EmbedderMismatch(CombrayError):
    """A bank holds vectors of another model or dimension; nothing was written.

    Attributes:
        bank: name of the bank.
        stored: ``model/dimension`` the bank was embedded with.
        given: ``model/dimension`` of the embedder in use.
    """

    code = "embedder_mismatch"
    exit_code = 7

    def __init__(self, bank: str, stored: str, given: str) -> None:
        self.bank = bank
        self.stored = stored
        self.given = given
        super().__init__(
            f"bank {bank!r} holds vectors of {stored}, but the embedder in use is {given}. "
            f"Open it with that embedder, or run `combray reindex {bank}` to embed it anew."
        )


class WeightsUnavailable(CombrayError):
    """Model weights are neither on this machine nor to be fetched."""

    code = "weights_unavailable"
    exit_code = 8


class ProviderError(CombrayError):
    """A model provider failed."""

    code = "provider"
    exit_code = 9


class Unauthorised(ProviderError):
    """The provider refused the key."""

    code = "unauthorised"


class TimedOut(ProviderError):
    """The provider did not answer in time."""

    code = "timed_out"


class RateLimited(ProviderError):
    """The provider asks to wait.

    Attributes:
        retry_after_s: seconds to wait, or None when it did not say.
    """

    code = "rate_limited"

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(message)


class ExtractionError(CombrayError):
    """A model's output did not fit its schema.

    Attributes:
        raw: the text that the model returned.
    """

    code = "extraction"
    exit_code = 9

    def __init__(self, message: str, raw: str) -> None:
        self.raw = raw
        super().__init__(message)


class MissingExtra(CombrayError, ImportError):
    """An optional part is not installed; the message names the line that installs it."""

    code = "missing_extra"
    exit_code = 10

    def __init__(self, extra: str, what: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'combray[{extra}]'")
