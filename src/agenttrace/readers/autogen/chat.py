"""AutoGen 0.2 / AG2: conversations as OpenAI message dicts with a ``name``.

Facts that the code rests on, from ``autogen.agentchat`` 0.2.35
(conversable_agent.py, groupchat.py, chat.py):

* ``role`` is relative to the owner of the list: ``assistant`` is what it sent. It
  is forced to ``assistant`` for messages with calls, which may carry no name.
* The same message lies in the list of each party; a group chat manager relays
  every message to all members but the speaker.
* ``execute_function`` answers ``Error: …`` exactly when the function is unknown,
  its arguments do not parse, or it raised.
* Code execution answers ``exitcode: N (execution succeeded|failed)``; 124 is a timeout.
* A role ``function`` message carries the function's name, not an agent's.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import orjson

from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.model import ContentPart
from agenttrace.notes import Notes

__all__ = ["ChatList", "Dialogue", "merge_lists", "owner_of"]

_REPORT = re.compile(r"exitcode: (-?\d+) \(execution (?:succeeded|failed)\)\nCode output: ?")
_FENCE = "```"
_TIMEOUT_EXIT_CODE = 124
_KNOWN = frozenset({"content", "role", "name", "tool_calls", "tool_responses", "function_call", "tool_call_id"})

Item = dict[str, Any]


@dataclass
class ChatList:
    """One list of messages as its owner kept it, and with whom it talked.

    ``owner`` and ``peer`` are None where the log does not say; in a group both the
    manager and the members keep such lists.
    """

    items: list[Any]
    ref: str
    owner: str | None = None
    peer: str | None = None
    group: bool = False
    received: dict[int, list[str]] = field(default_factory=dict)

    def place(self, index: int) -> str:
        """Where a message stands in the source."""
        return f"{self.ref}/{index}"

    def named(self) -> list[str]:
        """The speakers' names, in order of appearance."""
        names = (item.get("name") for item in self.items if isinstance(item, dict) and item.get("role") != "function")
        return list(dict.fromkeys(name for name in names if isinstance(name, str)))


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
    keys = {chat.ref: [_key(item) for item in chat.items] for chat in lists}
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


def _key(item: Any) -> tuple[Any, ...]:
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


class Dialogue:
    """Feeds the messages of conversations to a TraceBuilder."""

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._roles: Counter[str] = Counter()
        self._waiting: dict[str, list[str]] = {}
        self._code_author: str | None = None
        self._previous: str | None = None
        self.events: dict[str, str] = {}

    def add(self, chat: ChatList) -> None:
        """Add one conversation. ``events`` tells afterwards which event each message became, by its place."""
        parties = self._parties(chat)
        self._code_author = self._previous = None
        for index, item in enumerate(chat.items):
            ref = chat.place(index)
            if not isinstance(item, dict) or not item:
                self._keep_whole(ref, item)
                continue
            sender = self._sender(chat, index, item, parties)
            try:
                event_id = self._item(chat, index, item, sender, ref, parties)
            except (TypeError, AttributeError, ValueError, KeyError):  # values of types that no version writes
                self._keep_whole(ref, item)
                continue
            if event_id is not None:
                self.events[ref] = event_id
            self._previous = sender

    def close(self) -> None:
        """Say which roles and types the source named: they decide what an item becomes."""
        if self._roles:
            self._builder.count_types(self._roles)

    def _parties(self, chat: ChatList) -> list[str]:
        """The agents of a conversation. In a group the manager only relays and is none of them."""
        names = chat.named()
        for name in (chat.owner, chat.peer):
            if name is not None and name not in names and not (chat.group and name == chat.peer):
                names.append(name)
        if chat.group and chat.peer is not None and chat.peer not in names:
            self._builder.agent(chat.peer, name=chat.peer, participant=False)
        if chat.group and chat.owner is None:
            names += [member for members in chat.received.values() for member in members if member not in names]
        for name in dict.fromkeys(names):
            self._builder.agent(name, name=name)
        return list(dict.fromkeys(names))

    def _sender(self, chat: ChatList, index: int, item: Item, parties: list[str]) -> str | None:
        name, role = item.get("name"), item.get("role")
        if isinstance(name, str) and role != "function":
            return name
        if role == "function" or (role == "tool" and self._previous is not None):
            return self._other(self._previous, parties)
        if len(parties) > 2 or chat.group:
            return chat.owner
        if item.get("tool_calls") or item.get("function_call"):  # the role is forced: whoever is not asked to run it
            following = chat.items[index + 1] if index + 1 < len(chat.items) else None
            runner = following.get("name") if isinstance(following, dict) and following.get("role") == "tool" else self._previous
            return self._other(runner, parties) or chat.owner
        return chat.owner if role == "assistant" else chat.peer

    @staticmethod
    def _other(agent_id: str | None, parties: list[str]) -> str | None:
        others = [party for party in parties if party != agent_id]
        return others[0] if agent_id is not None and len(others) == 1 else None

    def _receivers(self, chat: ChatList, index: int, sender: str | None, parties: list[str]) -> dict[str, Any]:
        """Explicit where lists of both parties name it, else by the rule: a group hears everything, a pair each other."""
        if members := chat.received.get(index):
            first = [chat.peer] if chat.peer is not None and chat.peer != sender else []
            return {"receivers": first + members, "broadcast": True}
        if not chat.group and chat.owner is not None and chat.peer is not None:
            return {"receivers": [chat.peer if sender == chat.owner else chat.owner]}
        if len(parties) <= 2:
            other = self._other(sender, parties)
            return {"receivers": [other] if other else [], "origin": "derived"}
        return {"receivers": EVERYONE}

    # -- one message ---------------------------------------------------------------

    def _item(self, chat: ChatList, index: int, item: Item, sender: str | None, ref: str, parties: list[str]) -> str | None:
        content, role = item.get("content"), item.get("role")
        if isinstance(role, str):
            self._roles[role] += 1
        event_id: str | None = None
        answers, calls, function = item.get("tool_responses"), item.get("tool_calls"), item.get("function_call")
        turn = f"turn:{ref}" if calls or function else None
        report = _REPORT.match(content) if isinstance(content, str) else None
        if answers:
            event_id = self._answers(item, answers, sender, ref)
        elif role == "function" or (role == "tool" and "tool_call_id" in item):
            event_id = self._answer(item, sender, ref)
        elif report is not None:
            event_id = self._report(int(report[1]), str(content), sender, ref)
        elif not turn or content:
            event_id = self._message(chat, index, item, sender, ref, parties, turn)
        told = event_id
        for number, call in enumerate(calls if isinstance(calls, list) else [calls] if calls else ()):
            event_id = self._call(call, sender, f"{ref}/tool_calls/{number}", turn) or event_id
        if function:
            event_id = self._call(function, sender, f"{ref}/function_call", turn) or event_id
        self._leftovers(
            item, ref, event_id, mapped=told is not None and not answers and report is None and role not in ("function", "tool")
        )
        return event_id

    def _leftovers(self, item: Item, ref: str, event_id: str | None, *, mapped: bool) -> None:
        """Labels of the agentprofiler become annotations; of an item that gave no message, other keys go to ``extra``."""
        codes = item.get("codes")
        for number, code in enumerate(codes if isinstance(codes, list) else [] if codes is None else [codes]):
            self._builder.annotate("code", code, kind="label", event_id=event_id, source_ref=f"{ref}/codes/{number}")
        rest = _rest(item)
        rest.pop("codes", None)
        if item.get("role") not in ("function", "tool") and item.get("tool_call_id") is not None:
            rest["tool_call_id"] = item["tool_call_id"]
        if item.get("name") is not None and not isinstance(item["name"], str):
            rest["name"] = item["name"]
        if not rest or (mapped and not rest.keys() & {"tool_call_id", "name"}):
            return
        if event_id is not None:
            self._builder.keep(event_id, rest)
        else:
            self._builder.extra.setdefault("records", []).append({"source_ref": ref, "value": rest})
        self._notes.add("aside", ref, f"{', '.join(rest)}, in `extra`", event_id)

    def _message(self, chat: ChatList, index: int, item: Item, sender: str | None, ref: str, parties: list[str], turn: str | None) -> str:
        content = _content(item.get("content"))
        if isinstance(content, str) and _FENCE in content:
            self._code_author = sender
        metadata = _rest(item)
        metadata.pop("codes", None)
        if isinstance(item.get("role"), str):
            metadata["role"] = item["role"]
        receivers = self._receivers(chat, index, sender, parties)
        return self._builder.message(sender, content, metadata=metadata, source_ref=ref, turn_id=turn, **receivers)

    def _call(self, call: Any, caller: str | None, ref: str, turn: str | None) -> str | None:
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(function, dict):
            self._keep_whole(ref, call)
            return None
        if isinstance(call.get("type"), str):
            self._roles[call["type"]] += 1
        name = function.get("name")
        call_id = call.get("id")
        extra = {key: value for key, value in call.items() if key not in ("id", "type", "function", "name", "arguments")}
        if function is not call:
            extra |= {key: value for key, value in function.items() if key not in ("name", "arguments")}
        event_id = self._builder.call(
            caller,
            name if isinstance(name, str) else None,
            function.get("arguments"),
            call_id=str(call_id) if call_id is not None else None,
            turn_id=turn,
            source_ref=ref,
            extra=extra or None,
        )
        if call_id is None:
            self._waiting.setdefault(str(name), []).append(f"call_{event_id}")
        return event_id

    def _answers(self, item: Item, answers: Any, executor: str | None, ref: str) -> str | None:
        event_id: str | None = None
        texts = []
        for number, answer in enumerate(answers if isinstance(answers, list) else [answers]):
            if isinstance(answer, dict):
                texts.append(str(answer.get("content")))
                event_id = self._answer(answer, executor, f"{ref}/tool_responses/{number}") or event_id
            else:
                self._keep_whole(f"{ref}/tool_responses/{number}", answer)
        content = item.get("content")
        if content and event_id is not None and content == "\n\n".join(texts):  # AutoGen's own join of the responses
            if len(texts) > 1:
                self._builder.keep(event_id, {"joined_results": content})
                self._notes.add("aside", f"{ref}/content", "the join of several results, in `extra` of the last call", event_id)
        elif content:
            self._builder.message(executor, _content(content), kind="log", source_ref=ref)
        return event_id

    def _answer(self, answer: Item, executor: str | None, ref: str) -> str | None:
        content = answer.get("content")
        name = answer.get("name") if answer.get("role") == "function" else None
        waiting = self._waiting.get(str(name)) if name is not None else None
        call_id = answer.get("tool_call_id") or (waiting.pop(0) if waiting else None)
        if call_id is None:
            call_id = f"unnamed:{ref}"
            self._notes.add("made_up", ref, f"tool_call_id {call_id}: the response names no call")
        failed = isinstance(content, str) and content.startswith("Error: ")
        status = None if content is None else "exception" if failed else "success"
        extra: dict[str, Any] = {}
        if ref.rpartition("/")[0].endswith("tool_responses"):  # else its keys are the message's own
            extra = {key: value for key, value in answer.items() if key not in ("content", "role", "tool_call_id")}
            if extra.get("name") in (None, executor):
                extra.pop("name", None)
            if extra:
                self._notes.add("aside", ref, f"{', '.join(extra)}, in `extra`")
        if "role" in answer and ref.rpartition("/")[0].endswith("tool_responses"):
            self._roles[str(answer["role"])] += 1
        return self._builder.result(
            str(call_id),
            None if failed else content,
            error=content if failed else None,
            status=status,
            executor=executor,
            tool=name if isinstance(name, str) else None,
            source_ref=ref,
            extra=extra or None,
        )

    def _report(self, exit_code: int, report: str, executor: str | None, ref: str) -> str:
        """A code executor's report on the last code that was written: a call of its own, the report its result."""
        author = self._code_author
        event_id = self._builder.call(author, "code_execution", executor=executor, source_ref=ref)
        if author is not None:
            self._notes.add("derived", ref, f"caller {author}: wrote the last code before it", event_id)
        status = "success" if exit_code == 0 else "exception" if exit_code == _TIMEOUT_EXIT_CODE else "failure"
        return self._builder.result(f"call_{event_id}", report, status=status)

    def _keep_whole(self, ref: str, value: Any) -> None:
        if value is None or value == {}:
            self._notes.drop("wrapper", ref, "an empty message", value)
            return
        self._builder.extra.setdefault("records", []).append({"source_ref": ref, "value": value})
        self._notes.add("aside", ref, "no message of a known shape; kept whole in the trace's `extra`")


def _rest(item: Item) -> dict[str, Any]:
    if item.keys() <= _KNOWN:
        return {}
    return {key: value for key, value in item.items() if key not in _KNOWN and value is not None}


def _content(content: Any) -> str | tuple[ContentPart, ...] | None:
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        return tuple(_part(part) for part in content)
    return (ContentPart(kind="data", value=content),)


def _part(part: Any) -> ContentPart:
    if isinstance(part, str):
        return ContentPart(kind="text", text=part)
    if isinstance(part, dict):
        keys, kind = part.keys(), part.get("type")
        if kind == "text" and keys == {"type", "text"} and isinstance(part["text"], str):
            return ContentPart(kind="text", text=part["text"])
        image = part.get("image_url")
        if kind == "image_url" and keys == {"type", "image_url"}:
            if isinstance(image, str):
                return ContentPart(kind="image", uri=image)
            if isinstance(image, dict) and image.keys() == {"url"} and isinstance(image["url"], str):
                return ContentPart(kind="image", uri=image["url"])
    return ContentPart(kind="data", value=part)
