"""The AgentTrace model: one ``Trace`` is one run. Frozen structs, written in the key order of the format page.

The contract is ``docs/reference/format.md`` (AgentTrace format 1.0); the
ontology is the paper's (arXiv:2610.18780, section 3), the step fields come from
the canonical trace, the profiling fields from the Chronologue schema.

Null means "the source does not say" everywhere. Times are ISO 8601 strings: UTC
with ``Z`` where the source gives a zone, naive where it gives none. Durations are
milliseconds. Structs are frozen: make changed copies with ``msgspec.structs.replace``.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION = "1.0"

Role = Literal["worker", "planner", "critic", "coordinator", "user", "environment", "tool"]
CallStatus = Literal["success", "failure", "exception"]
SubtaskStatus = Literal["created", "in_progress", "completed", "failed", "cancelled"]
DepType = Literal["reads", "receives_msg", "spawn_subtask", "trigger_toolcall"]
Origin = Literal["explicit", "derived", "inferred"]
ReceiversOrigin = Literal["explicit", "derived"]
AnnotationKind = Literal["label", "score", "metric", "ground_truth"]
AnnotationAuthor = Literal["human", "model", "program"]
PartKind = Literal["text", "image", "audio", "video", "file", "data"]
LifecycleStatus = Literal["active", "finished", "failed"]
Alignment = Literal["exact", "partial", "misaligned"]
ExecutionStatus = Literal["completed", "failed", "skipped", "cancelled"]
ReturnType = Literal["trace", "text", "error"]

Number = int | float


class Record(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """What all structs of the model share: frozen, null and empty fields left out when written."""


class Usage(Record, frozen=True, kw_only=True):
    """Tokens and cost of one model call, as stated. ``prompt_tokens`` includes cached and cache-written tokens."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Number | None = None
    model: str | None = None


class SourceInfo(Record, frozen=True, kw_only=True):
    """Where a trace came from. ``name`` is relative to the argument given, never absolute; ``sha256`` is of the bytes as they lie."""

    name: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    reader: str | None = None
    variant: str | None = None
    reader_version: str | None = None


class Annotation(Record, frozen=True, kw_only=True):
    """What a person, a judge or a benchmark said about the run, or about one event or agent of it."""

    name: str
    value: Any = None
    kind: AnnotationKind | None = None
    event_id: str | None = None
    agent_id: str | None = None
    author: AnnotationAuthor | None = None
    comment: str | None = None
    source_ref: str | None = None


class TraceMeta(Record, frozen=True, kw_only=True):
    """Facts about the run as a whole. ``success`` is null unless the source states it."""

    task_id: str | None = None
    task: str | None = None
    run_id: str | None = None
    session_id: str | None = None
    parent_trace_id: str | None = None
    continues_trace_id: str | None = None
    framework: str
    framework_version: str | None = None
    environment_version: str | None = None
    dataset: str | None = None
    difficulty: str | None = None
    success: bool | None = None
    failure_reason: str | None = None
    final_answer: Any = None
    start_time: str | None = None
    end_time: str | None = None
    duration_ms: Number | None = None
    usage: Usage | None = None
    source: SourceInfo | None = None
    annotations: tuple[Annotation, ...] = ()
    extra: dict[str, Any] = {}


class ToolDescription(Record, frozen=True, kw_only=True):
    """A tool that an agent was given; ``parameters`` is usually a JSON Schema."""

    name: str
    description: str | None = None
    parameters: Any = None


class Lifecycle(Record, frozen=True, kw_only=True):
    """When an agent lived and how it ended."""

    started_at: str | None = None
    ended_at: str | None = None
    status: LifecycleStatus | None = None


class AgentInstance(Record, frozen=True, kw_only=True):
    """One agent of the run: everything that acts or is addressed, people and environments included.

    ``role`` is stated by the framework, never guessed from a name.
    """

    agent_id: str
    name: str | None = None
    role: Role | None = None
    description: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    version: str | None = None
    tools: tuple[ToolDescription, ...] = ()
    config: dict[str, Any] = {}
    lifecycle: Lifecycle | None = None
    parent_agent_id: str | None = None
    extra: dict[str, Any] = {}


class ContentPart(Record, frozen=True, kw_only=True):
    """One part of a message's content. ``data`` is base64; ``value`` any JSON, for kind ``data``."""

    kind: PartKind
    text: str | None = None
    uri: str | None = None
    media_type: str | None = None
    data: str | None = None
    value: Any = None


class Message(Record, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """A message from one agent to others.

    ``receivers_origin`` says whether the source names the receivers (``explicit``)
    or the framework's delivery rule does (``derived``). ``kind`` is ``chat`` when
    absent; it is an open set.
    """

    sender_id: str | None = None
    receiver_ids: tuple[str, ...]
    receivers_origin: ReceiversOrigin | None = None
    broadcast: bool = False
    kind: str = "chat"
    content: str | tuple[ContentPart, ...] | None = None
    metadata: dict[str, Any] = {}


class ToolCall(Record, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """A tool call and its result: one event. The event's time is the call, ``completed_at`` the result.

    ``status`` is null where no outcome is stated. ``exception``: it raised, timed
    out, is unknown, or its arguments do not parse; ``failure``: any other stated error.
    """

    tool_call_id: str | None = None
    caller_id: str | None = None
    executor_id: str | None = None
    tool_name: str
    arguments: Any = None
    result: Any = None
    status: CallStatus | None = None
    error: Any = None
    completed_at: str | None = None
    attempt: int | None = None


class Artifact(Record, frozen=True, kw_only=True, tag_field="type", tag="artifact"):
    """A thing that the source names as one of its own: a written file, a document, stored output."""

    artifact_id: str
    version: int | None = None
    name: str | None = None
    media_type: str | None = None
    content: Any = None
    uri: str | None = None
    sha256: str | None = None
    source_event_id: str | None = None


class SubtaskUpdate(Record, frozen=True, kw_only=True, tag_field="type", tag="subtask"):
    """A change of a subtask. A null field is one that this update does not state."""

    subtask_id: str
    parent_task_id: str | None = None
    assigned_to: tuple[str, ...] = ()
    goal: str | None = None
    status: SubtaskStatus | None = None
    result: Any = None
    output_artifact_ids: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()


EventData = Message | ToolCall | Artifact | SubtaskUpdate


class Span(Record, frozen=True, kw_only=True):
    """The OpenTelemetry span behind an event. A span parent means containment, not causality."""

    trace_id: str | None = None
    span_id: str | None = None
    parent_span_id: str | None = None


class ExecutionResult(Record, frozen=True, kw_only=True):
    """What came of a scheduled plan (Chronologue profiling, section 4)."""

    status: ExecutionStatus | None = None
    return_type: ReturnType | None = None
    trace_id: str | None = None
    planned_by: str | None = None


class Attempt(Record, frozen=True, kw_only=True):
    """One execution attempt (Chronologue profiling, section 5)."""

    executed_at: str | None = None
    duration_ms: Number | None = None
    status: ExecutionStatus | None = None
    feedback_score: Number | None = None


class Profiling(Record, frozen=True, kw_only=True):
    """How the execution of a scheduled action met its plan (Chronologue profiling, section 3)."""

    schema_version: str | None = None
    scheduled_for: str | None = None
    executed_at: str | None = None
    duration_ms: Number | None = None
    deviation_ms: Number | None = None
    tempo_token: str | None = None
    tempo_alignment: Alignment | None = None
    feedback_score: Number | None = None
    reward_signal: Number | None = None
    agent_latency_ms: Number | None = None
    user_delay_ms: Number | None = None
    execution_result: ExecutionResult | None = None
    attempts: tuple[Attempt, ...] = ()


class Event(Record, frozen=True, kw_only=True):
    """One thing that happened. Exactly one of message, tool call, artifact, subtask update.

    ``turn_id`` is shared by all events of one model response; ``reasoning``,
    ``raw_response`` and ``usage`` stand once a turn, on its first event.
    """

    event_id: str
    timestamp: str | None = None
    agent_id: str | None = None
    turn_id: str | None = None
    subtask_id: str | None = None
    branch_id: str | None = None
    data: EventData
    reasoning: str | None = None
    raw_response: Any = None
    phase: str | None = None
    duration_ms: Number | None = None
    usage: Usage | None = None
    span: Span | None = None
    profiling: Profiling | None = None
    source_ref: str | None = None
    extra: dict[str, Any] = {}


class DependencyLink(Record, frozen=True, kw_only=True):
    """Why a later event happened: the target depends on the source."""

    source_event_id: str
    target_event_id: str
    dep_type: DepType
    origin: Origin
    confidence: Number | None = None
    evidence: str | None = None


class Trace(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """One run of a multi-agent system. All keys are always written."""

    schema_version: str = SCHEMA_VERSION
    trace_id: str
    meta: TraceMeta
    agent_instances: tuple[AgentInstance, ...]
    events: tuple[Event, ...]
    dependency_links: tuple[DependencyLink, ...]
    extra: dict[str, Any]
