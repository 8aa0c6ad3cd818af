"""A valid trace, written by hand, with every field of the format in it, as a decoded JSON document."""

from __future__ import annotations

from typing import Any

__all__ = ["full_document"]


def full_document() -> dict[str, Any]:
    """The document, made anew for each caller: it may be changed."""
    return {
        "schema_version": "1.0",
        "trace_id": "run-7",
        "meta": {
            "task_id": "task-1",
            "task": "Write a program that prints 你好.",
            "run_id": "benchmark-3",
            "session_id": "session-9",
            "parent_trace_id": "run-6",
            "continues_trace_id": "run-5",
            "framework": "by_hand",
            "framework_version": "0.4",
            "environment_version": "docker 27",
            "dataset": "greetings",
            "difficulty": "easy",
            "success": True,
            "failure_reason": "none in the end",
            "final_answer": {"file": "hello.py"},
            "start_time": "2026-02-28T10:00:00Z",
            "end_time": "2026-02-28T10:00:30Z",
            "duration_ms": 30000,
            "usage": {"total_tokens": 300},
            "source": {
                "name": "logs/run.json",
                "sha256": "ab" * 32,
                "bytes": 1234,
                "reader": "by_hand",
                "variant": "one",
                "reader_version": "1",
            },
            "annotations": [
                {
                    "name": "first wrong step",
                    "value": {"step": 3},
                    "kind": "label",
                    "event_id": "e6",
                    "agent_id": "coder",
                    "author": "human",
                    "comment": "the import is missing",
                    "source_ref": "labels.json#/0",
                },
                {"name": "score", "value": 0.5, "kind": "score", "author": "model"},
            ],
            "extra": {"seed": 1},
        },
        "agent_instances": _agents(),
        "events": _events(),
        "dependency_links": [
            _link("e1", "e2", "receives_msg", origin="derived", confidence=0.9, evidence="the planner is the only receiver"),
            _link("e4", "e5", "trigger_toolcall", confidence=1.0),
            _link("e5", "e9", "reads", origin="inferred", confidence=0.25),
            _link("e1", "e2", "spawn_subtask"),
        ],
        "extra": {"record_types": [{"type": "text", "count": 13}]},
    }


def _agents() -> list[dict[str, Any]]:
    return [
        {"agent_id": "user", "name": "A person", "role": "user"},
        {"agent_id": "planner", "role": "planner", "description": "splits the task"},
        {
            "agent_id": "coder",
            "role": "worker",
            "system_prompt": "You write Python.",
            "model": "m-1",
            "version": "2",
            "tools": [{"name": "run", "description": "runs code", "parameters": {"type": "object"}}],
            "config": {"temperature": 0},
            "lifecycle": {"started_at": "2026-02-28T10:00:02Z", "ended_at": "2026-02-28T10:00:20Z", "status": "finished"},
            "parent_agent_id": "planner",
            "extra": {"colour": "green"},
        },
        {"agent_id": "terminal", "role": "environment"},
    ]


def _link(source: str, target: str, dep_type: str, **more: Any) -> dict[str, Any]:
    return {"source_event_id": source, "target_event_id": target, "dep_type": dep_type, "origin": "explicit"} | more


def _events() -> list[dict[str, Any]]:
    return [
        {
            "event_id": "e1",
            "timestamp": "2026-02-28T10:00:00Z",
            "agent_id": "user",
            "data": {
                "type": "message",
                "sender_id": "user",
                "receiver_ids": ["planner"],
                "receivers_origin": "explicit",
                "content": [
                    {"kind": "text", "text": "Write a program that prints 你好."},
                    {"kind": "image", "uri": "file:hello.png", "media_type": "image/png"},
                    {"kind": "audio", "data": "aGVsbG8=", "media_type": "audio/wav"},
                    {"kind": "video", "uri": "file:hello.mp4"},
                    {"kind": "file", "uri": "file:hello.txt", "text": "你好"},
                    {"kind": "data", "value": {"lines": [1, None]}},
                ],
                "metadata": {"id": "m-1"},
            },
            "source_ref": "/messages/0",
        },
        {
            "event_id": "e2",
            "timestamp": "2026-02-28T10:00:01Z",
            "agent_id": "planner",
            "turn_id": "turn-1",
            "data": {
                "type": "subtask",
                "subtask_id": "whole",
                "parent_task_id": "task-1",
                "assigned_to": ["planner"],
                "goal": "the program",
                "status": "created",
            },
            "reasoning": "First the code, then the test.",
            "raw_response": {"choices": []},
            "phase": "plan",
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "total_tokens": 150,
                "cached_tokens": 20,
                "cache_write_tokens": 10,
                "reasoning_tokens": 30,
                "cost_usd": 0.01,
                "model": "m-1",
            },
        },
        {
            "event_id": "e3",
            "timestamp": "2026-02-28T10:00:02Z",
            "agent_id": "planner",
            "turn_id": "turn-1",
            "data": {
                "type": "subtask",
                "subtask_id": "code",
                "parent_task_id": "whole",
                "assigned_to": ["coder"],
                "goal": "code",
                "status": "created",
            },
        },
        {
            "event_id": "e4",
            "timestamp": "2026-02-28T10:00:03Z",
            "agent_id": "planner",
            "turn_id": "turn-1",
            "data": {"type": "message", "sender_id": "planner", "receiver_ids": ["coder"], "kind": "handoff", "content": "Your turn."},
        },
        {
            "event_id": "e5",
            "timestamp": "2026-02-28T10:00:10Z",
            "agent_id": "coder",
            "turn_id": "turn-2",
            "subtask_id": "code",
            "data": {
                "type": "tool_call",
                "tool_call_id": "call-1",
                "caller_id": "coder",
                "executor_id": "terminal",
                "tool_name": "run",
                "arguments": {"code": "open('hello.py', 'w')"},
                "result": "",
                "status": "success",
                "completed_at": "2026-02-28T10:00:10.5Z",
                "attempt": 1,
            },
            "duration_ms": 500,
            "span": {"trace_id": "s", "span_id": "s-2", "parent_span_id": "s-1"},
        },
        {
            "event_id": "e6",
            "agent_id": "coder",
            "turn_id": "turn-2",
            "subtask_id": "code",
            "data": {
                "type": "tool_call",
                "tool_call_id": "call-2",
                "caller_id": "coder",
                "tool_name": "run",
                "arguments": "not { json",
                "status": "exception",
                "error": "SyntaxError",
                "completed_at": "2026-02-28T10:00:11Z",
            },
        },
        {
            "event_id": "e7",
            "timestamp": "2026-02-28T10:00:12Z",
            "agent_id": "coder",
            "data": {
                "type": "artifact",
                "artifact_id": "hello.py",
                "version": 1,
                "name": "hello.py",
                "media_type": "text/x-python",
                "content": "print('你好')",
                "uri": "file:hello.py",
                "sha256": "cd" * 32,
                "source_event_id": "e5",
            },
        },
        {
            "event_id": "e8",
            "timestamp": "2026-02-28T10:00:13Z",
            "agent_id": "coder",
            "data": {"type": "artifact", "artifact_id": "hello.py", "version": 2, "source_event_id": "e6"},
        },
        {
            "event_id": "e9",
            "timestamp": "2026-02-28T10:00:14Z",
            "agent_id": "coder",
            "data": {
                "type": "subtask",
                "subtask_id": "code",
                "status": "completed",
                "result": ["hello.py"],
                "output_artifact_ids": ["hello.py"],
            },
        },
        {
            "event_id": "e10",
            "timestamp": "2026-02-28T10:00:15Z",
            "agent_id": "planner",
            "data": {"type": "subtask", "subtask_id": "test", "parent_task_id": "whole", "status": "in_progress", "depends_on": ["code"]},
        },
        {
            "event_id": "e11",
            "timestamp": "2026-02-28T10:00:16Z",
            "agent_id": "terminal",
            "subtask_id": "test",
            "data": {"type": "message", "sender_id": "terminal", "receiver_ids": ["coder", "planner"], "receivers_origin": "derived"},
            "profiling": {
                "schema_version": "v1",
                "scheduled_for": "2026-02-28T10:00:15Z",
                "executed_at": "2026-02-28T10:00:16Z",
                "duration_ms": 1000,
                "deviation_ms": 1000.0,
                "tempo_token": "[quarter]",
                "tempo_alignment": "partial",
                "feedback_score": 4,
                "reward_signal": 0.75,
                "agent_latency_ms": 10,
                "user_delay_ms": 20,
                "execution_result": {"status": "completed", "return_type": "text", "trace_id": "run-8", "planned_by": "planner"},
                "attempts": [
                    {"executed_at": "2026-02-28T10:00:15Z", "duration_ms": 5, "status": "failed", "feedback_score": 1},
                    {"executed_at": "2026-02-28T10:00:16Z", "status": "completed"},
                ],
            },
        },
        {
            "event_id": "e12",
            "data": {"type": "subtask", "subtask_id": "whole", "status": "failed"},
            "extra": {"reason": "out of time"},
        },
        {
            "event_id": "e13",
            "timestamp": "2026-02-28T10:00:17Z",
            "agent_id": "coder",
            "branch_id": "regenerated",
            "data": {"type": "message", "sender_id": "coder", "receiver_ids": ["planner", "user"], "broadcast": True, "content": "Done."},
        },
    ]
