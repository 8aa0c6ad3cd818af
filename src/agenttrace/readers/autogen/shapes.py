"""Which variant a decoded document is. Looks at keys and types only, at no more than the first records."""

from __future__ import annotations

from typing import Any

from agenttrace.formats import Match
from agenttrace.readers.autogen.console_chat import is_chat_console
from agenttrace.readers.autogen.console_lines import numbered
from agenttrace.readers.autogen.console_team import is_team_console
from agenttrace.readers.autogen.core_lines import is_core_log, is_core_record
from agenttrace.readers.autogen.records import CONTEXT_TYPES, TEAM_TYPES
from agenttrace.readers.autogen.runtime_rows import is_row
from agenttrace.readers.autogen.state import is_state
from agenttrace.sources import Source

__all__ = ["classify", "classify_lines", "classify_text", "is_item", "is_team_record"]

_SAMPLE = 20
_ROLES = frozenset({"user", "assistant", "system", "tool", "function"})


def classify(value: Any) -> Match | None:
    """The variant of one JSON document, or None."""
    if isinstance(value, dict):
        return _classify_object(value)
    if isinstance(value, list) and value:
        return _classify_list(value)
    return None


def classify_lines(sample: list[Any]) -> Match | None:
    """The variant of a file of JSON lines from its first values: messages, or one dump a line."""
    if _mostly(is_row, sample):
        return Match("runtime_file", "certain", "records of the 0.2 file logger")
    if any(map(is_core_record, sample)):
        return Match("core_events", "certain", "records of the 0.4 event logger")
    listed = _classify_list(sample)
    if listed is not None:
        return listed
    return next((match for value in sample if (match := classify(value))), None)


def classify_text(source: Source) -> Match | None:
    """The variant of a text that is no JSON: from its first bytes, or, where more may stand behind them, from the whole."""
    found = _classify_text(source.head)
    if found is None and any(mark in source.data[len(source.head) :] for mark in _TRANSCRIPT_MARKS):
        found = _classify_text(source.data)
    return found


_TRANSCRIPT_MARKS = (b"-" * 80, b"-" * 10 + b" ")


def _classify_text(head: bytes) -> Match | None:
    if is_core_log(head):
        return Match("core_events", "certain", "records of the 0.4 event logger behind log prefixes")
    lines = numbered(head.decode("utf-8", "replace"))
    if is_chat_console(lines):
        return Match("console_chat", "certain", "what 0.2 prints: `name (to name):`, the message, a rule")
    if is_team_console(lines):
        return Match("console_team", "certain", "what Console of AgentChat prints: `---------- type (source) ----------`")
    return None


def is_team_record(item: Any) -> bool:
    """A message or event of AgentChat."""
    if not isinstance(item, dict) or not isinstance(item.get("source"), str):
        return False
    kind = item.get("type")
    if isinstance(kind, str):
        return kind in TEAM_TYPES or kind.startswith("StructuredMessage") or ("content" in item and "models_usage" in item)
    return "type" not in item and {"models_usage", "metadata", "created_at"} <= item.keys()


def is_item(item: Any) -> bool:
    """An OpenAI-style message dict, as AutoGen 0.2 keeps them."""
    return (
        isinstance(item, dict)
        and isinstance(role := item.get("role"), str)
        and role in _ROLES
        and not (isinstance(item.get("id"), str) and ("timestamp" in item or "created_at" in item))  # 0.2 gives its messages neither
        and not item.keys().isdisjoint({"content", "tool_calls", "function_call"})
    )


def _is_context_record(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(kind := item.get("type"), str) and kind in CONTEXT_TYPES and "content" in item


def _mostly(test: Any, items: list[Any]) -> bool:
    sample = items[:_SAMPLE]
    return bool(sample) and sum(map(test, sample)) * 2 >= len(sample) and any(map(test, sample))


def _named(items: list[Any]) -> bool:
    return any(is_item(item) and isinstance(item.get("name"), str) for item in items[:_SAMPLE])


def _classify_object(value: dict[str, Any]) -> Match | None:
    history, trajectory, messages = value.get("history"), value.get("trajectory"), value.get("messages")
    if isinstance(history, list) and ("mistake_agent" in value or "mistake_step" in value):
        return Match("who_and_when", "certain", "history with a mistake label, speakers in `name`") if _named(history) else None
    if isinstance(trajectory, list) and not value.keys().isdisjoint({"note", "other_data"}) and _mostly(is_item, trajectory):
        return Match("masft", "certain", "trajectory of named messages with a note")
    chat_history = value.get("chat_history")
    if isinstance(chat_history, list) and _mostly(is_item, chat_history):
        whole = not value.keys().isdisjoint({"summary", "cost", "human_input"})
        return Match("chat_result", "certain" if whole else "likely", "a chat_history of messages")
    if isinstance(value.get("chat_message"), dict) and is_team_record(value["chat_message"]):
        return Match("response", "certain", "chat_message with inner messages")
    if isinstance(messages, list):
        if _mostly(is_team_record, messages) or (not messages and "stop_reason" in value):
            return Match("task_result", "certain", "messages with type and source")
        if _mostly(_is_context_record, messages):
            return Match("model_context", "certain", "messages of a model context")
        if _mostly(is_item, messages) and _named(messages):
            return Match("group_chat", "likely", "messages with role and name")
    if state := is_state(value):
        return Match(state, "certain", "agent_states of a team" if state == "team_state" else "the state of one agent")
    if is_core_record(value):
        return Match("core_events", "certain", "one record of the 0.4 event logger")
    if is_team_record(value):
        return Match("messages", "certain", "one message with type and source")
    return _classify_lists(value)


def _classify_lists(value: dict[str, Any]) -> Match | None:
    """``{peer: [message]}`` or ``{agent: {peer: [message]}}``: chat_messages."""
    groups = [group for item in value.values() for group in (item.values() if isinstance(item, dict) else [item])]
    lists = [group for group in groups if isinstance(group, list)]
    if not lists or len(lists) != len(groups) or not any(lists):
        return None
    if not all(_mostly(is_item, group) for group in lists if group):
        return None
    if any(_named(group) for group in lists):
        return Match("chat_messages", "certain", "lists of named messages by conversation partner")
    return Match("chat_messages", "likely", "lists of messages by conversation partner")


def _classify_list(value: list[Any]) -> Match | None:
    if _mostly(is_team_record, value):
        return Match("messages", "certain", "a list of messages with type and source")
    if _mostly(_is_context_record, value):
        return Match("model_context", "certain", "a list of messages of a model context")
    if _mostly(is_item, value):
        if _named(value):
            return Match("group_chat", "likely", "a list of messages with role and name")
        if any("codes" in item for item in value[:_SAMPLE] if isinstance(item, dict)):
            return Match("chat_messages", "likely", "messages with the code labels of the agentprofiler")
        return Match("chat_messages", "possible", "messages with role and content, as many programs keep them")
    first = next((item for item in value[:_SAMPLE] if isinstance(item, dict)), None)
    inner = _classify_object(first) if first is not None else None
    return inner if inner is not None and inner.variant in ("chat_result", "task_result", "who_and_when", "masft") else None
