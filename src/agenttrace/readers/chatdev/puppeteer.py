"""A reasoning path of the Puppeteer branch: ``path_N.jsonl``, which is one JSON array in spite of its name.

Facts from ``puppeteer/`` of OpenBMB/ChatDev: each step is ``{agent, action: {action, parameter}, cost, tokens,
model_size, result: {step_data, answer}, success}``. An action with a parameter is a tool's (run_python, a search),
one without is what the agent's model said. ``cost`` counts a model's size times tokens: it is no money.
"""

from __future__ import annotations

from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import ContentPart, Usage
from agenttrace.notes import Notes

__all__ = ["fill_path", "is_path"]

_KEYS = frozenset({"agent", "action", "cost", "tokens", "result", "success"})
_STATUS = {"Success": "success", "Failure": "failure"}

Item = dict[str, Any]


def is_path(value: Any) -> bool:
    """Whether a JSON value is a list of steps."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and item.keys() >= _KEYS for item in value[:20])


def fill_path(builder: TraceBuilder, notes: Notes, steps: list[Any]) -> None:
    """Fill a builder from the steps of a path."""
    for place, step in enumerate(steps):
        if isinstance(step, dict):
            _step(builder, notes, step, f"/{place}")
        else:
            builder.extra.setdefault("records", []).append({"source_ref": f"/{place}", "value": step})
            notes.add("aside", f"/{place}", "no step; kept whole in the trace's `extra`")


def _step(builder: TraceBuilder, notes: Notes, step: Item, ref: str) -> None:
    agent = step.get("agent") if isinstance(step.get("agent"), str) and step["agent"] else None
    action = _object(step.get("action"), "action")
    result = _object(step.get("result"), "step_data")
    name = action.get("action") if isinstance(action.get("action"), str) and action["action"] else None
    tokens = step.get("tokens")
    counted = type(tokens) is int and tokens > 0
    status = step.get("success") if isinstance(step.get("success"), str) else None
    event: Item = {
        "source_ref": ref,
        "usage": Usage(total_tokens=tokens) if counted else None,
        "turn_id": f"turn:{ref}" if counted else None,
        "extra": _rest(step, action, result, counted) or None,
    }
    said = result.get("step_data")
    if action.get("parameter"):
        call_id = f"step:{ref}"
        builder.call(agent, name, action["parameter"], call_id=call_id, executor=agent, parse=False, **event)
        notes.add("made_up", ref, f"tool_call_id {call_id}")
        builder.result(call_id, said, status=_STATUS.get(status or ""), caller=agent)
    else:
        kind = "chat" if said is not None else "log"
        builder.message(agent, _content(said), kind=kind, metadata={"action": name} if name is not None else None, **event)
    answer = result.get("answer")
    if answer is not None:
        builder.message(agent, _content(answer), source_ref=f"{ref}/result/answer")
        builder.meta(final_answer=answer)


def _content(value: Any) -> Any:
    return value if value is None or isinstance(value, str) else (ContentPart(kind="data", value=value),)


def _object(value: Any, key: str) -> Item:
    return value if isinstance(value, dict) else {key: value}


def _rest(step: Item, action: Item, result: Item, counted: bool) -> Item:
    """What of a step no field has."""
    mapped = {"action", "result", *(("tokens",) if counted else ())}
    mapped |= {"agent"} if isinstance(step.get("agent"), str) else set()
    mapped |= {"success"} if action.get("parameter") and step.get("success") in tuple(_STATUS) else set()
    rest = {key: value for key, value in step.items() if key not in mapped and value is not None}
    named = isinstance(action.get("action"), str)
    rest |= {
        f"action.{key}": value
        for key, value in action.items()
        if key != "parameter" and value is not None and not (named and key == "action")
    }
    return rest | {f"result.{key}": value for key, value in result.items() if key not in ("step_data", "answer") and value is not None}
