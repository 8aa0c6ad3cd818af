"""AgentTrace itself: JSON, JSONL and what other tools made of it. Read trace by trace.

Unknown keys are moved to the nearest ``extra`` and noted; a line that is no trace
is noted and passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agenttrace import codec
from agenttrace.compression import bounded_lines
from agenttrace.errors import ModelError, ReadError
from agenttrace.fidelity import trace_leaves
from agenttrace.formats import Format, Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.salvage import document, excerpt, look, note_damage, parse, records
from agenttrace.sources import Source

__all__ = ["FORMAT"]

_FIRST_KEYS = re.compile(rb'\s*(?:\xef\xbb\xbf)?\s*\{\s*"(schema_version"\s*:\s*"[^"]{1,20}"\s*,\s*"trace_id|trace_id)"\s*:')


def sniff(source: Source) -> Match | None:
    """By the first keys of the first document, else by the keys that every trace has."""
    if source.is_folder:
        return None
    if _FIRST_KEYS.match(source.head[:4096]) and b'"meta"' in source.head:
        return Match("lines" if _several_lines(source) else "document", "certain", "begins like a trace")
    seen = look(source)
    first = seen.value if seen.kind == "json" else seen.sample[0] if seen.sample else None
    if isinstance(first, dict) and {"trace_id", "meta", "events"} <= first.keys():
        return Match("document" if seen.kind == "json" else "lines", "certain", "has trace_id, meta and events")
    return None


def _several_lines(source: Source) -> bool:
    with source.stream() as stream:
        lines = bounded_lines(stream, source.label)
        first, second = next(lines, b""), next(lines, b"")
    return first.rstrip().endswith(b"}") and second.lstrip().startswith(b"{")


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """The traces of a document or of all lines."""
    if not _several_lines(source):
        yield from _document(source, notes)
        return
    with source.stream() as stream:
        for number, line in enumerate(bounded_lines(stream, source.label), 1):
            if line.strip():
                yield from _line(source, line, f"line:{number}", notes)
    note_damage(source, notes)


def _document(source: Source, notes: Notes) -> Iterator[Trace]:
    try:
        trace, repairs = codec.decode(source.data, path=source.label)
    except ModelError as error:
        if error.code == "version":
            raise ReadError(error.code, source.label, error.place, error.reason, error.hint) from None
        yield from _salvaged(source, notes, error)
        return
    for repair in repairs:
        notes.add(repair.code, repair.pointer, repair.detail)
    note_damage(source, notes)
    if notes.counting:
        notes.source_leaves += trace_leaves(trace)
    yield trace


def _salvaged(source: Source, notes: Notes, error: ModelError) -> Iterator[Trace]:
    """A document that is not quite JSON: mended, if it is a trace then."""
    seen = look(source)
    values = [("", document(source, notes))] if seen.kind == "json" else list(records(source, notes)) if seen.kind == "jsonl" else []
    if not values or (seen.kind == "json" and not seen.repairs):
        raise ReadError("invalid", source.label, error.place, error.reason, error.hint)
    for place, value in values:
        yield from _line(source, codec.encode_value(_completed(value, place, notes)), place, notes)


def _completed(value: Any, place: str, notes: Notes) -> Any:
    """What a cut document still lacks: empty lists for those that never came, and no half-written last item."""
    if not isinstance(value, dict):
        return value
    value = {"agent_instances": [], "events": [], "dependency_links": [], "extra": {}, **value}
    for key, needed in (("agent_instances", ("agent_id",)), ("events", ("event_id", "data")), ("dependency_links", _LINK)):
        items = value[key]
        if isinstance(items, list) and items and not _has(items[-1], needed):
            value[key] = items[:-1]
            notes.add("unreadable", f"{place}/{key}/{len(items) - 1}", f"half-written: {excerpt(str(items[-1]))}")
    _unhook(value, place, notes)
    return value


def _unhook(value: dict[str, Any], place: str, notes: Notes) -> None:
    """Annotations stand before events: those of an event that never came are of the run."""
    meta = value.get("meta")
    annotations = meta.get("annotations") if isinstance(meta, dict) else None
    records = value["events"] if isinstance(value["events"], list) else []
    events = {name for event in records if isinstance(event, dict) and isinstance(name := event.get("event_id"), str)}
    for index, note in enumerate(annotations if isinstance(annotations, list) else ()):
        if isinstance(note, dict) and isinstance(name := note.get("event_id"), str) and name not in events:
            del note["event_id"]
            notes.add("unreadable", f"{place}/meta/annotations/{index}/event_id", f"its event {excerpt(name)} is missing")


_LINK = ("source_event_id", "target_event_id", "dep_type", "origin")
_DATA = {"message": ("receiver_ids",), "tool_call": ("tool_name",), "artifact": ("artifact_id",), "subtask": ("subtask_id",)}


def _has(item: Any, needed: tuple[str, ...]) -> bool:
    """Whether an item has its required keys, and those of its data."""
    if not isinstance(item, dict) or not item.keys() >= set(needed):
        return False
    data = item.get("data")
    return "data" not in needed or (isinstance(data, dict) and data.keys() >= set(_DATA.get(str(data.get("type")), ("type",))))


def _line(source: Source, line: bytes, place: str, notes: Notes) -> Iterator[Trace]:
    try:
        trace, repairs = codec.decode(line, path=source.label, place=place)
    except ModelError as error:
        parsed = parse(line)
        if not parsed.repairs or len(parsed.values) != 1:
            notes.add("unreadable", place, f"no trace: {error.reason}")
            return
        try:
            trace, repairs = codec.decode(codec.encode_value(_completed(parsed.values[0], place, notes)), path=source.label, place=place)
        except ModelError as still:
            notes.add("unreadable", place, f"no trace: {still.reason}")
            return
        repairs += parsed.repairs
    for repair in repairs:
        notes.add(repair.code, f"{place}{repair.pointer}", repair.detail)
    if notes.counting:
        notes.source_leaves += trace_leaves(trace)
    yield trace


FORMAT = Format(
    name="agenttrace",
    title="AgentTrace 1.x",
    spec="https://arxiv.org/abs/2610.18780",
    variants={"document": "one trace", "lines": "JSONL, a trace a line"},
    versions="1.0",
    mapping={"every field": "itself"},
    not_mapped={"unknown keys": "moved to the nearest `extra`, noted"},
    sniff=sniff,
    read=read,
)
