"""The public names are pinned: a change here is a breaking change and needs a changelog entry with before and after."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import agenttrace

NAMES = [
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

# What a caller may write: names of parameters, a star before those that are given by name only.
CALLS = {
    "AgentTraceError": "code, path, place, reason, hint=",
    "Detection": "format, variant, level",
    "EventGraph": "trace, dep_types=",
    "Issue": "severity, code, pointer, message",
    "Notes": "*counting=",
    "TraceBuilder": "framework, *notes=, *source=, *trace_id=, *number=",
    "detect": "path",
    "dumps": "trace",
    "iter_traces": "path, *format=, *notes=",
    "load": "path",
    "loads": "data, *strict=",
    "read": "path, *format=, *notes=",
    "save": "traces, path",
    "select": "trace, *agent=, *type=, *tool=, *status=, *subtask_status=, *since=, *until=, *text=",
    "validate": "trace, *strict=",
}

METHODS = {"agent", "annotate", "artifact", "build", "call", "link", "message", "result", "subtask"}
BASES = {
    "AgentTraceError": "Exception",
    "AmbiguousFormat": "ReadError",
    "MissingExtra": "AgentTraceError",
    "ModelError": "AgentTraceError",
    "ReadError": "AgentTraceError",
    "UnknownFormat": "ReadError",
    "UsageError": "AgentTraceError",
    "WriteError": "AgentTraceError",
}


def call(value: object) -> str:
    shown = []
    for parameter in inspect.signature(value).parameters.values():  # type: ignore[arg-type]
        star = "*" if parameter.kind is parameter.KEYWORD_ONLY else ""
        shown.append(f"{star}{parameter.name}{'' if parameter.default is parameter.empty else '='}")
    return ", ".join(shown)


def test_public_names() -> None:
    assert agenttrace.__all__ == NAMES
    assert dir(agenttrace) == sorted(NAMES)


def test_every_public_name_resolves_and_no_other() -> None:
    for name in NAMES:
        assert getattr(agenttrace, name) is not None
    with pytest.raises(AttributeError, match="diagnose"):
        agenttrace.diagnose  # noqa: B018 - the access is the test


def test_calls() -> None:
    assert {name: call(getattr(agenttrace, name)) for name in CALLS} == CALLS


def test_builder_methods() -> None:
    assert {name for name in METHODS if callable(getattr(agenttrace.TraceBuilder, name, None))} == METHODS


def test_error_tree() -> None:
    found = {name: getattr(agenttrace, name) for name in NAMES}
    classes = {name: value for name, value in found.items() if isinstance(value, type) and issubclass(value, Exception)}
    assert {name: value.__bases__[0].__name__ for name, value in classes.items()} == BASES


def loaded(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    code = f"import sys, os\n{statement}\nsys.stderr.write(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.split())


def test_importing_the_package_loads_no_other_library() -> None:
    heavy = {"msgspec", "orjson", "rich", "click", "jsonschema_rs", "zstandard"}
    assert loaded("import agenttrace") & heavy == set()
    assert loaded("import agenttrace; agenttrace.validate") >= {"msgspec", "jsonschema_rs"}, "a name that is used is loaded"


def test_help_loads_little() -> None:
    statement = """
from agenttrace.cli import main
try:
    main(["--help"])
except SystemExit as end:
    assert end.code == 0
"""
    modules = loaded(statement)
    assert "click" in modules
    assert modules & {"rich", "jsonschema_rs", "msgspec"} == set()
