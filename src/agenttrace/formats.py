"""Formats: what a reader says of itself, how readers are found, and which one an input belongs to.

A reader is a module (or package) in ``agenttrace.readers``, or an entry point of
another package in the group ``agenttrace.readers``, with an attribute ``FORMAT``.
Adding one edits nothing here.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from typing import Literal, NamedTuple

from agenttrace.errors import AmbiguousFormat, ReadError, UnknownFormat, UsageError
from agenttrace.model import SourceInfo, Trace
from agenttrace.notes import Notes
from agenttrace.salvage import look
from agenttrace.sources import Source

__all__ = ["Detection", "Format", "Match", "Verdict", "broken_readers", "detect", "formats", "get_format", "recognise", "verdicts"]

Level = Literal["possible", "likely", "certain"]
MAPPINGS = (".toml", ".yaml", ".yml")
"""How the name of a mapping file ends, where a format may be named."""

NOT_ITS_SHAPE = "not its shape"
"""What a reader that does not claim an input says of it."""

_RANK = {"possible": 1, "likely": 2, "certain": 3}


class Match(NamedTuple):
    """A reader's claim on an input: which variant of its format, how sure, and one sentence why."""

    variant: str
    level: Level
    why: str


@dataclass(frozen=True)
class Format:
    """A format, as data: the source of ``agenttrace formats NAME`` and of the docs page.

    Attributes:
        name: the reader's name, which is also ``meta.framework`` of what it reads.
        title: one line for people.
        spec: where the format is documented.
        variants: variant name -> one line on its shape.
        versions: the framework's versions that were seen.
        mapping: what stands in the log -> where it goes in the trace (003, appendix B).
        not_mapped: what has no field -> why, and where it is kept.
        experimental: the on-disk format is not public or not settled.
        sniff: Source -> Match or None; looks, changes nothing, raises nothing but ReadError.
        read: (Source, Notes) -> traces, through TraceBuilder.
        reader_version: changes when the same bytes give another trace.
    """

    name: str
    title: str
    spec: str
    variants: Mapping[str, str]
    versions: str
    mapping: Mapping[str, str]
    sniff: Callable[[Source], Match | None]
    read: Callable[[Source, Notes], Iterator[Trace]]
    not_mapped: Mapping[str, str] = field(default_factory=dict)
    experimental: bool = False
    reader_version: str = "1"

    def source_info(self, source: Source, variant: str) -> SourceInfo:
        """What a trace says of the input that it was read from."""
        return SourceInfo(
            name=source.name,
            sha256=source.sha256,
            bytes=source.size,
            reader=self.name,
            variant=variant,
            reader_version=self.reader_version,
        )


class Detection(NamedTuple):
    """The format that an input is in."""

    format: str
    variant: str
    level: Level


class Verdict(NamedTuple):
    """What one reader said of an input: its match, or None, and why."""

    format: Format
    match: Match | None
    why: str


@cache
def formats() -> Mapping[str, Format]:
    """All readers by name: our own, then those of installed packages, each in order of names."""
    own = importlib.import_module("agenttrace.readers")  # by name: readers stand above this module
    found: dict[str, Format] = {}
    for info in sorted(pkgutil.iter_modules(own.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"agenttrace.readers.{info.name}")
        found[module.FORMAT.name] = module.FORMAT
    for entry in sorted(entry_points(group="agenttrace.readers"), key=lambda entry: entry.name):
        try:
            format_ = entry.load()
        except Exception as error:  # noqa: BLE001 - whatever another package raises must not break ours
            _BROKEN[entry.name] = f"{type(error).__name__}: {error}"
            continue
        if isinstance(format_, Format):
            found.setdefault(format_.name, format_)
        else:
            _BROKEN[entry.name] = f"{entry.value} is no Format"
    return found


_BROKEN: dict[str, str] = {}


def broken_readers() -> Mapping[str, str]:
    """Readers of other packages that could not be loaded, and why."""
    formats()
    return _BROKEN


def get_format(name: str) -> Format:
    """The format of that name, or that a mapping file (``.toml``, ``.yaml``, ``.yml``) describes.

    Raises:
        UsageError: there is none of the name, or the mapping has a fault.
        MissingExtra: a library for mappings is not installed.
    """
    if name.lower().endswith(MAPPINGS):
        made: Format = importlib.import_module("agenttrace.readers.custom_json").mapped_format(name)
        return made
    known = formats()
    if name not in known:
        raise UsageError(
            "usage",
            None,
            None,
            f"no format is called {name!r:.60}",
            f"known: {', '.join(known)}; a mapping file ends in {', '.join(MAPPINGS)}",
        )
    return known[name]


def verdicts(source: Source) -> list[Verdict]:
    """What every reader says of the input, the surest claim first.

    Raises:
        ReadError: when the input cannot be looked at by any reader (empty, unreadable).
    """
    said: list[Verdict] = []
    refused: ReadError | None = None
    for format_ in formats().values():
        try:
            match = format_.sniff(source)
        except ReadError as error:
            refused = error
            said.append(Verdict(format_, None, error.reason))
            continue
        except Exception as error:  # noqa: BLE001 - a defect of one reader must not hide what the others say
            said.append(Verdict(format_, None, f"the reader broke on it: {type(error).__name__}: {error}"))
            continue
        said.append(Verdict(format_, match, match.why if match else NOT_ITS_SHAPE))
    if refused and not any(verdict.match for verdict in said):
        raise refused
    return sorted(said, key=lambda verdict: -_RANK[verdict.match.level] if verdict.match else 0)


def detect(path: str | os.PathLike[str]) -> Detection:
    """The format that a file, a folder or standard input (``-``) is in.

    Raises UnknownFormat, AmbiguousFormat, or ReadError when it cannot be looked at.
    """
    format_, match = recognise(Source.open(path))
    return Detection(format_.name, match.variant, match.level)


def recognise(source: Source) -> tuple[Format, Match]:
    """The one format that claims the input most surely.

    A match that is merely ``possible`` is not taken: many things have such a shape.

    Raises:
        UnknownFormat: no reader is at least ``likely``.
        AmbiguousFormat: two readers are equally sure.
        ReadError: the input cannot be looked at.
    """
    claims = [verdict for verdict in verdicts(source) if verdict.match]
    best = claims[0].match if claims else None
    if best is None or best.level == "possible":
        binary = best is None and look(source).kind == "binary"
        code = "binary" if binary else "unknown_format"
        reason = "binary data that no reader recognises" if binary else "no reader recognises it"
        hint = "`agenttrace doctor` says why, --from NAME chooses a reader"
        if best is not None:
            reason = f"it could be {claims[0].format.name} ({best.why}), which is too little to go by"
            hint = f"say --from {claims[0].format.name} if it is"
        raise UnknownFormat(code, source.label, None, reason, hint)
    rivals = [verdict for verdict in claims if verdict.match and verdict.match.level == best.level]
    if len(rivals) > 1:
        names = " and ".join(verdict.format.name for verdict in rivals)
        raise AmbiguousFormat("ambiguous_format", source.label, None, f"{names} both claim it", "choose with --from NAME")
    return claims[0].format, best
