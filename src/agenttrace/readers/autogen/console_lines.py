"""Lines of a terminal: with and without its control sequences, and which of them only frame what was said."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes

__all__ = ["Frame", "Line", "joined", "numbered"]

# Sequences of ECMA-48: with parameters, titles and links of xterm, character sets, single functions.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]{0,200}[ -/]{0,20}[@-~]|\][^\x07\x1b]{0,4000}(?:\x07|\x1b\\)|[()*+][ -~]|[=>78cDEHMNOZ])")


class Line(NamedTuple):
    """A line with its place; ``plain`` is what it says without control sequences."""

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
    """A line without control sequences and without a carriage return at its end."""
    return _SEQUENCE.sub("", raw).rstrip("\r") if "\x1b" in raw or raw.endswith("\r") else raw


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
            kept = builder.extra.setdefault("frame_lines", [])
            before = {item["text"]: item for item in kept}  # of another transcript of the run
            for text, count in self._lines.items():
                if text in before:
                    before[text]["count"] += count
                else:
                    kept.append({"text": text, "count": count})
            notes.count_source([[text, count] for text, count in self._lines.items()])
            total = sum(self._lines.values())
            notes.add(
                "wrapper", None, f"{total} lines that only frame messages; the {len(self._lines)} different ones in the trace's `extra`"
            )
