"""Magentic-One of AutoGen 0.4-dev: ``log.jsonl`` of the package ``autogen_magentic_one``.

Its LogHandler (utils.py) appends one JSON record a line, for as many tasks as were run:

* ``OrchestrationEvent`` and ``AgentEvent``: timestamp, source, message. The routing stands in
  the source: ``Orchestrator (thought)``, ``(-> Agent)``, ``(final answer)``, ``(termination condition)``.
* ``WebSurferEvent``: also url, action and arguments of what the browser did.
* ``LLMCallEvent``: tokens only, with no agent. It is logged before what the response led to.

A task begins with a record of UserProxy; times are local and have no zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.formats import Format, Match
from agenttrace.model import Trace, Usage
from agenttrace.notes import Notes
from agenttrace.salvage import look, records
from agenttrace.sources import Source

__all__ = ["FORMAT"]

_TYPES = frozenset({"OrchestrationEvent", "AgentEvent", "WebSurferEvent", "LLMCallEvent"})
_ROUTED = re.compile(r"(.+?) \((?:-> )?(.+)\)", re.DOTALL)
_USER = "UserProxy"
_KNOWN = frozenset({"timestamp", "source", "message", "type", "url", "action", "arguments"})

Record = dict[str, Any]


def sniff(source: Source) -> Match | None:
    """JSON lines whose types are those of the LogHandler."""
    if source.is_folder:
        return None
    seen = look(source)
    sample = seen.sample if seen.kind == "jsonl" else [seen.value] if seen.kind == "json" else []
    typed = [
        item
        for item in sample
        if isinstance(item, dict) and isinstance(item.get("type"), str) and item["type"] in _TYPES and "timestamp" in item
    ]
    if sample and 2 * len(typed) >= len(sample):
        return Match("log", "certain", "lines of OrchestrationEvent, AgentEvent, WebSurferEvent or LLMCallEvent")
    return None


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace per task; what stands before the first task is a trace of its own."""
    run: _Run | None = None
    number = 0
    for ref, record in _lines(source, notes):
        if not isinstance(record, dict) or not record:
            notes.drop("unreadable", ref, "no record", record)
            continue
        if run is None or (record.get("source") == _USER and run.asked):
            if run is not None:
                yield run.build()
            number += 1
            run = _Run(source, notes, number)
        run.add(ref, record)
    if run is not None:
        yield run.build()


def _lines(source: Source, notes: Notes) -> Iterator[tuple[str, Any]]:
    seen = look(source)
    if seen.kind == "json":
        notes.count_source(seen.value)
        yield "line:1", seen.value
        return
    yield from records(source, notes)


class _Run:
    """One task."""

    def __init__(self, source: Source, notes: Notes, number: int) -> None:
        self._builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, "log"), number=number)
        self._notes = notes
        self._types: dict[str, int] = {}
        self._calls: list[tuple[str, Record]] = []
        self.asked = False

    def add(self, ref: str, record: Record) -> None:
        """Add one record."""
        kind = str(record.get("type"))
        self._types[kind] = self._types.get(kind, 0) + 1
        if kind == "LLMCallEvent":
            self._calls.append((ref, record))
            return
        source = record.get("source")
        if source == _USER:
            self.asked = True
            self._builder.agent(_USER, participant=False)
        agent, route = _route(source if isinstance(source, str) else None)
        event = self._event(ref, record)
        if record.get("action") is not None:
            self._action(agent, record, event)
            return
        message = record.get("message")
        receivers, word = _delivery(agent, route, source)
        self._builder.message(
            agent,
            message if message is None or isinstance(message, str) else str(message),
            receivers=receivers,
            origin="explicit" if word == "instruction" else "derived",
            kind=word,
            metadata={"source": source} if route is not None else None,
            **event,
        )

    def _action(self, agent: str | None, record: Record, event: dict[str, Any]) -> None:
        """What the browser did: a tool call whose outcome is the text that the log gives with it."""
        made = self._builder.call(agent, str(record["action"]), record.get("arguments"), executor=agent, **event)
        self._builder.result(f"call_{made}", record.get("message"))
        if record.get("url") is not None:
            self._builder.keep(made, {"url": record["url"]})

    def _event(self, ref: str, record: Record) -> dict[str, Any]:
        """Fields of an event; the model calls logged since the last one are its turn."""
        event: dict[str, Any] = {"source_ref": ref}
        time = record.get("timestamp")
        extra: dict[str, Any] = {key: value for key, value in record.items() if key not in _KNOWN and value is not None}
        if isinstance(time, str):
            event["timestamp"] = time
        elif time is not None:
            extra["timestamp"] = time
        if self._calls:
            first, call = self._calls[-1]
            event["turn_id"] = f"turn:{first}"
            event["usage"] = _usage(call)
            event["extra"] = {"model_call_at": call.get("timestamp")}
            if len(self._calls) > 1:
                event["extra"]["earlier_model_calls"] = [earlier for _, earlier in self._calls[:-1]]
            self._notes.add("derived", first, "a model call names no agent; it is taken for the turn of the record behind it")
            self._calls = []
        if extra:
            event["extra"] = {**event.get("extra", {}), **extra}
            self._notes.add("aside", ref, f"{', '.join(extra)}, in `extra`")
        return event

    def build(self) -> Trace:
        """The trace; model calls that nothing follows are kept aside."""
        if self._calls:
            self._builder.extra["model_calls"] = [{"source_ref": ref, **call} for ref, call in self._calls]
            self._notes.add("aside", self._calls[0][0], f"model calls that no record follows ({len(self._calls)})")
        self._builder.count_types(self._types)
        return self._builder.build()


def _route(source: str | None) -> tuple[str | None, str | None]:
    """``Orchestrator (-> Coder)`` is the agent Orchestrator and the route ``-> Coder``."""
    match = _ROUTED.fullmatch(source) if source else None
    if match is None:
        return source, None
    return match[1], source[len(match[1]) + 2 : -1] if source else None


def _delivery(agent: str | None, route: str | None, source: Any) -> tuple[Any, str]:
    """Receivers and kind of message by the route; the task and what agents reply is published to the whole team."""
    if route is not None and route.startswith("-> "):
        return [route[3:]], "instruction"
    if route == "thought":
        return [], "thought"
    if route == "final answer":  # logged only
        return [], "chat"
    if route == "termination condition":
        return [], "termination"
    if route is not None or agent is None:
        return [], "log"
    return (EVERYONE if source != "Orchestrator" else []), "chat"


def _usage(call: Record) -> Usage | None:
    prompt, completion = call.get("prompt_tokens"), call.get("completion_tokens")
    if type(prompt) is int and type(completion) is int:
        return Usage(prompt_tokens=prompt, completion_tokens=completion)
    return None


FORMAT = Format(
    name="magentic_one",
    title="Magentic-One logs of AutoGen 0.4-dev",
    spec="https://github.com/microsoft/autogen/tree/v0.4.0.dev6/python/packages/autogen-magentic-one",
    variants={"log": "`log.jsonl`: one record a line, several tasks in one file"},
    versions="0.4.0.dev",
    mapping={
        "source": "AgentInstance; what stands in brackets behind it decides kind and receivers",
        "OrchestrationEvent of UserProxy": "begins a trace; Message to the whole team, derived",
        "(-> Agent)": "Message instruction to the agent, explicit",
        "(thought)": "Message thought",
        "(final answer)": "Message without receivers: it is logged, not sent",
        "(termination condition)": "Message termination",
        "AgentEvent": "Message to the whole team, derived",
        "WebSurferEvent": "ToolCall named by action, with arguments and, as result, the message; url in extra",
        "LLMCallEvent": "usage and turn of the record that follows; earlier ones of the same record in extra.earlier_model_calls",
        "timestamp": "Event.timestamp, naive",
    },
    not_mapped={
        "ledgers and plans": "JSON and prose inside thoughts stay text: they are what the model wrote",
        "time of a model call": "extra.model_call_at",
        "the route behind a source": "decides kind and receivers; as written in metadata.source",
        "success": "not stated; null",
    },
    sniff=sniff,
    read=read,
)
