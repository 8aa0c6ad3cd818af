"""Rows of AutoGen 0.2 ``runtime_logging``, from its sqlite file or its line file, by session.

Both loggers record the same six kinds of thing under different names; here they become
one shape. Facts from ``autogen.logger`` 0.2.35 (sqlite_logger.py, file_logger.py):

* A file may hold several sessions: each ``runtime_logging.start`` appends to it.
* Tables ``events`` and ``function_calls`` carry no session id; their source ids are
  Python's ``id()`` and may come again in the next session.
* The line file has no type field; keys tell the kinds apart. A session begins with the
  line ``Started new session with Session ID: …``. What could not be logged leaves a line
  ``[file_logger] Failed to log …``.
"""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import orjson

from agenttrace.compression import bounded_lines
from agenttrace.errors import ReadError
from agenttrace.notes import Notes
from agenttrace.salvage import excerpt, note_damage, parse
from agenttrace.sources import Source, decode_text

__all__ = ["Row", "Session", "is_database", "is_row", "line_sessions", "table_sessions"]

_TABLES = {  # table -> kind of row, columns that hold JSON
    "agents": ("agent", ("init_args",)),
    "oai_wrappers": ("wrapper", ("init_args",)),
    "oai_clients": ("client", ("init_args",)),
    "events": ("event", ("json_state",)),
    "function_calls": ("function", ()),
    "chat_completions": ("completion", ("request", "response")),
    "version": ("version", ()),
}
_RENAMED = {  # of the line file, as the tables call it
    "agent": {"agent_name": "name", "agent_type": "class", "args": "init_args", "current_time": "timestamp", "id": "agent_id"},
    "event": {"agent_class": "agent_class_name"},
    "function": {"input_args": "args", "agent_class": "agent_class_name"},
}
_NEARBY = 64  # sessions that may run at once
_STARTED = re.compile(r"Started new session with Session ID: ?(.+)")


class Row(NamedTuple):
    """One record: its kind (``text`` is what a logger says in plain words), its place, its columns with JSON columns decoded."""

    kind: str
    ref: str
    values: dict[str, Any]


@dataclass
class Session:
    """What one ``runtime_logging`` session recorded, in order of time."""

    identity: str | None
    rows: list[Row] = field(default_factory=list)
    _first: str = ""
    _last: str = ""
    _agent_ids: set[Any] = field(default_factory=set)

    def within(self, file: str) -> Session:
        """The session with places that name its file."""
        return Session(self.identity, [row._replace(ref=f"{file}#{row.ref}") for row in self.rows])

    def span(self, row: Row, moment: str) -> None:
        """Extend the session's time to a row that names it."""
        if moment:
            self._first = min(self._first or moment, moment)
            self._last = max(self._last, moment)
        if row.kind == "agent":
            self._agent_ids.add(row.values.get("agent_id"))

    def overlaps(self, later: Session) -> bool:
        """Whether the session was still running when a later one began."""
        return self._last >= later._first

    def has_agent(self, agent_id: Any) -> bool:
        """Whether an agent of that ``id()`` was made in the session."""
        return agent_id in self._agent_ids

    @property
    def first(self) -> str:
        """The time of the first row that names the session; empty without one."""
        return self._first


# -- the sqlite file --------------------------------------------------------------------


def is_database(source: Source) -> bool:
    """Whether the source is a sqlite file with the tables of runtime_logging."""
    head = source.head
    return head.startswith(b"SQLite format 3\0") and b"chat_completions" in head and b"oai_wrappers" in head


def table_sessions(source: Source, notes: Notes) -> list[Session]:
    """The sessions of a sqlite file, in order of their beginnings.

    Raises:
        ReadError: no row of any table can be read.
    """
    rows = _by_time(_tables(source, notes))
    sessions: dict[str | None, Session] = {}
    for moment, row in rows:
        identity = row.values.get("session_id")
        if isinstance(identity, str):
            sessions.setdefault(identity, Session(identity)).span(row, moment)
    ordered = sorted(sessions.values(), key=lambda session: session.first) or [Session(None)]
    for moment, row in rows:
        identity = row.values.get("session_id")
        session = sessions[identity] if isinstance(identity, str) else _session_at(ordered, moment, row.values.get("source_id"))
        session.rows.append(row)
    return ordered


def _session_at(sessions: list[Session], moment: str, agent_id: Any) -> Session:
    """The session of a row that names none: the last that had begun, unless only another one that ran then has the agent."""
    place = max(bisect_right(sessions, moment, key=attrgetter("first")) - 1, 0)
    latest = sessions[place]
    if latest.has_agent(agent_id):
        return latest
    nearby = sessions[max(place - _NEARBY, 0) : place]
    return next((session for session in reversed(nearby) if session.has_agent(agent_id) and session.overlaps(latest)), latest)


def _by_time(tables: list[list[Row]]) -> list[tuple[str, Row]]:
    """All rows with their times, in order of time; a row without one stays behind the row before it in its table."""
    timed = []
    for rows in tables:
        before = ""
        for row in rows:
            moment = row.values.get("end_time" if row.kind == "completion" else "timestamp")
            before = moment if isinstance(moment, str) and moment else before
            timed.append((before, row))
    return sorted(timed, key=lambda pair: pair[0])


def _tables(source: Source, notes: Notes) -> list[list[Row]]:
    """The rows of every known table, as far as they can be read."""
    found: list[list[Row]] = []
    failed = ""
    with closing(sqlite3.connect(":memory:")) as database:
        try:
            database.deserialize(_openable(source.data))
            database.execute("PRAGMA trusted_schema = OFF")
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            kinds = dict(database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'"))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise ReadError(
                "unparsable",
                source.label,
                None,
                f"the sqlite file cannot be opened: {_one_line(error)}",
                "`sqlite3 FILE .recover` may help",
            ) from None
        for table, (kind, columns) in _TABLES.items():
            if "VIRTUAL" in str(kinds.get(table, "VIRTUAL")).upper()[:40]:  # not there, or code of an extension
                continue
            rows, broken = _rows(database, table, kind, columns, notes)
            if broken:
                failed = f"table {table}: {broken}"
                notes.add("salvaged", table, f"{broken}; {len(rows)} rows could be read")
            found.append(rows)
    note_damage(source, notes)
    if source.has_write_ahead:
        notes.add("unreadable", None, f"rows in {source.name}-wal beside it; open the file once with sqlite3, which brings them in")
    if failed and not any(found):
        raise ReadError("unparsable", source.label, None, f"no row can be read: {failed}", "`sqlite3 FILE .recover` may help")
    return found


def _one_line(error: Exception) -> str:
    """What sqlite says, which may quote whole statements."""
    return " ".join(str(error).split())[:160]


def _openable(data: bytes) -> bytes:
    """The bytes of a file with a header that lets them be opened in memory and when the end is missing.

    https://www.sqlite.org/fileformat2.html: bytes 18 and 19 ask for a write-ahead file, which a
    copy in memory cannot have; the page count at byte 28 is found anew when it is zero.
    """
    journal = b"\1\1" if data[18:20] == b"\2\2" else data[18:20]
    return data[:18] + journal + data[20:28] + b"\0\0\0\0" + data[32:]


def _rows(database: sqlite3.Connection, table: str, kind: str, columns: tuple[str, ...], notes: Notes) -> tuple[list[Row], str | None]:
    """The rows of a table in order, and what stopped the reading: then those before a hole, and those behind it."""
    found: dict[int, Row] = {}
    broken: str | None = None
    for direction in ("ASC", "DESC"):
        try:
            cursor = database.execute(f'SELECT rowid AS "rowid of the table", * FROM "{table}" ORDER BY rowid {direction}')  # noqa: S608 - names of our own
            names = [column[0] for column in cursor.description][1:]
            for number, *cells in cursor:
                if number in found:
                    break
                values = {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None}
                for name, cell in values.items():
                    if name in columns or isinstance(cell, bytes):
                        values[name] = _cell(cell, f"{table}/{number}/{name}", notes)
                notes.count_source(values)
                found[number] = Row(kind, f"{table}/{number}", values)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter from the names of columns
            broken = _one_line(error)
            continue
        if broken is None:
            break
    return [found[number] for number in sorted(found)], broken


_HUGE = re.compile(r"\d{19}", re.ASCII)  # an integer that may need more than 64 bits


def _cell(cell: Any, place: str, notes: Notes) -> Any:
    """A cell: bytes as text, and the JSON that stands in a text; damage goes to the notes."""
    if isinstance(cell, bytes):
        text, _, guess = decode_text(cell)
        if guess:
            notes.add("salvaged", place, guess)
        return text
    return _state(cell, place, notes)


def _state(text: Any, place: str, notes: Notes) -> Any:
    """The JSON object in a text, as far as it is whole."""
    found = text if isinstance(text, str) and _HUGE.search(text) else decoded(text)
    if found is not text or not isinstance(text, str) or not text.lstrip().startswith("{"):
        return found
    parsed = parse(text.encode("utf-8", "replace"))
    if not parsed.values:
        notes.add("unreadable", place, f"no JSON: {excerpt(text)}")
        return text
    for repair in parsed.repairs:
        notes.add(repair.code, place, repair.detail)
    return parsed.values[0]


def decoded(text: Any) -> Any:
    """The JSON in a text, or the text as it is."""
    if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            return text
    return text


# -- the line file --------------------------------------------------------------------------


def is_row(value: Any) -> bool:
    """Whether a JSON value is a record of the file logger."""
    return isinstance(value, dict) and _kind(value) is not None


def _kind(value: dict[str, Any]) -> str | None:
    """The kind of a record of the line file: by its keys, since it has no type."""
    if "thread_id" not in value:
        return None
    for key, kind in (("invocation_id", "completion"), ("event_name", "event"), ("agent_name", "agent"), ("input_args", "function")):
        if key in value:
            return kind
    return "client" if "client_id" in value else "wrapper" if "wrapper_id" in value else None


def line_sessions(source: Source, notes: Notes) -> Iterator[Session]:
    """The sessions of a line file."""
    session = Session(None)
    with source.stream() as stream:
        for number, line in enumerate(bounded_lines(stream, source.label), 1):
            text = line.decode("utf-8", "replace").strip("\ufeff \t\r\n\0")
            if not text:
                continue
            if started := _STARTED.fullmatch(text):
                if session.rows or session.identity is not None:
                    yield session
                session = Session(started[1].strip())
                notes.count_source(session.identity)
                continue
            session = yield from _add_line(session, f"line:{number}", text, notes)
    note_damage(source, notes)
    if session.rows or session.identity is not None:
        yield session


def _add_line(session: Session, ref: str, text: str, notes: Notes) -> Generator[Session, None, Session]:
    """Add a line to the session it belongs to; a session that ends with it is given out. Returns the session that goes on."""
    if not text.startswith("{"):
        notes.count_source(text)
        last = session.rows[-1] if session.rows else None
        if last is not None and last.kind == "text":
            last.values["lines"].append(text)
        else:
            session.rows.append(Row("text", ref, {"lines": [text]}))
        return session
    parsed = parse(text.encode("utf-8", "replace"))
    for repair in parsed.repairs:
        notes.add(repair.code, ref, repair.detail)
    if not parsed.values:
        notes.add("unreadable", ref, f"no JSON: {excerpt(text)}")
    for value in parsed.values:
        notes.count_source(value)
        kind = _kind(value) if isinstance(value, dict) else None
        if kind is None:
            session.rows.append(Row("other", ref, value if isinstance(value, dict) else {"value": value}))
            continue
        renamed = _RENAMED.get(kind, {})
        values = {renamed.get(key, key): item for key, item in value.items() if item is not None}
        if "json_state" in values:
            values["json_state"] = _state(values["json_state"], f"{ref}/json_state", notes)
        identity = values.get("session_id")
        if isinstance(identity, str) and session.identity not in (None, identity):  # the line that says so is missing
            yield session
            session = Session(identity)
        elif isinstance(identity, str):
            session.identity = identity
        session.rows.append(Row(kind, ref, values))
    return session
