"""Code as ``[Update Codes]`` logs it: for each file the difference from the version before.

``codes.py`` writes ``NAME updated.`` and a unified diff in a code block; a new file begins as ``# None``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["CodeVersions", "Update"]

_UPDATE = re.compile(r"(?P<name>[^\n]{0,300}?) updated\.\s*(?:```(?P<block>.*?)\n?```\s*|(?P<bare>--- Old\n.*))", re.DOTALL)
_HUNK = re.compile(r"@@ -(?P<start>\d{1,9})(?:,(?P<count>\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@")


class Update(NamedTuple):
    """A new version of a file; ``content`` is None when the version before is not known or the diff does not fit it."""

    name: str
    version: int
    diff: str
    content: str | None


class CodeVersions:
    """The files of a run, version by version."""

    def __init__(self) -> None:
        self._lines: dict[str, list[str] | None] = {}
        self._versions: dict[str, int] = {}

    def update(self, text: str) -> Update | None:
        """The update that an entry tells; None when it tells none."""
        match = _UPDATE.fullmatch(text.strip() + "\n")
        if match is None:
            return None
        name, block = match["name"].strip(), match["block"] if match["block"] is not None else match["bare"].rstrip("\n")
        diff = block.partition("--- Old")
        lines = (diff[1] + diff[2]).split("\n")
        before = self._lines.get(name, ["# None"])
        made = _patched(before, lines) if before is not None else None
        self._lines[name] = made
        self._versions[name] = version = self._versions.get(name, 0) + 1
        return Update(name, version, block.strip("\n"), "\n".join(made) if made is not None else None)

    def last(self, name: str) -> str | None:
        """The last version of a file."""
        lines = self._lines.get(name)
        return "\n".join(lines) if lines is not None else None

    def next_version(self, name: str) -> int:
        """The number of a version that comes behind the known ones."""
        self._versions[name] = self._versions.get(name, 0) + 1
        return self._versions[name]


def _patched(before: list[str], diff: list[str]) -> list[str] | None:
    """Lines with a unified diff applied; None when it does not fit."""
    made: list[str] = []
    at = 0
    if not any(_HUNK.match(line) for line in diff):  # changes nothing that can be read
        return None
    for line in diff:
        if hunk := _HUNK.match(line):
            start = int(hunk["start"]) - (1 if hunk["count"] != "0" else 0)
            if not at <= start <= len(before):
                return None
            made += before[at:start]
            at = start
        elif line.startswith("+") and not line.startswith("+++ New"):
            made.append(line[1:])
        elif line.startswith("@@"):  # a hunk that is not one
            return None
        elif line[:1] in ("-", " ") and not line.startswith("--- Old"):
            if at >= len(before) or before[at] != line[1:]:
                return None
            made += [before[at]] if line[0] == " " else []
            at += 1
    return made + before[at:]
