"""Objects of AutoGen as ``print`` and ``repr`` show them, inside other text."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from agenttrace.readers.autogen.console_lines import Line
from agenttrace.reprs import parse_fields, parse_repr

__all__ = ["Printed", "printed_messages", "printed_objects"]

_OBJECT = re.compile(r"\s*(?:TaskResult|ChatResult|Response|\[(?:\w+Message|\w+Event)|\{'type': '\w+State')\b")
_MESSAGE = re.compile(r"(?:(?P<name>[A-Za-z]\w*) )?(?=(?:id='[^']*' )?source=['\"]|messages=\[)")


class Printed(NamedTuple):
    """A printed object: its place and its value."""

    ref: str
    value: Any


def printed_objects(text: str, ref: str) -> list[Printed]:
    """The one object that a text consists of, as a list of one; empty when it is none of AutoGen's."""
    if not _OBJECT.match(text):
        return []
    found = parse_repr(text)
    return [Printed(ref, found.value)] if found is not None and isinstance(found.value, dict | list) else []


def printed_messages(lines: list[Line]) -> list[Printed]:
    """Messages printed one a line, ``source='user' models_usage=None content='…'``: pydantic's text of an object.

    A result at the end, ``messages=[…] stop_reason=…``, repeats them. Text between them is a record without a source.
    """
    found: list[Printed] = []
    if not any(_MESSAGE.match(line.plain) for line in lines):
        return []
    for line in lines:
        match = _MESSAGE.match(line.plain)
        fields = parse_fields(line.raw.removesuffix("\r"), match.end())[0] if match else {}
        if fields:
            found.append(Printed(line.ref, fields))
        elif line.plain.strip():
            found.append(Printed(line.ref, {"text": line.plain}))
    return found
