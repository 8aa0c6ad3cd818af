"""Structure: the published JSON Schema, checked by jsonschema-rs, in words of our own."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema_rs

from agenttrace.analysis.validation.rules import Issue, Severity, issue
from agenttrace.lenient import pointer
from agenttrace.schema import load_schema

__all__ = ["check_structure"]

_SHOWN = 60


def check_structure(document: Any, *, strict: bool = False) -> list[Issue]:
    """Every place where the document breaks the schema, in the order of the validator."""
    validator = _validator()
    try:
        if validator.is_valid(document):  # a third cheaper than asking for the errors of a sound document
            return []
        errors = list(validator.iter_errors(document))
    except ValueError:  # its own limit, on documents that nobody could show anyway
        return [issue("too_deep", "", "The document is nested too deeply to be checked.")]
    # Where a value has the wrong type, a branch for the right one may say so again.
    told: set[str] = set()
    found: list[Issue] = []
    for one in (one for error in errors for one in _issues(error, strict)):
        if one.code != "wrong_type" or one.pointer not in told:
            found.append(one)
        if one.code == "wrong_type":
            told.add(one.pointer)
    return found


@cache
def _validator() -> Any:
    return jsonschema_rs.validator_for(load_schema())


def _issues(error: Any, strict: bool) -> list[Issue]:
    kind, at = error.kind, pointer(*error.instance_path)
    name = kind.name
    if name == "additionalProperties":
        severity: Severity = "error" if strict else "warning"
        return [
            issue("unknown_key", at + pointer(key), f"The format has no key {_shown(key)} here.", severity=severity)
            for key in kind.unexpected
        ]
    if name == "required":
        return [issue("missing_key", at, f"The key {_shown(kind.property)} is required.")]
    value = _shown(error.instance)
    if name == "type":
        return [issue("wrong_type", at, f"{value} is not {' or '.join(sorted(kind.types))}.")]
    if name == "enum":
        options = [option for option in kind.options if option is not None]
        return [issue("bad_value", at, f"{value} is none of {', '.join(map(str, options))}.")]
    if name == "pattern":
        wanted = (
            "1.x, the version" if at == "/schema_version" else "v1" if at.endswith("schema_version") else "a time like 2026-01-31T12:00:00Z"
        )
        return [issue("bad_format", at, f"{value} is not written as {wanted}.")]
    if name in ("minimum", "maximum"):
        return [issue("out_of_range", at, f"{value} is beyond the {name} {kind.limit}.")]
    return [issue("bad_value", at, f"{value} breaks the schema ({name}).")]


def _shown(value: Any) -> str:
    """A value in a message: short, on one line, quoted, control characters escaped."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value) if not isinstance(value, dict | list) else ""
    if isinstance(value, dict | list):
        text = f"an {'object' if isinstance(value, dict) else 'array'} of {len(value)}"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
