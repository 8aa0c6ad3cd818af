"""Validation: every problem of a trace at once, with severity, stable code, JSON pointer and one sentence.

First structure, by the published JSON Schema (``structure``), then meaning, by the
rules of the format page that a schema cannot say (``meaning``). The rules and their
codes are listed in ``rules``, which is also the source of the docs page.
"""

from __future__ import annotations

import os
from typing import Any

import orjson

from agenttrace import codec, collector, compression
from agenttrace.analysis.validation.meaning import check_meaning
from agenttrace.analysis.validation.rules import RULES, Issue
from agenttrace.analysis.validation.structure import check_structure
from agenttrace.errors import ReadError
from agenttrace.lenient import json_safe
from agenttrace.model import Trace

__all__ = ["RULES", "Issue", "validate", "validate_document"]


def validate(trace: Trace | bytes | str | os.PathLike[str], *, strict: bool = False) -> list[Issue]:
    """All problems of one trace: of a Trace, of JSON bytes, or of a file.

    Errors come before warnings, each in the order of the document. ``strict`` makes
    unknown keys errors.

    Raises:
        ReadError: the file cannot be read. Bytes that are no JSON are an issue (``no_json``), not an error.
    """
    if isinstance(trace, Trace):
        return validate_document(orjson.loads(codec.dumps(trace)), strict=strict)
    data = trace if isinstance(trace, bytes) else _read(trace)
    plain, damage = compression.decompress(data, None if isinstance(trace, bytes) else os.fspath(trace))
    if damage:
        return [Issue("error", "no_json", "", damage)]
    try:
        document = orjson.loads(plain)
    except orjson.JSONDecodeError as error:
        several = codec.holds_lines(plain)
        reason = "These are several JSON lines: check each, as `agenttrace validate` does" if several else f"This is no JSON: {error}"
        return [Issue("error", "no_json", "", f"{reason}.")]
    return validate_document(document, strict=strict)


def validate_document(document: Any, *, strict: bool = False) -> list[Issue]:
    """All problems of a decoded JSON document. See :func:`validate`."""
    with collector.paused():
        try:
            issues = check_structure(document, strict=strict)
        except UnicodeEncodeError:  # lone surrogates, from another decoder than ours
            document = json_safe(document, [])
            issues = check_structure(document, strict=strict)
        issues += check_meaning(document, issues)
    return sorted(issues, key=lambda issue: issue.severity != "error")


def _read(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as stream:
            return compression.read_bounded(stream, os.fspath(path))
    except (OSError, ValueError) as error:
        code = "not_found" if isinstance(error, FileNotFoundError) else "not_readable"
        raise ReadError(code, os.fspath(path), None, getattr(error, "strerror", None) or str(error)) from None
