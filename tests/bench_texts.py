"""The texts in records of Multi-Agent-Bench, MAS-SIM and sentinel, and how many messages, assignments and results there are.

Shares no code with ``agenttrace.readers``: the headers inside results and sessions are cut off line by line.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

FORMATS = frozenset({"agentscope", "custom_json", "mas_sim", "multi_agent_bench"})
"""The formats whose texts are found here."""

_FUNCTION = "Result from the function:"


def runs(path: Path) -> list[Any]:
    """The records of a file; blank lines stand between them."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def whole(path: Path, variant: str) -> Any:
    """Records whose results and sessions are taken apart."""
    if variant in ("otel", "trajectory") or path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))
    if variant == "spans":
        return [unpacked_span(span) for span in runs(path) if not span["name"].startswith("format ")]
    if variant == "messages":
        return runs(path)
    found = runs(path)
    if variant == "sentinel":
        return found
    for record in found:
        for iteration in record["iterations"]:
            iteration["task_results"] = [apart(text) for _, text in results(iteration)]
            iteration["communications"] = [[text for _, text in messages(session)] for session in iteration.get("communications") or []]
    return found


def unpacked_span(span: dict[str, Any]) -> dict[str, Any]:
    """A span without the printed histories; what is printed JSON or a printed object is parsed."""
    attributes = {key: value for key, value in span["attributes"].items() if not key.startswith("agentscope.function.")}
    for key in ("gen_ai.conversation.id", "gen_ai.tool.call.result"):
        if key in attributes:
            attributes[key] = json.loads(attributes[key])
    if str(attributes.get("gen_ai.tool.call.result")).startswith("ToolResponse("):
        call = ast.parse(attributes["gen_ai.tool.call.result"], mode="eval").body
        assert isinstance(call, ast.Call)
        attributes["gen_ai.tool.call.result"] = next(ast.literal_eval(word.value) for word in call.keywords if word.arg == "content")
    return {**span, "attributes": attributes}


def said(path: Path, variant: str) -> list[Any]:
    """What agents said and tools returned."""
    if variant == "otel":
        return [
            text
            for span in whole(path, variant)["spans"]
            for key, text in span["attributes"].items()
            if key in ("tool.args_json", "tool.result_json", "error.message")
            or (key in ("agent.input_message", "agent.output_message") and span["name"].startswith("agent."))
        ]
    if variant in ("messages", "session", "spans"):
        return [text for _, text in told(whole(path, variant))]
    if variant == "sentinel":
        calls = [call for step in runs(path) for call in step.get("tool_events") or []]
        return [[step["text"] for step in runs(path)], [[call["name"], call["args"], call["result"]] for call in calls]]
    if variant == "trajectory":
        return [substep["content"] for step in whole(path, variant)["steps"] for substep in step["substeps"]]
    return [
        [iteration["task_results"], iteration["communications"]] for record in whole(path, variant) for iteration in record["iterations"]
    ]


def results(iteration: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Agent and text of each result, in both notations."""
    for item in iteration.get("task_results") or []:
        yield (item["agent_id"], item["result"]) if "agent_id" in item else next(iter(item.items()))


def apart(text: str) -> list[str]:
    """The model's text and the function's, if there is one."""
    place = text.find(_FUNCTION)
    model = (text if place < 0 else text[:place]).replace("Result from the model:", "", 1)
    return [model] if place < 0 else [model, text[place + len(_FUNCTION) :]]


def messages(session: str) -> Iterator[tuple[str, str]]:
    """Who wrote to whom, and what, line by line."""
    who, text = "", ""
    for line in session.split("\n"):
        words = line.split(" ", 4)
        if len(words) > 3 and words[0] == "From" and words[2] == "to" and words[3].endswith(":"):
            if who:
                yield who, text
            who, text = f"{words[1]} {words[3][:-1]}", words[4] if len(words) > 4 else ""
        elif who:
            text += "\n" + line
    if who:
        yield who, text


def counts(path: Path) -> Counter[str]:
    """How much of each a file holds."""
    found: Counter[str] = Counter()
    for record in runs(path):
        found["runs"] += 1
        for iteration in record["iterations"]:
            found["assignments"] += len(iteration["task_assignments"])
            answers = list(results(iteration))
            found["results"] += len(answers)
            found["answered"] += len({agent for agent, _ in answers} & iteration["task_assignments"].keys())
            found["function results"] += sum(_FUNCTION in text for _, text in answers)
            for session in iteration.get("communications") or []:
                found["sessions"] += 1
                found["session messages"] += len(list(messages(session)))
    return found


def times_in(path: Path) -> set[datetime]:
    """The times of spans and of what happened in them."""
    epoch = datetime.fromtimestamp(0, UTC).replace(tzinfo=None)
    found: set[datetime] = set()
    for span in json.loads(path.read_text("utf-8"))["spans"]:
        moments = [span["start_time_unix_ns"], span["end_time_unix_ns"], *(event["timestamp_unix_ns"] for event in span["events"])]
        found.update(epoch + timedelta(microseconds=moment // 1000) for moment in moments)
    return found


def told(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts of blocks, arguments and results in messages of AgentScope."""
    if isinstance(value, dict):
        for name, item in value.items():
            inside = key or ("in" if name in ("content", "input", "output", "gen_ai.output.messages", "gen_ai.tool.call.result") else "")
            of_message = name == "name" and "role" in value
            if (
                name not in ("type", "id", "role", "media_type", "_sys_prompt", "plan_notebook", "finish_reason", "timestamp")
                and not of_message
            ):
                yield from told(json.loads(item) if inside and not key and name.endswith("messages") else item, inside)
    elif isinstance(value, list):
        for item in value:
            yield from told(item, key)
    elif isinstance(value, str) and key:
        yield key, value
