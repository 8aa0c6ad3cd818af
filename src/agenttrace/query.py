"""select: the events of a trace that fit all the given conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from agenttrace.errors import UsageError
from agenttrace.model import CallStatus, ContentPart, Event, Message, SubtaskStatus, SubtaskUpdate, ToolCall, Trace
from agenttrace.times import order_key, parse_time

__all__ = ["EVENT_TYPES", "select"]

EVENT_TYPES = ("message", "tool_call", "artifact", "subtask")

Condition = Callable[[Event], bool]


def select(
    trace: Trace,
    *,
    agent: str | None = None,
    type: str | None = None,  # noqa: A002 - pinned name
    tool: str | None = None,
    status: str | None = None,
    subtask_status: str | None = None,
    since: str | None = None,
    until: str | None = None,
    text: str | None = None,
) -> Iterator[Event]:
    """The events that fit every condition that is given, in their order.

    Args:
        trace: the trace.
        agent: acted, sent, received, called, executed, or was assigned.
        type: ``message``, ``tool_call``, ``artifact`` or ``subtask``.
        tool: a tool call of this name.
        status: a tool call that ended so: ``success``, ``failure``, ``exception``, or ``none`` for no stated outcome.
        subtask_status: a subtask update that states this status.
        since: at this ISO time or later; a date alone is its beginning. Events without a time do not fit.
        until: before or at this ISO time; a date alone is its end. Events without a time do not fit.
        text: stands, in any letter case, in a text of the event: content, arguments, result, error, goal, reasoning.

    Raises:
        UsageError: a type, status or time that the format does not know.
    """
    _known("type", type, EVENT_TYPES)
    _known("status", status, (*get_args(CallStatus), "none"))
    _known("subtask_status", subtask_status, get_args(SubtaskStatus))
    conditions = list(_conditions(agent, type, tool, status, subtask_status, text))
    start, end = _moment(since, "since", "T00:00:00"), _moment(until, "until", "T23:59:59.999999999999")
    for event in trace.events:
        if start is not None or end is not None:
            time = event.timestamp or getattr(event.data, "completed_at", None)
            if time is None:
                continue
            key = order_key(time)
            if (start is not None and key < start) or (end is not None and key > end):
                continue
        if all(fits(event) for fits in conditions):
            yield event


def _conditions(
    agent: str | None, kind: str | None, tool: str | None, status: str | None, subtask_status: str | None, text: str | None
) -> Iterator[Condition]:
    if kind is not None:
        yield lambda event: event.data.__struct_config__.tag == kind
    if agent is not None:
        yield lambda event: agent in _agents(event)
    if tool is not None:
        yield lambda event: isinstance(event.data, ToolCall) and event.data.tool_name == tool
    if status is not None:
        wanted = None if status == "none" else status
        yield lambda event: isinstance(event.data, ToolCall) and event.data.status == wanted
    if subtask_status is not None:
        yield lambda event: isinstance(event.data, SubtaskUpdate) and event.data.status == subtask_status
    if text is not None:
        needle = text.casefold()
        yield lambda event: any(needle in found.casefold() for found in _texts(event))


def _known(name: str, value: str | None, options: tuple[str, ...]) -> None:
    if value is not None and value not in options:
        raise UsageError("usage", None, None, f"{name} {value!r:.40} is none of {', '.join(options)}")


def _moment(text: str | None, name: str, clock: str) -> str | None:
    """A condition on time as a key that sorts like the times of events, with or without a zone."""
    if text is None:
        return None
    time = parse_time(text) or parse_time(f"{text}{clock}")
    if time is None:
        raise UsageError("usage", None, None, f"{name} {text!r:.40} is no time", "write it like 2026-01-31 or 2026-01-31T12:00:00Z")
    return order_key(time)


def _agents(event: Event) -> tuple[str | None, ...]:
    data = event.data
    if isinstance(data, Message):
        return (event.agent_id, data.sender_id, *data.receiver_ids)
    if isinstance(data, ToolCall):
        return (event.agent_id, data.caller_id, data.executor_id)
    if isinstance(data, SubtaskUpdate):
        return (event.agent_id, *data.assigned_to)
    return (event.agent_id,)


def _texts(event: Event) -> Iterator[str]:
    """The texts of an event, nested values included. Iterative: arguments may be nested deeply."""
    data = event.data
    stack: list[object] = [event.reasoning, event.raw_response]
    stack += [getattr(data, name, None) for name in ("content", "arguments", "result", "error", "goal", "name", "uri", "tool_name")]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, ContentPart):
            stack += (item.text, item.uri, item.value)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield str(item)
