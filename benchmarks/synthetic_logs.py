"""Synthetic runtime logs, event logs and transcripts of AutoGen, in the shapes that the real loggers write. Seeded.

The conversation is that of :mod:`synthetic`: two agents of 0.2, or the four of an AgentChat team.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from synthetic import agentchat_log

__all__ = ["write_chat_transcript", "write_database", "write_event_log", "write_runtime_lines", "write_team_transcript"]

_SESSION = "6f1a3c52-5b0f-4d0e-9a53-0c9a4f3b7d11"
_TEAM = "2f0c6f6e-4a8f-4b1e-8a38-9d6f1f7a2b10"
_START = datetime(2026, 1, 5, 9)  # noqa: DTZ001 - the logger's times have no zone
_TABLES = (
    (
        "CREATE TABLE chat_completions (id INTEGER PRIMARY KEY, invocation_id TEXT, client_id INTEGER, wrapper_id INTEGER, session_id TEXT, "
        "source_name TEXT, request TEXT, response TEXT, is_cached INTEGER, cost REAL, start_time TEXT, end_time TEXT)"
    ),
    (
        "CREATE TABLE agents (id INTEGER PRIMARY KEY, agent_id INTEGER, wrapper_id INTEGER, session_id TEXT, name TEXT, class TEXT, "
        "init_args TEXT, timestamp TEXT)"
    ),
    "CREATE TABLE oai_wrappers (id INTEGER PRIMARY KEY, wrapper_id INTEGER, session_id TEXT, init_args TEXT, timestamp TEXT)",
    (
        "CREATE TABLE oai_clients (id INTEGER PRIMARY KEY, client_id INTEGER, wrapper_id INTEGER, session_id TEXT, class TEXT, "
        "init_args TEXT, timestamp TEXT)"
    ),
    (
        "CREATE TABLE events (event_name TEXT, source_id INTEGER, source_name TEXT, agent_module TEXT, agent_class_name TEXT, "
        "id INTEGER PRIMARY KEY, json_state TEXT, timestamp TEXT)"
    ),
    "CREATE TABLE function_calls (source_id INTEGER, source_name TEXT, function_name TEXT, args TEXT, returns TEXT, timestamp TEXT)",
)


def _records(events: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = json.loads(agentchat_log(events))["messages"]
    return messages


def _turns(events: int) -> Iterator[tuple[str, str, str]]:
    """Sender, receiver and text of a two-agent chat."""
    for number, record in enumerate(_records(events)):
        text = record["content"] if isinstance(record["content"], str) else json.dumps(record["content"])
        yield ("writer", "critic", text) if number % 2 else ("critic", "writer", text)


def _rows(events: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """What the runtime logger sees of the chat: a prompt of the last six messages for every answer, four reply functions, the receipt."""
    history: list[dict[str, str]] = []
    for number, (sender, receiver, text) in enumerate(_turns(events)):
        began, answered, received_at = (str(_START + timedelta(seconds=number, microseconds=place)) for place in (117, 217, 317))
        choice = {"finish_reason": "stop", "index": 0, "message": {"content": text, "role": "assistant"}}
        usage = {"completion_tokens": 80, "prompt_tokens": 900, "total_tokens": 980}
        yield (
            "completion",
            {
                "invocation_id": f"{number:032x}",
                "client_id": 140050001,
                "wrapper_id": 140050002,
                "request": {"messages": history[-6:], "model": "gpt-4o"},
                "response": {"id": "chatcmpl-1", "choices": [choice], "model": "gpt-4o", "usage": usage},
                "is_cached": 0,
                "cost": 0.0004,
                "start_time": began,
                "end_time": began,
                "source_name": sender,
            },
        )
        event = {"source_id": 140060000, "agent_module": "autogen.agentchat.assistant_agent", "timestamp": answered}
        for name in (
            "check_termination_and_human_reply",
            "generate_function_call_reply",
            "generate_tool_calls_reply",
            "generate_oai_reply",
        ):
            last = name == "generate_oai_reply"
            state = {"reply_func_module": "autogen", "reply_func_name": name, "final": last, "reply": text if last else None}
            yield "event", {**event, "source_name": sender, "event_name": "reply_func_executed", "json_state": state}
        received = {"message": text, "sender": sender, "valid": True}
        yield (
            "event",
            {**event, "source_name": receiver, "event_name": "received_message", "json_state": received, "timestamp": received_at},
        )
        history.append({"content": text, "role": "user", "name": sender})


def write_database(path: Path, events: int) -> None:
    """A sqlite file of ``runtime_logging``."""
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as database:
        for table in _TABLES:
            database.execute(table)
        for kind, row in _rows(events):
            values = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
            if kind == "completion":
                values["session_id"] = _SESSION
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            table = "chat_completions" if kind == "completion" else "events"
            database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))
    database.close()


def write_runtime_lines(path: Path, events: int) -> None:
    """A line file of ``runtime_logging``; answers are printed objects there."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write(f"Started new session with Session ID: {_SESSION}\n")
        for kind, row in _rows(events):
            if kind == "completion":
                message = row["response"]["choices"][0]["message"]
                printed = f"ChatCompletionMessage(content={message['content']!r}, role='assistant')"
                usage = "CompletionUsage(completion_tokens=80, prompt_tokens=900, total_tokens=980)"
                choices = f"[Choice(finish_reason='stop', index=0, message={printed})]"
                row = {**row, "response": f"ChatCompletion(id='chatcmpl-1', choices={choices}, model='gpt-4o', usage={usage})"}  # noqa: PLW2901
            else:
                row = {**row, "json_state": json.dumps(row["json_state"])}  # noqa: PLW2901
            stream.write(json.dumps({**row, "thread_id": 140070000}) + "\n")


def write_event_log(path: Path, events: int, prefix: str = "") -> None:
    """The event log of a team: every record to the output, chat messages to the group, and a delivery to each member."""
    manager = f"RoundRobinGroupChatManager_{_TEAM}/{_TEAM}"
    with path.open("w", encoding="utf-8") as stream:

        def write(payload: dict[str, Any], sender: str | None, receiver: str | None, kind: str, stage: str) -> None:
            routed = {"sender": sender, "receiver": receiver, "kind": f"MessageKind.{kind}", "delivery_stage": f"DeliveryStage.{stage}"}
            stream.write(prefix + json.dumps({"payload": json.dumps(payload), **routed, "type": "Message"}) + "\n")

        first, *rest = _records(events)
        write({"messages": [first]}, None, manager, "DIRECT", "SEND")
        for record in rest:
            agent = f"{record['source']}_{_TEAM}/{_TEAM}"
            write({}, manager, agent, "PUBLISH", "SEND")
            write({"message": record}, agent, f"output_topic_{_TEAM}/{_TEAM}", "PUBLISH", "SEND")
            if record["type"] == "TextMessage":
                answer = {"response": {"chat_message": record, "inner_messages": []}, "name": record["source"]}
                write(answer, agent, f"group_topic_{_TEAM}/{_TEAM}", "PUBLISH", "SEND")
                for _ in range(2):
                    write(answer, agent, None, "PUBLISH", "DELIVER")


def write_chat_transcript(path: Path, events: int) -> None:
    """What a chat of 0.2 prints."""
    rule = "-" * 80
    with path.open("w", encoding="utf-8") as stream:
        for sender, receiver, text in _turns(events):
            stream.write(f"{sender} (to {receiver}):\n\n{text}\n\n{rule}\n")


def write_team_transcript(path: Path, events: int) -> None:
    """What ``Console`` prints; calls and results as Python prints them."""
    with path.open("w", encoding="utf-8") as stream:
        for record in _records(events):
            content = record["content"]
            if not isinstance(content, str):
                name = "FunctionCall" if record["type"] == "ToolCallRequestEvent" else "FunctionExecutionResult"
                content = (
                    "[" + ", ".join(f"{name}({', '.join(f'{key}={value!r}' for key, value in call.items())})" for call in content) + "]"
                )
            stream.write(f"---------- {record['type']} ({record['source']}) ----------\n{content}\n")
