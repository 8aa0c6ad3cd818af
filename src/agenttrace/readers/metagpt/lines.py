"""Lines of MetaGPT's daily log: what loguru writes before each, and text that goes on over several lines.

``2026-01-08 01:59:38.961 | DEBUG    | metagpt.environment.base_env:publish_message:184 - text``.
Lines without such a header belong to the line before: tracebacks, and what models answered,
which MetaGPT prints as it comes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from agenttrace.sources import Source, decode_log

__all__ = ["LogLine", "has_headers", "is_log", "log_lines"]

_HEADER = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+) \| ([A-Z]+) *\| ([^\s|:]{1,150}:[^\s|:]{1,150}):(\d{1,9}) - ", re.ASCII | re.MULTILINE
)
_OF_METAGPT = re.compile(r"metagpt[.\w]*:|[\w.]+:_act$|[\w.]+:publish_message$")


class LogLine(NamedTuple):
    """One entry of the log; of text before the first header only ``ref`` and ``text`` are known.

    Attributes:
        ref: its place.
        where: module and function that wrote it, ``module:function``.
        code_line: the line of the module.
    """

    ref: str
    text: str
    time: str | None = None
    level: str | None = None
    where: str = ""
    code_line: str = ""

    @property
    def facts(self) -> dict[str, str] | None:
        """What the header says that no field of an event holds."""
        return {"level": self.level, "where": f"{self.where}:{self.code_line}"} if self.level is not None else None


def has_headers(text: str) -> bool:
    """Whether lines of a text have loguru headers of MetaGPT's own modules, or of a role's methods."""
    return any(_OF_METAGPT.match(match[3]) for match in _HEADER.finditer(text))


def is_log(source: Source) -> bool:
    """Whether a text is a log: its first lines, or, where these are loguru's but of the user's own modules, some further line."""
    head = decode_log(source.head)[0]
    return has_headers(head) or (_HEADER.search(head) is not None and has_headers(decode_log(source.data)[0]))


def log_lines(text: str, place: str = "line:{}") -> list[LogLine]:
    """The entries of a log, in its order."""
    found = list(_HEADER.finditer(text))
    entries: list[LogLine] = []
    before = text[: found[0].start()] if found else text
    if before.strip():
        entries.append(LogLine(place.format(1), before.rstrip("\r\n")))
    number, counted = 1, 0
    ends = [*(header.start() for header in found[1:]), len(text)]
    for header, end in zip(found, ends, strict=False):
        number += text.count("\n", counted, header.start())
        counted = header.start()
        said = text[header.end() : end].rstrip("\r\n")
        entries.append(LogLine(place.format(number), said, *header.groups()))
    return entries
