"""The Markdown tables in which ChatDev logs how a phase was set up: ``| **phase_name** | Coding |``."""

from __future__ import annotations

import re

__all__ = ["rows_of"]

_ROW = re.compile(r"^\| \*\*(?P<key>[^*\n]{1,100})\*\* \| (?P<value>.*)\|[ \t\r]*$", re.MULTILINE)


def rows_of(text: str) -> dict[str, str]:
    """The rows of a table by their keys."""
    return {match["key"]: match["value"].strip() for match in _ROW.finditer(text)}
