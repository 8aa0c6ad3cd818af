"""The content of a message of AgentScope: a text, or blocks, which three generations name differently.

Facts from ``agentscope/message`` of 0.1.6, 1.0.21 and 2.0.11:

* 0.x and 1.x: text, thinking, image/audio/video/file (``url``, or ``source`` of base64 or url), ``tool_use`` with
  ``input``, ``tool_result`` with ``output``, a text or blocks. A failure is only a text there.
* 2.x: every block has ``id`` and ``created_at``; ``tool_call`` with its input as JSON text and a state; ``data`` for
  pictures and sound; ``hint`` for what the runtime tells the model; a result has a state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agenttrace.model import ContentPart, PartKind

__all__ = ["Block", "Outcome", "blocks_of", "outcome_of", "part_of", "plain"]

Item = dict[str, Any]

_MEDIA: dict[str, PartKind] = {"image": "image", "audio": "audio", "video": "video", "file": "file", "data": "file"}
_STATES = {"success": "success", "error": "failure", "denied": "failure", "interrupted": "failure"}
_KINDS = {"tool_use": "call", "tool_call": "call", "tool_result": "result"}
_NO_FUNCTION = re.compile(
    r"FunctionNotFoundError: Cannot find the function named \S+|ToolNotFoundError: The tool named '[^']+' doesn't exist\."
)


class Block(NamedTuple):
    """A block of content; a text has none, so it stands for one of its own."""

    place: str
    kind: str
    value: Item


def blocks_of(content: Any, ref: str) -> Iterator[Block]:
    """The blocks of a content, with their places."""
    if isinstance(content, list):
        for index, item in enumerate(content):
            place = f"{ref}/content/{index}"
            if isinstance(item, dict) and isinstance(item.get("type"), str):
                yield Block(place, _KINDS.get(item["type"], str(item["type"])), item)
            else:
                yield Block(
                    place, "text" if isinstance(item, str) else "other", {"text": item} if isinstance(item, str) else {"value": item}
                )
    elif isinstance(content, str):
        yield Block(ref, "text", {"text": content})
    elif content is not None:
        yield Block(ref, "other", {"value": content})


def part_of(block: Block) -> tuple[ContentPart, Item]:
    """A block as a part of a message, and what of it the part does not hold."""
    value = block.value
    if block.kind == "text" and isinstance(value.get("text"), str):
        return ContentPart(kind="text", text=value["text"]), _rest(value, "type", "text")
    if block.kind in _MEDIA:
        stated = value.get("source")
        source: Item = stated if isinstance(stated, dict) else {}
        media, data, uri = source.get("media_type"), source.get("data"), source.get("url", value.get("url"))
        kind = _MEDIA[block.kind]
        if block.kind == "data" and isinstance(media, str):
            kind = next((name for name in ("image", "audio", "video") if media.startswith(f"{name}/")), "file")
        if (isinstance(data, str) or isinstance(uri, str)) and (media is None or isinstance(media, str)):
            made = ContentPart(
                kind=kind,
                media_type=media,
                data=data if isinstance(data, str) else None,
                uri=uri if isinstance(uri, str) else None,
            )
            return made, _rest(value, "type", "source", "url")
    held = value.get("value") if block.kind == "other" else value
    return ContentPart(kind="data", value=held), {}


def _rest(value: Item, *keys: str) -> Item:
    return {key: item for key, item in value.items() if key not in keys and item not in (None, [], {})}


def plain(output: Any) -> Any:
    """What a tool returned: the text of a single block of text, else as it stands."""
    if isinstance(output, list) and len(output) == 1 and isinstance(output[0], dict):
        only = output[0]
        if only.get("type") == "text" and isinstance(only.get("text"), str):
            return only["text"]
    return output


class Outcome(NamedTuple):
    """How a call ended: a failed one has an error and no result."""

    result: Any
    status: str | None
    error: Any


def outcome_of(result: Item) -> Outcome:
    """The outcome of a result: by its state (2.x), by the one text that the framework itself writes (1.x), else not stated."""
    said = plain(result.get("output"))
    state = result.get("state")
    status = _STATES.get(state) if isinstance(state, str) else None
    if state in (None, "error") and isinstance(said, str) and _NO_FUNCTION.fullmatch(said):
        status = "exception"
    if status in ("exception", "failure"):
        return Outcome(None, status, said)
    return Outcome(said, status, None)
