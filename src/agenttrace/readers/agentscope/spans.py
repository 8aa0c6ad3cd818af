"""The OpenTelemetry spans of AgentScope 1.x, as the console exporter writes them, a line each.

Facts from ``agentscope/tracing`` of 1.0.21: ``invoke_agent NAME`` holds ``format …``, ``chat MODEL`` and ``execute_tool NAME``; attributes
are those of the GenAI conventions and ``agentscope.function.input`` and ``output``, which repeat whole histories as printed
objects. ``gen_ai.conversation.id`` is that of the run: agents of a hub have no span around them. A tool that failed has
the status OK.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.misfits import misfits
from agenttrace.model import Span, ToolDescription
from agenttrace.notes import Notes
from agenttrace.readers.agentscope.blocks import Outcome, outcome_of
from agenttrace.readers.agentscope.messages import usage_of
from agenttrace.reprs import parse_repr

__all__ = ["fill_spans", "is_span", "runs_of"]

Item = dict[str, Any]

_OPERATION = "gen_ai.operation.name"
_CALL = "gen_ai.tool.call.id"
_MAPPED = {
    *(_OPERATION, _CALL, "gen_ai.tool.name", "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
    *("gen_ai.agent.name", "gen_ai.agent.description", "gen_ai.agent.id", "gen_ai.conversation.id", "gen_ai.request.model"),
    *("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.input.messages", "gen_ai.output.messages"),
    *("gen_ai.tool.definitions", "agentscope.function.input", "agentscope.function.output"),
}


_KINDS = {"start_time": str, "end_time": str, "parent_id": str, "status": dict}
_ATTRIBUTE_KINDS = {
    **dict.fromkeys((_CALL, "gen_ai.tool.name", "gen_ai.agent.name", "gen_ai.agent.description", "gen_ai.request.model"), str),
    **dict.fromkeys(("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"), int),
}


def is_span(value: Any) -> bool:
    """Whether a record is a span of AgentScope."""
    attributes = value.get("attributes") if isinstance(value, dict) else None
    return isinstance(attributes, dict) and "agentscope.function.name" in attributes and isinstance(value.get("context"), dict)


def runs_of(records: list[tuple[str, Any]], notes: Notes) -> list[list[tuple[str, Item]]]:
    """The spans of each run, by the conversation that they name, else by their trace."""
    runs: dict[str, list[tuple[str, Item]]] = {}
    for ref, span in records:
        if not isinstance(span, dict) or not isinstance(span.get("attributes"), dict) or not isinstance(span.get("context"), dict):
            notes.drop("unreadable", ref, "no span", span)
            continue
        named = span["attributes"].get("gen_ai.conversation.id", span["context"].get("trace_id"))
        runs.setdefault(str(named), []).append((ref, span))
    return list(runs.values())


def fill_spans(builder: TraceBuilder, notes: Notes, spans: list[tuple[str, Item]]) -> None:
    """Fill a builder from the spans of one run."""
    run = _Run(builder, notes, spans)
    for ref, span in sorted(spans, key=lambda entry: str(entry[1].get("start_time"))):
        run.add(ref, span)
    run.close()


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes, spans: list[tuple[str, Item]]) -> None:
        self._builder = builder
        self._notes = notes
        self._by_id = {str(span["context"].get("span_id")): span for _, span in spans}
        self._executed = {str(span["attributes"].get(_CALL)) for _, span in spans if _of(span) == "execute_tool"}
        self._turns: dict[str, str] = {}  # call -> turn that asked for it
        self._answers: list[tuple[str, str | None, Item]] = []  # of invocations: place, agent, span
        self._described: set[str] = set()
        self._has_chats = any(_of(span) == "chat" for _, span in spans)
        self._waiting: dict[str, Item] = {}  # turn -> what its first call is given
        self._said: dict[tuple[str, str], str] = {}  # name and text -> event
        self._told: set[tuple[str, str, str]] = set()  # agent, name and text that its prompt had
        self._kinds: Counter[str] = Counter()
        self._copies = 0

    def add(self, ref: str, span: Item) -> None:
        """Add a span."""
        kind = _of(span)
        if isinstance(begun := span.get("start_time"), str):
            self._answer(begun)
        self._kinds[str(span.get("name"))] += 1
        conversation = _parsed(span["attributes"].get("gen_ai.conversation.id"))
        self._builder.meta(session_id=conversation if isinstance(conversation, str) else None)
        if kind == "invoke_agent":
            self._invoke(ref, span)
        elif kind == "chat":
            self._chat(ref, span)
        elif kind == "execute_tool":
            self._execute(ref, span)
        elif kind == "format":
            made = _parsed(span["attributes"].get("agentscope.function.output"))
            self._prompt(f"{ref}/attributes/agentscope.function.output", span, made if isinstance(made, list) else [])
            self._notes.add("wrapper", ref, "the prompt of the next call of the model, made ready")
        else:
            event = self._event(ref, span)
            if (named := span["attributes"].get(_OPERATION)) is not None:
                event["extra"] = {**(event["extra"] or {}), _OPERATION: named}
            self._builder.message(self._agent(span), str(span.get("name")), kind="log", **event)
        for key in ("kind", "resource"):
            if span.get(key) is not None:
                self._builder.extra.setdefault("spans", {}).setdefault(key, span[key])

    def close(self) -> None:
        """What agents answered, where no call of a model says it, and what was repeated."""
        self._answer(None)
        self._builder.count_types(self._kinds)
        if self._waiting:
            self._builder.extra["model_calls"] = [{"turn_id": turn, **held["extra"]} for turn, held in self._waiting.items()]
        if self._copies:
            self._notes.add(
                "copy", None, f"agentscope.function.input and output ({self._copies}): histories and answers as printed objects"
            )

    def _answer(self, moment: str | None) -> None:
        """End the invocations that were over by then: their answers come before anybody's prompt that has them."""
        asked, self._answers = self._answers, []
        for ref, name, span in asked:
            if moment is not None and str(span.get("end_time")) > moment:
                self._answers.append((ref, name, span))
                continue
            own = str(span["context"].get("span_id"))
            ended = self._event(ref, span, "end_time", place="/end_time") | {"extra": None, "span": None}
            ended.pop("subtask_id")
            for index, message in enumerate(_listed(span["attributes"].get("gen_ai.output.messages"))):
                text = _text_of(message)
                self._count(message)
                if text and (name or "", text) not in self._said:
                    event = {**ended, "subtask_id": own, "source_ref": f"{ref}/attributes/gen_ai.output.messages/{index}"}
                    self._said[name or "", text] = self._builder.message(name, text, **event)
            self._builder.subtask(own, agent=name, status="completed", event=ended)

    # -- around a span -----------------------------------------------------------------------------

    def _around(self, span: Item) -> Iterator[Item]:
        """The spans around a span, the nearest first."""
        seen: set[str] = set()
        parent = span.get("parent_id")
        while isinstance(parent, str) and parent in self._by_id and parent not in seen:
            seen.add(parent)
            span = self._by_id[parent]
            yield span
            parent = span.get("parent_id")

    def _invocation(self, span: Item) -> Item | None:
        return next((around for around in self._around(span) if _of(around) == "invoke_agent"), None)

    def _agent(self, span: Item) -> str | None:
        around = self._invocation(span)
        return _name(around) if around is not None else None

    def _event(self, ref: str, span: Item, time: str = "start_time", *, place: str = "") -> Item:
        around, context, attributes = self._invocation(span), span["context"], span["attributes"]
        self._copies += sum(f"agentscope.function.{side}" in attributes for side in ("input", "output"))
        extra = {key: item for key, item in attributes.items() if key not in _MAPPED and item is not None}
        for key in ("events", "links"):
            if span.get(key):
                extra[key] = span[key]
        status = span.get("status")
        code = status.get("status_code") if isinstance(status, dict) else None
        if isinstance(status, dict) and (code not in ("OK", "UNSET") or status.get("description")):
            extra["span.status"] = status
        rest = {key: item for key, item in context.items() if key not in ("trace_id", "span_id") and item not in (None, "", "[]")}
        rest |= misfits(context, {"trace_id": str, "span_id": str})
        if rest:
            extra["span.context"] = rest
        extra |= misfits(span, _KINDS, "span.") | misfits(attributes, _ATTRIBUTE_KINDS)
        conversation = _parsed(attributes.get("gen_ai.conversation.id"))
        if conversation is not None and not isinstance(conversation, str):
            extra["gen_ai.conversation.id"] = conversation
        for key in ("gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.tool.definitions"):
            listed = _parsed(attributes.get(key))
            if listed is not None and (not isinstance(listed, list) or len(_listed(listed)) != len(listed)):
                extra[key] = listed
        moment = span.get(time)
        ids = (context.get("trace_id"), context.get("span_id"), span.get("parent_id"))
        trace_id, span_id, parent_id = (item if isinstance(item, str) else None for item in ids)
        return {
            "timestamp": moment if isinstance(moment, str) else None,
            "subtask_id": str(around["context"].get("span_id")) if around is not None else None,
            "span": Span(trace_id=trace_id, span_id=span_id, parent_span_id=parent_id),
            "source_ref": f"{ref}{place}",
            "extra": extra or None,
        }

    # -- kinds of spans ------------------------------------------------------------------------------

    def _count(self, message: Item) -> None:
        words = [message.get("role"), message.get("finish_reason"), *(part.get("type") for part in _parts(message))]
        self._kinds.update(word for word in words if isinstance(word, str) and word)

    def _invoke(self, ref: str, span: Item) -> None:
        """An agent is asked to reply: work that encloses what it says and calls."""
        attributes, own = span["attributes"], str(span["context"].get("span_id"))
        name = _name(span)
        around = self._invocation(span)
        asked_by = _name(around) if around is not None else None
        if name is not None:
            identity, description = attributes.get("gen_ai.agent.id"), attributes.get("gen_ai.agent.description")
            extra = {"id": identity} if identity is not None else None
            self._builder.agent(name, description=description if isinstance(description, str) else None, extra=extra)
        begun = self._event(ref, span)
        begun.pop("subtask_id")
        parent = str(around["context"].get("span_id")) if around is not None else None
        assigned = (name,) if name is not None else ()
        self._builder.subtask(own, agent=asked_by, parent_task_id=parent, assigned_to=assigned, status="created", event=begun)
        for index, message in enumerate(_listed(attributes.get("gen_ai.input.messages"))):
            self._count(message)
            sender = message.get("name") if isinstance(message.get("name"), str) else None
            place = f"{ref}/attributes/gen_ai.input.messages/{index}"
            text = _text_of(message)
            if (sender or "", text) not in self._said:
                event: Item = {"timestamp": begun["timestamp"], "source_ref": place, "subtask_id": own}
                made = self._builder.message(sender, text, receivers=assigned, **event)
                self._said[sender or "", text] = made
            if name is not None:
                self._told.add((name, sender or "", text))
        self._answers.append((ref, name, span))

    def _chat(self, ref: str, span: Item) -> None:
        """The model is asked, and answers with texts and calls."""
        attributes, agent = span["attributes"], self._agent(span)
        given = _parsed(attributes.get("agentscope.function.input"))
        arguments = given.get("args") if isinstance(given, dict) else None
        messages = arguments[0] if isinstance(arguments, list) and arguments and isinstance(arguments[0], list) else []
        self._prompt(f"{ref}/attributes/agentscope.function.input/args/0", span, messages)
        model = attributes.get("gen_ai.request.model")
        model = model if isinstance(model, str) else None
        figures = {name: attributes.get(f"gen_ai.usage.{name}") for name in ("input_tokens", "output_tokens")}
        usage = usage_of(figures, model)
        turn = f"turn:{span['context'].get('span_id')}"
        event = {**self._event(ref, span, "end_time"), "turn_id": turn, "usage": usage}
        if agent is not None:
            tools = _tools(attributes.get("gen_ai.tool.definitions"))
            self._described.update(tool.description for tool in tools or () if tool.description is not None)
            self._builder.agent(agent, model=model, tools=tools)
        made = 0
        thoughts: list[str] = []
        for index, message in enumerate(_listed(attributes.get("gen_ai.output.messages"))):
            self._count(message)
            for number, part in enumerate(_parts(message)):
                place = f"{ref}/attributes/gen_ai.output.messages/{index}/parts/{number}"
                own = (
                    {**event, "source_ref": place} if not made else {"turn_id": turn, "timestamp": event["timestamp"], "source_ref": place}
                )
                own |= {"subtask_id": event["subtask_id"]}
                if part.get("type") == "tool_call":
                    call_id = part.get("id") if isinstance(part.get("id"), str) else None
                    self._turns[str(call_id)] = turn
                    if call_id not in self._executed:
                        tool = part.get("name") if isinstance(part.get("name"), str) else None
                        self._builder.call(agent, tool, part.get("arguments"), call_id=call_id, **own)
                        made += 1
                elif part.get("type") in ("reasoning", "thinking"):
                    thoughts.append(str(part.get("content")))
                else:
                    said = part.get("content")
                    text = said if isinstance(said, str) else json.dumps(part, ensure_ascii=False)
                    if thoughts:
                        own["reasoning"] = "\n".join(thoughts)
                        thoughts = []
                    self._said[agent or "", text] = self._builder.message(agent, text, **own)
                    made += 1
        if not made:  # only calls that are spans of their own: the turn begins with the first of them
            told = {"span": span["context"].get("span_id"), **(event["extra"] or {})}
            self._waiting[turn] = {"usage": usage, "reasoning": "\n".join(thoughts) or None, "extra": {"model_call": told}}

    def _prompt(self, place: str, span: Item, messages: list[Any]) -> None:
        """What a prompt shows for the first time: the system prompt, messages of others; of the agent itself, where no call says it."""
        agent, moment = self._agent(span), span.get("start_time")
        around = self._invocation(span)
        within = str(around["context"].get("span_id")) if around is not None else None
        for index, message in enumerate(messages):
            if not isinstance(message, dict) or agent is None:
                continue
            role, name, text = message.get("role"), message.get("name"), _text_of(message)
            if role == "system":
                self._builder.agent(agent, system_prompt=text)
                continue
            sender = name if isinstance(name, str) else agent if role == "assistant" else ""
            own = sender == agent
            if role not in ("user", "assistant") or not text or (own and self._has_chats) or (agent, sender, text) in self._told:
                continue
            self._told.add((agent, sender, text))
            known = self._said.get((sender, text))
            if known is not None:
                self._builder.receive(known, [] if own else [agent])
                continue
            event: Item = {"timestamp": moment if isinstance(moment, str) else None, "source_ref": f"{place}/{index}", "subtask_id": within}
            self._said[sender, text] = self._builder.message(sender or None, text, receivers=[] if own else [agent], **event)

    def _execute(self, ref: str, span: Item) -> None:
        """A tool runs."""
        attributes, agent = span["attributes"], self._agent(span)
        call, tool, ended = attributes.get(_CALL), attributes.get("gen_ai.tool.name"), span.get("end_time")
        call_id = call if isinstance(call, str) and call else None
        event = self._event(ref, span)
        turn = self._turns.get(str(call_id))
        if event["extra"] is not None and attributes.get("gen_ai.tool.description") in self._described:
            del event["extra"]["gen_ai.tool.description"]
        waiting = self._waiting.pop(turn, None) if turn is not None else None
        if waiting is not None:
            event |= {**waiting, "extra": {**(event["extra"] or {}), **waiting["extra"]}}
        made = self._builder.call(
            agent,
            tool if isinstance(tool, str) and tool else None,
            attributes.get("gen_ai.tool.call.arguments"),
            call_id=call_id,
            turn_id=turn,
            **event,
        )
        outcome, rest = _returned(attributes.get("gen_ai.tool.call.result"))
        status = span.get("status")
        raised = isinstance(status, dict) and status.get("status_code") == "ERROR"
        self._builder.result(
            call_id if call_id is not None else f"call_{made}",
            outcome.result,
            status="exception" if raised else outcome.status,
            error=(status.get("description") or outcome.error) if raised and isinstance(status, dict) else outcome.error,
            completed_at=ended if isinstance(ended, str) else None,
            caller=agent,
            extra=rest or None,
        )


# -- values ------------------------------------------------------------------------------------------


def _of(span: Item) -> str:
    return str(span["attributes"].get(_OPERATION))


def _name(span: Item | None) -> str | None:
    name = span["attributes"].get("gen_ai.agent.name") if span is not None else None
    return name if isinstance(name, str) and name else None


def _parsed(value: Any) -> Any:
    """A value, or what stands in it as JSON."""
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def _listed(value: Any) -> list[Item]:
    found = _parsed(value)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _parts(message: Item) -> list[Item]:
    parts = message.get("parts", message.get("content"))
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _text_of(message: Item) -> str:
    """The text of a message, of parts or of blocks."""
    if isinstance(message.get("content"), str):
        return str(message["content"])
    texts = [part.get("content", part.get("text")) for part in _parts(message)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _tools(value: Any) -> tuple[ToolDescription, ...] | None:
    made = []
    for item in _listed(value):
        description = item.get("description")
        if isinstance(item.get("name"), str):
            told = description if isinstance(description, str) else None
            made.append(ToolDescription(name=item["name"], description=told, parameters=item.get("parameters")))
    return tuple(made) or None


def _returned(value: Any) -> tuple[Outcome, Item]:
    """What a tool returned: ``ToolResponse(content=[…], …)`` as printed; what it says beside its content."""
    text = _parsed(value)
    printed = parse_repr(text) if isinstance(text, str) else None
    if printed is None or not isinstance(printed.value, dict) or "content" not in printed.value:
        return outcome_of({"output": text}), {}
    rest = {key: item for key, item in printed.value.items() if key not in ("content", "id") and item not in (None, False, True, [], {})}
    return outcome_of({"output": printed.value["content"]}), {"tool_response": rest} if rest else {}
