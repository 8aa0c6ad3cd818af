"""Steps of a run as they were rendered for AgentRx: a text with a line for each fact, or the same as JSON text."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import orjson

__all__ = ["delegated", "parsed", "step_fields"]

_LINE = re.compile(r"^(Status|Tool|Tool args|Tool result|Error): (.*)$", re.MULTILINE)
_NAMES = {"Status": "status", "Tool": "tool_name", "Tool args": "tool_args", "Tool result": "tool_result", "Error": "error"}

Item = dict[str, Any]


def step_fields(content: Any) -> Item:
    """What a rendered step says, by the names of the JSON rendering; empty for any other text."""
    if not isinstance(content, str):
        return {}
    if content.startswith("Agent: "):
        head = content.partition("\nInput: ")[0]  # what the agent was given, and said, may hold such lines, too
        return {_NAMES[name]: value for name, value in reversed(_LINE.findall(head))}
    value = parsed(content)
    return value if isinstance(value, dict) else {}


def delegated(fields: Item) -> Item:
    """The fields of a message that hands a task on."""
    telemetry = fields.get("telemetry")
    events = telemetry.get("events") if isinstance(telemetry, dict) else None
    told = [
        target
        for event in (events if isinstance(events, list) else ())
        if isinstance(event, dict) and event.get("name") == "task_delegated" and isinstance(facts := event.get("attributes"), dict)
        if isinstance(target := facts.get("target_agent"), str) and target
    ]
    return {"receivers": told, "kind": "handoff"} if told else {}


def parsed(value: Any) -> Any:
    """A value, or what stands in a text of JSON."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(orjson.JSONDecodeError):
            return orjson.loads(value)
    return value
