"""Lines of a terminal: with and without colours, and which of them only frame what was said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes

__all__ = ["Frame", "Line", "joined", "numbered"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Line(NamedTuple):
    """A line with its place; ``plain`` is what it says without colours."""

    ref: str
    raw: str
    plain: str


def numbered(text: str) -> list[Line]:
    """The lines of a text file."""
    lines = enumerate(text.split("\n"), 1)
    if "\x1b" not in text and "\r" not in text:
        return [Line(f"line:{number}", raw, raw) for number, raw in lines]
    return [Line(f"line:{number}", raw, plain(raw)) for number, raw in lines]


def plain(raw: str) -> str:
    """A line without colours and without a carriage return at its end."""
    return _COLOUR.sub("", raw).rstrip("\r") if "\x1b" in raw or raw.endswith("\r") else raw


def joined(lines: Iterable[Line]) -> str:
    """What stood in lines, as it was printed."""
    return "\n".join([line.raw for line in lines]).replace("\r\n", "\n").removesuffix("\r")


class Frame:
    """Lines of a transcript that frame messages (headers, rules, tool banners): each different one is kept once, with its count."""

    def __init__(self) -> None:
        self._lines: Counter[str] = Counter()

    def keep(self, lines: Iterable[Line]) -> None:
        """Lines that only frame."""
        for _, raw, _ in lines:
            if raw and not raw.isspace():
                self._lines[raw] += 1

    def hand_over(self, builder: TraceBuilder, notes: Notes) -> None:
        """Put them into the trace's ``extra``."""
        if self._lines:
            builder.extra["frame_lines"] = [{"text": text, "count": count} for text, count in self._lines.items()]
            notes.count_source(builder.extra["frame_lines"])
            total = sum(self._lines.values())
            notes.add(
                "wrapper", None, f"{total} lines that only frame messages; the {len(self._lines)} different ones in the trace's `extra`"
            )
