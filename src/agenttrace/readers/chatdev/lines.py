"""Entries of a ChatDev log: ``[2023-22-08 14:46:15 INFO] text``, in which the day stands before the month.

``run.py`` gives the logging module the format ``%Y-%d-%m %H:%M:%S``; forks write the month first. The text
of an entry goes on until the next header.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Entry", "dates_are_sure", "entries_of", "is_log"]

_HEADER = re.compile(r"^\[(\d{4})-(\d\d)-(\d\d) (\d\d:\d\d:\d\d) ([A-Z]+)\] ", re.ASCII | re.MULTILINE)
_MARKERS = re.compile(
    r"\*\*\[(?:Preprocessing|chatting|RolePlaying|Start Chat|Seminar Conclusion|OpenAI_Usage_Info|Update Codes|Software Info)[^\]]*\]\*\*|"
    r"\*\*[^*\n]{1,100}<->[^*\n]{1,100} on : |(?:ChatDev|AgentTech) (?:Starts|Ends) \(\d+\)|\x1b\[\d+m(?:\[\d+\] )?AI (?:Assistant|User) \("
)


class Entry(NamedTuple):
    """One entry; of text before the first header only ``ref`` and ``text`` are known."""

    ref: str
    text: str
    time: str | None = None
    level: str | None = None


def is_log(text: str) -> bool:
    """Whether a text has entries, and in them what only ChatDev writes."""
    return _HEADER.search(text) is not None and _MARKERS.search(text) is not None


def dates_are_sure(text: str) -> bool:
    """Whether some day of the log is above 12, so that the order of day and month is seen."""
    return any(int(match[2]) > 12 or int(match[3]) > 12 for match in _HEADER.finditer(text))


def entries_of(text: str, place: str = "line:{}") -> list[Entry]:
    """The entries of a log."""
    found = list(_HEADER.finditer(text))
    month_first = any(int(match[3]) > 12 for match in found) and not any(int(match[2]) > 12 for match in found)
    before = text[: found[0].start()] if found else text
    entries = [Entry(place.format(1), before.strip("\r\n"))] if before.strip() else []
    number, counted = 1, 0
    ends = [*(header.start() for header in found[1:]), len(text)]
    for header, end in zip(found, ends, strict=False):
        number += text.count("\n", counted, header.start())
        counted = header.start()
        said = text[header.end() : end]
        entries.append(Entry(place.format(number), said.rstrip("\r\n"), _time(header, month_first), header[5]))
    return entries


def _time(header: re.Match[str], month_first: bool) -> str:
    day, month = (header[3], header[2]) if month_first or int(header[3]) > 12 else (header[2], header[3])
    return f"{header[1]}-{month}-{day}T{header[4]}"
