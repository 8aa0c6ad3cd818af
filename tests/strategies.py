"""Hypothesis strategies that make valid traces: all four kinds of events, every optional field, text of all scripts.

``traces()`` is the one to use. Whatever it makes keeps every rule of the format page,
warnings included, so that a test may break one rule and see just that one reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

__all__ = ["documents", "json_values", "names", "texts", "times", "traces"]

T = TypeVar("T")
Draw = Callable[[st.SearchStrategy[Any]], Any]

_EPOCH = datetime(2026, 1, 31, 23, 59, 57)  # noqa: DTZ001 - the zone is added as text
_SECOND = 10**9
_MESSAGE_KINDS = ["chat", "instruction", "thought", "handoff", "selection", "system", "summary", "error", "log", "a kind of its own"]
_PHASES = ["explore", "plan", "execute", "verify", "refine", "coordinate", "Planung"]
_ENDED = ("completed", "failed", "cancelled")

# -- plain values ---------------------------------------------------------------------


def texts() -> st.SearchStrategy[str]:
    """Text of all scripts, control characters included, without lone surrogates."""
    return st.text(max_size=12) | st.sampled_from(
        ["", "你好，世界", "naïve – “quoted”", 'a "b" \\ c', "line\nbreak\ttab", "\x00\x1f\x7f", "👩‍💻", "</script>"]
    )


def names() -> st.SearchStrategy[str]:
    """Identifiers: short, not empty, not always tidy."""
    return st.text(alphabet="abcXYZ019_-./ ~é程\u2028", min_size=1, max_size=6)


def json_values() -> st.SearchStrategy[Any]:
    """Any JSON value, nested, integers beyond 64 bits included."""
    leaves = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts()
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts(), inner, max_size=3), max_leaves=6)


def json_objects() -> st.SearchStrategy[dict[str, Any]]:
    """A JSON object, often empty."""
    return st.just({}) | st.dictionaries(texts(), json_values(), max_size=2)


def maybe(strategy: st.SearchStrategy[T]) -> st.SearchStrategy[T | None]:
    """Null, which is what the source does not say, or a value."""
    return st.none() | strategy


def one_of(literal: Any) -> st.SearchStrategy[Any]:
    """One of the values of a ``Literal``."""
    return st.sampled_from(get_args(literal))


def counts() -> st.SearchStrategy[int]:
    """Token counts and the like."""
    return st.integers(0, 10**9)


def amounts() -> st.SearchStrategy[int | float]:
    """Durations and costs: whole or not."""
    return st.integers(0, 10**7) | st.floats(0, 10**7)


def _moments() -> st.SearchStrategy[int]:
    """Nanoseconds since the beginning of the run, with fractions of any length."""
    fractions = st.integers(0, 9) | st.integers(0, 999).map(lambda n: n * 10**6) | st.integers(0, _SECOND - 1)
    return st.builds(lambda seconds, fraction: seconds * _SECOND + fraction % _SECOND, st.integers(0, 5), st.just(0) | fractions)


def _as_time(moment: int, zone: str) -> str:
    seconds, fraction = divmod(moment, _SECOND)
    digits = f"{fraction:09}".rstrip("0")
    return f"{(_EPOCH + timedelta(seconds=seconds)).isoformat()}{'.' + digits if digits else ''}{zone}"


def times(zone: str = "Z") -> st.SearchStrategy[str]:
    """Times in normal form, all with the zone or all without."""
    return _moments().map(lambda moment: _as_time(moment, zone))


def _spans_of_time(zone: str) -> st.SearchStrategy[tuple[str | None, str | None]]:
    """A start and an end that is not before it; either may be unknown."""

    def order(first: int, second: int, known: tuple[bool, bool]) -> tuple[str | None, str | None]:
        start, end = sorted((first, second))
        return (_as_time(start, zone) if known[0] else None, _as_time(end, zone) if known[1] else None)

    return st.builds(order, _moments(), _moments(), st.tuples(st.booleans(), st.booleans()))


# -- the cast -------------------------------------------------------------------------


def _tools() -> st.SearchStrategy[ToolDescription]:
    return st.builds(ToolDescription, name=names(), description=maybe(texts()), parameters=json_values())


def _lifecycles(zone: str) -> st.SearchStrategy[Lifecycle]:
    def make(span: tuple[str | None, str | None], status: Any) -> Lifecycle:
        return Lifecycle(started_at=span[0], ended_at=span[1], status=status)

    return st.builds(make, _spans_of_time(zone), maybe(one_of(model.LifecycleStatus)))


def _agent(agent_id: str, elders: Sequence[str], zone: str) -> st.SearchStrategy[AgentInstance]:
    return st.builds(
        AgentInstance,
        agent_id=st.just(agent_id),
        name=maybe(texts()),
        role=maybe(one_of(model.Role)),
        description=maybe(texts()),
        system_prompt=maybe(texts()),
        model=maybe(texts()),
        version=maybe(texts()),
        tools=st.lists(_tools(), max_size=2).map(tuple),
        config=json_objects(),
        lifecycle=maybe(_lifecycles(zone)),
        parent_agent_id=maybe(st.sampled_from(elders)) if elders else st.none(),
        extra=json_objects(),
    )


# -- parts of events ------------------------------------------------------------------


def _usages() -> st.SearchStrategy[Usage]:
    fields = ("prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens")
    return st.builds(Usage, **{name: maybe(counts()) for name in fields}, cost_usd=maybe(amounts()), model=maybe(texts()))


def _parts() -> st.SearchStrategy[ContentPart]:
    """Content parts of all kinds; each holds what its kind says."""
    text = st.builds(ContentPart, kind=st.just("text"), text=texts(), media_type=maybe(texts()))
    media = st.builds(
        ContentPart,
        kind=st.sampled_from(["image", "audio", "video", "file"]),
        uri=texts(),
        data=maybe(st.sampled_from(["", "aGVsbG8="])),
        media_type=maybe(texts()),
        text=maybe(texts()),
    )
    data = st.builds(ContentPart, kind=st.just("data"), value=json_values().filter(lambda value: value is not None))
    return text | media | data


def _profiles(zone: str) -> st.SearchStrategy[Profiling]:
    """Profiling in which the status and the time of execution agree."""

    def make(status: str | None, executed_at: str, planned: dict[str, Any], base: dict[str, Any]) -> Profiling:
        done = {"completed": executed_at, "skipped": None, "cancelled": None}.get(status or "", executed_at)
        return Profiling(executed_at=done, execution_result=ExecutionResult(status=status, **planned), **base)  # type: ignore[arg-type]

    scores = st.integers(1, 5) | st.floats(1, 5)
    attempts = st.builds(
        Attempt,
        executed_at=maybe(times(zone)),
        duration_ms=maybe(amounts()),
        status=maybe(one_of(model.ExecutionStatus)),
        feedback_score=maybe(scores),
    )
    planned = st.fixed_dictionaries(
        {"return_type": maybe(one_of(model.ReturnType)), "trace_id": maybe(texts()), "planned_by": maybe(texts())}
    )
    base = st.fixed_dictionaries(
        {
            "schema_version": maybe(st.just("v1")),
            "scheduled_for": maybe(times(zone)),
            "duration_ms": maybe(amounts()),
            "deviation_ms": maybe(st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6)),
            "tempo_token": maybe(texts()),
            "tempo_alignment": maybe(one_of(model.Alignment)),
            "feedback_score": maybe(scores),
            "reward_signal": maybe(st.floats(-1, 1)),
            "agent_latency_ms": maybe(amounts()),
            "user_delay_ms": maybe(amounts()),
            "attempts": st.lists(attempts, max_size=2).map(tuple),
        }
    )
    return st.builds(make, maybe(one_of(model.ExecutionStatus)), times(zone), planned, base)


@dataclass
class _Stage:
    """What was told so far: what may be named, and what must not be said again."""

    agents: list[str]
    zone: str
    task_id: str | None
    turns: dict[str, str | None] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    subtasks: list[str] = field(default_factory=list)
    parents: dict[str, str | None] = field(default_factory=dict)
    ended: dict[str, str] = field(default_factory=dict)

    def some_agent(self) -> st.SearchStrategy[str | None]:
        return maybe(st.sampled_from(self.agents)) if self.agents else st.none()

    def some_agents(self) -> st.SearchStrategy[tuple[str, ...]]:
        return _some(self.agents)


def _some(items: Sequence[str]) -> st.SearchStrategy[tuple[str, ...]]:
    """Some of the items, each at most once."""
    return st.lists(st.sampled_from(items), unique=True, max_size=3).map(tuple) if items else st.just(())


def _message(stage: _Stage, agent: str | None) -> st.SearchStrategy[Message]:
    return st.builds(
        Message,
        sender_id=st.sampled_from([agent, None]),
        receiver_ids=stage.some_agents(),
        receivers_origin=maybe(one_of(model.ReceiversOrigin)),
        broadcast=st.booleans(),
        kind=st.sampled_from(_MESSAGE_KINDS),
        content=maybe(texts() | st.lists(_parts(), min_size=1, max_size=3).map(tuple)),
        metadata=json_objects(),
    )


def _call(stage: _Stage, agent: str | None, done: st.SearchStrategy[str | None]) -> st.SearchStrategy[ToolCall]:
    def settle(call: ToolCall) -> ToolCall:
        outcome = {"status": "failure"} if call.status == "success" and call.error is not None else {}
        return model.msgspec.structs.replace(call, **outcome)

    return st.builds(
        ToolCall,
        tool_call_id=maybe(names()),
        caller_id=st.sampled_from([agent, None]),
        executor_id=stage.some_agent(),
        tool_name=names(),
        arguments=json_objects() | json_values(),
        result=json_values(),
        status=maybe(one_of(model.CallStatus)),
        error=maybe(json_values()),
        completed_at=done,
        attempt=maybe(st.integers(1, 9)),
    ).map(settle)


def _artifact(draw: Draw, stage: _Stage, earlier: Sequence[Event]) -> Artifact:
    artifact_id = draw(st.sampled_from(["report.md", "数据"]))
    version = stage.versions[artifact_id] = stage.versions.get(artifact_id, -1) + 1
    made = st.builds(
        Artifact,
        artifact_id=st.just(artifact_id),
        version=st.just(version or None),
        name=maybe(texts()),
        media_type=maybe(texts()),
        content=json_values(),
        uri=maybe(texts()),
        sha256=maybe(texts()),
        source_event_id=maybe(st.sampled_from([event.event_id for event in earlier])) if earlier else st.none(),
    )
    return draw(made)  # type: ignore[no-any-return]


def _subtask(draw: Draw, stage: _Stage) -> SubtaskUpdate:
    """An update of a new subtask, or of one that was told of: parents and prerequisites are always older."""
    name: str = draw(st.sampled_from([*stage.subtasks, f"sub/{len(stage.subtasks)}"]))
    if name not in stage.subtasks:
        stage.parents[name] = draw(st.sampled_from([None, stage.task_id, *stage.subtasks]))
        stage.subtasks.append(name)
    older = stage.subtasks[: stage.subtasks.index(name)]
    status = draw(maybe(one_of(model.SubtaskStatus)))
    if name in stage.ended:
        status = stage.ended[name]
    elif status in _ENDED:
        stage.ended[name] = status
    update = st.builds(
        SubtaskUpdate,
        subtask_id=st.just(name),
        parent_task_id=st.sampled_from([stage.parents[name], None]),
        assigned_to=stage.some_agents(),
        goal=maybe(texts()),
        status=st.just(status),
        result=json_values(),
        output_artifact_ids=_some(list(stage.versions)),
        depends_on=_some(older),
    )
    return draw(update)  # type: ignore[no-any-return]


def _data(draw: Draw, stage: _Stage, agent: str | None, done: st.SearchStrategy[str | None], earlier: Sequence[Event]) -> EventData:
    kind = draw(st.sampled_from(["message", "tool_call", "artifact", "subtask"]))
    if kind == "artifact":
        return _artifact(draw, stage, earlier)
    if kind == "subtask":
        return _subtask(draw, stage)
    return draw(_message(stage, agent) if kind == "message" else _call(stage, agent, done))  # type: ignore[no-any-return]


def _event(draw: Draw, stage: _Stage, event_id: str, moment: int, earlier: Sequence[Event]) -> Event:
    """An event at ``moment``, if it tells a time at all; what a turn says once stands on its first event."""
    turn: str | None = draw(st.sampled_from([None, "turn 1", "turn 2"]))
    first = turn is None or turn not in stage.turns
    agent = draw(stage.some_agent()) if first else stage.turns[turn or ""]
    if turn is not None:
        stage.turns[turn] = agent
    timed = draw(st.booleans())
    later = st.sampled_from([moment, moment + 1, moment + _SECOND]) if timed else st.just(moment)
    data = _data(draw, stage, agent, maybe(later.map(lambda end: _as_time(end, stage.zone))), earlier)
    once = {"reasoning": maybe(texts()), "raw_response": json_values(), "usage": maybe(_usages())} if first else {}
    made = st.builds(
        Event,
        event_id=st.just(event_id),
        timestamp=st.just(_as_time(moment, stage.zone) if timed else None),
        agent_id=st.just(agent),
        turn_id=st.just(turn),
        subtask_id=maybe(st.sampled_from(stage.subtasks)) if stage.subtasks else st.none(),
        branch_id=maybe(texts()),
        data=st.just(data),
        phase=maybe(st.sampled_from(_PHASES)),
        duration_ms=maybe(amounts()),
        span=maybe(st.builds(Span, trace_id=maybe(texts()), span_id=maybe(texts()), parent_span_id=maybe(texts()))),
        profiling=maybe(_profiles(stage.zone)),
        source_ref=maybe(texts()),
        extra=json_objects(),
        **once,
    )
    return draw(made)  # type: ignore[no-any-return]


# -- links, annotations, the whole ------------------------------------------------------


def _dep_types(source: Event, target: Event) -> list[str]:
    """The kinds of link that may lead from one event to a later one; none where a field says it already."""
    ends = (type(source.data), type(target.data))
    if getattr(target.data, "source_event_id", None) == source.event_id or ends == (SubtaskUpdate, SubtaskUpdate):
        return []
    fits = {"receives_msg": ends[0] is Message, "trigger_toolcall": ends[1] is ToolCall, "spawn_subtask": SubtaskUpdate in ends}
    return ["reads", *(kind for kind, fit in fits.items() if fit)]


def _links(draw: Draw, events: Sequence[Event]) -> tuple[DependencyLink, ...]:
    pairs = [(source, target) for index, target in enumerate(events) for source in events[:index]]
    possible = [(s.event_id, t.event_id, kind) for s, t in pairs for kind in _dep_types(s, t)]
    if not possible:
        return ()
    links = []
    for source, target, kind in draw(st.lists(st.sampled_from(possible), unique=True, max_size=4)):
        origin = draw(one_of(model.Origin))
        confidence = draw(st.sampled_from([None, 1, 1.0]) if origin == "explicit" else maybe(st.floats(0, 1)))
        evidence = draw(maybe(texts()))
        links.append(
            DependencyLink(
                source_event_id=source, target_event_id=target, dep_type=kind, origin=origin, confidence=confidence, evidence=evidence
            )
        )
    return tuple(links)


def _annotations(agents: Sequence[str], events: Sequence[Event]) -> st.SearchStrategy[Annotation]:
    return st.builds(
        Annotation,
        name=texts(),
        value=json_values(),
        kind=maybe(one_of(model.AnnotationKind)),
        event_id=maybe(st.sampled_from([event.event_id for event in events])) if events else st.none(),
        agent_id=maybe(st.sampled_from(agents)) if agents else st.none(),
        author=maybe(one_of(model.AnnotationAuthor)),
        comment=maybe(texts()),
        source_ref=maybe(texts()),
    )


def _meta(draw: Draw, stage: _Stage, events: Sequence[Event]) -> TraceMeta:
    start, end = draw(_spans_of_time(stage.zone))
    words = ("task", "run_id", "session_id", "parent_trace_id", "continues_trace_id", "framework_version", "environment_version")
    more_words = ("dataset", "difficulty", "failure_reason")
    source = st.builds(
        SourceInfo,
        name=maybe(texts()),
        sha256=maybe(texts()),
        bytes=maybe(counts()),
        reader=maybe(texts()),
        variant=maybe(texts()),
        reader_version=maybe(texts()),
    )
    made = st.builds(
        TraceMeta,
        task_id=st.just(stage.task_id),
        framework=names(),
        success=maybe(st.booleans()),
        final_answer=json_values(),
        start_time=st.just(start),
        end_time=st.just(end),
        duration_ms=maybe(amounts()),
        usage=maybe(_usages()),
        source=maybe(source),
        annotations=st.lists(_annotations(stage.agents, events), max_size=2).map(tuple),
        extra=json_objects(),
        **{name: maybe(texts()) for name in (*words, *more_words)},
    )
    return draw(made)  # type: ignore[no-any-return]


@st.composite
def traces(draw: Draw, max_events: int = 5) -> Trace:
    """A valid Trace with up to ``max_events`` events."""
    agents: list[str] = draw(st.lists(names(), unique=True, max_size=3))
    zone = draw(st.sampled_from(["Z", ""]))
    stage = _Stage(agents, zone, task_id=draw(maybe(names())))
    cast = tuple(draw(_agent(agent_id, agents[:index], zone)) for index, agent_id in enumerate(agents))
    event_ids = draw(st.lists(names(), unique=True, max_size=max_events))
    moments = sorted(draw(st.lists(_moments(), min_size=len(event_ids), max_size=len(event_ids))))
    events: list[Event] = []
    for event_id, moment in zip(event_ids, moments, strict=True):
        events.append(_event(draw, stage, event_id, moment, events))
    return Trace(
        trace_id=draw(names()),
        meta=_meta(draw, stage, events),
        agent_instances=cast,
        events=tuple(events),
        dependency_links=_links(draw, events),
        extra=draw(json_objects()),
    )


def documents(max_events: int = 3) -> st.SearchStrategy[dict[str, Any]]:
    """A valid trace as a decoded JSON document, to be broken."""
    return traces(max_events=max_events).map(lambda trace: orjson.loads(dumps(trace)))
