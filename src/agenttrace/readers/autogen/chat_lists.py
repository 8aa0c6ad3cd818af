"""Lists of AutoGen 0.2 messages as their owners kept them, and which of them are copies of one conversation.

Facts that the code rests on, from ``autogen.agentchat`` 0.2.35 (conversable_agent.py, groupchat.py):

* The same message lies in the list of each party; a group chat manager relays
  every message to all members but the speaker.
* A message's ``role`` is relative to the owner of the list: ``assistant`` is what it sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson

from agenttrace.model import Usage
from agenttrace.notes import Notes

__all__ = ["ChatList", "Item", "Told", "ToldItem", "key_of", "merge_lists", "owner_of", "told_list"]


Item = dict[str, Any]


@dataclass
class Told:
    """What a log tells of one message beside the message itself.

    A log of deliveries or a transcript names sender and receivers, and often the time;
    a dumped list tells nothing of this, and the rules of the framework have to do.
    """

    sender: str | None
    receivers: list[str]
    kind: str = "chat"
    timestamp: str | None = None
    completed_at: dict[str, str] = field(default_factory=dict)  # of results, by the id of their call
    usage: Usage | None = None
    raw_response: Any = None
    metadata: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass
class ToldItem:
    """A message with its place and what the log tells of it."""

    ref: str
    item: Item
    told: Told


@dataclass
class ChatList:
    """One list of messages as its owner kept it, and with whom it talked.

    ``owner`` and ``peer`` are None where the log does not say; in a group both the
    manager and the members keep such lists. ``told`` holds what a log tells of single
    messages, by their index; ``places`` where they stand, when that is not simply their index.
    """

    items: list[Any]
    ref: str
    owner: str | None = None
    peer: str | None = None
    group: bool = False
    received: dict[int, list[str]] = field(default_factory=dict)
    told: dict[int, Told] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def place(self, index: int) -> str:
        """Where a message stands in the source."""
        return self.places[index] if self.places else f"{self.ref}/{index}"

    def named(self) -> list[str]:
        """The speakers' names, in order of appearance."""
        names = (item.get("name") for item in self.items if isinstance(item, dict) and item.get("role") != "function")
        return list(dict.fromkeys(name for name in names if isinstance(name, str)))


def told_list(entries: list[ToldItem]) -> ChatList:
    """The messages of a log that tells of each who sent and received it."""
    told = {index: entry.told for index, entry in enumerate(entries)}
    return ChatList([entry.item for entry in entries], "", told=told, places=[entry.ref for entry in entries])


def owner_of(lists: dict[str, list[Any]]) -> str | None:
    """The one agent whose ``chat_messages`` these lists by peer are: the name on what was sent; None for a manager's."""
    senders = {
        item["name"]
        for items in lists.values()
        for item in items
        if isinstance(item, dict) and item.get("role") == "assistant" and isinstance(item.get("name"), str) and not item.get("tool_calls")
    }
    return senders.pop() if len(senders) == 1 else None


def merge_lists(lists: list[ChatList], notes: Notes) -> list[ChatList]:
    """Distinct conversations: a list that repeats another one's messages, seen from the other side, is folded into it.

    Copies are known by structure (the two parties' lists, a manager's list per
    member, a member's list of the manager), and only then by their sequence of
    messages; equal texts in other places stay.
    """
    keys = {chat.ref: [key_of(item) for item in chat.items] for chat in lists}
    kept: list[ChatList] = []
    for chat in sorted(lists, key=lambda chat: -len(chat.items)):
        for other in kept:
            places = _places(keys[chat.ref], keys[other.ref]) if _mirrors(chat, other) else None
            if places is not None:
                _note_receipts(chat, other, places)
                notes.add("copy", chat.ref, f"{len(chat.items)} messages of {other.ref} again, seen from another side")
                break
        else:
            kept.append(chat)
    return sorted(kept, key=lists.index)


def _mirrors(one: ChatList, two: ChatList) -> bool:
    if one.owner is not None and two.owner is not None and {one.owner, one.peer} == {two.owner, two.peer}:
        return True
    return one.group and two.group


def key_of(item: Any) -> tuple[Any, ...]:
    """What is equal in all copies of one message: not the role, the name or null instead of an empty text."""
    if not isinstance(item, dict):
        return (repr(item),)
    rest = {key: value for key, value in item.items() if key not in ("role", "name") and value is not None and value != ""}
    try:
        return (orjson.dumps(rest, option=orjson.OPT_SORT_KEYS, default=repr),)
    except TypeError:  # an integer of more than 64 bits
        return (repr(sorted(rest.items())),)


def _places(short: list[tuple[Any, ...]], long: list[tuple[Any, ...]]) -> list[int] | None:
    """Where each of ``short`` stands in ``long``, in order; None when it is no subsequence."""
    places = []
    start = 0
    for key in short:
        try:
            start = long.index(key, start) + 1
        except ValueError:
            return None
        places.append(start - 1)
    return places


def _note_receipts(copy: ChatList, other: ChatList, places: list[int]) -> None:
    """A manager's list for a member shows what that member received."""
    for item, place in zip(copy.items, places, strict=True):
        name = item.get("name") if isinstance(item, dict) else None
        if copy.group and copy.owner is None and copy.peer is not None and name != copy.peer:
            other.received.setdefault(place, []).append(copy.peer)
