"""Records of AgentChat as they lie in a log: their types, and what single values of them mean."""

from __future__ import annotations

from typing import Any, NamedTuple

from agenttrace.model import ContentPart, Usage

__all__ = [
    "BASE",
    "CALL",
    "CONTEXT_TYPES",
    "NOTHING_BESIDE",
    "RESULT",
    "TEAM_TYPES",
    "Beside",
    "Fields",
    "Record",
    "content_of",
    "metadata_of",
    "outcome_of",
    "rest_of",
    "text_of",
    "usage_of",
]

TEAM_TYPES = frozenset(
    {
        "TextMessage",
        "MultiModalMessage",
        "StopMessage",
        "HandoffMessage",
        "ToolCallSummaryMessage",
        "StructuredMessage",
        "ToolCallRequestEvent",
        "ToolCallExecutionEvent",
        "CodeGenerationEvent",
        "CodeExecutionEvent",
        "UserInputRequestedEvent",
        "MemoryQueryEvent",
        "ModelClientStreamingChunkEvent",
        "ThoughtEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
    }
)
CONTEXT_TYPES = frozenset({"SystemMessage", "UserMessage", "AssistantMessage", "FunctionExecutionResultMessage"})

BASE = frozenset({"id", "source", "models_usage", "metadata", "created_at", "content", "type"})
CALL = frozenset({"id", "name", "arguments"})
RESULT = frozenset({"content", "name", "call_id", "is_error"})

Record = dict[str, Any]


class Fields(NamedTuple):
    """What a record states about the event it becomes."""

    event_id: str | None
    timestamp: str | None
    usage: Usage | None
    extra: dict[str, Any] | None
    raw_response: Any = None


class Beside(NamedTuple):
    """What a log tells of a record beside the record itself.

    Attributes:
        holders: agents that are known to have received it.
        team: the members of the team to which it is published, where the log shows them.
        spoken: it was said to the team, whatever its type (which old versions leave out).
        timestamp: when it was logged, for records without a time of their own.
        raw_response: the model's answer that it came from.
        extra: for the event's ``extra``.
    """

    holders: tuple[str, ...] = ()
    team: tuple[str, ...] = ()
    spoken: bool = False
    timestamp: str | None = None
    raw_response: Any = None
    extra: dict[str, Any] | None = None


NOTHING_BESIDE = Beside()


def metadata_of(record: Record) -> dict[str, Any]:
    """The metadata that a record carries; one that is no object stands under its own name."""
    metadata = record.get("metadata")
    if isinstance(metadata, dict):
        return dict(metadata)
    return {} if metadata is None else {"metadata": metadata}


def rest_of(record: Record, fields: tuple[str, ...]) -> dict[str, Any]:
    """What a record states beside the keys of every record and ``fields``."""
    return {key: value for key, value in record.items() if key not in BASE and key not in fields and value is not None}


def text_of(value: Any) -> str | None:
    """A value that should be a text as one."""
    return value if value is None or isinstance(value, str) else str(value)


def usage_of(usage: Any) -> tuple[Usage | None, Any]:
    """``models_usage`` as Usage, and what of it is none."""
    if type(usage) is not dict:
        return None, usage
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    rest = (
        None
        if len(usage) == 2
        else {key: value for key, value in usage.items() if key not in ("prompt_tokens", "completion_tokens")} or None
    )
    if type(prompt) is int and type(completion) is int:
        return Usage(prompt_tokens=prompt, completion_tokens=completion), rest
    return None, usage


def outcome_of(item: Record) -> tuple[str | None, bool]:
    """Status of a result, and whether its text is an error. Logs before 0.4.1 have only the text ``Error: …``."""
    flag = item.get("is_error")
    if isinstance(flag, bool):
        return ("exception", True) if flag else ("success", False)
    content = item.get("content")
    if isinstance(content, str):
        return ("exception", True) if content.startswith("Error: ") else ("success", False)
    return None, False


def _part(item: Any) -> ContentPart:
    if isinstance(item, str):
        printed = item.startswith("<") and " object at 0x" in item  # a picture in a printed message shows no more than this
        return ContentPart(kind="image" if printed and "Image" in item else "text", text=item)
    if isinstance(item, dict):
        keys = item.keys()
        if keys == {"data"} and isinstance(item["data"], str):  # autogen_core.Image: a PNG in base64
            return ContentPart(kind="image", data=item["data"], media_type="image/png")
        if keys <= {"content", "mime_type", "metadata"} and isinstance(item.get("content"), str) and not item.get("metadata"):
            mime = item.get("mime_type")
            return ContentPart(kind="text", text=item["content"], media_type=mime if isinstance(mime, str) else None)
    return ContentPart(kind="data", value=item)


def content_of(content: Any) -> str | tuple[ContentPart, ...] | None:
    """A record's content as a message holds it."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return tuple(_part(item) for item in content)
    return (ContentPart(kind="data", value=content),)
