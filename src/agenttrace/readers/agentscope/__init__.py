"""AgentScope: chats and run folders of 0.x, memories, sessions and spans of 1.x, messages, states and event streams of 2.x.

No run log of AgentScope is public that we know of; what is read here was written by driving 0.1.6, 1.0.21 and 2.0.11 with a
scripted model (``tests/generators``). A message has no receiver: who holds it in memory received it (``explicit``), and the
same id in several memories is one message. A hub hands out copies with the id of the original.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.agentscope.event_stream import fill_stream, is_stream_event
from agenttrace.readers.agentscope.messages import Conversation, is_message
from agenttrace.readers.agentscope.run_folder import CHAT, fill_folder
from agenttrace.readers.agentscope.session import fill_memory, fill_session, fill_state, is_memory, is_session, is_state
from agenttrace.readers.agentscope.spans import fill_spans, is_span, runs_of
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source, children

__all__ = ["FORMAT"]

_MODULE = "agentscope"


def sniff(source: Source) -> Match | None:
    """What the framework's own classes write, or a folder with ``logging.chat``."""
    if source.is_folder:
        chat = next((file for file in children(source, [])[0] if file.name == CHAT), None)
        return Match("run_folder", "certain", "logging.chat of a run") if chat is not None and _chat_of(chat) is not None else None
    seen = look(source)
    if seen.kind == "jsonl":
        return _records(seen.sample)
    if seen.kind != "json":
        return None
    value = seen.value
    if is_state(value):
        return Match("state", "certain", "context and reply_context of an agent of 2.x")
    if is_session(value):
        return Match("session", "certain", "memories of agents")
    if is_memory(value):
        return Match("memory", "certain" if "_compressed_summary" in value else "likely", "a memory of messages")
    if isinstance(value, list):
        return _records(value)
    return _records([value])


def _chat_of(file: Source) -> Match | None:
    try:
        seen = look(file)
    except ReadError:
        return None
    return _records(seen.sample if seen.kind == "jsonl" else [seen.value] if seen.kind == "json" else [])


def _records(sample: list[Any]) -> Match | None:
    """What a list of records is, by most of its first ones."""
    shown = sample[:20]
    kinds = (("spans", is_span, "spans with attributes of AgentScope"), ("events", is_stream_event, "events of a reply"))
    for variant, fits, why in kinds:
        if shown and 2 * sum(map(fits, shown)) >= len(shown):
            return Match(variant, "certain", why)
    messages = [item for item in shown if is_message(item)]
    if not shown or 2 * len(messages) < len(shown):
        return None
    named = any(str(item.get("__module__", "")).startswith(_MODULE) for item in messages)
    whole = all("metadata" in item for item in messages)  # as to_dict of a message always writes
    return Match("messages", "certain" if named or whole else "likely", "messages with id, name, role and time")


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace, but for spans of several runs."""
    match = sniff(source)
    if match is None:
        raise ReadError(
            "unparsable", source.label, None, "nothing of AgentScope of a known shape", "`agenttrace doctor` says what is in it"
        )
    if match.variant == "spans":
        for number, spans in enumerate(runs_of(_values(source, notes), notes), 1):
            builder = _builder(source, notes, match.variant, number)
            fill_spans(builder, notes, spans)
            yield builder.build()
        return
    builder = _builder(source, notes, match.variant, 1)
    if match.variant == "run_folder":
        fill_folder(builder, notes, source.files)
    elif match.variant == "events":
        fill_stream(builder, notes, _values(source, notes))
    elif match.variant == "messages":
        _fill_messages(builder, notes, _values(source, notes))
    elif match.variant == "session":
        fill_session(builder, notes, document(source, notes))
    elif match.variant == "memory":
        fill_memory(builder, notes, document(source, notes))
    else:
        fill_state(builder, notes, document(source, notes))
    yield builder.build()


def _builder(source: Source, notes: Notes, variant: str, number: int) -> TraceBuilder:
    return TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, variant), number=number)


def _values(source: Source, notes: Notes) -> list[tuple[str, Any]]:
    """The records of a file, be they lines, a list, or a single one."""
    if look(source).kind == "jsonl":
        return list(records(source, notes))
    value = document(source, notes)
    return [(f"/{index}", item) for index, item in enumerate(value)] if isinstance(value, list) else [("", value)]


def _fill_messages(builder: TraceBuilder, notes: Notes, values: list[tuple[str, Any]]) -> None:
    talk = Conversation(builder, notes)
    for ref, message in values:
        if is_message(message):
            talk.add(message, ref)
        else:
            builder.extra.setdefault("records", []).append({"source_ref": ref, "value": message})
            notes.add("aside", ref or None, "no message; kept in the trace's `extra`")
    talk.close()


FORMAT = Format(
    name="agentscope",
    title="AgentScope: chats, sessions, spans and event streams",
    spec="https://github.com/agentscope-ai/agentscope",
    variants={
        "messages": "`logging.chat` of 0.x, or messages as lines, a list, or one (all generations)",
        "run_folder": "folder of a 0.x run: logging.chat, invoke/, agentscope.db",
        "memory": "memory of a 1.x agent",
        "session": "1.x session: memories, plans and prompts of agents",
        "spans": "OpenTelemetry spans of 1.x, a line each",
        "state": "state of a 2.x agent",
        "events": "2.x stream of events, a line each",
    },
    versions="0.1.6, 1.0.21, 2.0.11",
    mapping={
        "a message": "Message of its texts and pictures; one in the memory of an agent was received by it",
        "thinking": "reasoning",
        "tool_use, tool_call": "ToolCall, in the turn of the message",
        "tool_result": "result of the call; state (2.x): success, or failure; an unknown function: exception",
        "hint": "Message system to the one who replies",
        "plan, subtasks; tasks": "SubtaskUpdates, `PLAN/INDEX` for subtasks, which have no id",
        "_sys_prompt, toolkit": "AgentInstance.system_prompt, config",
        "invoke_agent": "SubtaskUpdate created and completed, by span; its input: Message",
        "chat": "Message and usage, one turn; what its prompt shows first: Messages of others, the system prompt",
        "execute_tool": "ToolCall with its span",
        "REQUIRE_USER_CONFIRM, USER_CONFIRM_RESULT": "Message input_request, approval",
        "REPLY_END": "Message termination, or error",
        "invoke/": "usage, raw_response and system prompt of the message that it answers with",
    },
    not_mapped={
        "failures of 1.x": "only a text `Error: …`, which a tool may write, too: status null",
        "usage of a 2.x message": "of all calls of the model in one reply: extra.usage_of_reply",
        "marks, summaries": "extra",
        "agentscope.function.input and output": "noted as copies",
        "what a 2.x stream answers": "not in the stream",
    },
    sniff=sniff,
    read=read,
)
