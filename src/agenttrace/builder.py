"""TraceBuilder: the one way to make a Trace.

Every reader uses it, and so can a framework that wants to write AgentTrace::

    builder = TraceBuilder("my_framework")
    builder.message("user", "What is 2 + 2?", receivers=["solver"])
    builder.call("solver", "add", {"a": 2, "b": 2}, call_id="c1")
    builder.result("c1", 4, status="success")
    builder.message("solver", "4", receivers=["user"])
    trace = builder.build()

It makes stable ids, registers agents as they appear, folds results into calls,
expands broadcasts over the roster, puts reasoning and usage on the first event of
a turn, orders events and keeps only links that point forward. What it has to make
up or leave out goes to the notes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from agenttrace.arguments import parse_arguments
from agenttrace.errors import UsageError
from agenttrace.model import (
    AgentInstance,
    Annotation,
    Artifact,
    ContentPart,
    DependencyLink,
    DepType,
    Event,
    EventData,
    Message,
    SourceInfo,
    SubtaskUpdate,
    ToolCall,
    Trace,
    TraceMeta,
    Usage,
)
from agenttrace.notes import Notes
from agenttrace.ordering import forward_links, forward_sources, give_to_first, in_order, separate_naive_times
from agenttrace.roster import EVERYONE, Everyone, address
from agenttrace.times import parse_time

__all__ = ["EVERYONE", "TraceBuilder"]


class TraceBuilder:
    """Collects what happened in one run and builds the frozen Trace.

    Args:
        framework: the reader's name, ``meta.framework``.
        notes: where conversion notes go; a collection of its own when None.
        source: facts about the input, ``meta.source``.
        trace_id: the source's own run id; when None it is made from the source's hash and ``number``.
        number: the place of the run in the source, from 1.

    Attributes:
        extra: the trace's ``extra``.
        inside: what happens while this names a subtask happens in it, unless an event names its own. Updates
            of subtasks are left out: they say by ``parent_task_id`` where they belong.
    """

    def __init__(
        self,
        framework: str,
        *,
        notes: Notes | None = None,
        source: SourceInfo | None = None,
        trace_id: str | None = None,
        number: int = 1,
    ) -> None:
        self.notes = notes if notes is not None else Notes()
        self.extra: dict[str, Any] = {}
        self.inside: str | None = None
        self._framework = framework
        self._source = source
        self._trace_id = trace_id
        self._number = number
        self._meta: dict[str, Any] = {}
        self._meta_extra: dict[str, Any] = {}
        self._annotations: list[Annotation] = []
        self._agents: dict[str, dict[str, Any]] = {}
        self._outsiders: set[str] = set()
        self._events: list[Event] = []
        self._by_id: dict[str, Event | None] = {}  # None: claimed, the event not made yet
        self._made_up_ids = 0
        self._lost_ids: dict[str, str] = {}
        self._to_everyone: list[Message] = []
        self._turns: dict[str, Event] = {}
        self._open_calls: dict[str, list[Event]] = {}
        self._closed_calls: dict[str, Event] = {}
        self._unparsed: set[str] = set()
        self._links: dict[tuple[str, str, str], DependencyLink] = {}
        self._naive = 0
        self._zoned = 0

    # -- the run ---------------------------------------------------------

    def meta(self, *, extra: Mapping[str, Any] | None = None, **fields: Any) -> None:
        """Set fields of TraceMeta; null values set nothing. ``extra`` is merged."""
        for name, value in list(fields.items()):
            if name not in TraceMeta.__struct_fields__:
                raise _no_field("TraceMeta", name)
            if name in ("start_time", "end_time") and value is not None:
                fields[name] = self._run_time(name, value)
        self._meta.update((key, value) for key, value in fields.items() if value is not None)
        if extra:
            self._meta_extra.update(extra)

    def annotate(self, name: str, value: Any = None, **fields: Any) -> None:
        """Add an Annotation (fields as in the model) to the run, or to one event or agent of it."""
        self._annotations.append(Annotation(name=name, value=value, **fields))

    def agent(self, agent_id: str, *, participant: bool = True, **fields: Any) -> str:
        """Register an agent, or add fields to one; a field once set stays. Returns the id.

        ``participant=False`` keeps it out of what :data:`EVERYONE` stands for.
        """
        known = self._agents.get(agent_id)
        if known is None:
            known = self._agents[agent_id] = {}
        for key, value in fields.items():
            if key not in AgentInstance.__struct_fields__:
                raise _no_field("AgentInstance", key)
            if value is not None and key not in known:
                known[key] = value
        if not participant:
            self._outsiders.add(agent_id)
        return agent_id

    def count_types(self, counts: Mapping[str, int]) -> None:
        """Say in the trace's ``extra`` which record types or roles of the source the events come from, and how many of each.

        For types that decide what a record becomes, and so stand in no field by their own name.
        """
        if counts:
            total = Counter({item["type"]: item["count"] for item in self.extra.get("record_types", ())})
            total.update(counts)
            self.extra["record_types"] = [{"type": name, "count": total[name]} for name in sorted(total)]

    # -- events ----------------------------------------------------------

    def message(
        self,
        sender: str | None,
        content: str | tuple[ContentPart, ...] | None,
        *,
        receivers: Iterable[str] | Everyone = (),
        origin: str | None = "explicit",
        kind: str = "chat",
        broadcast: bool = False,
        metadata: dict[str, Any] | None = None,
        event_id: str | None = None,
        timestamp: str | None = None,
        turn_id: str | None = None,
        usage: Usage | None = None,
        source_ref: str | None = None,
        **fields: Any,
    ) -> str:
        """Add a Message in an event; the latter's fields as in :meth:`event`. Returns the event id."""
        if sender is not None and sender not in self._agents:
            self._agents[sender] = {}
        if isinstance(receivers, Everyone):
            data = Message(sender_id=sender, receiver_ids=(), broadcast=True, content=content)
            self._to_everyone.append(data)
        else:
            ids = (receivers,) if isinstance(receivers, str) else tuple(dict.fromkeys(receivers))
            for agent_id in ids:
                if agent_id not in self._agents:
                    self._agents[agent_id] = {}
            data = Message(sender_id=sender, receiver_ids=ids, broadcast=broadcast, content=content)
            if ids:
                force_setattr(data, "receivers_origin", origin)
        if kind != "chat":
            force_setattr(data, "kind", kind)
        if metadata:
            force_setattr(data, "metadata", metadata)
        return self._add(data, sender, self._claim(event_id), timestamp, turn_id, usage, source_ref, fields)

    def receive(self, event_id: str, receivers: Iterable[str]) -> None:
        """A copy of a message made before shows that others received it, too: they are added to its receivers."""
        event = self._by_id.get(event_id)
        if event is None or not isinstance(event.data, Message) or event.data in self._to_everyone:
            return
        added = [agent_id for agent_id in receivers if agent_id != event.data.sender_id]
        for agent_id in added:
            self.agent(agent_id)
        ids = tuple(dict.fromkeys((*event.data.receiver_ids, *added)))
        if ids:
            force_setattr(event.data, "receiver_ids", ids)
            force_setattr(event.data, "receivers_origin", "explicit")

    def call(
        self,
        caller: str | None,
        tool: str | None,
        arguments: Any = None,
        *,
        call_id: str | None = None,
        executor: str | None = None,
        attempt: int | None = None,
        parse: bool = True,
        event_id: str | None = None,
        timestamp: str | None = None,
        turn_id: str | None = None,
        usage: Usage | None = None,
        source_ref: str | None = None,
        **fields: Any,
    ) -> str:
        """Add a ToolCall without a result. Returns the event id.

        A JSON text of an object as ``arguments`` is parsed; another text counts as arguments that do not parse.
        With ``parse=False`` it is what the tool takes. Absent ``call_id`` and ``tool`` are made up and noted.
        """
        event_id = self._claim(event_id)
        parsed, unparsed = parse_arguments(arguments) if parse else (arguments, False)
        if unparsed:
            self._unparsed.add(event_id)
        if call_id is None:
            call_id = f"call_{event_id}"
            self.notes.add("made_up", source_ref, f"tool_call_id {call_id}", event_id)
        if tool is None:
            tool = "unknown"
            self.notes.add("made_up", source_ref, "tool_name unknown: the source names no tool", event_id)
        for agent_id in (caller, executor):
            if agent_id is not None and agent_id not in self._agents:
                self._agents[agent_id] = {}
        data = ToolCall(tool_call_id=call_id, caller_id=caller, executor_id=executor, tool_name=tool, arguments=parsed, attempt=attempt)
        self._add(data, caller, event_id, timestamp, turn_id, usage, source_ref, fields)
        self._open_calls.setdefault(call_id, []).append(self._events[-1])
        return event_id

    def result(
        self,
        call_id: str,
        result: Any,
        *,
        status: str | None = None,
        error: Any = None,
        completed_at: str | None = None,
        caller: str | None = None,
        executor: str | None = None,
        tool: str | None = None,
        source_ref: str | None = None,
        extra: dict[str, Any] | None = None,
    ) -> str:
        """Fold a result into the oldest open call with that id, of ``caller`` if it has one; without a call it becomes a ToolCall.

        The same result given twice is noted as a copy. A call whose arguments did not
        parse ends as ``exception`` unless it succeeded. Returns the event id.
        """
        waiting = self._open_calls.get(call_id)
        if not waiting:
            done = self._closed_calls.get(call_id)
            if done is not None and isinstance(done.data, ToolCall) and (done.data.result, done.data.error) == (result, error):
                self.notes.add("copy", source_ref, f"the result of call {call_id} again", done.event_id)
                return done.event_id
            self.call(None, tool, call_id=call_id, source_ref=source_ref)
            waiting = self._open_calls[call_id]
        own = [index for index, open_ in enumerate(waiting) if open_.agent_id == caller] if caller is not None and len(waiting) > 1 else []
        event = waiting.pop(own[0] if own else 0)
        self._closed_calls[call_id] = event
        call = event.data
        if self._unparsed and status != "success" and event.event_id in self._unparsed:
            status = "exception"
        if result is not None:
            force_setattr(call, "result", result)
        if status is not None:
            force_setattr(call, "status", status)
        if error is not None:
            force_setattr(call, "error", error)
        if completed_at is not None:
            force_setattr(call, "completed_at", self._time(completed_at, "completed_at", source_ref, event))
        if executor is not None:
            if executor not in self._agents:
                self._agents[executor] = {}
            force_setattr(call, "executor_id", executor)
        if extra:
            force_setattr(event, "extra", {**event.extra, **extra})
        return event.event_id

    def artifact(self, artifact_id: str, *, agent: str | None = None, event: Mapping[str, Any] | None = None, **fields: Any) -> str:
        """Add an Artifact (fields as in the model), made by ``agent``. Returns the event id."""
        return self.event(Artifact(artifact_id=artifact_id, **fields), agent, **(event or {}))

    def subtask(self, subtask_id: str, *, agent: str | None = None, event: Mapping[str, Any] | None = None, **fields: Any) -> str:
        """Add a SubtaskUpdate (fields as in the model), stated by ``agent``. Returns the event id."""
        for assignee in fields.get("assigned_to") or ():
            self.agent(assignee)
        return self.event(SubtaskUpdate(subtask_id=subtask_id, **fields), agent, **(event or {}))

    def event(
        self,
        data: EventData,
        agent: str | None,
        *,
        event_id: str | None = None,
        timestamp: str | None = None,
        turn_id: str | None = None,
        usage: Usage | None = None,
        source_ref: str | None = None,
        **fields: Any,
    ) -> str:
        """Add an event around ``data``; ``fields`` are any other fields of Event.

        A given ``event_id`` is kept when it is free. ``usage``, ``reasoning`` and
        ``raw_response`` go to the first event of the turn. Returns the event id.
        """
        return self._add(data, agent, self._claim(event_id), timestamp, turn_id, usage, source_ref, fields)

    def _add(
        self,
        data: EventData,
        agent: str | None,
        event_id: str,
        timestamp: str | None,
        turn_id: str | None,
        usage: Usage | None,
        source_ref: str | None,
        fields: dict[str, Any],
    ) -> str:
        if agent is not None and agent not in self._agents:
            self._agents[agent] = {}
        event = Event(event_id=event_id, agent_id=agent, turn_id=turn_id, data=data, source_ref=source_ref)
        for name, value in fields.items():
            if name not in Event.__struct_fields__:
                raise _no_field("Event", name)
            if value is not None:
                force_setattr(event, name, value)
        if self.inside is not None and event.subtask_id is None and type(data) is not SubtaskUpdate:
            force_setattr(event, "subtask_id", self.inside)
        if self._lost_ids and event_id in self._lost_ids:
            force_setattr(event, "extra", {**event.extra, "id": self._lost_ids[event_id]})
            self.notes.add("aside", source_ref, "an id that another event has, in `extra`", event_id)
        if usage is not None:
            force_setattr(event, "usage", usage)
        if timestamp is not None:
            force_setattr(event, "timestamp", self._time(timestamp, "timestamp", source_ref, event))
        if turn_id is not None and (first := self._turns.setdefault(turn_id, event)) is not event:
            if first.agent_id == agent:
                give_to_first(first, event)
            else:  # a turn is one agent's
                force_setattr(event, "turn_id", None)
                force_setattr(event, "extra", {**event.extra, "turn_id": turn_id})
                self.notes.add("aside", source_ref, "the turn of another agent, in `extra`", event_id)
        self._events.append(event)
        self._by_id[event_id] = event
        return event_id

    def keep(self, event_id: str, extra: Mapping[str, Any]) -> None:
        """Add to the ``extra`` of an event made before."""
        if (event := self._by_id[event_id]) is not None:
            force_setattr(event, "extra", {**event.extra, **extra})

    def link(self, source: str, target: str, dep_type: DepType, *, evidence: str | None = None) -> None:
        """Add a link that the source itself states (``explicit``): ``target`` depends on ``source``."""
        link = DependencyLink(
            source_event_id=source,
            target_event_id=target,
            dep_type=dep_type,
            origin="explicit",
            confidence=1.0,
            evidence=evidence,
        )
        self._links.setdefault((source, target, dep_type), link)

    def _claim(self, event_id: str | None) -> str:
        if event_id and event_id not in self._by_id:
            self._by_id[event_id] = None
            return event_id
        self._made_up_ids += 1
        given = event_id
        number = len(self._events) + 1
        made_up = f"e{number}"
        while made_up in self._by_id:
            number += 1
            made_up = f"e{number}"
        self._by_id[made_up] = None
        if given:  # another event has it
            self._lost_ids[made_up] = given
        return made_up

    def _run_time(self, name: str, text: str) -> str | None:
        """A time of the run in normal form. What is no time is kept in the run's ``extra`` and noted."""
        time = parse_time(text) if isinstance(text, str) else None
        if time is None:
            self._meta_extra[name] = text
            self.notes.add("aside", None, f"{name} of the run is no time that can be read")
        else:
            self._zoned += time[-1] == "Z"
            self._naive += time[-1] != "Z"
        return time

    def _time(self, text: str, name: str, ref: str | None, event: Event) -> str | None:
        """A time in normal form. What is no time is kept in ``extra`` and noted."""
        if type(text) is not str:
            raise UsageError("usage", None, None, f"{name} is {type(text).__name__}, not text", "give an ISO 8601 text")
        time = parse_time(text)
        if time is None:
            force_setattr(event, "extra", {**event.extra, name: text})
            self.notes.add("aside", ref, f"{name} is no time that can be read", event.event_id)
        elif time[-1] == "Z":
            self._zoned += 1
        else:
            self._naive += 1
        return time

    # -- the end -----------------------------------------------------------

    def build(self) -> Trace:
        """The Trace. Call once, when everything is added."""
        address(self._to_everyone, self._agents, self._outsiders)
        if self._naive and self._zoned:
            separate_naive_times(self._events, self.notes)
            for name in ("start_time", "end_time"):
                if not (self._meta.get(name) or "Z").endswith("Z"):
                    self._meta_extra[name] = self._meta.pop(name)
                    self.notes.add("naive_time", None, f"{name} of the run has no zone, others have; kept in `meta.extra`")
        elif self._naive:
            self.notes.add("naive_time", None, f"{self._naive} times without a zone, kept as they are")
        events = in_order(self._events)
        forward_sources(events, self.notes)
        if self._made_up_ids:
            self.notes.add("made_up", None, f"event_id of {self._made_up_ids} events that have none, or none of their own, in the source")
        agents = tuple(AgentInstance(agent_id=agent_id, **fields) for agent_id, fields in self._agents.items())
        return Trace(
            trace_id=self._trace_id or _own_id(self._framework, self._source, self._number, agents, events),
            meta=TraceMeta(
                framework=self._framework,
                source=self._source,
                annotations=tuple(self._annotations),
                extra=self._meta_extra,
                **self._meta,
            ),
            agent_instances=agents,
            events=events,
            dependency_links=forward_links(self._links.values(), events, self.notes),
            extra=self.extra,
        )


def _own_id(framework: str, source: SourceInfo | None, number: int, agents: tuple[AgentInstance, ...], events: tuple[Event, ...]) -> str:
    """From the source's hash; without a source, from what was built, so that equal runs have equal ids and others not."""
    digest = source.sha256 if source else None
    if digest is None:
        try:
            content = msgspec.json.encode((framework, agents, events))
        except (UnicodeEncodeError, RecursionError):  # lone surrogates, endless nesting: mended or refused when it is written
            content = repr((framework, [event.event_id for event in events])).encode("utf-8", "replace")
        digest = hashlib.sha256(content).hexdigest()
    return f"{digest[:16]}-{number}"


def _no_field(struct: str, name: str) -> UsageError:
    return UsageError("usage", None, None, f"{struct} has no field {name!r:.60}", "see docs/reference/format.md")
