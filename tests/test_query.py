"""select: each condition, their conjunction, and what the format does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings

from agenttrace.codec import loads
from agenttrace.errors import UsageError
from agenttrace.model import Trace
from agenttrace.query import select
from tests.conftest import FORMATS
from tests.strategies import traces

DOCUMENT = (FORMATS / "agenttrace" / "document" / "input.json").read_bytes()

CONDITIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["e1", "e2", "e3", "e4", "e5"]),
    ({"type": "message"}, ["e1", "e5"]),
    ({"agent": "till"}, ["e1", "e5"]),
    ({"agent": "clerk"}, ["e1", "e2", "e3", "e4", "e5"]),
    ({"agent": "nobody"}, []),
    ({"tool": "count_stock"}, ["e2"]),
    ({"status": "success"}, ["e2"]),
    ({"status": "failure"}, []),
    ({"status": "none"}, []),
    ({"subtask_status": "completed"}, ["e4"]),
    ({"subtask_status": "created"}, []),
    ({"since": "2026-03-01T08:00:04Z"}, ["e3", "e4", "e5"]),
    ({"until": "2026-03-01T08:00:02Z"}, ["e1", "e2"]),
    ({"since": "2026-03-01", "until": "2026-03-01"}, ["e1", "e2", "e3", "e4", "e5"]),
    ({"since": "2026-03-02"}, []),
    ({"since": "2026-03-01T09:00:00+01:00", "until": "2026-03-01T09:00:02+01:00"}, ["e1", "e2"]),
    ({"text": "ROGGENBROT"}, ["e2", "e3"]),
    ({"text": "count first"}, ["e2"]),
    ({"text": "12 loaves"}, ["e5"]),
    ({"text": "12"}, ["e2", "e3", "e5"]),
    ({"text": "roggenbrot", "type": "artifact"}, ["e3"]),
]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return loads(DOCUMENT)


@pytest.mark.parametrize(("conditions", "expected"), CONDITIONS, ids=json.dumps)
def test_conditions(trace: Trace, conditions: dict[str, Any], expected: list[str]) -> None:
    assert [event.event_id for event in select(trace, **conditions)] == expected


@pytest.mark.parametrize(
    "conditions", [{"type": "note"}, {"status": "ok"}, {"subtask_status": "done"}, {"since": "yesterday"}, {"until": "2026-02-30"}]
)
def test_what_the_format_does_not_know(trace: Trace, conditions: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        list(select(trace, **conditions))


@settings(deadline=None, max_examples=60)
@given(traces())
def test_conditions_part_a_trace(trace: Trace) -> None:
    by_type = [event for kind in ("message", "tool_call", "artifact", "subtask") for event in select(trace, type=kind)]
    assert sorted(event.event_id for event in by_type) == sorted(event.event_id for event in trace.events)
    assert list(select(trace)) == list(trace.events)
