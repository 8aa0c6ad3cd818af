r"""The history of a team as text: ``Role: text`` for each message, one after the other, without ids.

``environment/base_env.py`` appends ``\n`` and the message as text (``schema.py``): its role, a colon, and
its ``instruct_content`` as a printed dict, or where it has none its content. Most of it stands in the
memories, too; what a failing role was made to forget stands here alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from agenttrace.readers.metagpt.messages import Conversation
from agenttrace.reprs import parse_repr

__all__ = ["Told", "lost_messages"]


class Told(NamedTuple):
    """A message that the history tells: the line where it begins, from 0; the label before it, if one is known there; its text."""

    line: int
    label: str | None
    text: str


def lost_messages(text: str, conversation: Conversation) -> list[Told]:
    """The messages of the history that no memory has."""
    known = {_squeezed(content) for content in conversation.said}
    printed = {_canonical(value) for value in conversation.instructed}
    return [told for told in _told(text, conversation) if told.text.strip() and not _is_known(told.text, known, printed)]


def _told(text: str, conversation: Conversation) -> Iterator[Told]:
    """A line that begins with the label of somebody who takes part begins a message."""
    begun, label, lines = 0, None, list[str]()
    for number, line in enumerate(text.split("\n")):
        before, colon, rest = line.partition(": ")
        if colon and conversation.knows(before):
            yield Told(begun, label, "\n".join(lines))
            begun, label, lines = number, before, [rest]
        else:
            lines.append(line)
    yield Told(begun, label, "\n".join(lines))


def _is_known(text: str, known: set[str], printed: set[str]) -> bool:
    if _squeezed(text) in known:
        return True
    value = parse_repr(text) if text.startswith("{") else None
    return value is not None and value.cut is None and _canonical(value.value) in printed


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _canonical(value: Any) -> str:
    """JSON with sorted keys; line ends and blanks of a value are those of the repr, so they stay."""
    try:
        return json.dumps(value, sort_keys=True, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""
