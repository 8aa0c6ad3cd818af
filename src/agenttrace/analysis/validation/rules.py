"""The rules that a trace is checked against, by code. Codes never change meaning."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["RULES", "Issue", "Rule", "issue"]

Severity = Literal["error", "warning"]


class Issue(NamedTuple):
    """One problem: how bad, which rule, where (JSON pointer), and one sentence."""

    severity: Severity
    code: str
    pointer: str
    message: str


class Rule(NamedTuple):
    """A rule: how bad it is to break it, and what it says."""

    severity: Severity
    says: str


RULES: dict[str, Rule] = {
    # structure
    "no_json": Rule("error", "The input is JSON."),
    "too_deep": Rule("error", "The document is not nested too deeply to be checked (some hundred levels)."),
    "missing_key": Rule("error", "Required keys are there."),
    "unknown_key": Rule("warning", "There are no keys that the format does not know (an error in strict mode)."),
    "wrong_type": Rule("error", "Every value has the type that the format gives it."),
    "bad_value": Rule("error", "A value from a closed list is one of the list."),
    "bad_format": Rule("error", "Times and versions are written as the format asks."),
    "out_of_range": Rule("error", "Numbers are within their bounds."),
    # ids and ends
    "duplicate_event_id": Rule("error", "An event_id stands once in a trace."),
    "duplicate_agent_id": Rule("error", "An agent_id stands once in agent_instances."),
    "unknown_agent": Rule("error", "Every agent that is named is one of agent_instances."),
    "unknown_event": Rule("error", "Every event that is named is one of the trace."),
    "unknown_artifact": Rule("error", "Every artifact that is named is one of the trace."),
    "unknown_subtask": Rule("error", "Every subtask that is named has an update in the trace."),
    "duplicate_receiver": Rule("warning", "A receiver stands once in receiver_ids."),
    # actors
    "actor_mismatch": Rule("error", "agent_id is the sender_id of a message and the caller_id of a call, where both are stated."),
    # order and times
    "event_order": Rule("error", "Events stand in the order of timestamp, else completed_at."),
    "mixed_times": Rule("error", "Times with and without a zone are not mixed in one trace."),
    "bad_date": Rule("error", "A time is one of the calendar."),
    "time_reversed": Rule("warning", "A result does not come before its call, an end not before its start."),
    # turns
    "turn_agents": Rule("error", "All events of a turn have the same agent_id."),
    "turn_repeats": Rule("error", "reasoning, raw_response and usage stand on the first event of a turn only."),
    # links
    "self_link": Rule("error", "A link does not lead from an event to itself."),
    "duplicate_link": Rule("error", "A link (source, target, dep_type) stands once."),
    "backward_link": Rule("error", "A link points forward in the order of events."),
    "link_kind": Rule(
        "error", "receives_msg starts at a Message, trigger_toolcall ends at a ToolCall, spawn_subtask touches a SubtaskUpdate."
    ),
    "explicit_confidence": Rule("error", "A link that is explicit has confidence 1."),
    "repeated_edge": Rule("warning", "What source_event_id, depends_on and parent_task_id say already is not repeated as a link."),
    # artifacts and subtasks
    "duplicate_artifact": Rule("error", "A pair of artifact_id and version stands once."),
    "artifact_source": Rule("error", "source_event_id names an event before the artifact."),
    "subtask_cycle": Rule("error", "Subtasks form a tree by parent_task_id, and no cycle by depends_on."),
    "agent_cycle": Rule("error", "Agents form a tree by parent_agent_id."),
    "subtask_order": Rule("warning", "A subtask that has ended does not change its status again."),
    # calls, contents, profiling
    "status_conflict": Rule("warning", "A call with status success has no error."),
    "empty_part": Rule("warning", "A content part holds what its kind says."),
    "profiling_conflict": Rule("warning", "A skipped or cancelled execution has no executed_at, a completed one has."),
}


def issue(code: str, pointer: str, message: str, *, severity: Severity | None = None) -> Issue:
    """An issue with the severity of its rule, unless another is given."""
    return Issue(severity or RULES[code].severity, code, pointer, message)
