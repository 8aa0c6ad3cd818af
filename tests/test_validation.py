"""Validation: every rule is broken in a named way and reported with its code at its place; the reference validator agrees.

``MUTATIONS`` is the table: a change to a valid document, and the one issue that it must give.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from agenttrace import model
from agenttrace.analysis.validation import RULES, Issue, validate, validate_document
from agenttrace.codec import dumps, loads
from agenttrace.errors import ModelError, ReadError
from agenttrace.lenient import pointer
from agenttrace.schema import load_schema
from tests.full_trace import full_document
from tests.strategies import documents, json_values, traces

EXAMPLES = settings(max_examples=100, deadline=None)

Change = Callable[[Any], None]

# -- how documents are changed --------------------------------------------------------------


def holder_of(document: Any, place: str) -> tuple[Any, Any]:
    """The object or array that a pointer leads into, and the last key or index."""
    *parts, last = [part.replace("~1", "/").replace("~0", "~") for part in place.split("/")[1:]]
    for part in parts:
        document = document[int(part) if isinstance(document, list) else part]
    return document, int(last) if isinstance(document, list) else last


def put(place: str, value: Any) -> Change:
    def change(document: Any) -> None:
        holder, key = holder_of(document, place)
        holder[key] = value

    return change


def drop(place: str) -> Change:
    def change(document: Any) -> None:
        holder, key = holder_of(document, place)
        del holder[key]

    return change


def append(place: str, value: Any) -> Change:
    def change(document: Any) -> None:
        holder, key = holder_of(document, place)
        holder[key].append(value)

    return change


def together(*changes: Change) -> Change:
    def change(document: Any) -> None:
        for each in changes:
            each(document)

    return change


def link(source: str, target: str, dep_type: str, **more: Any) -> Change:
    ends = {"source_event_id": source, "target_event_id": target, "dep_type": dep_type, "origin": "explicit"}
    return append("/dependency_links", ends | more)


class Mutation(NamedTuple):
    """A change that breaks one rule, and where validation must say so."""

    name: str
    change: Change
    code: str
    pointer: str


AT = "2026-02-28T10:00:"
"""The minute of the document; seconds and zone follow."""

MISSING = [
    Mutation("no trace_id", drop("/trace_id"), "missing_key", ""),
    Mutation("no meta", drop("/meta"), "missing_key", ""),
    Mutation("no agent_instances", drop("/agent_instances"), "missing_key", ""),
    Mutation("no events", drop("/events"), "missing_key", ""),
    Mutation("no dependency_links", drop("/dependency_links"), "missing_key", ""),
    Mutation("no extra", drop("/extra"), "missing_key", ""),
    Mutation("no framework", drop("/meta/framework"), "missing_key", "/meta"),
    Mutation("annotation without name", drop("/meta/annotations/0/name"), "missing_key", "/meta/annotations/0"),
    Mutation("agent without agent_id", drop("/agent_instances/0/agent_id"), "missing_key", "/agent_instances/0"),
    Mutation("tool without name", drop("/agent_instances/2/tools/0/name"), "missing_key", "/agent_instances/2/tools/0"),
    Mutation("event without event_id", drop("/events/0/event_id"), "missing_key", "/events/0"),
    Mutation("event without data", drop("/events/0/data"), "missing_key", "/events/0"),
    Mutation("data without type", drop("/events/0/data/type"), "missing_key", "/events/0/data"),
    Mutation("message without receiver_ids", drop("/events/0/data/receiver_ids"), "missing_key", "/events/0/data"),
    Mutation("part without kind", drop("/events/0/data/content/0/kind"), "missing_key", "/events/0/data/content/0"),
    Mutation("call without tool_name", drop("/events/4/data/tool_name"), "missing_key", "/events/4/data"),
    Mutation("artifact without artifact_id", drop("/events/6/data/artifact_id"), "missing_key", "/events/6/data"),
    Mutation("subtask without subtask_id", drop("/events/8/data/subtask_id"), "missing_key", "/events/8/data"),
    Mutation("link without source", drop("/dependency_links/0/source_event_id"), "missing_key", "/dependency_links/0"),
    Mutation("link without target", drop("/dependency_links/1/target_event_id"), "missing_key", "/dependency_links/1"),
    Mutation("link without dep_type", drop("/dependency_links/2/dep_type"), "missing_key", "/dependency_links/2"),
    Mutation("link without origin", drop("/dependency_links/3/origin"), "missing_key", "/dependency_links/3"),
]

UNKNOWN = [
    Mutation(f"unknown key in {place or 'the trace'}", put(f"{place}/strange", 1), "unknown_key", f"{place}/strange")
    for place in (
        "",
        "/meta",
        "/meta/usage",
        "/meta/source",
        "/meta/annotations/1",
        "/agent_instances/2",
        "/agent_instances/2/lifecycle",
        "/agent_instances/2/tools/0",
        "/events/0",
        "/events/0/data",
        "/events/0/data/content/2",
        "/events/1/usage",
        "/events/4/data",
        "/events/4/span",
        "/events/6/data",
        "/events/8/data",
        "/events/10/profiling",
        "/events/10/profiling/execution_result",
        "/events/10/profiling/attempts/0",
        "/dependency_links/0",
    )
] + [Mutation("unknown key with slash and tilde", put("/meta/a~1b~0c", 1), "unknown_key", "/meta/a~1b~0c")]

TYPES = [
    Mutation(f"{place} is {value!r}", put(place, value), "wrong_type", place)
    for place, value in (
        ("/schema_version", None),
        ("/trace_id", 7),
        ("/trace_id", None),
        ("/meta", "text"),
        ("/meta", []),
        ("/agent_instances", {}),
        ("/events", {}),
        ("/events", None),
        ("/dependency_links", "none"),
        ("/extra", []),
        ("/extra", None),
        ("/meta/framework", None),
        ("/meta/task_id", {}),
        ("/meta/success", "yes"),
        ("/meta/success", 1),
        ("/meta/duration_ms", "30 s"),
        ("/meta/usage", "300 tokens"),
        ("/meta/usage/total_tokens", 1.5),
        ("/meta/usage/total_tokens", True),
        ("/meta/annotations", "none"),
        ("/meta/annotations/0", ["label"]),
        ("/meta/annotations/0/agent_id", ["coder"]),
        ("/meta/annotations/0/event_id", {}),
        ("/meta/source", []),
        ("/meta/extra", "text"),
        ("/agent_instances/0", "user"),
        ("/agent_instances/2/agent_id", 2),
        ("/agent_instances/2/tools/0", "run"),
        ("/agent_instances/2/config", "warm"),
        ("/agent_instances/2/lifecycle", "active"),
        ("/agent_instances/2/parent_agent_id", ["planner"]),
        ("/events/0", "Hello."),
        ("/events/0/event_id", None),
        ("/events/0/data", "Hello."),
        ("/events/0/data", None),
        ("/events/0/data/receiver_ids", "planner"),
        ("/events/0/data/receiver_ids", None),
        ("/events/0/data/receiver_ids/0", 5),
        ("/events/0/data/content", 5),
        ("/events/0/data/content", {"kind": "text"}),
        ("/events/0/data/content/0", "Hello."),
        ("/events/0/data/metadata", []),
        ("/events/3/data/kind", None),
        ("/events/4/timestamp", 1740736810),
        ("/events/4/subtask_id", ["code"]),
        ("/events/4/data/attempt", "first"),
        ("/events/4/span", []),
        ("/events/6/data/version", "1"),
        ("/events/8/data/output_artifact_ids/0", {}),
        ("/events/9/data/depends_on", "code"),
        ("/events/10/profiling", "fine"),
        ("/events/10/profiling/attempts/0", []),
        ("/events/12/data/broadcast", "yes"),
        ("/dependency_links/0", ["e1", "e2"]),
        ("/dependency_links/1/confidence", "sure"),
    )
]

VALUES = [
    Mutation(f"{place} is {value!r}", put(place, value), "bad_value", place)
    for place, value in (
        ("/meta/annotations/0/kind", "opinion"),
        ("/meta/annotations/0/author", "nobody"),
        ("/agent_instances/0/role", "boss"),
        ("/agent_instances/0/role", 5),
        ("/agent_instances/2/lifecycle/status", "asleep"),
        ("/events/0/data/type", "note"),
        ("/events/0/data/type", None),
        ("/events/0/data/type", ["message"]),
        ("/events/0/data/receivers_origin", "guessed"),
        ("/events/0/data/content/0/kind", "smell"),
        ("/events/4/data/status", "ok"),
        ("/events/8/data/status", "done"),
        ("/events/10/profiling/tempo_alignment", "nearly"),
        ("/events/10/profiling/execution_result/status", "done"),
        ("/events/10/profiling/execution_result/return_type", "number"),
        ("/events/10/profiling/attempts/0/status", "tried"),
        ("/dependency_links/0/dep_type", "causes"),
        ("/dependency_links/0/origin", "guessed"),
    )
]

FORMATS = [
    Mutation(f"{place} is {value!r}", put(place, value), "bad_format", place)
    for place, value in (
        ("/schema_version", "2.0"),
        ("/schema_version", "1.x"),
        ("/meta/start_time", "yesterday"),
        ("/meta/end_time", "2026-02-28 10:00:30"),
        ("/agent_instances/2/lifecycle/started_at", "2026-02-28"),
        ("/agent_instances/2/lifecycle/ended_at", ""),
        ("/events/0/timestamp", "2026-02-28T10:00:00+01:00"),
        ("/events/0/timestamp", "2026-02-28T24:00:00Z"),
        ("/events/0/timestamp", "2026-02-28T10:00:00.Z"),
        ("/events/4/data/completed_at", "2026-02-28T10:00:10z"),
        ("/events/10/profiling/schema_version", "v2"),
    )
]

RANGES = [
    Mutation(f"{place} is {value!r}", put(place, value), "out_of_range", place)
    for place, value in (
        ("/dependency_links/0/confidence", 1.5),
        ("/dependency_links/0/confidence", -0.1),
        ("/events/10/profiling/feedback_score", 0),
        ("/events/10/profiling/feedback_score", 5.5),
        ("/events/10/profiling/attempts/0/feedback_score", 6),
    )
]

STRUCTURE = [*MISSING, *UNKNOWN, *TYPES, *VALUES, *FORMATS, *RANGES]

NAMES = [
    Mutation("event_id twice", put("/events/12/event_id", "e3"), "duplicate_event_id", "/events/12/event_id"),
    Mutation("agent_id twice", append("/agent_instances", {"agent_id": "user"}), "duplicate_agent_id", "/agent_instances/4/agent_id"),
    Mutation("agent of an event unknown", put("/events/6/agent_id", "ghost"), "unknown_agent", "/events/6/agent_id"),
    Mutation(
        "sender unknown",
        together(drop("/events/0/agent_id"), put("/events/0/data/sender_id", "ghost")),
        "unknown_agent",
        "/events/0/data/sender_id",
    ),
    Mutation(
        "caller unknown",
        together(drop("/events/5/agent_id"), drop("/events/5/turn_id"), put("/events/5/data/caller_id", "ghost")),
        "unknown_agent",
        "/events/5/data/caller_id",
    ),
    Mutation("executor unknown", put("/events/4/data/executor_id", "ghost"), "unknown_agent", "/events/4/data/executor_id"),
    Mutation("receiver unknown", append("/events/12/data/receiver_ids", "ghost"), "unknown_agent", "/events/12/data/receiver_ids/2"),
    Mutation("assignee unknown", put("/events/2/data/assigned_to", ["coder", "ghost"]), "unknown_agent", "/events/2/data/assigned_to/1"),
    Mutation(
        "parent agent unknown", put("/agent_instances/2/parent_agent_id", "ghost"), "unknown_agent", "/agent_instances/2/parent_agent_id"
    ),
    Mutation("annotated agent unknown", put("/meta/annotations/1/agent_id", "ghost"), "unknown_agent", "/meta/annotations/1/agent_id"),
    Mutation("annotated event unknown", put("/meta/annotations/1/event_id", "e99"), "unknown_event", "/meta/annotations/1/event_id"),
    Mutation("link from nowhere", link("e99", "e5", "reads"), "unknown_event", "/dependency_links/4/source_event_id"),
    Mutation("link to nowhere", link("e5", "e99", "reads"), "unknown_event", "/dependency_links/4/target_event_id"),
    Mutation("artifact of no event", put("/events/7/data/source_event_id", "e99"), "unknown_event", "/events/7/data/source_event_id"),
    Mutation(
        "output artifact unknown",
        append("/events/8/data/output_artifact_ids", "bye.py"),
        "unknown_artifact",
        "/events/8/data/output_artifact_ids/1",
    ),
    Mutation("subtask of an event unknown", put("/events/12/subtask_id", "nothing"), "unknown_subtask", "/events/12/subtask_id"),
    Mutation("parent task unknown", put("/events/9/data/parent_task_id", "nothing"), "unknown_subtask", "/events/9/data/parent_task_id"),
    Mutation("prerequisite unknown", append("/events/9/data/depends_on", "nothing"), "unknown_subtask", "/events/9/data/depends_on/1"),
    Mutation(
        "receiver twice", put("/events/10/data/receiver_ids", ["coder", "coder"]), "duplicate_receiver", "/events/10/data/receiver_ids"
    ),
    Mutation("actor is not the sender", put("/events/12/data/sender_id", "planner"), "actor_mismatch", "/events/12/agent_id"),
    Mutation("actor is not the caller", put("/events/4/data/caller_id", "terminal"), "actor_mismatch", "/events/4/agent_id"),
]

CLOCKS = [
    Mutation("timestamp before its predecessor's", put("/events/12/timestamp", f"{AT}15Z"), "event_order", "/events/12"),
    Mutation("completed_at before its predecessor's timestamp", put("/events/5/data/completed_at", f"{AT}09Z"), "event_order", "/events/5"),
    Mutation(
        "times differ in the fraction only",
        together(put("/events/7/timestamp", f"{AT}13.5Z"), put("/events/8/timestamp", f"{AT}13Z")),
        "event_order",
        "/events/8",
    ),
    Mutation(
        "times differ in the length of the fraction",
        together(put("/events/7/timestamp", f"{AT}13.25Z"), put("/events/8/timestamp", f"{AT}13.2Z")),
        "event_order",
        "/events/8",
    ),
    Mutation("timestamp without zone", put("/events/12/timestamp", f"{AT}17"), "mixed_times", "/events/12/timestamp"),
    Mutation("completed_at without zone", put("/events/5/data/completed_at", f"{AT}11"), "mixed_times", "/events/5/data/completed_at"),
    Mutation("start without zone", put("/meta/start_time", f"{AT}00"), "mixed_times", "/meta/start_time"),
    Mutation(
        "lifecycle without zone",
        put("/agent_instances/2/lifecycle/started_at", f"{AT}02"),
        "mixed_times",
        "/agent_instances/2/lifecycle/started_at",
    ),
    Mutation("timestamp on 30 February", put("/events/12/timestamp", "2026-02-30T10:00:17Z"), "bad_date", "/events/12/timestamp"),
    Mutation(
        "completed_at in month 13",
        together(put("/events/4/data/completed_at", "2026-13-01T10:00:00Z"), drop("/events/4/duration_ms")),
        "bad_date",
        "/events/4/data/completed_at",
    ),
    Mutation("start on 0 February", put("/meta/start_time", "2026-02-00T10:00:00Z"), "bad_date", "/meta/start_time"),
    Mutation("end on 31 April", put("/meta/end_time", "2026-04-31T10:00:00Z"), "bad_date", "/meta/end_time"),
    Mutation(
        "lifecycle on day 0",
        put("/agent_instances/2/lifecycle/started_at", "2026-02-00T10:00:00Z"),
        "bad_date",
        "/agent_instances/2/lifecycle/started_at",
    ),
    Mutation("result before its call", put("/events/4/data/completed_at", f"{AT}09Z"), "time_reversed", "/events/4/data/completed_at"),
    Mutation(
        "result a fraction before its call",
        together(put("/events/4/timestamp", f"{AT}10.5Z"), put("/events/4/data/completed_at", f"{AT}10Z")),
        "time_reversed",
        "/events/4/data/completed_at",
    ),
    Mutation("end before start", put("/meta/end_time", "2026-02-28T09:00:00Z"), "time_reversed", "/meta/end_time"),
    Mutation(
        "agent ends before it starts",
        put("/agent_instances/2/lifecycle/ended_at", f"{AT}01Z"),
        "time_reversed",
        "/agent_instances/2/lifecycle/ended_at",
    ),
]

TURNS = [
    Mutation("turn of two agents", put("/events/2/agent_id", "coder"), "turn_agents", "/events/2/agent_id"),
    Mutation("turn of an agent and nobody", drop("/events/2/agent_id"), "turn_agents", "/events/2/agent_id"),
    Mutation("reasoning twice in a turn", put("/events/2/reasoning", "Again."), "turn_repeats", "/events/2/reasoning"),
    Mutation("raw_response twice in a turn", put("/events/2/raw_response", "Again."), "turn_repeats", "/events/2/raw_response"),
    Mutation("usage late in a turn", put("/events/5/usage", {"total_tokens": 1}), "turn_repeats", "/events/5/usage"),
]

CONNECTIONS = [
    Mutation("link to itself", link("e5", "e5", "reads"), "self_link", "/dependency_links/4"),
    Mutation("link twice", link("e4", "e5", "trigger_toolcall"), "duplicate_link", "/dependency_links/4"),
    Mutation("link backward", link("e9", "e5", "reads"), "backward_link", "/dependency_links/4"),
    Mutation("message received from a call", link("e5", "e9", "receives_msg"), "link_kind", "/dependency_links/4/dep_type"),
    Mutation("message triggered", link("e1", "e4", "trigger_toolcall"), "link_kind", "/dependency_links/4/dep_type"),
    Mutation("call spawned", link("e4", "e5", "spawn_subtask"), "link_kind", "/dependency_links/4/dep_type"),
    Mutation("explicit and unsure", link("e4", "e9", "reads", confidence=0.5), "explicit_confidence", "/dependency_links/4/confidence"),
    Mutation("artifact's source as a link", link("e5", "e7", "reads"), "repeated_edge", "/dependency_links/4"),
    Mutation("prerequisite as a link", link("e9", "e10", "reads"), "repeated_edge", "/dependency_links/4"),
    Mutation("artifact version twice", put("/events/7/data/version", 1), "duplicate_artifact", "/events/7/data/artifact_id"),
    Mutation("artifact made later", put("/events/6/data/source_event_id", "e9"), "artifact_source", "/events/6/data/source_event_id"),
    Mutation("artifact made by itself", put("/events/6/data/source_event_id", "e7"), "artifact_source", "/events/6/data/source_event_id"),
    Mutation("subtask its own parent", put("/events/9/data/parent_task_id", "test"), "subtask_cycle", "/events/9/data/parent_task_id"),
    Mutation(
        "subtasks each other's parents", put("/events/1/data/parent_task_id", "code"), "subtask_cycle", "/events/1/data/parent_task_id"
    ),
    Mutation("subtask waits for itself", put("/events/9/data/depends_on", ["test"]), "subtask_cycle", "/events/9/data/depends_on"),
    Mutation("subtasks wait for each other", put("/events/2/data/depends_on", ["test"]), "subtask_cycle", "/events/2/data/depends_on"),
    Mutation(
        "agents each other's parents",
        put("/agent_instances/1/parent_agent_id", "coder"),
        "agent_cycle",
        "/agent_instances/1/parent_agent_id",
    ),
    Mutation(
        "agent its own parent", put("/agent_instances/2/parent_agent_id", "coder"), "agent_cycle", "/agent_instances/2/parent_agent_id"
    ),
    Mutation(
        "subtask goes on after its end",
        put("/events/11/data", {"type": "subtask", "subtask_id": "code", "status": "in_progress"}),
        "subtask_order",
        "/events/11/data/status",
    ),
    Mutation("success with an error", put("/events/4/data/error", "but"), "status_conflict", "/events/4/data/error"),
    Mutation("text without text", drop("/events/0/data/content/0/text"), "empty_part", "/events/0/data/content/0"),
    Mutation("image of nothing", drop("/events/0/data/content/1/uri"), "empty_part", "/events/0/data/content/1"),
    Mutation("data without value", put("/events/0/data/content/5/value", None), "empty_part", "/events/0/data/content/5"),
    Mutation(
        "completed without a time",
        drop("/events/10/profiling/executed_at"),
        "profiling_conflict",
        "/events/10/profiling/executed_at",
    ),
    Mutation(
        "skipped and executed",
        put("/events/10/profiling/execution_result/status", "skipped"),
        "profiling_conflict",
        "/events/10/profiling/executed_at",
    ),
    Mutation(
        "cancelled and executed",
        put("/events/10/profiling/execution_result/status", "cancelled"),
        "profiling_conflict",
        "/events/10/profiling/executed_at",
    ),
]

MEANING = [*NAMES, *CLOCKS, *TURNS, *CONNECTIONS]
MUTATIONS = [*STRUCTURE, *MEANING]
NO_JSON = [b"", b"no JSON", b"{", b'{"trace_id": "t"} {}', b'{"n": NaN}', b'"\xff"', b"\x00", b'"\\ud800"', b"[" * 5000 + b"]" * 5000]


def mutated(*mutations: Mutation) -> dict[str, Any]:
    document = full_document()
    for mutation in mutations:
        mutation.change(document)
    return document


def expected(mutation: Mutation) -> tuple[str, str, str]:
    return RULES[mutation.code].severity, mutation.code, mutation.pointer


def told(issues: list[Issue]) -> list[tuple[str, str, str]]:
    return [(issue.severity, issue.code, issue.pointer) for issue in issues]


def encoded(document: Any) -> bytes:
    return json.dumps(document).encode()


every_mutation = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
every_structural_mutation = pytest.mark.parametrize("mutation", STRUCTURE, ids=lambda mutation: mutation.name)
every_mutation_of_meaning = pytest.mark.parametrize("mutation", MEANING, ids=lambda mutation: mutation.name)

# -- the valid document -------------------------------------------------------------------------


def test_the_document_is_valid() -> None:
    assert validate_document(full_document()) == []
    assert validate(encoded(full_document()), strict=True) == []


def test_the_document_uses_every_field_of_the_model() -> None:
    used: set[tuple[str, str]] = set()

    def walk(value: Any) -> None:
        if isinstance(value, tuple):
            for item in value:
                walk(item)
        if isinstance(value, msgspec.Struct):
            for field in msgspec.structs.fields(type(value)):
                item = getattr(value, field.name)
                if item not in (None, (), {}, False) and item != field.default:
                    used.add((type(value).__name__, field.name))
                walk(item)

    walk(loads(encoded(full_document())))
    structs = [each for each in vars(model).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    fields = {(struct.__name__, field.name) for struct in structs for field in msgspec.structs.fields(struct)}
    assert fields - used == {("Trace", "schema_version")}


# -- one fault at a time ------------------------------------------------------------------------


@every_mutation
def test_one_fault_is_told_once_with_its_code_and_place(mutation: Mutation) -> None:
    assert told(validate(encoded(mutated(mutation)))) == [expected(mutation)]


@pytest.mark.parametrize("data", NO_JSON, ids=lambda data: repr(data[:20]))
def test_what_is_no_json_is_an_issue(data: bytes) -> None:
    assert told(validate(data)) == [("error", "no_json", "")]


def test_every_rule_is_broken_by_a_mutation() -> None:
    assert {mutation.code for mutation in MUTATIONS} | {"no_json", "too_deep"} == set(RULES)


def test_what_is_nested_too_deeply_is_told_once() -> None:
    nested: list[object] = []
    for _ in range(900):
        nested = [nested]
    assert told(validate_document(full_document() | {"events": nested})) == [("error", "too_deep", "")]


def test_mutations_have_names_of_their_own() -> None:
    names = [mutation.name for mutation in MUTATIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("mutation", UNKNOWN, ids=lambda mutation: mutation.name)
def test_an_unknown_key_is_an_error_when_strict(mutation: Mutation) -> None:
    assert told(validate(encoded(mutated(mutation)), strict=True)) == [("error", "unknown_key", mutation.pointer)]


@every_structural_mutation
def test_what_validation_refuses_in_structure_the_codec_refuses_too(mutation: Mutation) -> None:
    """Only patterns and bounds are left to validation; unknown keys are mended unless reading is strict."""
    data = encoded(mutated(mutation))
    if mutation.pointer == "/schema_version" or mutation.code not in {"bad_format", "out_of_range", "unknown_key"}:
        with pytest.raises(ModelError):
            loads(data)
    elif mutation.code == "unknown_key":
        with pytest.raises(ModelError):
            loads(data, strict=True)
    else:
        assert loads(data).trace_id == "run-7"


# -- several faults at once -----------------------------------------------------------------------


def named(*names: str) -> list[Mutation]:
    return [next(mutation for mutation in MUTATIONS if mutation.name == name) for name in names]


@pytest.mark.parametrize(
    "names",
    [
        ("no trace_id", "no framework", "annotation without name", "message without receiver_ids", "link without origin"),
        ("unknown key in the trace", "unknown key in /events/0/data", "unknown key in /events/10/profiling/attempts/0"),
        (
            "/agent_instances/0/role is 'boss'",
            "/events/4/data/status is 'ok'",
            "/meta/success is 'yes'",
            "/events/0/timestamp is '2026-02-28T24:00:00Z'",
        ),
        ("event_id twice", "receiver unknown", "subtask of an event unknown", "output artifact unknown", "receiver twice"),
        ("timestamp without zone", "result before its call", "end before start", "reasoning twice in a turn", "usage late in a turn"),
        ("link to itself", "artifact version twice", "artifact made later", "agents each other's parents", "success with an error"),
        ("subtask its own parent", "subtasks wait for each other", "text without text", "completed without a time"),
        ("unknown key in the trace", "no framework", "/agent_instances/0/role is 'boss'", "artifact version twice", "image of nothing"),
    ],
    ids=lambda names: names[0],
)
def test_several_faults_are_all_told(names: tuple[str, ...]) -> None:
    mutations = named(*names)
    assert sorted(told(validate(encoded(mutated(*mutations))))) == sorted(map(expected, mutations))


def test_the_same_fault_in_many_places_is_told_for_each() -> None:
    document = full_document()
    for index in (3, 10, 12):
        document["events"][index]["data"]["receiver_ids"] = ["ghost"]
    expected_places = [f"/events/{index}/data/receiver_ids/0" for index in (3, 10, 12)]
    assert told(validate_document(document)) == [("error", "unknown_agent", place) for place in expected_places]


def test_errors_come_before_warnings() -> None:
    issues = validate_document(mutated(*named("unknown key in the trace", "receiver twice", "event_id twice", "no framework")))
    assert [issue.severity for issue in issues] == ["error", "error", "warning", "warning"]


def test_two_missing_keys_of_one_object_are_both_told() -> None:
    document = full_document()
    document["dependency_links"] = [{}]
    messages = [issue.message for issue in validate_document(document)]
    assert [key for key in ("source_event_id", "target_event_id", "dep_type", "origin") if not any(key in text for text in messages)] == []


# -- agreement with the reference validator ---------------------------------------------------------

REFERENCE = Draft202012Validator(load_schema())
CODE_OF = {
    "required": "missing_key",
    "additionalProperties": "unknown_key",
    "type": "wrong_type",
    "enum": "bad_value",
    "pattern": "bad_format",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
}


def reference_faults(document: Any) -> set[tuple[str, str]]:
    """Code and pointer of every structural fault, as the package jsonschema finds it."""
    found: set[tuple[str, str]] = set()
    for error in REFERENCE.iter_errors(document):
        places = [pointer(*error.absolute_path)]
        if error.validator == "additionalProperties":
            places = [places[0] + pointer(key) for key in error.instance if key not in error.schema["properties"]]
        found.update((CODE_OF[str(error.validator)], place) for place in places)
    return found


def structural_faults(issues: list[Issue]) -> set[tuple[str, str]]:
    return {(issue.code, issue.pointer) for issue in issues if issue.code in CODE_OF.values()}


@every_structural_mutation
def test_the_reference_validator_finds_the_same_fault(mutation: Mutation) -> None:
    document = mutated(mutation)
    assert reference_faults(document) == structural_faults(validate_document(document)) == {(mutation.code, mutation.pointer)}


@every_mutation_of_meaning
def test_the_reference_validator_finds_no_fault_where_only_the_meaning_is_wrong(mutation: Mutation) -> None:
    assert REFERENCE.is_valid(mutated(mutation))


REPLACEMENTS: list[Any] = [
    None,
    True,
    0,
    7,
    -1,
    1.5,
    "",
    "text",
    "2026-13-45T10:00:00Z",
    "2026-02-28T10:00:00",
    [],
    {},
    [None],
    ["a"],
    [[]],
    {"type": "message"},
    {"x": 1},
]


def containers(value: Any) -> Iterator[Any]:
    """The document and every object and array inside it that is not empty."""
    if isinstance(value, dict | list) and value:
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from containers(item)


@st.composite
def broken_documents(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """A valid trace with some keys deleted, some values of another type, some keys added, anywhere."""
    document = draw(documents())
    for _ in range(draw(st.integers(1, 3))):
        places = list(containers(document))
        holder = places[draw(st.integers(0, len(places) - 1))]
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = keys[draw(st.integers(0, len(keys) - 1))]
        action = draw(st.sampled_from(["delete", "replace", "add"]))
        value = copy.deepcopy(draw(st.sampled_from(REPLACEMENTS)))
        if action == "delete":
            del holder[key]
        elif action == "replace" or isinstance(holder, list):
            holder[key] = value
        else:
            holder[draw(st.sampled_from(["strange", "a/b~", "extra", "type", "", "usage"]))] = value
        if not document:
            break
    return document


@settings(max_examples=300, deadline=None)
@given(broken_documents())
def test_the_reference_validator_agrees_on_broken_documents(document: Any) -> None:
    issues = validate_document(document, strict=True)
    assert structural_faults(issues) == reference_faults(document)
    assert any(issue.code in CODE_OF.values() for issue in issues) is not REFERENCE.is_valid(document)


@settings(max_examples=200, deadline=None)
@given(broken_documents())
def test_places_of_broken_documents_are_in_the_document_and_messages_are_one_line(document: Any) -> None:
    for issue in validate_document(document):
        assert RULES[issue.code].severity == issue.severity
        assert issue.message.isprintable()
        if issue.pointer:
            holder, key = holder_of(document, issue.pointer)
            assert isinstance(holder, dict) or key < len(holder)


@settings(max_examples=200, deadline=None)
@given(broken_documents())
def test_what_validation_takes_the_codec_takes(document: Any) -> None:
    data = encoded(document)
    errors = {issue.code for issue in validate(data) if issue.severity == "error"}
    try:
        loads(data)
    except ModelError:
        assert errors
    else:
        assert not errors & {"missing_key", "wrong_type", "bad_value"}


def test_a_whole_number_written_as_a_float_is_taken_by_both_or_by_neither() -> None:
    """JSON Schema counts 2.0 as an integer."""
    data = encoded(mutated(Mutation("", put("/meta/usage/total_tokens", 300.0), "", "")))
    try:
        loads(data)
    except ModelError:
        assert validate(data)
    else:
        assert not validate(data)


# -- Trace, bytes and path agree ----------------------------------------------------------------------


@EXAMPLES
@given(traces())
def test_generated_traces_are_valid(trace: model.Trace) -> None:
    assert validate(trace) == []
    assert validate(dumps(trace), strict=True) == []
    assert REFERENCE.is_valid(orjson.loads(dumps(trace)))


@every_mutation_of_meaning
def test_trace_bytes_and_path_agree(mutation: Mutation, tmp_path: Path) -> None:
    data = encoded(mutated(mutation))
    path = tmp_path / "trace.json"
    path.write_bytes(data)
    assert validate(path) == validate(str(path)) == validate(data)
    assert validate(loads(data)) == validate(data)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_compressed_files_are_expanded(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "trace"
    path.write_bytes(compress(encoded(mutated(*named("event_id twice")))))
    assert told(validate(path)) == [("error", "duplicate_event_id", "/events/12/event_id")]


def test_a_file_that_is_not_there_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(ReadError) as caught:
        validate(tmp_path / "none.json")
    assert (caught.value.code, caught.value.path) == ("not_found", str(tmp_path / "none.json"))


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_damaged_compressed_file_is_told_with_its_path_or_as_no_json(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(compress(encoded(full_document()))[:-6])
    try:
        issues = validate(path)
    except ReadError as error:
        assert (error.code, error.path) == ("compressed", str(path))
    else:
        assert told(issues) == [("error", "no_json", "")]


# -- hostile documents ------------------------------------------------------------------------------------


def deep(levels: int, value: Any = 1) -> Any:
    for _ in range(levels):
        value = [value]
    return value


def changed(place: str, value: Any) -> dict[str, Any]:
    return mutated(Mutation("", put(place, value), "", ""))


HOSTILE: dict[str, Any] = {
    "null": None,
    "a number": 5,
    "a text": "trace",
    "an array": [full_document()],
    "an empty object": {},
    "all keys null": dict.fromkeys(full_document()),
    "all keys arrays": {key: [[]] for key in full_document()},
    "all keys objects": {key: {"a": {}} for key in full_document()},
    "arrays where objects belong": full_document() | {"events": [[]], "agent_instances": [[]], "dependency_links": [[]], "meta": [[]]},
    "objects where texts belong": changed("/events/0/event_id", {"a": 1}),
    "unhashable ids": changed("/meta/annotations", [{"name": "x", "event_id": [], "agent_id": {}}]),
    "an unhashable task id": changed("/meta/task_id", {}),
    "unhashable receivers": changed("/events/0/data/receiver_ids", [[], {}]),
    "a type that is an object": changed("/events/0/data/type", {"type": "message"}),
    "deep nesting in the place of the events": full_document() | {"events": deep(900)},
    "deep nesting in the place of a name": changed("/events/0/data/sender_id", deep(900)),
    "deep nesting in the place of a type": changed("/events/0/data/type", deep(900)),
    "a huge text in the place of a role": changed("/agent_instances/0/role", "x" * 1_000_000),
    "a huge name of an agent": changed("/events/12/data/receiver_ids", ["x" * 1_000_000]),
    "a huge key": changed("/" + "x" * 1_000_000, 1),
    "a huge number": changed("/trace_id", 10**30),
    "control characters in a role": changed("/agent_instances/0/role", "a\nb\x1b[31m\x00\u2028\u202e"),
    "control characters in a time": changed("/events/0/timestamp", "2026\r\n\x1b]0;title\x07"),
    "control characters in a name": changed("/events/12/data/receiver_ids", ["a\nb\x1b[31m\x00\u2028\u202e"]),
    "control characters in a key": changed("/a\nb\x1b[31m", 1),
    "control characters in ids": changed("/events/12/data", {"type": "subtask", "subtask_id": "\n\x1b", "parent_task_id": "\n\x1b"}),
    "control characters in links": full_document()
    | {"dependency_links": [{"source_event_id": "\n\x1b", "target_event_id": "e1", "dep_type": "reads", "origin": "explicit"}]},
    "a long cycle": full_document()
    | {"agent_instances": [{"agent_id": f"a{n}", "parent_agent_id": f"a{(n + 1) % 5000}"} for n in range(5000)]},
}


@pytest.mark.parametrize("document", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_documents_give_issues_of_one_printable_line(document: Any) -> None:
    issues = validate_document(document)
    assert any(issue.severity == "error" for issue in issues) or issues[0].code == "unknown_key"
    assert [issue.message for issue in issues if not issue.message.isprintable() or len(issue.message) > 500] == []


def test_lone_surrogates_in_a_document_decoded_elsewhere_give_printable_messages() -> None:
    messages = [issue.message for issue in validate_document(changed("/agent_instances/0/role", "\ud800"))]
    assert len(messages) == 1
    assert messages[0].isprintable()


@pytest.mark.parametrize("place", ["/extra", "/events/4/data/result", "/events/4/data/arguments", "/meta/final_answer"])
def test_deep_nesting_where_any_value_may_stand_is_valid(place: str) -> None:
    value = {"deep": deep(900)}
    assert validate_document(changed(place, value)) == []
    assert validate(encoded(changed(place, value))) == []


@pytest.mark.parametrize("text", ["x" * 5_000_000, "\n\x1b[31m\x00", "你好" * 100_000])
def test_odd_texts_where_any_text_may_stand_are_valid(text: str) -> None:
    assert validate_document(changed("/events/12/data/content", text)) == []


@settings(max_examples=200, deadline=None)
@given(json_values() | st.dictionaries(st.sampled_from([*full_document()]), json_values()))
def test_any_json_value_gets_a_verdict(document: Any) -> None:
    document = orjson.loads(encoded(document))
    assert bool(structural_faults(validate_document(document))) is not REFERENCE.is_valid(document)


@EXAMPLES
@given(st.binary(max_size=40))
def test_any_bytes_get_a_verdict(data: bytes) -> None:
    try:
        issues = validate(data)
    except ReadError as error:
        assert error.code == "compressed"
    else:
        assert any(issue.severity == "error" for issue in issues)
