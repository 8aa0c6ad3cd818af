"""AgentTrace: one representation for the runs of multi-agent systems, whatever framework wrote the log.

    import agenttrace

    for trace in agenttrace.read("chat_result.json"):      # any known format
        print(trace.trace_id, len(trace.events))
    agenttrace.save(trace, "run.json")                      # our own

Names are resolved when they are first used: importing the package loads nothing else.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing.TYPE_CHECKING, without importing typing
if TYPE_CHECKING:
    from typing import Any

    from agenttrace.analysis.validation import Issue, validate
    from agenttrace.builder import EVERYONE, TraceBuilder
    from agenttrace.codec import dumps, load, loads, save
    from agenttrace.errors import (
        AgentTraceError,
        AmbiguousFormat,
        MissingExtra,
        ModelError,
        ReadError,
        UnknownFormat,
        UsageError,
        WriteError,
    )
    from agenttrace.formats import Detection, detect
    from agenttrace.graph import EventGraph
    from agenttrace.model import Trace
    from agenttrace.notes import Notes
    from agenttrace.pipeline import iter_traces, read
    from agenttrace.query import select

__all__ = [
    "EVERYONE",
    "AgentTraceError",
    "AmbiguousFormat",
    "Detection",
    "EventGraph",
    "Issue",
    "MissingExtra",
    "ModelError",
    "Notes",
    "ReadError",
    "Trace",
    "TraceBuilder",
    "UnknownFormat",
    "UsageError",
    "WriteError",
    "detect",
    "dumps",
    "iter_traces",
    "load",
    "loads",
    "read",
    "save",
    "select",
    "validate",
]

_HOMES = {
    "agenttrace.analysis.validation": ("Issue", "validate"),
    "agenttrace.builder": ("EVERYONE", "TraceBuilder"),
    "agenttrace.codec": ("dumps", "load", "loads", "save"),
    "agenttrace.errors": (
        "AgentTraceError",
        "AmbiguousFormat",
        "MissingExtra",
        "ModelError",
        "ReadError",
        "UnknownFormat",
        "UsageError",
        "WriteError",
    ),
    "agenttrace.formats": ("Detection", "detect"),
    "agenttrace.graph": ("EventGraph",),
    "agenttrace.model": ("Trace",),
    "agenttrace.notes": ("Notes",),
    "agenttrace.pipeline": ("iter_traces", "read"),
    "agenttrace.query": ("select",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'agenttrace' has no attribute {name!r}")
    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
