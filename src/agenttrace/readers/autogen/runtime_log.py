"""AutoGen 0.2 ``runtime_logging``: from the rows of a session to one conversation.

The log has no record of a message as such. It has who received what (``received_message``),
what an agent's reply functions answered (``reply_func_executed``), what models answered
(``chat_completions``) and which functions ran (``function_calls``): one message stands in
several of them, and here they become one. Facts from ``autogen`` 0.2.35:

* ``receive`` logs every message with its sender; a group chat manager relays each message
  to all members, with the author in ``name``.
* A model's answer is the reply of ``generate_oai_reply``, and that is what the peer receives.
* ``function_calls`` holds only calls that returned, without the call's id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from agenttrace.builder import TraceBuilder
from agenttrace.model import Lifecycle, ToolDescription
from agenttrace.notes import Notes
from agenttrace.readers.autogen.chat import Dialogue
from agenttrace.readers.autogen.chat_lists import Item, Told, ToldItem, key_of, told_list
from agenttrace.readers.autogen.records import text_of
from agenttrace.readers.autogen.runtime_answers import answer_in, is_tool, models_of, usage_of_answer
from agenttrace.readers.autogen.runtime_rows import Row, Session, decoded
from agenttrace.times import parse_time

__all__ = ["fill_session"]

_ROW_FACTS = ("invocation_id", "client_id", "wrapper_id", "is_cached", "start_time", "end_time", "thread_id")
_SHOWN = ("content", "tool_calls", "function_call", "tool_call_id")
_OF_AGENT = ("source_id", "agent_module", "agent_class_name", "thread_id")


@dataclass
class _Entry(ToldItem):
    """A message of the conversation. ``passing``: an answer that nobody is known to have received, until a row says so."""

    key: tuple[Any, ...] = ()
    passing: bool = False


@dataclass
class _Call:
    """A call that a message asks for; ``ran`` once a row shows that it did."""

    entry: _Entry
    call_id: str
    name: str
    ran: bool = False


class _Run(NamedTuple):
    """A function that ran for a call that a message asks for."""

    ref: str
    call_id: str
    name: str
    moment: str | None
    returns: Any


def fill_session(builder: TraceBuilder, notes: Notes, session: Session) -> None:
    """Fill a builder from a session."""
    builder.meta(session_id=session.identity)
    conversation = _Conversation(builder, notes)
    for row in session.rows:
        conversation.add(row)
    conversation.close()


class _Conversation:
    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._entries: list[_Entry] = []
        self._last_received: dict[str, _Entry] = {}
        self._known: set[tuple[Any, ...]] = set()
        self._tools: dict[str, dict[str, ToolDescription]] = {}
        self._agents: dict[str, dict[str, Any]] = {}
        self._seen: dict[str, dict[str, list[Any]]] = {}
        self._said: dict[tuple[str | None, tuple[Any, ...]], list[_Entry]] = {}  # by author and text
        self._passing: dict[tuple[str | None, tuple[Any, ...]], list[_Entry]] = {}
        self._calls: dict[tuple[tuple[Any, ...], str | None], list[_Call]] = {}  # by arguments and name, and by arguments alone
        self._ran: dict[tuple[str | None, str], list[_Run]] = {}  # by executor, and the call's id or name
        self._aside: dict[str, list[Any]] = {}
        self._kinds: dict[str, int] = {}

    def add(self, row: Row) -> None:
        """Add the next row."""
        name = str(row.values["event_name"]) if row.kind == "event" and "event_name" in row.values else row.kind
        self._kinds[name] = self._kinds.get(name, 0) + 1
        state = row.values.get("json_state")
        if row.kind in ("event", "function"):
            self._see(row.values)
        if row.kind == "text":
            self._append(row.ref, {"content": "\n".join(row.values["lines"])}, Told(None, [], kind="log"))
        elif row.kind == "agent":
            self._agent(row)
        elif row.kind == "completion":
            self._completion(row)
        elif row.kind == "function":
            self._function(row)
        elif name == "received_message" and isinstance(state, dict) and "message" in state:
            self._received(row, state)
        elif name == "reply_func_executed" and isinstance(state, dict):
            self._reply(row, state)
        elif row.kind == "event":
            self._other_event(row)
        else:
            values = {key: value for key, value in row.values.items() if key != "session_id"}
            self._aside.setdefault(f"{row.kind}s", []).append({"source_ref": row.ref, **values})

    def close(self) -> None:
        """Hand the conversation over."""
        for (executor, _), runs in list(self._ran.items()):
            for run in runs.copy():  # the call returned, but no row shows that anybody received its result
                self._append(run.ref, _answer_of(run), Told(executor, [], timestamp=run.moment))
        if self._aside:
            self._builder.meta(extra=self._aside)
            self._notes.add("aside", None, f"rows of {', '.join(self._aside)}, in `meta.extra`")
        for name, seen in self._seen.items():
            facts = {key: values[0] if len(values) == 1 else values for key, values in seen.items() if values}
            fields = self._agents.setdefault(name, {"name": name, "extra": {}})
            fields["extra"] |= facts
        for name, fields in self._agents.items():
            self._builder.agent(name, **fields)
        for name, tools in self._tools.items():
            self._builder.agent(name, name=name, tools=tuple(tools.values()))
        dialogue = Dialogue(self._builder, self._notes)
        dialogue.add(told_list([entry for entry in self._entries if entry.item]))
        dialogue.close()
        self._builder.count_types(self._kinds)

    # -- agents ----------------------------------------------------------------------

    def _agent(self, row: Row) -> None:
        """An agent that was made. The line logger has a row for each constructor, the outermost last."""
        values = {key: value for key, value in row.values.items() if key not in ("id", "session_id")}
        name = text_of(values.pop("name", None)) or "unknown"
        given = values.pop("init_args", None)
        config = dict(given) if isinstance(given, dict) else {} if given is None else {"init_args": given}
        if config.get("name") == name:
            del config["name"]
        fields: dict[str, Any] = {"name": name}
        for key, field_name in (("system_message", "system_prompt"), ("description", "description")):
            if isinstance(config.get(key), str):
                fields[field_name] = config.pop(key)
        if "system_prompt" in fields:
            self._known.add(key_of({"content": fields["system_prompt"]}))
        models = set(models_of(config.get("llm_config")))
        if len(models) == 1:
            fields["model"] = models.pop()
        earlier = self._agents.get(name)
        made = parse_time(str(values.pop("timestamp", None)))
        if earlier is not None:
            before = earlier.pop("config", {})
            before |= {key: earlier[key] for key in ("system_prompt", "description") if earlier.get(key) not in (None, fields.get(key))}
            config["constructors"] = [*before.pop("constructors", ()), before]
            fields = {**earlier, **fields}
        elif made is not None:
            fields["lifecycle"] = Lifecycle(started_at=made)
        self._agents[name] = {**fields, "config": config, "extra": {"registered": {"source_ref": row.ref, **values}}}

    def _see(self, values: dict[str, Any]) -> None:
        """What every event says of the agent it happened to."""
        seen = self._seen.setdefault(text_of(values.get("source_name")) or "unknown", {})
        for key in _OF_AGENT:
            known = seen.setdefault(key, [])
            if (value := values.get(key)) is not None and value not in known:
                known.append(value)

    # -- messages --------------------------------------------------------------------

    def _received(self, row: Row, state: dict[str, Any]) -> None:
        message, sender, receiver = state["message"], text_of(state.get("sender")), text_of(row.values.get("source_name"))
        item: Item = dict(message) if isinstance(message, dict) else {"content": message}
        key = key_of(item)
        author = item.get("name")
        relayed = isinstance(author, str) and author != sender and item.get("role") != "function"
        if relayed and (entry := self._relayed(key, str(author), sender, receiver)):
            entry.told.receivers.append(str(receiver))
            entry.item.setdefault("role", item.get("role"))
            self._notes.add("copy", row.ref, f"{entry.ref} again, relayed by {sender} to {receiver}")
            self._last_received[str(receiver)] = entry
            return
        told = self._taken(str(author) if relayed else sender, key, row.ref) or Told(None, [])
        told.sender = str(author) if relayed else sender
        told.receivers = [receiver] if receiver is not None else []
        told.timestamp = text_of(row.values.get("timestamp"))
        told.kind = "chat"
        if relayed:
            told.metadata["relayed_by"] = sender
        rest = {
            name: value for name, value in state.items() if name not in ("message", "sender") and value is not True and value is not None
        }
        if rest:
            told.extra["state"] = rest
        entry = self._append(row.ref, item, told)
        if receiver is not None:
            self._last_received[receiver] = entry

    def _relayed(self, key: tuple[Any, ...], author: str, manager: str | None, receiver: str | None) -> _Entry | None:
        """The message that a manager passes on: the author's last of that text to the manager which the receiver does not have."""
        for entry in reversed(self._said.get((author, key), ())):
            if manager in entry.told.receivers and receiver not in entry.told.receivers:
                return entry
        return None

    def _reply(self, row: Row, state: dict[str, Any]) -> None:
        """What a reply function made of the last message: a note on that message, and its answer if it is one."""
        agent = text_of(row.values.get("source_name"))
        reply = state.get("reply")
        ran = {
            "function": state.get("reply_func_name"),
            "module": state.get("reply_func_module"),
            "final": state.get("final"),
        }
        ran["timestamp"] = row.values.get("timestamp")
        if (asked := self._last_received.get(str(agent))) is not None:
            asked.told.extra.setdefault("reply_functions", {}).setdefault(str(agent), []).append(ran)
        else:
            self._aside.setdefault("reply_functions", []).append({"agent": agent, **ran})
        if reply is None:
            return
        item: Item = dict(reply) if isinstance(reply, dict) else {"content": reply}
        key = key_of(item)
        told = self._taken(agent, key, row.ref) or Told(agent, [])
        told.timestamp = text_of(row.values.get("timestamp"))
        told.kind = "chat"
        self._append(row.ref, item, told, passing=True)

    def _taken(self, agent: str | None, key: tuple[Any, ...], ref: str) -> Told | None:
        """What is known of an answer that a later row shows again; the later one stands for it."""
        waiting = self._passing.get((agent, key))
        if not waiting:
            return None
        entry = waiting.pop()
        entry.item = {}
        self._notes.add("copy", entry.ref, f"what {ref} says again")
        return entry.told

    def _append(self, ref: str, item: Item, told: Told, *, passing: bool = False) -> _Entry:
        key = key_of(item)
        self._known.add(_heard(item))
        answers = item.get("tool_responses")
        self._known.update(map(_heard, answers if isinstance(answers, list) else ()))
        self._settle_runs(item, told)
        entry = _Entry(ref, item, told, key, passing)
        self._entries.append(entry)
        (self._passing if passing else self._said).setdefault((told.sender, key), []).append(entry)
        if not passing:
            for call_id, name, arguments in _calls_of(item):
                call = _Call(entry, call_id, name)
                for known in (name, None):
                    self._calls.setdefault((key_of(arguments), known), []).append(call)
        return entry

    def _settle_runs(self, item: Item, told: Told) -> None:
        """An answer with results: when the functions returned, and what, if the answer says it in other words."""
        answers = item.get("tool_responses") or ([item] if item.get("role") == "function" else [])
        for answer in answers if isinstance(answers, list) else ():
            name = str(answer.get("tool_call_id") or answer.get("name")) if isinstance(answer, dict) else ""
            if waiting := self._ran.get((told.sender, name)):
                run = waiting.pop(0)
                if run.moment is not None:
                    told.completed_at[run.call_id or run.name] = run.moment
                if not _same_result(run.returns, answer.get("content")):
                    told.extra.setdefault("returns", {})[run.call_id or run.name] = run.returns

    def _other_event(self, row: Row) -> None:
        values = dict(row.values)
        agent, moment = text_of(values.pop("source_name", None)), text_of(values.pop("timestamp", None))
        content = values.pop("json_state", None)
        item = {"content": content if isinstance(content, str) else [content]}
        self._append(row.ref, item, Told(agent, [], timestamp=moment, kind="log", extra={"event": values}))

    # -- models ------------------------------------------------------------------------

    def _completion(self, row: Row) -> None:
        """A model's answer: it stands for itself until a reply or a message shows it again."""
        values = row.values
        agent = text_of(values.get("source_name"))
        response = values.get("response")
        answer = answer_in(response)
        facts = {name: values[name] for name in _ROW_FACTS if name in values}
        request = self._request(agent, values.get("request"), row.ref)
        if request:
            facts["request"] = request
        rest = {name: value for name, value in values.items() if name not in (*_ROW_FACTS, "id", "source_name", "session_id", "cost")}
        facts |= {name: value for name, value in rest.items() if name not in ("request", "response")}
        told = Told(
            agent,
            [],
            timestamp=text_of(values.get("end_time")),
            kind="log",
            usage=usage_of_answer(answer, values.get("cost")),
            raw_response=response,
            extra={"completion": facts},
        )
        self._append(row.ref, answer.get("message") or {"content": None}, told, passing=True)

    def _request(self, agent: str | None, request: Any, ref: str) -> Any:
        """What of a request stands nowhere else: its messages repeat the conversation, its tools are the agent's."""
        if not isinstance(request, dict):
            return request
        rest = dict(request)
        messages = rest.get("messages")
        if isinstance(messages, list):
            self._prompt(agent, messages)
            new = [message for message in messages if _heard(message) not in self._known]
            if len(new) < len(messages):
                self._notes.add("copy", f"{ref}/request/messages", f"{len(messages) - len(new)} messages that the log has already")
            rest["messages"] = new or None
            self._known.update(map(_heard, new))
        tools = rest.get("tools")
        if agent is not None and isinstance(tools, list) and all(map(is_tool, tools)):
            for tool in tools:
                function = tool["function"]
                made = ToolDescription(
                    name=function["name"], description=function.get("description"), parameters=function.get("parameters")
                )
                self._tools.setdefault(agent, {})[made.name] = made
            del rest["tools"]
        return {name: value for name, value in rest.items() if value is not None}

    def _prompt(self, agent: str | None, messages: list[Any]) -> None:
        """The system message of an agent whose making the log does not show."""
        first = messages[0] if messages and isinstance(messages[0], dict) else {}
        prompt = first.get("content")
        if agent is not None and agent not in self._agents and first.get("role") == "system" and isinstance(prompt, str):
            self._agents[agent] = {"name": agent, "system_prompt": prompt, "extra": {}}
            self._known.add(key_of({"content": prompt}))

    # -- functions -------------------------------------------------------------------------

    def _function(self, row: Row) -> None:
        """A function that ran: the time of the result of a call, or a call that no message asked for."""
        values = row.values
        executor, name, moment = text_of(values.get("source_name")), values.get("function_name"), text_of(values.get("timestamp"))
        arguments = decoded(values.get("args"))
        returns = values.get("returns")
        waiting = self._calls.get((key_of(arguments), name if isinstance(name, str) else None), [])
        while waiting and waiting[-1].ran:
            waiting.pop()
        for call in reversed(waiting):
            if not call.ran and executor in call.entry.told.receivers:
                call.ran = True
                self._ran.setdefault((executor, call.call_id or call.name), []).append(
                    _Run(row.ref, call.call_id, call.name, moment, returns)
                )
                self._notes.add("copy", row.ref, f"the call of {call.name} that {call.entry.ref} asks for")
                return
        call_id = f"function:{row.ref}"
        asked = {"id": call_id, "type": "function", "function": {"name": name, "arguments": values.get("args")}}
        self._append(row.ref, {"tool_calls": [asked]}, Told(None, []))
        returned = {"tool_call_id": call_id, "role": "tool", "content": returns}
        self._append(row.ref, {"role": "tool", "tool_responses": [returned]}, Told(executor, [], timestamp=moment))


def _heard(message: Any) -> tuple[Any, ...]:
    """What a model is shown of a message."""
    return key_of({key: message[key] for key in _SHOWN if key in message} if isinstance(message, dict) else message)


def _answer_of(run: _Run) -> Item:
    if not run.call_id:
        return {"role": "function", "name": run.name, "content": run.returns}
    return {"role": "tool", "tool_responses": [{"tool_call_id": run.call_id, "role": "tool", "content": run.returns}]}


def _same_result(returns: Any, content: Any) -> bool:
    """Whether a returned value, which the log holds as JSON, is what the answer says."""
    if returns is None or returns == content:
        return True
    try:
        value = orjson.loads(returns) if isinstance(returns, str) else returns
    except orjson.JSONDecodeError:
        return False
    return content in (value, str(value)) or (isinstance(content, str) and decoded(content) == value)


def _calls_of(item: Item) -> Iterator[tuple[str, str, Any]]:
    """Id, name and parsed arguments of the calls that a message asks for."""
    calls = item.get("tool_calls")
    legacy: dict[str, Any] = {"function": item.get("function_call")}
    for call in [*(calls if isinstance(calls, list) else ()), legacy]:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield str(call.get("id") or ""), str(function.get("name")), decoded(function.get("arguments"))
