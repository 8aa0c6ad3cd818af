"""Transcripts that AutoGen 0.2 prints: ``name (to name):``, the message, a rule of 80 dashes.

Facts from ``autogen/agentchat/conversable_agent.py`` (``_print_received_message``) 0.2.35:

* A message is printed when it is received, so sender and receiver are both named.
* Behind the header stands an empty line, before the rule another one: what lies between
  is the content, and nothing at all when the content is null.
* A call is printed as ``***** Suggested tool call (id): name *****``, its arguments and
  as many stars as the banner is long; a result as ``***** Response from calling tool (id) *****``.
* Several results are printed as messages of their own behind an empty header.
* A group chat manager prints ``Next speaker: name``; lines that begin with ``>>>>>>>>`` say what an agent is about to do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes
from agenttrace.readers.autogen.chat import Dialogue
from agenttrace.readers.autogen.chat_lists import Item, Told, ToldItem, told_list
from agenttrace.readers.autogen.console_lines import Frame, Line, joined

__all__ = ["fill_chat_console", "is_chat_console", "parse_chat"]

_RULE = "-" * 80
_HEADER = re.compile(r"(?P<sender>\S(?:.{0,200}?\S)?) \(to (?P<receiver>[^()\n]{1,200})\):")
_CALL = re.compile(r"\*{5} Suggested (?P<kind>tool|function) [cC]all(?: \((?P<id>[^)]*)\))?: (?P<name>.*) \*{5}")
_RESULT = re.compile(r'\*{5} Response from calling (?P<kind>tool|function) [("](?P<id>.*)[)"] \*{5}')
_NEXT = re.compile(r"Next speaker: (?P<name>.+)")
_ARGUMENTS = "Arguments:"
_NO_ID = ("No id found", "No tool call id found")
_NO_ARGUMENTS = "(No arguments found)"


def is_chat_console(lines: list[Line]) -> bool:
    """Whether the lines hold a header and, somewhere behind it, a rule."""
    start = next((index for index in range(len(lines)) if _header(lines, index)), None)
    return start is not None and any(lines[index].plain.rstrip() == _RULE for index in range(start, len(lines)))


def fill_chat_console(builder: TraceBuilder, notes: Notes, entries: list[ToldItem]) -> None:
    """Fill a builder from the messages of a transcript."""
    for entry in entries:
        notes.count_source(entry.item)
    dialogue = Dialogue(builder, notes)
    dialogue.add(told_list(entries))
    dialogue.close()


def parse_chat(lines: list[Line], frame: Frame, notes: Notes) -> list[ToldItem]:
    """The messages of a transcript, and as log entries what else was printed."""
    return _Transcript(lines, frame, notes).parse()


def _header(lines: list[Line], index: int) -> re.Match[str] | None:
    """The header at a line; an empty line has to follow."""
    if not lines[index].plain.endswith("):") or (index + 1 < len(lines) and lines[index + 1].plain.strip()):
        return None
    return _HEADER.fullmatch(lines[index].plain)


@dataclass
class _Transcript:
    lines: list[Line]
    frame: Frame
    notes: Notes
    entries: list[ToldItem] = field(default_factory=list)
    between: list[Line] = field(default_factory=list)

    @cached_property
    def people(self) -> set[str]:
        """Who sends or receives a message whose header stands behind a rule, or is the first."""
        found: set[str] = set()
        ruled = True
        for index, line in enumerate(self.lines):
            header = _header(self.lines, index)
            if header is not None and ruled:
                found.update(header.groups())
                ruled = False
            ruled = ruled or line.plain.rstrip() == _RULE
        return found

    def parse(self) -> list[ToldItem]:
        """Go through the lines from header to rule."""
        at = 0
        while at < len(self.lines):
            header = _header(self.lines, at)
            if header is None:
                self._between(self.lines[at])
                at += 1
                continue
            self._flush()
            at = self._message(at, header)
        self._flush()
        return self.entries

    def _message(self, at: int, header: re.Match[str]) -> int:
        """Take the message whose header stands at a line; returns the line behind it."""
        end = self._end(at + 2)
        again = at + 2 < len(self.lines) and (second := _header(self.lines, at + 2)) is not None and second.groups() == header.groups()
        if again:  # several results: each behind a header of its own
            self.frame.keep([self.lines[at]])
            return at + 2
        whole = end < len(self.lines)
        broken = self._begins_again(at + 2, end)
        if broken is not None:
            end, whole = broken, False
            self.notes.add("salvaged", self.lines[at].ref, "no rule behind this message: another begins within it")
        elif not whole:
            self.notes.add("salvaged", self.lines[at].ref, "the transcript ends within this message: no rule behind it")
        body = self.lines[at + 2 : end - 1 if whole else end]
        while not whole and body and not body[-1].plain.strip():
            body.pop()
        self.frame.keep([self.lines[at], *self.lines[end : end + whole]])
        sender, receiver = header.group("sender", "receiver")
        for item in self._items(body):
            item["name"] = sender if item.get("role") != "function" else item["name"]
            self.entries.append(ToldItem(self.lines[at].ref, item, Told(sender, [receiver])))
        return end + whole

    def _begins_again(self, start: int, end: int) -> int | None:
        """Where in a message the header of another stands, as when a run was killed and started again.

        A message may quote a header; so both names have to be of people who speak here.
        """
        for index in range(start, end):
            header = _header(self.lines, index)
            if header is not None and {header["sender"], header["receiver"]} <= self.people:
                return index
        return None

    def _end(self, start: int) -> int:
        """Where the rule stands that ends a message: the last one before the next header, if text with rules in it was said."""
        found = len(self.lines)
        for index in range(start, len(self.lines)):
            line = self.lines[index].plain.rstrip()
            if line == _RULE and index > start - 1 and not self.lines[index - 1].plain.strip():
                found = index
            elif found < len(self.lines) and (_header(self.lines, index) or _is_marker(line)):
                break
        return found

    def _items(self, body: list[Line]) -> list[Item]:
        """The message in a body: text, calls that follow it, or one result."""
        if body and (result := _RESULT.fullmatch(body[0].plain)):
            content = [line for line in body[1:] if line.plain != "*" * len(body[0].plain)] if len(body) > 1 else []
            self.frame.keep([body[0], *body[1 + len(content) :]])
            identity = None if result["id"] in _NO_ID else result["id"]
            if result["kind"] == "function":
                return [{"role": "function", "name": identity, "content": joined(content)}]
            return [{"role": "tool", "tool_responses": [{"tool_call_id": identity, "role": "tool", "content": joined(content)}]}]
        first = next((index for index, line in enumerate(body) if _CALL.fullmatch(line.plain)), len(body))
        item: Item = {"content": joined(body[:first]) if first else None}
        for call in self._calls(body[first:]):
            if call.pop("legacy"):
                item["function_call"] = call["function"]
            else:
                item.setdefault("tool_calls", []).append(call)
        return [item]

    def _calls(self, body: list[Line]) -> list[dict[str, Any]]:
        calls: list[dict[str, Any]] = []
        arguments: list[Line] = []
        stars = ""
        for line in body:
            if match := _CALL.fullmatch(line.plain):
                arguments = []
                stars = "*" * len(line.plain)
                identity = None if match["id"] in _NO_ID else match["id"]
                function = {"name": match["name"], "arguments": None}
                calls.append({"id": identity, "type": "function", "function": function, "legacy": match["kind"] == "function"})
                self.frame.keep([line])
            elif line.plain == stars or line.plain.rstrip() == _ARGUMENTS:
                self.frame.keep([line])
            else:
                arguments.append(line)
                text = joined(arguments)
                if len(arguments) > 1 or line.plain.strip() in ("{", "["):  # laid out over lines, of which parsing leaves nothing
                    self.frame.keep([line])
                calls[-1]["function"]["arguments"] = None if text.strip() == _NO_ARGUMENTS else text
        return calls

    # -- between messages ------------------------------------------------------------

    def _between(self, line: Line) -> None:
        speaker = _NEXT.fullmatch(line.plain)
        if speaker is None:
            self.between.append(line)
            return
        self._flush()
        self.frame.keep([line])
        manager = next(
            (entry.told.receivers[0] for entry in reversed(self.entries) if entry.told.receivers and entry.told.kind == "chat"), None
        )
        if manager is not None:
            self.notes.add("derived", line.ref, f"sender {manager}: the manager that received the message before")
        self.entries.append(ToldItem(line.ref, {"content": None, "name": manager}, Told(manager, [speaker["name"]], kind="selection")))

    def _flush(self) -> None:
        """What was printed between two messages is a log entry."""
        said = [line for line in self.between if line.plain.strip()]
        if said:
            text = "\n".join(line.plain for line in self.between).strip("\n")
            self.entries.append(ToldItem(said[0].ref, {"content": text}, Told(None, [], kind="log")))
        self.frame.keep(line for line in self.between if line.raw != line.plain)
        self.between = []


def _is_marker(line: str) -> bool:
    return line.startswith(">>>>>>>> ") or _NEXT.fullmatch(line) is not None
