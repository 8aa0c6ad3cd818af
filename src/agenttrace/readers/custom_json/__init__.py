"""Logs of any JSON shape, by a mapping file that says where traces, agents and events are.

``agenttrace convert LOG --from MAP.toml`` reads a log by a mapping; a folder that holds ``agenttrace-mapping.toml`` (or
``.yaml``, ``.yml``) beside its logs is read by it without being asked. ``agenttrace mapping init LOG`` proposes a mapping,
``agenttrace mapping check LOG MAP`` says what it leaves aside. Nothing is claimed without a mapping.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError, UsageError
from agenttrace.formats import MAPPINGS, Format, Match
from agenttrace.lenient import pointer
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.custom_json.items import Path, items_at, left_over
from agenttrace.readers.custom_json.mapping_file import Mapping, compiled, load_mapping, parse_mapping
from agenttrace.readers.custom_json.rules import fill_trace
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source, children

__all__ = ["FORMAT", "mapped_format"]

_BESIDE = tuple(f"agenttrace-mapping{suffix}" for suffix in MAPPINGS)

Place = Callable[[Path], str]


def mapped_format(path: str | os.PathLike[str]) -> Format:
    """The format of logs that a mapping file describes, to read them by.

    Raises:
        UsageError: the file cannot be read, or is no mapping.
        MissingExtra: a library for mappings is not installed.
    """
    mapping = load_mapping(os.fspath(path))
    variant = mapping.name

    def read_mapped(source: Source, notes: Notes) -> Iterator[Trace]:
        yield from _traces(source, notes, mapping, "", _builders(source, variant))

    def sniff_mapped(source: Source) -> Match | None:
        return None if source.is_folder else Match(variant, "certain", f"read by the mapping {variant}")

    return Format(
        name=FORMAT.name,
        title=f"Logs by the mapping {variant}",
        spec=FORMAT.spec,
        variants={variant: "as the mapping says"},
        versions=FORMAT.versions,
        mapping=FORMAT.mapping,
        sniff=sniff_mapped,
        read=read_mapped,
    )


# -- a folder with a mapping -----------------------------------------------------------------


def _sniff(source: Source) -> Match | None:
    if not source.is_folder or _mapping_in(source) is None:
        return None
    return Match("mapped_folder", "certain", "a mapping file beside the logs")


def _mapping_in(folder: Source) -> Source | None:
    return next((file for file in children(folder, [])[0] if file.name in _BESIDE), None)


def _read(source: Source, notes: Notes) -> Iterator[Trace]:
    found = _mapping_in(source) if source.is_folder else None
    if found is None:
        hint = "name one with --from MAP.toml; `agenttrace mapping init LOG` proposes one"
        raise ReadError("unparsable", source.label, None, "custom_json reads nothing without a mapping", hint)
    try:
        mapping = parse_mapping(found.data, found.label)
    except UsageError as error:  # it is a part of the input, not an option of the user's
        raise ReadError("unparsable", found.label, error.place, error.reason, error.hint) from None
    builders = _builders(source, "mapped_folder")
    for file in source.files:
        if file.name == found.name:
            continue
        inner = Notes(counting=notes.counting)
        try:
            if look(file).kind in ("json", "jsonl"):
                yield from _traces(file, inner, mapping, f"{file.name}#", builders)
                notes.absorb(inner)
            else:
                notes.add("aside", f"{file.name}#", "no JSON; not read")
        except ReadError as error:
            fits = error.code != "unparsable"
            notes.add("unreadable" if fits else "aside", f"{file.name}#", error.reason)
        file.forget()


def _builders(source: Source, variant: str) -> Iterator[Callable[[Notes], TraceBuilder]]:
    """A maker of a builder for each trace in turn."""
    number = 0
    while True:
        number += 1
        yield partial(_builder, source, variant, number)


def _builder(source: Source, variant: str, number: int, notes: Notes) -> TraceBuilder:
    return TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, variant), number=number)


# -- a file ----------------------------------------------------------------------------------


def _traces(
    source: Source, notes: Notes, mapping: Mapping, within: str, builders: Iterator[Callable[[Notes], TraceBuilder]]
) -> Iterator[Trace]:
    found = 0
    made: list[Trace] = []  # all of a file: that no rule fits it is known at its end
    for root, place in _roots(source, notes, mapping, within):
        builder = next(builders)(notes)
        if not made and mapping.traces:
            _keep_around(builder, notes, mapping, document(source, Notes(counting=False)), within)
        found += fill_trace(builder, notes, mapping, root, place)
        made.append(builder.build())
    if not found:
        raise ReadError(
            "unparsable",
            source.label,
            None,
            f"no rule of the mapping {mapping.name} fits it",
            "compare the paths after `each` with the keys of the log",
        )
    yield from made


def _roots(source: Source, notes: Notes, mapping: Mapping, within: str) -> Iterator[tuple[Any, Place]]:
    """Each trace of a file, and how its places are named."""
    seen = look(source)
    if seen.kind == "jsonl":
        refs, values = [], []
        for ref, value in records(source, notes):
            refs.append(within + ref)
            values.append(value)
        yield from _apart(values, refs, mapping)
    elif seen.kind == "json":
        value = document(source, notes)
        for item in items_at(value, mapping.traces):
            at = within + pointer(*item.path)
            if isinstance(item.value, list):
                yield from _apart(item.value, [at + pointer(index) for index in range(len(item.value))], mapping)
            else:
                yield item.value, partial(_in_document, at)
    else:
        raise ReadError("unparsable", source.label, None, "no JSON, which a mapping is for", "`agenttrace doctor` says what is in it")


def _apart(values: list[Any], refs: list[str], mapping: Mapping) -> Iterator[tuple[Any, Place]]:
    """The records of each trace."""
    if mapping.split == "record":
        for value, ref in zip(values, refs, strict=True):
            yield value, partial(_in_document, ref)
        return
    groups: dict[str, tuple[list[Any], list[str]]] = {}
    for value, ref in zip(values, refs, strict=True):
        name = str(compiled(mapping.group_by)(value)) if mapping.group_by is not None else ""
        held, places = groups.setdefault(name, ([], []))
        held.append(value)
        places.append(ref)
    for held, places in groups.values():
        yield held, partial(_in_records, places)


def _keep_around(builder: TraceBuilder, notes: Notes, mapping: Mapping, value: Any, within: str) -> None:
    """What of a document is around its traces: kept with the first of them."""

    def keep(_path: Path, rest: Any) -> None:
        builder.extra["document"] = rest
        notes.add("aside", within or None, "what stands around the traces, in the `extra` of the first")

    left_over(value, {item.path for item in items_at(value, mapping.traces)}, set(), keep)


def _in_document(at: str, path: Path) -> str:
    return at + pointer(*path)


def _in_records(refs: list[str], path: Path) -> str:
    return refs[int(path[0])] + pointer(*path[1:]) if path else ""


FORMAT = Format(
    name="custom_json",
    title="JSON logs of your own, by a mapping file",
    spec="https://jmespath.org/specification.html",
    variants={
        "mapped_folder": "a folder with `agenttrace-mapping.toml` beside its logs; any other name: that of the mapping given with --from"
    },
    versions="mapping version 1",
    mapping={
        "[meta]": "fields of TraceMeta, by expressions on the trace",
        "[[agents]]": "AgentInstance",
        "[[events]] of type message, tool_call, tool_result, artifact, subtask": "the event; a tool_result is folded into its call",
        "[[annotations]]": "Annotation",
        "once": "keys that all records have alike: kept once",
    },
    not_mapped={
        "what no rule takes": "extra of the event, of the agent, of the run; records that no rule is about: the trace's extra.records",
        "links": "a mapping states none",
    },
    sniff=_sniff,
    read=_read,
)
