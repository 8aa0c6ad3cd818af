"""JSON Schema (2020-12) of the formats, generated from the model; the files beside this one are checked for drift.

``python -m agenttrace.schema`` writes them anew.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from agenttrace.model import SCHEMA_VERSION, Trace

__all__ = ["SCHEMAS", "generate", "load_schema", "schema_text"]

SCHEMAS: dict[str, str] = {"agenttrace-1.0": "One AgentTrace document: one run of a multi-agent system."}

_TIME = r"^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z?$"

_FREQUENT = ["message", "tool_call", "artifact", "subtask"]

# What the types do not say. Keys are "Struct.field".
_LIMITS: dict[str, dict[str, Any]] = {
    "Trace.schema_version": {"pattern": r"^1(\.\d+)*$"},
    "Event.timestamp": {"pattern": _TIME},
    "ToolCall.completed_at": {"pattern": _TIME},
    "TraceMeta.start_time": {"pattern": _TIME},
    "TraceMeta.end_time": {"pattern": _TIME},
    "Lifecycle.started_at": {"pattern": _TIME},
    "Lifecycle.ended_at": {"pattern": _TIME},
    "DependencyLink.confidence": {"minimum": 0, "maximum": 1},
    "Profiling.feedback_score": {"minimum": 1, "maximum": 5},
    "Attempt.feedback_score": {"minimum": 1, "maximum": 5},
    "Profiling.schema_version": {"pattern": r"^v1(\.\d+)*$"},
}


def generate() -> dict[str, Any]:
    """The schema of one AgentTrace document.

    Written so that a validator names the fault and not a union around it: a nested
    object or null is an ``if``, the four kinds of event data are told apart by ``type``.
    """
    raw = msgspec.json.schema(Trace)
    definitions = {name: _struct(name, body) for name, body in sorted(raw["$defs"].items())}
    top = definitions.pop("Trace")
    top.pop("title", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:agenttrace:schema:{SCHEMA_VERSION}",
        "title": f"AgentTrace {SCHEMA_VERSION}",
        **top,
        "$defs": definitions,
    }


def _struct(name: str, body: dict[str, Any]) -> dict[str, Any]:
    fixed = {key: value for key, value in body.items() if key != "properties"}
    if "description" in fixed:
        fixed["description"] = " ".join(fixed["description"].split("\n\n")[0].split())
    required = set(fixed.get("required", ()))
    fixed["properties"] = {
        key: _value(item, key in required) | _LIMITS.get(f"{name}.{key}", {}) for key, item in body["properties"].items()
    }
    return fixed


def _value(schema: dict[str, Any], required: bool) -> dict[str, Any]:
    """One property: unions with null become a list of types, optional collections may be null."""
    schema = {key: value for key, value in schema.items() if key != "default"}
    if "discriminator" in schema:
        return _tagged(schema["discriminator"]["mapping"])
    if "anyOf" in schema:
        return _union(schema["anyOf"])
    if schema.get("type") in ("array", "object") and not required:
        schema["type"] = [schema["type"], "null"]
    return schema


def _tagged(mapping: dict[str, str]) -> dict[str, Any]:
    """A chain of ifs, the most frequent kinds first: only one branch of it is ever looked at."""
    chain: dict[str, Any] = {}
    for tag, ref in sorted(mapping.items(), key=lambda item: _FREQUENT.index(item[0]) if item[0] in _FREQUENT else -1, reverse=True):
        test = {"if": {"properties": {"type": {"const": tag}}, "required": ["type"]}, "then": {"$ref": ref}}
        chain = test | ({"else": chain} if chain else {})
    return {"type": "object", "required": ["type"], "properties": {"type": {"enum": sorted(mapping)}}, **chain}


def _union(options: list[dict[str, Any]]) -> dict[str, Any]:
    refs = [option for option in options if "$ref" in option]
    nullable = {"type": "null"} in options
    if refs:
        return {"if": {"type": "object"}, "then": refs[0], "else": {"type": ["object", "null"] if nullable else "object"}}
    if enums := [option["enum"] for option in options if "enum" in option]:
        return {"enum": [*enums[0], None] if nullable else enums[0]}
    merged: dict[str, Any] = {"type": []}
    for option in options:
        merged["type"].append(option["type"])
        merged |= {key: value for key, value in option.items() if key != "type"}
    if "number" in merged["type"]:
        merged["type"].remove("integer")  # every integer is a number
    return merged


def schema_text() -> str:
    """The generated schema as it stands in the file."""
    return json.dumps(generate(), indent=2, ensure_ascii=False) + "\n"


@cache
def load_schema(name: str = "agenttrace-1.0") -> dict[str, Any]:
    """A schema as shipped. ``name`` is one of :data:`SCHEMAS`."""
    schema: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    return schema


def write_files(folder: Path) -> None:
    """Write every schema file anew."""
    folder.joinpath("agenttrace-1.0.json").write_text(schema_text(), "utf-8")
