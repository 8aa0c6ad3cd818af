"""AutoGen 0.2 / AG2: conversations as OpenAI message dicts with a ``name``.

Facts that the code rests on, from ``autogen.agentchat`` 0.2.35
(conversable_agent.py, groupchat.py, chat.py):

* ``role`` is relative to the owner of the list: ``assistant`` is what it sent. It
  is forced to ``assistant`` for messages with calls, which may carry no name.
* ``execute_function`` answers ``Error: …`` exactly when the function is unknown,
  its arguments do not parse, or it raised.
* Code execution answers ``exitcode: N (execution succeeded|failed)``; 124 is a timeout.
* A role ``function`` message carries the function's name, not an agent's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.model import ContentPart
from agenttrace.notes import Notes
from agenttrace.readers.autogen.chat_lists import ChatList, Item, Told

__all__ = ["Dialogue"]

_REPORT = re.compile(r"exitcode: (-?\d+) \(execution (?:succeeded|failed)\)\nCode output: ?")
_FENCE = "```"
_TIMEOUT_EXIT_CODE = 124
_KNOWN = frozenset({"content", "role", "name", "tool_calls", "tool_responses", "function_call", "tool_call_id"})
_UNTOLD = Told(sender=None, receivers=[])


class Dialogue:
    """Feeds the messages of conversations to a TraceBuilder."""

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._roles: Counter[str] = Counter()
        self._waiting: dict[str, list[str]] = {}
        self._code_author: str | None = None
        self._previous: str | None = None
        self._told = _UNTOLD  # what the log tells of the item at hand
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
            self._told = chat.told.get(index, _UNTOLD)
            sender = self._told.sender if index in chat.told else self._sender(chat, index, item, parties)
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
        names += [name for told in chat.told.values() for name in (told.sender, *told.receivers) if name is not None]
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
        """Explicit where the log or lists of both parties name them, else by the rule: a group hears everything, a pair each other."""
        if index in chat.told:
            return {"receivers": self._told.receivers, "broadcast": len(self._told.receivers) > 1}
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
        turn = f"turn:{ref}" if calls or function or self._told.usage else None
        report = _REPORT.match(content) if isinstance(content, str) else None
        if answers:
            event_id = self._answers(item, answers, sender, ref)
        elif role == "function" or (role == "tool" and "tool_call_id" in item):
            event_id = self._answer(item, sender, ref)
        elif report is not None:
            event_id = self._report(int(report[1]), str(content), sender, ref)
        elif not (calls or function) or content:
            event_id = self._message(chat, index, item, sender, ref, parties, turn)
        told = first = event_id
        for number, call in enumerate(calls if isinstance(calls, list) else [calls] if calls else ()):
            event_id = self._call(call, sender, f"{ref}/tool_calls/{number}", turn) or event_id
            first = first or event_id
        if function:
            event_id = self._call(function, sender, f"{ref}/function_call", turn) or event_id
            first = first or event_id
        if first is not None and self._told.extra:
            self._builder.keep(first, self._told.extra)
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
        metadata = {**_rest(item), **self._told.metadata}
        metadata.pop("codes", None)
        if isinstance(item.get("role"), str):
            metadata["role"] = item["role"]
        receivers = self._receivers(chat, index, sender, parties)
        return self._builder.message(
            sender, content, kind=self._told.kind, metadata=metadata, source_ref=ref, turn_id=turn, **receivers, **self._response()
        )

    def _response(self) -> dict[str, Any]:
        """Time, usage and raw response of the model's answer at hand; the builder keeps the latter two on the turn's first event."""
        told = self._told
        return {"timestamp": told.timestamp, "usage": told.usage, "raw_response": told.raw_response}

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
            **self._response(),
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
            self._builder.message(executor, _content(content), kind="log", source_ref=ref, timestamp=self._told.timestamp)
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
            completed_at=self._told.completed_at.get(str(call_id), self._told.timestamp),
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
        return self._builder.result(f"call_{event_id}", report, status=status, completed_at=self._told.timestamp)

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
