"""Hypothesis strategies that make valid traces: all four kinds of events, every optional field, text of all scripts.

``traces()`` is the one to use. Whatever it makes keeps every rule of the format page,
warnings included, so that a test may break one rule and see just that one reported.

The strategies for plain values are made once; which optional fields are set is drawn as
one bit mask. Both keep a trace of many fields at some milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar, get_args

import orjson
from hypothesis import strategies as st

from agenttrace import model
from agenttrace.codec import dumps
from agenttrace.model import (
    AgentInstance,
    Annotation,
    Artifact,
    Attempt,
    ContentPart,
    DependencyLink,
    Event,
    EventData,
    ExecutionResult,
    Lifecycle,
    Message,
    Profiling,
    SourceInfo,
    Span,
    SubtaskUpdate,
    ToolCall,
    ToolDescription,
    Trace,
    TraceMeta,
    Usage,
)

__all__ = ["as_time", "documents", "json_values", "moments", "names", "texts", "traces"]

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]
Choices = Mapping[str, st.SearchStrategy[Any]]

_EPOCH = datetime(2026, 1, 31, 23, 59, 57)  # noqa: DTZ001 - the zone is added as text
_SECOND = 10**9
_ENDED = ("completed", "failed", "cancelled")

# -- plain values ---------------------------------------------------------------------

_ODD_TEXTS = ["", "你好，世界", "naïve – “quoted”", 'a "b" \\ c', "line\nbreak\ttab", "\x00\x1f\x7f", "👩‍💻", "</script>"]
_TEXTS = st.sampled_from(_ODD_TEXTS) | st.text(max_size=8)
_NAMES = st.text(alphabet="abcXYZ019_-./ ~é程\u2028", min_size=1, max_size=4)
_SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS
_JSON = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3), max_leaves=4)
_OBJECTS = st.dictionaries(_TEXTS, _JSON, max_size=2)
_COUNTS = st.integers(0, 10**9)
_AMOUNTS = st.integers(0, 10**7) | st.floats(0, 10**7)
_SHIFTS = st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)
_SCORES = st.integers(1, 5) | st.floats(1, 5)
_FRACTIONS = st.sampled_from([0, 5 * 10**8, 55 * 10**7, 123 * 10**6, 1]) | st.integers(0, _SECOND - 1)
_MOMENTS = st.tuples(st.integers(0, 5), _FRACTIONS).map(lambda parts: parts[0] * _SECOND + parts[1])


def texts() -> st.SearchStrategy[str]:
    """Text of all scripts, control characters included, without lone surrogates."""
    return _TEXTS


def names() -> st.SearchStrategy[str]:
    """Identifiers: short, not empty, not always tidy."""
    return _NAMES


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value, nested, integers beyond 64 bits included."""
    return _JSON


def moments() -> st.SearchStrategy[int]:
    """Nanoseconds since a fixed beginning, with fractions of any length."""
    return _MOMENTS


def as_time(moment: int, zone: str) -> str:
    """A moment as ISO 8601 with the shortest fraction; ``zone`` is ``"Z"`` or empty."""
    seconds, fraction = divmod(moment, _SECOND)
    digits = f"{fraction:09}".rstrip("0")
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()}{'.' + digits if digits else ''}{zone}"


def _one_of(literal: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(literal))


# -- drawing --------------------------------------------------------------------------


def _pick(draw: Draw, items: Sequence[T]) -> T:
    return items[draw(st.integers(0, len(items) - 1))]


def _maybe(draw: Draw, items: Sequence[T]) -> T | None:
    """One of the items, or null."""
    return _pick(draw, [None, *items])


def _some(draw: Draw, items: Sequence[str]) -> tuple[str, ...]:
    """Some of the items, each at most once, in any rotation."""
    mask = draw(st.integers(0, (1 << len(items)) - 1))
    chosen = [item for index, item in enumerate(items) if mask >> index & 1]
    return tuple(chosen if draw(st.booleans()) else reversed(chosen))


def _fields(draw: Draw, optional: Choices) -> dict[str, Any]:
    """Some of the optional fields with values; the others are what the source does not say."""
    mask = draw(st.integers(0, (1 << len(optional)) - 1))
    return {name: draw(values) for index, (name, values) in enumerate(optional.items()) if mask >> index & 1}


def _tuples(draw: Draw, make: Callable[[Draw], T], most: int = 2) -> tuple[T, ...]:
    return tuple(make(draw) for _ in range(draw(st.integers(0, most))))


def _span_of_time(draw: Draw, zone: str) -> tuple[str | None, str | None]:
    """A start and an end that is not before it; either may be unknown."""
    start, end = sorted((draw(_MOMENTS), draw(_MOMENTS)))
    known = draw(st.integers(0, 3))
    return (as_time(start, zone) if known & 1 else None, as_time(end, zone) if known & 2 else None)


# -- the cast -------------------------------------------------------------------------

_TOOL: Choices = {"description": _TEXTS, "parameters": _JSON}
_AGENT: Choices = {
    "name": _TEXTS,
    "role": _one_of(model.Role),
    "description": _TEXTS,
    "system_prompt": _TEXTS,
    "model": _TEXTS,
    "version": _TEXTS,
    "config": _OBJECTS,
    "extra": _OBJECTS,
}


def _tool(draw: Draw) -> ToolDescription:
    return ToolDescription(name=draw(_NAMES), **_fields(draw, _TOOL))


def _lifecycle(draw: Draw, zone: str) -> Lifecycle | None:
    if draw(st.booleans()):
        return None
    start, end = _span_of_time(draw, zone)
    return Lifecycle(started_at=start, ended_at=end, status=_maybe(draw, get_args(model.LifecycleStatus)))


def _agent(draw: Draw, agent_id: str, elders: Sequence[str], zone: str) -> AgentInstance:
    return AgentInstance(
        agent_id=agent_id,
        tools=_tuples(draw, _tool),
        lifecycle=_lifecycle(draw, zone),
        parent_agent_id=_maybe(draw, elders),
        **_fields(draw, _AGENT),
    )


# -- parts of events ------------------------------------------------------------------

_USAGE: Choices = {
    "prompt_tokens": _COUNTS,
    "completion_tokens": _COUNTS,
    "total_tokens": _COUNTS,
    "cached_tokens": _COUNTS,
    "cache_write_tokens": _COUNTS,
    "reasoning_tokens": _COUNTS,
    "cost_usd": _AMOUNTS,
    "model": _TEXTS,
}
_SPAN: Choices = {"trace_id": _TEXTS, "span_id": _TEXTS, "parent_span_id": _TEXTS}
_PLANNED: Choices = {"return_type": _one_of(model.ReturnType), "trace_id": _TEXTS, "planned_by": _TEXTS}
_PROFILE: Choices = {
    "schema_version": st.just("v1"),
    "duration_ms": _AMOUNTS,
    "deviation_ms": _SHIFTS,
    "tempo_token": _TEXTS,
    "tempo_alignment": _one_of(model.Alignment),
    "feedback_score": _SCORES,
    "reward_signal": st.floats(-1, 1),
    "agent_latency_ms": _AMOUNTS,
    "user_delay_ms": _AMOUNTS,
}
_ATTEMPT: Choices = {"duration_ms": _AMOUNTS, "status": _one_of(model.ExecutionStatus), "feedback_score": _SCORES}
_MEDIA: Choices = {"data": st.sampled_from(["", "aGVsbG8="]), "media_type": _TEXTS, "text": _TEXTS}


def _usage(draw: Draw) -> Usage:
    return Usage(**_fields(draw, _USAGE))


def _part(draw: Draw) -> ContentPart:
    """A content part that holds what its kind says."""
    kind = _pick(draw, get_args(model.PartKind))
    if kind == "text":
        return ContentPart(kind="text", text=draw(_TEXTS))
    if kind == "data":
        value = draw(_JSON)
        return ContentPart(kind="data", value="" if value is None else value)
    return ContentPart(kind=kind, uri=draw(_TEXTS), **_fields(draw, _MEDIA))


def _profile(draw: Draw, zone: str) -> Profiling:
    """Profiling in which the status and the time of execution agree."""
    status = _maybe(draw, get_args(model.ExecutionStatus))
    planned, executed, *attempts = (as_time(draw(_MOMENTS), zone) for _ in range(4))
    return Profiling(
        scheduled_for=planned if draw(st.booleans()) else None,
        executed_at=None if status in ("skipped", "cancelled") else executed,
        execution_result=ExecutionResult(status=status, **_fields(draw, _PLANNED)),
        attempts=tuple(Attempt(executed_at=at, **_fields(draw, _ATTEMPT)) for at in attempts[: draw(st.integers(0, 2))]),
        **_fields(draw, _PROFILE),
    )


@dataclass
class _Stage:
    """What was told so far: what may be named, and what must not be said again."""

    agents: list[str]
    zone: str
    task_id: str | None
    events: list[Event] = field(default_factory=list)
    turns: dict[str, str | None] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    subtasks: list[str] = field(default_factory=list)
    parents: dict[str, str | None] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)


_MESSAGE_KINDS = ["chat", "instruction", "thought", "handoff", "selection", "system", "summary", "error", "log", "a kind of its own"]
_MESSAGE: Choices = {
    "receivers_origin": _one_of(model.ReceiversOrigin),
    "broadcast": st.booleans(),
    "kind": st.sampled_from(_MESSAGE_KINDS),
    "metadata": _OBJECTS,
}
_CALL: Choices = {
    "tool_call_id": _NAMES,
    "arguments": _OBJECTS | _JSON,
    "result": _JSON,
    "status": _one_of(model.CallStatus),
    "attempt": st.integers(1, 9),
}
_ARTIFACT: Choices = {"name": _TEXTS, "media_type": _TEXTS, "content": _JSON, "uri": _TEXTS, "sha256": _TEXTS}
_SUBTASK: Choices = {"goal": _TEXTS, "result": _JSON}


def _message(draw: Draw, stage: _Stage, agent: str | None) -> Message:
    content = _tuples(draw, _part, 3) or draw(_TEXTS)
    return Message(
        sender_id=_pick(draw, [agent, None]),
        receiver_ids=_some(draw, stage.agents),
        content=content if draw(st.booleans()) else None,
        **_fields(draw, _MESSAGE),
    )


def _call(draw: Draw, stage: _Stage, agent: str | None, completed_at: str | None) -> ToolCall:
    fields = _fields(draw, _CALL)
    if fields.get("status") != "success":
        fields["error"] = draw(_JSON)
    return ToolCall(
        caller_id=_pick(draw, [agent, None]),
        executor_id=_maybe(draw, stage.agents),
        tool_name=draw(_NAMES),
        completed_at=completed_at,
        **fields,
    )


def _artifact(draw: Draw, stage: _Stage) -> Artifact:
    artifact_id = _pick(draw, ["report.md", "数据"])
    version = stage.versions[artifact_id] = stage.versions.get(artifact_id, -1) + 1
    return Artifact(
        artifact_id=artifact_id,
        version=version or None,
        source_event_id=_maybe(draw, [event.event_id for event in stage.events]),
        **_fields(draw, _ARTIFACT),
    )


def _subtask(draw: Draw, stage: _Stage) -> SubtaskUpdate:
    """An update of a new subtask, or of one that was told of; parents and prerequisites are always older."""
    name = _pick(draw, [f"sub/{len(stage.subtasks)}", *stage.subtasks])
    if name not in stage.subtasks:
        stage.parents[name] = _pick(draw, [None, stage.task_id, *stage.subtasks])
        stage.subtasks.append(name)
    status = stage.ended.get(name) or _maybe(draw, get_args(model.SubtaskStatus))
    if status in _ENDED:
        stage.ended[name] = status
    return SubtaskUpdate(
        subtask_id=name,
        parent_task_id=_pick(draw, [stage.parents[name], None]),
        assigned_to=_some(draw, stage.agents),
        status=status,
        output_artifact_ids=_some(draw, list(stage.versions)),
        depends_on=_some(draw, stage.subtasks[: stage.subtasks.index(name)]),
        **_fields(draw, _SUBTASK),
    )


def _data(draw: Draw, stage: _Stage, agent: str | None, completed_at: str | None) -> EventData:
    kind = _pick(draw, ["message", "tool_call", "artifact", "subtask"])
    if kind == "message":
        return _message(draw, stage, agent)
    if kind == "tool_call":
        return _call(draw, stage, agent, completed_at)
    return _artifact(draw, stage) if kind == "artifact" else _subtask(draw, stage)


_PHASES = ["explore", "plan", "execute", "verify", "refine", "coordinate", "Planung"]
_ONCE_A_TURN: Choices = {"reasoning": _TEXTS, "raw_response": _JSON}
_EVENT: Choices = {
    "branch_id": _TEXTS,
    "phase": st.sampled_from(_PHASES),
    "duration_ms": _AMOUNTS,
    "source_ref": _TEXTS,
    "extra": _OBJECTS,
}


def _event(draw: Draw, stage: _Stage, event_id: str, moment: int) -> Event:
    """An event at ``moment``, if it tells a time at all; what a turn says once stands on its first event."""
    turn = _maybe(draw, ["turn 1", "turn 2"])
    first = turn is None or turn not in stage.turns
    agent = _maybe(draw, stage.agents) if first else stage.turns[turn or ""]
    if turn is not None:
        stage.turns[turn] = agent
    timestamp = as_time(moment, stage.zone) if draw(st.booleans()) else None
    end = moment + (_pick(draw, [0, 1, _SECOND]) if timestamp else 0)
    data = _data(draw, stage, agent, _maybe(draw, [as_time(end, stage.zone)]))
    parts = draw(st.integers(0, 7))
    once = _fields(draw, _ONCE_A_TURN) | {"usage": _usage(draw) if parts & 1 else None} if first else {}
    return Event(
        event_id=event_id,
        timestamp=timestamp,
        agent_id=agent,
        turn_id=turn,
        subtask_id=_maybe(draw, stage.subtasks),
        data=data,
        span=Span(**_fields(draw, _SPAN)) if parts & 2 else None,
        profiling=_profile(draw, stage.zone) if parts == 4 else None,
        **once,
        **_fields(draw, _EVENT),
    )


# -- links, annotations, the whole ------------------------------------------------------

_ANNOTATION: Choices = {
    "value": _JSON,
    "kind": _one_of(model.AnnotationKind),
    "author": _one_of(model.AnnotationAuthor),
    "comment": _TEXTS,
    "source_ref": _TEXTS,
}
_SOURCE: Choices = {"name": _TEXTS, "sha256": _TEXTS, "bytes": _COUNTS, "reader": _TEXTS, "variant": _TEXTS, "reader_version": _TEXTS}
_META: Choices = {
    "task": _TEXTS,
    "run_id": _TEXTS,
    "session_id": _TEXTS,
    "parent_trace_id": _TEXTS,
    "continues_trace_id": _TEXTS,
    "framework_version": _TEXTS,
    "environment_version": _TEXTS,
    "dataset": _TEXTS,
    "difficulty": _TEXTS,
    "success": st.booleans(),
    "failure_reason": _TEXTS,
    "final_answer": _JSON,
    "duration_ms": _AMOUNTS,
    "extra": _OBJECTS,
}


def _dep_types(source: Event, target: Event) -> list[Any]:
    """The kinds of link that may lead from one event to a later one; none where a field says it already."""
    ends = (type(source.data), type(target.data))
    if getattr(target.data, "source_event_id", None) == source.event_id or ends == (SubtaskUpdate, SubtaskUpdate):
        return []
    fits = {"receives_msg": ends[0] is Message, "trigger_toolcall": ends[1] is ToolCall, "spawn_subtask": SubtaskUpdate in ends}
    return ["reads", *(kind for kind, fit in fits.items() if fit)]


def _links(draw: Draw, events: Sequence[Event]) -> tuple[DependencyLink, ...]:
    pairs = [(source, target) for index, target in enumerate(events) for source in events[:index]]
    possible = [(s.event_id, t.event_id, kind) for s, t in pairs for kind in _dep_types(s, t)]
    links = []
    for source, target, kind in dict.fromkeys(_pick(draw, possible) for _ in range(draw(st.integers(0, 3)) if possible else 0)):
        origin = _pick(draw, get_args(model.Origin))
        confidence = _pick(draw, [None, 1, 1.0] if origin == "explicit" else [None, 0, 0.25, 1])
        ends = {"source_event_id": source, "target_event_id": target, "dep_type": kind}
        links.append(DependencyLink(**ends, origin=origin, confidence=confidence, evidence=_maybe(draw, ["named by the call id"])))
    return tuple(links)


def _meta(draw: Draw, stage: _Stage) -> TraceMeta:
    def annotation(draw: Draw) -> Annotation:
        event = _maybe(draw, [event.event_id for event in stage.events])
        return Annotation(name=draw(_TEXTS), event_id=event, agent_id=_maybe(draw, stage.agents), **_fields(draw, _ANNOTATION))

    start, end = _span_of_time(draw, stage.zone)
    parts = draw(st.integers(0, 3))
    return TraceMeta(
        task_id=stage.task_id,
        framework=draw(_NAMES),
        start_time=start,
        end_time=end,
        usage=_usage(draw) if parts & 1 else None,
        source=SourceInfo(**_fields(draw, _SOURCE)) if parts & 2 else None,
        annotations=_tuples(draw, annotation),
        **_fields(draw, _META),
    )


@st.composite
def traces(draw: Draw, max_events: int = 5) -> Trace:
    """A valid Trace with up to ``max_events`` events."""
    agents: list[str] = draw(st.lists(_NAMES, unique=True, max_size=3))
    stage = _Stage(agents, _pick(draw, ["Z", ""]), task_id=_maybe(draw, ["task 1"]))
    cast = tuple(_agent(draw, agent_id, agents[:index], stage.zone) for index, agent_id in enumerate(agents))
    count = draw(st.integers(0, max_events))
    event_ids = draw(st.lists(_NAMES, unique=True, min_size=count, max_size=count))
    for event_id, moment in zip(event_ids, sorted(draw(_MOMENTS) for _ in event_ids), strict=True):
        stage.events.append(_event(draw, stage, event_id, moment))
    return Trace(
        trace_id=draw(_NAMES),
        meta=_meta(draw, stage),
        agent_instances=cast,
        events=tuple(stage.events),
        dependency_links=_links(draw, stage.events),
        extra=draw(_OBJECTS),
    )


def documents(max_events: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """A valid trace as a decoded JSON document, to be broken."""
    return traces(max_events=max_events).map(lambda trace: orjson.loads(dumps(trace)))
