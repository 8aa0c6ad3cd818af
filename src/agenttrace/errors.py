"""Every error that the toolkit raises on purpose.

::

    AgentTraceError
    ├── ReadError            an input could not be read (nothing of it, or not under the given rules)
    │   ├── UnknownFormat    no reader claims the input
    │   └── AmbiguousFormat  two readers claim it with equal certainty
    ├── WriteError           an output could not be written; nothing half-written is left behind
    ├── ModelError           data that is not a valid AgentTrace
    ├── UsageError           a call or a command line that makes no sense
    └── MissingExtra         an optional library is not installed

An error is one line for people (``str(error)``) and five fields for programs
(``error.to_dict()``): a stable ``code``, the ``path``, the ``place`` inside it,
the ``reason``, and a ``hint`` that says what to do. Codes never change meaning.
"""

from __future__ import annotations

__all__ = [
    "CODES",
    "AgentTraceError",
    "AmbiguousFormat",
    "MissingExtra",
    "ModelError",
    "ReadError",
    "UnknownFormat",
    "UsageError",
    "WriteError",
]

CODES: dict[str, str] = {
    "not_found": "The path does not exist.",
    "not_readable": "The operating system refuses to read the path, or it is no regular file.",
    "empty": "The input holds no bytes, or no file that could be a log.",
    "too_large": "The input, or what it expands to, is beyond the size that is read at once.",
    "compressed": "A .gz or .zst input is damaged.",
    "binary": "The input is binary data of no known kind.",
    "unparsable": "Nothing in the input could be read as the format asks.",
    "damaged": "The input is damaged, and strict reading was asked for.",
    "no_trace": "The input was recognised but holds no run.",
    "many_traces": "One trace was asked for and the input holds several.",
    "unknown_format": "No reader recognises the input.",
    "ambiguous_format": "Two readers recognise the input with equal certainty.",
    "reader_failed": "A reader broke on the input: a defect of the reader, not of the input.",
    "write_failed": "The output could not be written.",
    "invalid": "The data breaks the AgentTrace format.",
    "version": "The schema_version is one that this release does not read.",
    "usage": "The arguments do not fit together.",
    "missing_extra": "An optional library is needed and not installed.",
}


class AgentTraceError(Exception):
    """Base of all errors: ``code``, ``path``, ``place``, ``reason``, ``hint``."""

    def __init__(self, code: str, path: str | None, place: str | None, reason: str, hint: str | None = None) -> None:
        super().__init__(code, path, place, reason, hint)
        self.code = code
        # A path that is no UTF-8 reaches us with lone surrogates, which neither JSON nor a terminal can hold.
        self.path = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if path else path
        self.place = place
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.path, self.place) if part)
        line = f"{where}: {self.reason}" if where else self.reason
        return f"{line} ({self.hint})" if self.hint else line

    def to_dict(self) -> dict[str, str | None]:
        """The five fields, as ``--json`` prints them on stderr."""
        return {"code": self.code, "path": self.path, "place": self.place, "reason": self.reason, "hint": self.hint}


class ReadError(AgentTraceError):
    """An input could not be read."""


class UnknownFormat(ReadError):
    """No reader claims the input."""


class AmbiguousFormat(ReadError):
    """Two readers claim the input with equal certainty."""


class WriteError(AgentTraceError):
    """An output could not be written; nothing half-written is left behind."""


class ModelError(AgentTraceError):
    """Data that is not a valid AgentTrace."""


class UsageError(AgentTraceError):
    """A call or a command line that makes no sense."""


class MissingExtra(AgentTraceError):
    """An optional library is not installed; the hint names the install command."""
