"""Model calls of the event log of AutoGen 0.4+: the answer that a message came from."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import ToolDescription, Usage
from agenttrace.notes import Notes
from agenttrace.readers.autogen.core_lines import CoreLine
from agenttrace.readers.autogen.records import Record, text_of

__all__ = ["ModelCall", "ModelCalls"]

_TAKEN = ("type", "messages", "response", "prompt_tokens", "completion_tokens", "agent_id", "tools")


@dataclass
class ModelCall:
    """One answer of a model."""

    line: CoreLine
    agent: str | None
    usage: tuple[Any, Any]
    response: Any
    facts: dict[str, Any] = field(default_factory=dict)
    shown: bool = False  # a record came of it


class ModelCalls:
    """The answers of models in a log, and the records that came of them.

    A record carries the token counts of the answer behind it, and the agent's name.
    Everything is taken in before events are made, so that an answer of which nothing
    came can stand in its place.
    """

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._calls: dict[str, ModelCall] = {}
        self._waiting: dict[tuple[str, str | None], deque[ModelCall]] = {}  # by token counts and agent
        self._answers: dict[bytes, ModelCall] = {}
        self._seen: set[bytes] = set()
        self._known: set[str] = set()
        self._streams: dict[str | None, tuple[CoreLine, Record]] = {}
        self._tools: dict[str, dict[str, ToolDescription]] = {}
        self._prompts: dict[str, str] = {}

    def take_call(self, line: CoreLine, record: Record, agent: str | None) -> None:
        """Take in a record of a model call; a stream is one call, its prompt at the start and its answer at the end."""
        if record.get("type") == "LLMStreamStart":
            self._streams[agent] = (line, record)
            return
        start, begun = self._streams.pop(agent, (line, {})) if record.get("type") == "LLMStreamEnd" else (line, {})
        whole = {**begun, **record}
        facts = {name: value for name, value in whole.items() if name not in _TAKEN and value is not None}
        if line.moment is not None:
            facts["logged_at"] = line.moment
        if tools := self._describe(agent, whole.get("tools")):
            facts["tools"] = tools
        if messages := self._new_messages(start, agent, whole.get("messages")):
            facts["messages"] = messages
        usage = (whole.get("prompt_tokens"), whole.get("completion_tokens"))
        self._calls[line.ref] = call = ModelCall(line, agent, usage, whole.get("response"), facts)
        self._waiting.setdefault((str(usage), agent), deque()).append(call)

    def take_record(self, key: bytes, item: Record) -> None:
        """Take in a record of AgentChat: what it says is known from here on, and it may have come of an answer."""
        if key in self._seen:
            return
        self._seen.add(key)
        self._known.update(_texts(item))
        usage = item.get("models_usage")
        if not isinstance(usage, dict):
            return
        stated = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
        source = item.get("source")
        for agent in (source if isinstance(source, str) else None, None):
            if waiting := self._waiting.get((str(stated), agent)):
                self._answers[key] = call = waiting.popleft()
                call.shown = True
                return

    def answer_for(self, key: bytes) -> ModelCall | None:
        """The answer that a record came of."""
        return self._answers.get(key)

    def add_unshown(self, line: CoreLine) -> None:
        """An answer of which no record came is an event of its own."""
        call = self._calls.get(line.ref)
        if call is None or call.shown:
            return
        prompt, completion = call.usage
        counted = type(prompt) is int and type(completion) is int
        self._builder.message(
            call.agent,
            _answer_text(call.response),
            kind="log",
            timestamp=line.moment,
            turn_id=f"turn:{line.ref}",
            usage=Usage(prompt_tokens=prompt, completion_tokens=completion) if counted else None,
            raw_response=call.response,
            source_ref=line.ref,
            extra={"model_call": call.facts} if call.facts else None,
        )

    def close(self) -> None:
        """Hand over what the calls tell of their agents."""
        for line, stream in self._streams.values():
            self._notes.add("aside", line.ref, "the beginning of a model's stream that never ended, in the trace's `extra`")
            self._builder.extra.setdefault("open_streams", []).append(stream)
        for agent in [*self._prompts, *self._tools]:
            tools = tuple(self._tools.get(agent, {}).values())
            self._builder.agent(agent, system_prompt=self._prompts.get(agent), tools=tools or None)

    def _new_messages(self, line: CoreLine, agent: str | None, messages: Any) -> Any:
        """What of a prompt stands nowhere else: the rest repeats the conversation."""
        if not isinstance(messages, list):
            return messages
        first = messages[0] if messages and isinstance(messages[0], dict) else {}
        prompt = first.get("content")
        if agent is not None and first.get("role") == "system" and isinstance(prompt, str) and agent not in self._prompts:
            self._prompts[agent] = prompt
            self._known.add(prompt)
        new = [message for message in messages if not self._known.issuperset(_texts(message))]
        if len(new) < len(messages):
            self._notes.add("copy", f"{line.ref}/messages", f"{len(messages) - len(new)} messages of the prompt that the log has already")
        self._known.update(text for message in new for text in _texts(message))
        return new

    def _describe(self, agent: str | None, tools: Any) -> list[Any]:
        """Tools that a model was given belong to its agent; what is no tool of a known shape is given back."""
        rest = []
        for tool in tools if isinstance(tools, list) else ():
            function = tool.get("function") if isinstance(tool, dict) else None
            name = function.get("name") if isinstance(function, dict) else None
            if not isinstance(function, dict) or not isinstance(name, str) or agent is None:
                rest.append(tool)
                continue
            described = text_of(function.get("description"))
            made = ToolDescription(name=name, description=described, parameters=function.get("parameters"))
            self._tools.setdefault(agent, {})[name] = made
        return rest


def _texts(value: Any) -> Iterator[str]:
    """The texts of a message that was said: contents, arguments, thoughts; not names, ids and roles."""
    if isinstance(value, dict):
        for key in ("content", "arguments", "thought", "function", "tool_calls", "text", "data", "url", "image_url"):
            if (item := value.get(key)) is not None:
                yield from [item] if isinstance(item, str) else _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from [item] if isinstance(item, str) else _texts(item)


def _answer_text(response: Any) -> str | None:
    """The text of a ChatCompletion or a CreateResult."""
    if not isinstance(response, dict):
        return text_of(response)
    choices = response.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        message = choices[0].get("message")
        response = message if isinstance(message, dict) else {}
    content = response.get("content")
    return content if isinstance(content, str) else None
