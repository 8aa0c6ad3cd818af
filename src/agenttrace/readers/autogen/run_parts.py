"""What a file holds of a run of AutoGen, and by what it is known to belong to another file's run."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agenttrace.formats import Match
from agenttrace.notes import Notes
from agenttrace.readers.autogen.chat_lists import ToldItem
from agenttrace.readers.autogen.console_chat import parse_chat
from agenttrace.readers.autogen.console_lines import Frame, numbered
from agenttrace.readers.autogen.console_team import parse_team
from agenttrace.readers.autogen.core_lines import CoreLine, core_lines
from agenttrace.readers.autogen.core_runs import records_of, runs
from agenttrace.readers.autogen.records import Record
from agenttrace.readers.autogen.runtime_rows import Session, line_sessions, table_sessions
from agenttrace.readers.autogen.saved import stamp_of
from agenttrace.readers.autogen.transcripts import said_by
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source, decode_log

__all__ = ["Part", "is_part", "parts_of"]

# The order in which logs are the fullest account of a run.
_TEAM = ("core_events", "team_state", "agent_state", "task_result", "messages", "response", "model_context", "console_team")
_CHAT = ("runtime_sqlite", "runtime_file", "console_chat", "chat_messages", "group_chat", "chat_result")


@dataclass
class Part:
    """What one file holds of one run. Only the fields of its variant are filled."""

    file: str
    variant: str
    lines: list[CoreLine] = field(default_factory=list)
    state: Record | None = None
    records: list[tuple[str, Record]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, str] = field(default_factory=dict)
    texts: list[tuple[str, str]] = field(default_factory=list)
    frame: Frame | None = None
    session: Session | None = None
    entries: list[ToldItem] = field(default_factory=list)
    value: Any = None
    marks: set[Hashable] = field(default_factory=set)  # ids and times of messages
    said: list[str] = field(default_factory=list)

    @property
    def is_team(self) -> bool:
        """Whether it is a log of AgentChat, not of AutoGen 0.2."""
        return self.variant in _TEAM

    @property
    def rank(self) -> int:
        """Its place in the order of fullness."""
        return (_TEAM if self.is_team else _CHAT).index(self.variant)

    def marked(self) -> Part:
        """The part with nothing but that by which it is known."""
        return Part(self.file, self.variant, marks=self.marks, said=[_digest(text) for text in self.said])

    def holds(self, other: Part) -> bool:
        """Whether another part is of the run that this one holds.

        Without ids and times what was said decides, and a task that is run again says much the same:
        then two logs of one kind are two runs, and a part has to say at least a third of what the run did.
        """
        if self.is_team != other.is_team or (self.file == other.file and self.variant == other.variant):
            return False
        if self.marks and other.marks and self.is_team:  # a time alone may be the same by chance
            return 2 * len(self.marks & other.marks) >= min(len(self.marks), len(other.marks))
        mine, theirs = set(self.said), set(other.said)
        if self.variant == other.variant or 3 * len(theirs) < len(mine):
            return False
        return len(theirs) > 1 and _contains(self.said, other.said)


def _digest(text: str) -> str:
    return text if len(text) < 64 else f"{len(text)} {hash(text)}"


def _contains(whole: list[str], part: list[str]) -> bool:
    """Whether all texts of a part stand in the whole, in their order."""
    rest = iter(whole)
    return all(text in rest for text in part)


def is_part(match: Match) -> bool:
    """Whether logs of a variant may be part of a run that other files hold, too."""
    return match.level != "possible" and match.variant in (*_TEAM, *_CHAT)


def parts_of(file: Source, match: Match, notes: Notes) -> list[Part]:
    """The runs, or the part of one, that a file holds; empty when its variant is never part of a folder's run."""
    variant = match.variant
    if not is_part(match):
        return []
    if variant == "core_events":
        return [_core_part(file.name, lines) for lines in runs(core_lines(file, notes))]
    if variant in ("runtime_sqlite", "runtime_file"):
        sessions = table_sessions(file, notes) if variant == "runtime_sqlite" else list(line_sessions(file, notes))
        return [Part(file.name, variant, session=session, said=list(_received(session))) for session in sessions]
    if variant in ("console_chat", "console_team"):
        return _console_parts(file, variant, notes)
    if look(file).is_document:
        return _document_parts(file.name, variant, document(file, notes))
    lines = list(records(file, notes))
    if variant == "messages":
        return [_with_marks(Part(file.name, variant, records=[pair for pair in lines if isinstance(pair[1], dict)]))]
    return [part for _, value in lines for part in _document_parts(file.name, variant, value)]


def _core_part(file: str, lines: list[CoreLine]) -> Part:
    part = Part(file, "core_events", lines=lines)
    found = [item for line in lines for item in records_of(line)]
    _mark(part, found)
    return part


def _received(session: Session) -> Iterator[str]:
    for row in session.rows:
        state = row.values.get("json_state")
        if row.values.get("event_name") == "received_message" and isinstance(state, dict):
            message = state.get("message")
            yield from said_by(message if isinstance(message, dict) else {"content": message})


def _console_parts(file: Source, variant: str, notes: Notes) -> list[Part]:
    text, _, guess = decode_log(file.data)
    if guess:
        notes.add("salvaged", None, guess)
    lines = numbered(text)
    if variant == "console_chat":
        frame = Frame()
        entries = parse_chat(lines, frame, notes)
        said = [text for entry in entries if entry.told.kind == "chat" for text in said_by(entry.item)]
        return [Part(file.name, variant, entries=entries, frame=frame, said=said)]
    parts = []
    for run in parse_team(lines):
        for ref, detail in run.damage:
            notes.add("salvaged", ref, detail)
        part = Part(file.name, variant, records=run.records, summary=run.summary, texts=run.texts, frame=run.frame)
        parts.append(_with_marks(part))
    return parts


def _document_parts(file: str, variant: str, value: Any) -> list[Part]:
    if variant in ("team_state", "agent_state"):
        part = Part(file, variant, state=value)
        _mark(part, list(_records_within(value)))
        return [part]
    if variant in _CHAT:
        items = value.get("chat_history", value) if isinstance(value, dict) else value
        said = list(said_by(items if isinstance(items, list) else max(_lists(items), key=len, default=[])))
        return [Part(file, variant, value=value, said=said)]
    listed, facts = value, {}
    if isinstance(value, dict):
        listed = value.get("messages", [*(value.get("inner_messages") or ()), value.get("chat_message")])
        facts = {key: item for key, item in value.items() if key not in ("messages", "chat_message", "inner_messages")}
    at = "/messages" if isinstance(value, dict) else ""
    found = [(f"{at}/{index}", record) for index, record in enumerate(listed) if isinstance(record, dict)]
    return [_with_marks(Part(file, variant, records=found, facts=facts))]


def _with_marks(part: Part) -> Part:
    _mark(part, [record for _, record in part.records])
    return part


def _mark(part: Part, found: list[Record]) -> None:
    for record in found:
        if isinstance(identity := record.get("id"), str):
            part.marks.add(identity)
        if (stamp := stamp_of(record)) is not None:
            part.marks.add(stamp)
    part.said = [text for record in found for text in said_by(record)]


def _records_within(value: Any) -> Iterator[Record]:
    """All records in a saved state: they have a source and a content."""
    if isinstance(value, dict):
        if "source" in value and "content" in value:
            yield value
        else:
            for item in value.values():
                yield from _records_within(item)
    elif isinstance(value, list):
        for item in value:
            yield from _records_within(item)


def _lists(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _lists(item)
