"""The folder of a run of AgentScope 0.x: ``logging.chat``, and beside it what was asked of models and how much it took.

Facts from ``agentscope/constants.py``, ``models/model.py``, ``manager/_monitor.py`` of 0.1.6: ``invoke/model_CLASS_TIME_ID.json`` is
``{model_class, timestamp, arguments, response}`` and names no agent; its answer is what some message says. ``agentscope.db``
has a row for each call. ``file/`` holds pictures that messages name.
"""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.model import Usage
from agenttrace.notes import Notes
from agenttrace.readers.agentscope.messages import Conversation, is_message
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source, decode_log

__all__ = ["CHAT", "fill_folder"]

CHAT = "logging.chat"
_HEADER = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) \| [A-Z]+ +\| ")
_MONITOR = "chat_and_embedding_model_monitor"

Item = dict[str, Any]


def fill_folder(builder: TraceBuilder, notes: Notes, files: list[Source]) -> None:
    """Fill a builder from the files of a run."""
    asked = _invocations(builder, notes, [file for file in files if file.name.startswith("invoke/")])
    talk = Conversation(builder, notes)
    chat = next(file for file in files if file.name == CHAT)
    inner = Notes(counting=notes.counting)
    messages: list[tuple[str, Item]] = []
    for ref, message in records(chat, inner):
        if is_message(message):
            messages.append((f"{CHAT}#{ref}", message))
        else:
            notes.drop("unreadable", f"{CHAT}#{ref}", "no message", message)
    log = _Log(builder, notes, [message for _, message in messages])
    for file in files:
        if file.name == "logging.log":
            log.read(file)
            file.forget()
    for number, (place, message) in enumerate(messages):
        log.add_before(number)
        text = _text(message)
        found = asked.pop(text, []) if text else []
        first = found.pop(0) if found else None
        if found:
            asked[text] = found
        talk.add(message, place, **(_first(builder, message, first) if first is not None else {}))
    log.add_before(len(messages))
    talk.close()
    notes.absorb(inner, CHAT)
    chat.forget()
    for name, invocation in (entry for waiting in asked.values() for entry in waiting):
        builder.extra.setdefault("invocations", []).append({"file": name, **invocation})
        notes.add("aside", f"{name}#", "a call of a model whose answer no message is; in the trace's `extra`")
    others: list[str] = []
    for file in files:
        if file.name.endswith(".db") and "/" not in file.name:
            _monitor(builder, notes, file)
        elif file.name not in (CHAT, "logging.log") and not file.name.startswith("invoke/"):
            others.append(file.name)
            notes.add("aside", f"{file.name}#", "its name in `meta.extra`")
        file.forget()
    if others:
        builder.meta(extra={"other_files": others})


def _text(message: Item) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    return "\n".join(text for text in texts if isinstance(text, str))


def _invocations(builder: TraceBuilder, notes: Notes, files: list[Source]) -> dict[str, list[tuple[str, Item]]]:
    """The calls of models by what they answered, the earliest first."""
    found: dict[str, list[tuple[str, Item]]] = {}
    for file in files:
        inner = Notes(counting=notes.counting)
        try:
            value = document(file, inner) if look(file).is_document else None
        except ReadError as error:
            notes.add("unreadable", f"{file.name}#", error.reason)
            continue
        notes.absorb(inner, file.name)
        if isinstance(value, dict) and isinstance(value.get("response"), dict):
            found.setdefault(_answer(value["response"]), []).append((file.name, value))
        elif value is not None:
            builder.extra.setdefault("invocations", []).append({"file": file.name, "value": value})
            notes.add("aside", f"{file.name}#", "no call of a model; in the trace's `extra`")
        file.forget()
    for waiting in found.values():
        waiting.sort(key=lambda entry: str(entry[1].get("timestamp")))
    return found


def _answer(response: Item) -> str:
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = first.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else ""


def _first(builder: TraceBuilder, message: Item, invocation: tuple[str, Item]) -> Item:
    """What the call of the model behind a message says: usage, and what is the agent's."""
    name, value = invocation
    arguments = value["arguments"] if isinstance(value.get("arguments"), dict) else {}
    response: Item = value["response"]
    model = arguments.get("model")
    listed = arguments.get("messages")
    head = listed[0] if isinstance(listed, list) and listed and isinstance(listed[0], dict) else {}
    prompt = head.get("content") if head.get("role") == "system" else None
    sender = message.get("name")
    if isinstance(sender, str) and sender:
        builder.agent(sender, model=model if isinstance(model, str) else None, system_prompt=prompt if isinstance(prompt, str) else None)
    figures = response.get("usage")
    counts: Item = {}
    for field in ("prompt_tokens", "completion_tokens", "total_tokens"):
        count = figures.get(field) if isinstance(figures, dict) else None
        if type(count) is int and 0 <= count < 1 << 63:
            counts[field] = count
    builder.notes.add("copy", f"{name}#/arguments", "the prompt: messages that the log has, and the agent's system prompt")
    builder.notes.add("derived", f"{name}#", f"its answer is what {sender} says, so the call is taken for that agent's")
    return {"usage": Usage(**counts, model=model if isinstance(model, str) else None) if counts else None, "raw_response": response}


def _monitor(builder: TraceBuilder, notes: Notes, file: Source) -> None:
    """What the monitor counted, row by row."""
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(file.data)
            cursor = database.execute(f"SELECT * FROM {_MONITOR} LIMIT 100000")  # noqa: S608 - a name of ours
            names = [column[0] for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
    except (sqlite3.Error, ReadError, ValueError, OverflowError) as error:
        notes.add("unreadable", f"{file.name}#", f"no monitor of AgentScope: {' '.join(str(error).split())}"[:200])
        return
    kept = [{key: value for key, value in row.items() if not isinstance(value, bytes)} for row in rows]
    builder.meta(extra={"monitor": kept})
    notes.add("aside", f"{file.name}#", f"{len(kept)} rows of {_MONITOR}, in `meta.extra.monitor`")


class _Log:
    """Lines of the log that are no message again, each before the message that is printed after it."""

    def __init__(self, builder: TraceBuilder, notes: Notes, messages: list[Item]) -> None:
        self._builder = builder
        self._notes = notes
        contents = [message.get("content") for message in messages]
        self._printed = "\n".join(json.dumps(content, ensure_ascii=False, indent=4) for content in contents)
        self._begins = [f"{message.get('name')}: {_text(message).partition(chr(10))[0]}".rstrip() for message in messages]
        self._waiting: dict[int, list[tuple[str, str]]] = {}

    def read(self, file: Source) -> None:
        """Sort the lines of a log; which message comes next is known by how it is printed."""
        text = decode_log(file.data)[0]
        self._notes.count_source(text)
        copies = following = 0
        values = set(self._printed.split('"'))
        for number, line in enumerate(text.split("\n"), 1):
            said = line.strip().rstrip(",")
            if not said:
                continue
            if following < len(self._begins) and line.rstrip() == self._begins[following]:
                following += 1
            if json.dumps(said, ensure_ascii=False)[1:-1] in self._printed or said in self._printed or said.partition(": ")[2] in values:
                copies += 1
            else:
                self._waiting.setdefault(following, []).append((f"{file.name}#line:{number}", line))
        if copies:
            self._notes.add("copy", f"{file.name}#", f"{copies} lines print messages")

    def add_before(self, number: int) -> None:
        """Add the lines that stand before a message, by its place among them."""
        for ref, line in self._waiting.pop(number, ()):
            header = _HEADER.match(line)
            self._builder.message(None, line, kind="log", timestamp=header[1] if header else None, source_ref=ref)
