"""Models in AutoGen 0.2 ``runtime_logging``: which one an agent has, its tools, and what it answered."""

from __future__ import annotations

from typing import Any

from agenttrace.model import Usage
from agenttrace.reprs import parse_repr

__all__ = ["answer_in", "is_tool", "models_of", "usage_of_answer"]


def models_of(config: Any) -> list[str]:
    """The models that an ``llm_config`` names."""
    listed = config.get("config_list") if isinstance(config, dict) else None
    return [entry["model"] for entry in listed or () if isinstance(entry, dict) and isinstance(entry.get("model"), str)]


def is_tool(tool: Any) -> bool:
    """Whether a tool of a request says nothing but what a tool description holds."""
    function = tool.get("function") if isinstance(tool, dict) and tool.keys() <= {"type", "function"} else None
    return (
        isinstance(function, dict)
        and isinstance(function.get("name"), str)
        and isinstance(function.get("description"), str | None)
        and function.keys() <= {"name", "description", "parameters"}
    )


def answer_in(response: Any) -> dict[str, Any]:
    """A model's answer: a JSON object in the tables, a printed ``ChatCompletion`` in the line file; empty when it is neither."""
    if isinstance(response, str):
        printed = parse_repr(response)
        response = printed.value if printed is not None and printed.name is not None else None
    if not isinstance(response, dict):
        return {}
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return {"message": message if isinstance(message, dict) else None, "usage": response.get("usage"), "model": response.get("model")}


def usage_of_answer(answer: dict[str, Any], cost: Any) -> Usage | None:
    """The figures of an answer, and its cost as the logger states it."""
    stated = answer.get("usage")
    figures = stated if isinstance(stated, dict) else {}
    prompt, completion = figures.get("prompt_tokens_details"), figures.get("completion_tokens_details")
    fields = {
        "prompt_tokens": figures.get("prompt_tokens"),
        "completion_tokens": figures.get("completion_tokens"),
        "total_tokens": figures.get("total_tokens"),
        "cached_tokens": prompt.get("cached_tokens") if isinstance(prompt, dict) else None,
        "reasoning_tokens": completion.get("reasoning_tokens") if isinstance(completion, dict) else None,
    }
    made: dict[str, Any] = {key: value for key, value in fields.items() if type(value) is int}
    if type(cost) in (int, float):
        made["cost_usd"] = cost
    if isinstance(answer.get("model"), str):
        made["model"] = answer["model"]
    return Usage(**made) if made else None
