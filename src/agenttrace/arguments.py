"""Arguments of a call: frameworks keep them as an object, or as the JSON text that the model wrote."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from agenttrace.notes import measure

__all__ = ["parse_arguments"]

_LONG_NUMBER = re.compile(r"\d{19}")


def parse_arguments(arguments: Any) -> tuple[Any, bool]:
    """The object that a JSON text holds, else what is given; and whether a text did not parse."""
    if not isinstance(arguments, str):
        return arguments, False
    try:
        # orjson makes floats of integers beyond 64 bits.
        parsed = orjson.loads(arguments) if not _LONG_NUMBER.search(arguments) else json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments, True
    if not isinstance(parsed, dict):
        return arguments, False
    written = arguments.count('":')
    if written > len(parsed) and written > measure(parsed).keys and _repeats_keys(arguments):
        return arguments, False  # as an object it would lose what stands twice
    return parsed, False


def _repeats_keys(text: str) -> bool:
    twice = False

    def pairs(items: list[tuple[str, Any]]) -> None:
        nonlocal twice
        twice = twice or len({key for key, _ in items}) < len(items)

    json.loads(text, object_pairs_hook=pairs)
    return twice
