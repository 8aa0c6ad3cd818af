"""What a file is that no reader takes: one sentence for people, from its shape alone."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from typing import Any

from agenttrace.formats import verdicts
from agenttrace.salvage import Look, excerpt
from agenttrace.sources import Source, shown_path

__all__ = ["what_it_is"]

_SHOWN = 6
_KINDS_OF_BYTES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive (unpack it, and name what is inside)"),
    (b"PAR1", "a Parquet file"),
    (b"\x7fELF", "a program"),
    (b"\x80\x04", "a Python pickle, which is never loaded, since that would run what it says"),
    (b"\x80\x05", "a Python pickle, which is never loaded, since that would run what it says"),
)
_LOGURU = re.compile(rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} \| [A-Z]+ +\| [^|\n]{1,200}:\d+ - ")
_KINDS_OF_TEXT = (
    (re.compile(r"\s*(?:#!.*\n)?(?:from __future__|import |from \w+ import |def |class )"), "Python source"),
    (re.compile(r"\s*#{1,6} \S.*\n\s*\n"), "a Markdown document"),
    (re.compile(r"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE), "an HTML or XML document"),
    (re.compile(r"\s*\[[\w.-]+\]\s*\n"), "a configuration file"),
    (re.compile(r"Traceback \(most recent call last\)"), "the traceback of an error"),
    (re.compile(r"[\w.]*(?:Error|Exception|Interrupt|Exit)\b[:(]"), "the text of an exception"),
    (re.compile(r"[^\n,]+(?:,[^\n,]*){2,}\n[^\n,]*(?:,[^\n,]*){2,}"), "a table of comma-separated values"),
)


def what_it_is(source: Source, seen: Look) -> str:
    """One sentence on an input that no reader recognised, and the folder to name where that is a run."""
    folder = _run_around(source)
    return _kind(source, seen) + (f"; a run lies in the folder around it: name {shown_path(folder)}" if folder is not None else "")


def _kind(source: Source, seen: Look) -> str:
    known = next((name for start, name in _KINDS_OF_BYTES if source.head.startswith(start)), None)
    if known is not None:
        return f"{known}, not a log"
    if seen.kind == "binary":
        return f"{_binary(source)}; no reader knows it"
    if seen.kind == "repr":
        name = str(seen.name)
        if re.search(r"(?:Error|Exception|Interrupt|Exit|Warning)$", name):
            return f"the text of an exception, {name}(…): it says why something ended and holds no messages"
        return f"a printed Python object {name}(…) of a class that no reader knows"
    if seen.kind == "text":
        if _LOGURU.match(source.head):
            return f"a log in the form of loguru, but no line is of a known framework; it begins {excerpt(_beginning(source), 100)}"
        text = _beginning(source)
        kind = next((name for pattern, name in _KINDS_OF_TEXT if pattern.match(text)), None)
        if kind is not None:
            return f"{kind}, not a log"
        return f"plain text in which no line has the form of a known log; it begins {excerpt(text, 60)}"
    sample = seen.value if seen.is_document else seen.sample[0] if seen.sample else None
    container = "a JSON document" if seen.is_document else "lines of JSON"
    if isinstance(sample, dict) and isinstance(sample.get("cells"), list):
        return "a notebook, but none of its outputs shows a run of a known framework"
    return f"{container}, {_shape_of(sample)}; no reader knows records like that"


def _beginning(source: Source) -> str:
    return source.head[:4096].decode("utf-8", "replace")


def _run_around(source: Source) -> str | None:
    """The folder that some reader takes whole and in which a file lies: one that is no log alone may be a part of a run."""
    if source.path is None or source.is_folder:
        return None
    for folder in list(source.path.parents)[:2]:
        if any(verdict.match for verdict in verdicts(Source.open(folder))):
            return str(folder)
    return None


def _binary(source: Source) -> str:
    if source.head.startswith(b"SQLite format 3\0"):
        unmerged = (
            ", and rows in the -wal file beside it: open it once with sqlite3, which brings them in" if source.has_write_ahead else ""
        )
        return f"a sqlite file with {_tables(source)}{unmerged}"
    return "binary data"


def _tables(source: Source) -> str:
    """The tables of a sqlite file, read from a copy in memory."""
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.deserialize(source.data[:18] + b"\1\1" + source.data[20:])  # a copy in memory has no write-ahead file
            names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 20")]
        except sqlite3.Error as error:
            return f"a damaged list of tables ({error})"
    return f"the tables {', '.join(excerpt(str(name), 40) for name in names)}" if names else "no tables"


def _shape_of(value: Any) -> str:
    if isinstance(value, dict):
        keys = ", ".join(excerpt(key, 30) for key in list(value)[:_SHOWN])
        return f"an object with {keys}{', …' if len(value) > _SHOWN else ''}" if keys else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}, the first {_shape_of(value[0])}" if value else "an empty list"
    return f"a single {type(value).__name__}"
