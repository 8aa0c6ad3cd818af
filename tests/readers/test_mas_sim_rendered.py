"""Steps that were rendered for AgentRx: what a text or JSON says of a call and of a hand-over."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from agenttrace import codec
from agenttrace.model import TraceMeta
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source
from tests.conftest import FORMATS

ARGUMENTS = {"product": "kettle"}
RESULT = {"ok": False}
TEXT = (
    "Agent: Catalog\nOperation: search\nRole: dependency\nStatus: ERROR\nTool: Catalog\n"
    f"Tool args: {json.dumps(ARGUMENTS)}\nTool result: {json.dumps(RESULT)}\nError: Late: after 3 s\nInput: Tool: none\nOutput: Status: OK"
)
AS_JSON = json.dumps(
    {"agent": "Catalog", "status": "ERROR", "tool_name": "Catalog", "tool_args": json.dumps(ARGUMENTS)}
    | {"tool_result": json.dumps(RESULT), "error": {"type": "Late", "message": "after 3 s"}}
)


def events_of(content: Any) -> list[dict[str, Any]]:
    document = {"trajectory_id": "q1", "instruction": "?", "steps": [{"index": 1, "substeps": [{"role": "Catalog", "content": content}]}]}
    (trace,) = traces_of(Source("log.json", data=json.dumps(document).encode()), "mas_sim", Notes())[2]
    found: list[dict[str, Any]] = json.loads(codec.dumps(trace))["events"]
    return found


@pytest.mark.parametrize(("content", "error"), [(TEXT, "Late: after 3 s"), (AS_JSON, {"type": "Late", "message": "after 3 s"})])
def test_a_call_with_a_result_is_a_call_beside_its_text(content: str, error: Any) -> None:
    text, call = events_of(content)
    assert (text["data"]["kind"], text["data"]["content"]) == ("log", content)
    assert {"tool_name": "Catalog", "executor_id": "Catalog", "arguments": ARGUMENTS, "result": RESULT}.items() <= call["data"].items()
    assert (call["data"]["status"], call["data"]["error"]) == ("failure", error) and "caller_id" not in call["data"]


def test_whom_a_step_delegates_to_is_its_receiver() -> None:
    told = {"telemetry": {"events": [{"name": "task_delegated", "attributes": {"target_agent": "Researcher"}}, {"name": "other"}, 7]}}
    (event,) = events_of(json.dumps(told))
    assert event["data"]["receiver_ids"] == ["Researcher"] and event["data"]["kind"] == "handoff"


@pytest.mark.parametrize(
    "content", ["Agent: A\nTool: T\nTool args: {}\nInput: x\nOutput: Tool result: 1", "{broken", "[1]", '{"telemetry": 7}']
)
def test_other_texts_are_messages(content: str) -> None:
    (event,) = events_of(content)
    assert event["data"]["content"] == content and event["data"]["receiver_ids"] == []


def test_a_truth_that_only_a_span_states_is_only_annotated() -> None:
    document = json.loads((FORMATS / "mas_sim" / "hand_otel" / "input.json").read_text("utf-8"))
    for span in document["spans"]:
        if "task.expected_result" in span["attributes"]:
            span["attributes"]["task.expected_result"] = "a truth of its own"
    (trace,) = traces_of(Source("log.json", data=json.dumps(document).encode()), "mas_sim", Notes())[2]
    assert {note.kind for note in trace.meta.annotations if note.value == "a truth of its own"} == {"ground_truth"}
    assert b"a truth of its own" not in codec.dumps(msgspec.structs.replace(trace, meta=TraceMeta(framework="mas_sim")))
