"""AgentScope logs that were cut, or say odd things: what their pieces hold is not lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agenttrace import codec
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source
from tests.conftest import FORMATS

STREAM = [json.loads(line) for line in (FORMATS / "agentscope" / "2_events" / "input.jsonl").read_text("utf-8").splitlines()]
SESSION = json.loads((FORMATS / "agentscope" / "1_session" / "input.json").read_text("utf-8"))


def made(data: bytes) -> tuple[dict[str, Any], Notes]:
    notes = Notes()
    (trace,) = traces_of(Source("log", data=data), "agentscope", notes)[2]
    return json.loads(codec.dumps(trace)), notes


def stream(events: list[dict[str, Any]]) -> tuple[dict[str, Any], Notes]:
    return made("\n".join(map(json.dumps, events)).encode())


@pytest.mark.parametrize("length", range(4, len(STREAM), 5))
def test_a_stream_may_end_anywhere(length: int) -> None:
    trace, _ = stream(STREAM[:length])
    text = json.dumps(trace, ensure_ascii=False)
    pieces: dict[tuple[str, str], str] = {}
    for event in STREAM[:length]:
        if event["type"] in ("TEXT_BLOCK_DELTA", "THINKING_BLOCK_DELTA", "TOOL_RESULT_TEXT_DELTA"):
            key = (event["type"], event.get("block_id") or event["tool_call_id"])
            pieces[key] = pieces.get(key, "") + event["delta"]
    assert [whole for whole in pieces.values() if json.dumps(whole, ensure_ascii=False)[1:-1] not in text] == []


def test_a_result_without_an_end_is_a_result_of_unknown_outcome() -> None:
    trace, notes = stream([event for event in STREAM if event["type"] != "TOOL_RESULT_END"])
    call = next(event["data"] for event in trace["events"] if event["data"].get("result") == "12 kilos")
    assert "status" not in call and "completed_at" not in call
    assert any("has no end" in note.detail for note in notes.damage)


@pytest.mark.parametrize("begin", ["TEXT_BLOCK_START", "THINKING_BLOCK_START", "TOOL_CALL_START"])
def test_what_has_no_beginning_begins_with_its_first_piece(begin: str) -> None:
    whole, without = (stream([event for event in STREAM if event["type"] != left_out])[0] for left_out in ("", begin))
    assert texts(without) >= texts(whole)


def texts(trace: dict[str, Any]) -> set[str]:
    said = {event["data"].get("content") for event in trace["events"] if isinstance(event["data"].get("content"), str)}
    asked = {json.dumps(event["data"].get("arguments")) for event in trace["events"] if event["data"].get("arguments")}
    return said | asked | {event["reasoning"] for event in trace["events"] if "reasoning" in event}


def test_thoughts_with_nothing_after_them_are_an_event() -> None:
    reply = {"created_at": "2026-12-01T07:00:00", "reply_id": "r1"}
    begun = [{**reply, "id": "1", "type": "REPLY_START", "name": "miller"}, {**reply, "id": "2", "type": "MODEL_CALL_START"}]
    thought = {**reply, "block_id": "b", "type": "THINKING_BLOCK_START", "id": "3"}
    trace, _ = stream([*begun, thought, {**thought, "id": "4", "type": "THINKING_BLOCK_DELTA", "delta": "Rye, then"}])
    (event,) = trace["events"]
    assert (event["reasoning"], event["agent_id"], event["turn_id"]) == ("Rye, then", "miller", "turn:2")


def test_names_that_are_none_stay_aside() -> None:
    text = json.dumps(SESSION).replace('"name": "ask_seller"', '"name": ["ask_seller"]').replace('"name": "host"', '"name": {"is": "host"}')
    trace, _ = made(text.encode())
    aside = [event.get("extra", {}) for event in trace["events"]]
    assert any(extra.get("call.name") == ["ask_seller"] for extra in aside) and any(extra.get("name") == {"is": "host"} for extra in aside)


def test_a_time_of_a_span_that_no_clock_shows_stays_aside() -> None:
    spans = next((FORMATS / "mas_sim").glob("*otel*/input.json")).read_text("utf-8")
    document = json.loads(spans)
    document["spans"][1] |= {"start_time_unix_ns": 10**40, "duration_ms": "long"}
    notes = Notes()
    (trace,) = traces_of(Source("log", data=json.dumps(document).encode()), "mas_sim", notes)[2]
    kept = [event.extra for event in trace.events if event.extra and "span.duration_ms" in event.extra]
    assert kept and kept[0]["span.start_time_unix_ns"] == 10**40 and kept[0]["span.duration_ms"] == "long"


def test_lines_of_a_log_stand_where_they_were_printed() -> None:
    notes = Notes()
    (trace,) = traces_of(Source.open(FORMATS / "agentscope" / "0_run_folder" / "input"), "agentscope", notes)[2]
    places = [str(event.source_ref).split("/")[0] for event in trace.events]
    assert places[:4] == ["logging.log#line:1", "logging.log#line:2", "logging.log#line:3", "logging.chat#line:1"]
    assert places.index("logging.chat#line:6") < places.index("logging.log#line:28") < places.index("logging.chat#line:8")


def test_what_an_agent_answers_stands_in_its_own_invocation() -> None:
    """Whoever reads an answer in the prompt of another agent does not make it theirs."""
    trace, _ = made((FORMATS / "agentscope" / "1_spans" / "input.jsonl").read_bytes())
    ended: set[str] = set()
    owners: dict[str, str] = {}
    for event in trace["events"]:
        data = event["data"]
        if data["type"] == "subtask" and data["status"] == "completed":
            ended.add(data["subtask_id"])
            owners[data["subtask_id"]] = event["agent_id"]
        else:
            assert event.get("subtask_id") not in ended
    said = [event for event in trace["events"] if event["data"]["type"] == "message" and event.get("agent_id") in owners.values()]
    answers = [event for event in said if owners[event["subtask_id"]] not in event["data"]["receiver_ids"]]  # else the question
    assert answers and all(owners[event["subtask_id"]] == event["agent_id"] for event in answers)
