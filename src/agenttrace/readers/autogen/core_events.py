"""The event log of AutoGen 0.4+: what its runtime delivered, and what models and tools did.

Every message is logged when it is sent and once for each delivery, and an AgentChat
team sends one record several times: to the output, to the group, and again inside the
agent's response. Here each record is one event. Facts from ``autogen_core`` and
``autogen_agentchat`` 0.4.0 to 0.7.5:

* A run begins with a message of task messages from outside to the team's manager, and
  ends when the manager publishes a termination, which the logger cannot serialise.
* An empty message from a manager to an agent asks it to speak.
* The delivery of a published message names no receiver.
* ``ToolCall`` is logged when a tool returned, without the call's id; a tool that raised is not.
* 0.6 wrote records without type and content; whether one was said to the team shows
  in the agent's response, whose ``chat_message`` it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import ContentPart
from agenttrace.notes import Notes
from agenttrace.readers.autogen.context import ModelContext
from agenttrace.readers.autogen.core_lines import CoreLine
from agenttrace.readers.autogen.core_runs import Address, Roster, address_of, key_of, records_in
from agenttrace.readers.autogen.model_calls import ModelCalls
from agenttrace.readers.autogen.records import Beside, Record, text_of
from agenttrace.readers.autogen.runtime_rows import decoded
from agenttrace.readers.autogen.saved import Saved

__all__ = ["fill_core_run"]

_MODEL_TYPES = ("LLMCall", "LLMStreamStart", "LLMStreamEnd")

# -- one run ---------------------------------------------------------------------------------


def fill_core_run(
    builder: TraceBuilder, notes: Notes, lines: list[CoreLine], saved: Saved | None = None, members: Iterable[str] = ()
) -> None:
    """Fill a builder from the lines of one run; ``saved`` is its conversation in other files, ``members`` its team there."""
    run = _Run(builder, notes, lines, saved or Saved([]))
    run.conversation.team.add(members)
    for line in lines:
        run.add(line)
    run.close()


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes, lines: list[CoreLine], saved: Saved) -> None:
        self._builder = builder
        self._notes = notes
        self._saved = saved
        self.conversation = ModelContext(builder, notes)
        self._models = ModelCalls(builder, notes)
        self._roster = Roster(lines)
        builder.meta(session_id=self._roster.first_team)
        self._spoken: set[bytes] = set()
        for line in lines:
            self._look_ahead(line)
        self._sent: Counter[tuple[Any, ...]] = Counter()
        self._made: Counter[bytes] = Counter()
        self._events: dict[bytes, str | None] = {}
        self._copies: Counter[str] = Counter()
        self._deliveries: Counter[tuple[Any, ...]] = Counter()
        self._kinds: Counter[str] = Counter()
        self._asked: tuple[CoreLine, str, str] | None = None  # a manager's request to an agent, until the next record
        self._chosen: dict[str, str] = {}
        self._open_tools: dict[tuple[str, bytes], list[tuple[str | None, str]]] = {}  # agent and call id, by tool and arguments
        self._ran: dict[str, Any] = {}

    def _look_ahead(self, line: CoreLine) -> None:
        """Which records were said to the team, and which came of which model's answer, only later lines tell."""
        record = line.record or {}
        if record.get("type") in _MODEL_TYPES:
            self._models.take_call(line, record, self._agent(record.get("agent_id")))
        payload = line.payload if record.get("type") == "Message" else None
        for _, item, said in records_in(payload) if isinstance(payload, dict) else ():
            key = key_of(item)
            self._models.take_record(key, self._own(record, item))
            if said:
                self._spoken.add(key)

    def _agent(self, text: Any) -> str | None:
        return self._roster.id_of(address_of(text))

    def _own(self, record: Record, item: Record) -> Record:
        """A record of AgentChat with its source as the trace calls that agent."""
        source = self._roster.source_of(_team_of(record), item.get("source"))
        return item if source == item.get("source") else {**item, "source": source}

    def add(self, line: CoreLine) -> None:
        """Add the next line."""
        record = line.record
        if record is None:
            self._settle_request()
            self._builder.message(None, line.text, kind="log", timestamp=line.moment, source_ref=line.ref)
            return
        kind = str(record.get("type"))
        self._kinds[kind] += 1
        if kind == "Message":
            self._message(line, record)
            return
        self._settle_request()
        if kind == "ToolCall":
            self._tool(line, record)
        elif kind in _MODEL_TYPES:
            self._models.add_unshown(line)
        elif kind in ("MessageHandlerException", "AgentConstructionException"):
            self._exception(line, record)
        else:
            self._app_message(line, record, "dropped" if kind == "MessageDropped" else "log")

    def close(self) -> None:
        """Settle what only the end can tell."""
        self._settle_request()
        self.conversation.add_saved(self._saved.rest())
        self._models.close()
        for agent, parent in self._roster.parents():
            self._builder.agent(agent, parent_agent_id=parent)
        for call_id, result in self._ran.items():
            if not self.conversation.has_result(call_id):
                self._builder.result(call_id, result, status="success")
        self.conversation.close()
        for what, count in self._copies.items():
            self._notes.add("copy", None, f"{what} ({count})")
        if self._deliveries:
            names = ("kind", "delivery_stage", "sender", "receiver", "payload")
            self._builder.extra["deliveries"] = [
                {name: value for name, value in zip(names, key, strict=True) if value is not None} | {"count": count}
                for key, count in self._deliveries.items()
            ]
        self._builder.count_types(self._kinds)

    # -- messages of the runtime --------------------------------------------------------

    def _message(self, line: CoreLine, record: Record) -> None:
        payload = line.payload
        opaque = payload if not isinstance(payload, dict) else None
        route = tuple(record.get(name) for name in ("kind", "delivery_stage", "sender", "receiver"))
        self._deliveries[(*map(text_of, route), text_of(opaque))] += 1
        sent = not str(record.get("delivery_stage")).endswith("DELIVER")
        sender, receiver = address_of(record.get("sender")), address_of(record.get("receiver"))
        if not isinstance(payload, dict):
            self._opaque(line, sender, receiver, sent)
        elif not payload:
            self._empty(line, sender, receiver, sent)
        elif records := list(records_in(payload)):
            self._aside(payload)
            for pointer, item, _ in records:
                self._record(line, pointer, item, record, sent)
        elif isinstance(payload.get("error"), dict):
            self._error(line, payload, sender)
        else:
            self._app_message(line, record, "chat")

    def _record(self, line: CoreLine, pointer: str, item: Record, record: Record, sent: bool) -> None:
        """A record of AgentChat: an event when this stream has brought it more often than there are events of it."""
        key = key_of(item)
        stream = (text_of(record.get("sender")), text_of(record.get("receiver")), sent, key)
        self._sent[stream] += 1
        fresh = self._sent[stream] > self._made[key] if sent else not self._made[key]
        if not fresh:
            self._copies["records that were sent or delivered again"] += 1
            return
        self._made[key] += 1
        ref = f"{line.ref}/payload{pointer}"
        item = self._own(record, item)
        self._settle_request(item)
        team = self._roster.members(_team_of(record))
        beside = Beside(team=team, spoken=key in self._spoken, timestamp=None if item.get("created_at") else line.moment)
        if (answer := self._models.answer_for(key)) is not None:
            beside = beside._replace(raw_response=answer.response, extra={"model_call": answer.facts} if answer.facts else None)
        if (entry := self._saved.take(item)) is not None:
            self._copies["records that other files of the run have, too"] += 1
            beside = beside._replace(holders=tuple(entry.holders))
            item = entry.record if isinstance(entry.record, dict) and len(entry.record) > len(item) else item
        self.conversation.add(ref, item, beside)
        self._note_calls(item)

    def _note_calls(self, item: Record) -> None:
        content, source = item.get("content"), item.get("source")
        if item.get("type") == "SelectSpeakerEvent" and isinstance(content, list) and len(content) == 1:
            self._chosen[str(source)] = str(content[0])
        if item.get("type") != "ToolCallRequestEvent" or not isinstance(content, list):
            return
        for call in content:
            if isinstance(call, dict) and isinstance(call.get("id"), str):
                what = (str(call.get("name")), key_of(decoded(call.get("arguments"))))
                self._open_tools.setdefault(what, []).append((text_of(source), call["id"]))

    def _aside(self, payload: Record) -> None:
        """What the start of a run says beside its messages."""
        rest = {
            key: value
            for key, value in payload.items()
            if key not in ("messages", "message", "response", "agent_response", "name", "agent_name")
        }
        rest = {key: value for key, value in rest.items() if value is not None}
        if rest:
            self._builder.meta(extra=rest)

    def _opaque(self, line: CoreLine, sender: Address | None, receiver: Address | None, sent: bool) -> None:
        """A message that the logger could not serialise: the end of a run, or an answer about which nothing is known."""
        if sent and sender is not None and receiver is not None and receiver.name == "output_topic":
            self._settle_request()
            event_id = self._builder.message(
                self._roster.id_of(sender), None, kind="termination", timestamp=line.moment, source_ref=line.ref
            )
            self._notes.add("derived", line.ref, "a manager's unreadable message to the output ends the run", event_id)
            return
        if sent and sender is not None and receiver is not None:
            self._settle_request()
            ids = self._roster.id_of(sender), str(self._roster.id_of(receiver))
            self._builder.message(ids[0], None, receivers=[ids[1]], timestamp=line.moment, source_ref=line.ref)
            return
        self._notes.add("wrapper", line.ref, "an answer that the logger could not serialise; counted in the trace's `extra.deliveries`")

    def _empty(self, line: CoreLine, sender: Address | None, receiver: Address | None, sent: bool) -> None:
        """An empty message: a manager asks an agent to speak, or the application resets one."""
        if not sent:
            self._copies["deliveries of messages without content"] += 1
            return
        self._settle_request()
        if sender is not None and receiver is not None:
            self._asked = (line, str(self._roster.id_of(sender)), str(self._roster.id_of(receiver)))
            return
        if receiver is not None:
            reset = str(self._roster.id_of(receiver))
            self._builder.message(None, None, receivers=[reset], kind="system", timestamp=line.moment, source_ref=line.ref)

    def _settle_request(self, following: Record | None = None) -> None:
        """A request to speak is an event of its own, unless the manager also says whom it selected."""
        if self._asked is None:
            return
        line, manager, agent = self._asked
        self._asked = None
        self.conversation.team.manages(manager)
        selects = following is not None and following.get("type") == "SelectSpeakerEvent" and following.get("source") == manager
        if self._chosen.pop(manager, None) == agent or (selects and following is not None and following.get("content") == [agent]):
            self._copies["requests to speak that a selection already tells"] += 1
            return
        self._builder.message(manager, None, receivers=[agent], kind="selection", timestamp=line.moment, source_ref=line.ref)

    def _app_message(self, line: CoreLine, record: Record, kind: str) -> None:
        """A message of an application's own type."""
        payload = line.payload
        sender, receiver = address_of(record.get("sender")), address_of(record.get("receiver"))
        sent = not str(record.get("delivery_stage")).endswith("DELIVER")
        key = key_of([record.get("sender"), payload, record.get("kind")])
        direct = receiver is not None and not str(record.get("kind")).endswith("PUBLISH")
        stream = (text_of(record.get("receiver")), sent, key)
        self._sent[stream] += 1
        fresh = self._sent[stream] > self._made[key] if sent else not self._made[key]
        if not fresh and kind == "chat":
            self._copies["deliveries of messages"] += 1
            if receiver is not None and not sent and (made := self._events.get(key)):
                self._builder.receive(made, [str(self._roster.id_of(receiver))])
            return
        self._made[key] += 1
        self._settle_request()
        content: Any = payload["content"] if isinstance(payload, dict) and payload.keys() == {"content"} else payload
        metadata = {"topic": receiver.name} if receiver is not None and not direct else {}
        rest = {
            name: value for name, value in record.items() if name not in ("type", "payload", "sender", "receiver", "kind", "delivery_stage")
        }
        self._events[key] = self._builder.message(
            self._roster.id_of(sender),
            content if isinstance(content, str) or content is None else (ContentPart(kind="data", value=content),),
            receivers=[str(self._roster.id_of(receiver))] if direct else (),
            kind=kind,
            metadata=metadata,
            timestamp=line.moment,
            source_ref=line.ref,
            extra={name: value for name, value in rest.items() if value is not None} or None,
        )

    # -- failures and tools ----------------------------------------------------------------

    def _error(self, line: CoreLine, payload: Record, sender: Address | None) -> None:
        key = key_of(payload)
        if self._made[key]:
            self._copies["errors that were delivered"] += 1
            return
        self._made[key] += 1
        self._settle_request()
        error = payload["error"]
        self._last_error = (self._roster.id_of(sender), error.get("error_message"))
        self._builder.message(
            self._roster.id_of(sender),
            text_of(error.get("error_message")),
            kind="error",
            metadata={name: value for name, value in error.items() if name != "error_message" and value is not None},
            timestamp=line.moment,
            source_ref=line.ref,
        )

    _last_error: tuple[str | None, Any] = (None, None)

    def _exception(self, line: CoreLine, record: Record) -> None:
        name = self._agent(record.get("handling_agent", record.get("agent_id")))
        if self._last_error == (name, record.get("exception")):
            self._notes.add("copy", line.ref, "the exception behind the error before it")
            return
        payload = line.payload
        self._builder.message(
            name,
            text_of(record.get("exception")),
            kind="error",
            metadata={"payload": payload} if payload else {},
            timestamp=line.moment,
            source_ref=line.ref,
        )

    def _tool(self, line: CoreLine, record: Record) -> None:
        """A tool that returned: the outcome of a call that a message asks for, or a call of its own."""
        caller = self._agent(record.get("agent_id"))
        name, arguments, result = text_of(record.get("tool_name")), record.get("arguments"), record.get("result")
        waiting = self._open_tools.get((str(name), key_of(arguments)), [])
        asked = next((asked for asked in waiting if caller in (None, asked[0])), None)
        if asked is not None:
            waiting.remove(asked)
            self._ran[asked[1]] = result
            self._copies["tool executions that stand with their calls"] += 1
            return
        rest = {key: value for key, value in record.items() if key not in ("type", "tool_name", "arguments", "result", "agent_id")}
        event_id = self._builder.call(caller, name, arguments, executor=caller, source_ref=line.ref, extra=rest or None)
        self._builder.result(f"call_{event_id}", result, status="success", completed_at=line.moment)


def _team_of(record: Record) -> str | None:
    """The team in which a message was sent."""
    for name in ("sender", "receiver"):
        if (address := address_of(record.get(name))) is not None and address.team is not None:
            return address.team
    return None
