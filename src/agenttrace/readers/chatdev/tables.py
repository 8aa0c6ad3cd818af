"""The Markdown tables in which ChatDev logs how a phase was set up: ``| **phase_name** | Coding |``."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Table", "table_of"]

_ROW = re.compile(r"^\| \*\*(?P<key>[^*\n]{1,100})\*\* \| ?", re.MULTILINE)
_HEAD = re.compile(r"^\| (?:Parameter \| Value|--- \| ---) \|[ \t\r]*$", re.MULTILINE)
_END = re.compile(r"\|[ \t\r]*(?:\n|$)")


class Table(NamedTuple):
    """The rows of a table by their keys, and what of the text is in none of them."""

    rows: dict[str, str]
    rest: str


def table_of(text: str) -> Table:
    """The table in a text. A cell may have several lines: it ends with the last ``|`` at the end of a line before the next row."""
    found = list(_ROW.finditer(text))
    rows: dict[str, str] = {}
    rest = [_HEAD.sub("", text[: found[0].start()] if found else text)]
    ends = [*(row.start() for row in found[1:]), len(text)]
    for row, end in zip(found, ends, strict=False):
        cell = text[row.end() : end]
        bars = list(_END.finditer(cell))
        value, behind = (cell[: bars[-1].start()], cell[bars[-1].end() :]) if bars else (cell, "")
        if row["key"] in rows:
            rest.append(text[row.start() : end])
        else:
            rows[row["key"]] = value.strip()
            rest.append(behind)
    return Table(rows, "\n".join(part.strip("\r\n") for part in rest if part.strip()))
