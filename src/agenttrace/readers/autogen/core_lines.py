"""Lines of the event logger of AutoGen 0.4+ (logger ``autogen_core.events``): records, with or without a log prefix, and plain text.

A handler writes ``str(record.msg)``, which is one JSON object; a formatter may set a
prefix with the time before it. Other loggers write plain text into the same file.
Source: ``autogen_core/logging.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from agenttrace.compression import bounded_lines
from agenttrace.notes import Notes
from agenttrace.readers.autogen.runtime_rows import decoded
from agenttrace.salvage import note_damage, parse
from agenttrace.sources import Source

__all__ = ["RECORD_TYPES", "CoreLine", "core_lines", "is_core_log", "is_core_record"]

RECORD_TYPES = frozenset(
    {
        "Message",
        "MessageDropped",
        "MessageHandlerException",
        "AgentConstructionException",
        "LLMCall",
        "LLMStreamStart",
        "LLMStreamEnd",
        "ToolCall",
    }
)
_OWN_KEYS = ("delivery_stage", "handling_agent", "agent_id", "exception", "payload")
_PREFIXED = re.compile(rb'(?!\{)(.{1,200}?)(\{"(?:payload|type|messages|response|exception)"\s*:.*\})\s*', re.DOTALL)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII)


class CoreLine(NamedTuple):
    """One line: a record with its payload decoded, or text; and the time of its prefix, if it has one."""

    ref: str
    moment: str | None
    record: dict[str, Any] | None
    text: str | None
    payload: Any = None


def is_core_record(value: Any) -> bool:
    """Whether a JSON value is a record of the event logger."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and kind in RECORD_TYPES and any(key in value for key in _OWN_KEYS)


def is_core_log(head: bytes) -> bool:
    """Whether the beginning of a text has records behind log prefixes."""
    for line in head.split(b"\n")[:200]:
        match = _PREFIXED.fullmatch(line)
        if match:
            try:
                return is_core_record(orjson.loads(match[2]))
            except orjson.JSONDecodeError:
                continue
    return False


def core_lines(source: Source, notes: Notes) -> Iterator[CoreLine]:
    """The lines of a log; text that goes on over several lines is one."""
    with source.stream() as stream:
        yield from _joined(_parsed(bounded_lines(stream, source.label), notes))
    note_damage(source, notes)


def _parsed(lines: Iterable[bytes], notes: Notes) -> Iterator[CoreLine]:
    for number, raw in enumerate(lines, 1):
        line = raw.strip(b"\xef\xbb\xbf\r\n\0")
        if not line.strip():
            continue
        ref = f"line:{number}"
        match = _PREFIXED.fullmatch(line)
        prefix, body = (match[1].decode("utf-8", "replace"), match[2]) if match else ("", line)
        moment = _MOMENT.search(prefix)
        if match or line.lstrip().startswith(b"{"):
            parsed = parse(body)
            records = [value for value in parsed.values if isinstance(value, dict) and value]
            if records:
                for repair in parsed.repairs:
                    notes.add(repair.code, ref, repair.detail)
                for record in records:
                    notes.count_source(record)
                    yield CoreLine(ref, moment.group() if moment else None, record, None, decoded(record.get("payload")))
                continue
        text = line.decode("utf-8", "replace").rstrip()
        moment = _MOMENT.match(text.lstrip("["))
        notes.count_source(text)
        yield CoreLine(ref, moment.group() if moment else None, None, text)


def _joined(lines: Iterator[CoreLine]) -> Iterator[CoreLine]:
    """Text without a time of its own goes on from the text before it, as in a traceback."""
    said: list[CoreLine] = []
    for line in lines:
        if said and (line.text is None or line.moment is not None):
            yield said[0]._replace(text="\n".join(str(part.text) for part in said))
            said = []
        if line.text is None:
            yield line
        else:
            said.append(line)
    if said:
        yield said[0]._replace(text="\n".join(str(part.text) for part in said))
