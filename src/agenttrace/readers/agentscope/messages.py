"""Messages of AgentScope, each once, and who remembers them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from agenttrace.arguments import parse_arguments
from agenttrace.builder import TraceBuilder
from agenttrace.misfits import misfits
from agenttrace.model import ContentPart, Usage
from agenttrace.notes import Notes
from agenttrace.readers.agentscope.blocks import Block, blocks_of, outcome_of, part_of

__all__ = ["Conversation", "is_message", "usage_of"]

Item = dict[str, Any]

_KNOWN = frozenset({"__module__", "__name__", "id", "name", "role", "content", "metadata", "timestamp", "created_at", "usage"})
_TOKENS = {"input_tokens": "prompt_tokens", "output_tokens": "completion_tokens"}
_CACHED = {"cache_input_tokens": "cached_tokens", "cache_creation_input_tokens": "cache_write_tokens"}


def is_message(value: Any) -> bool:
    """Whether a JSON value is a message: of 0.x and 1.x with ``timestamp``, of 2.x with ``created_at``."""
    if not isinstance(value, dict) or not value.keys() >= {"id", "name", "role", "content"}:
        return False
    return value["role"] in ("user", "assistant", "system") and ("timestamp" in value or "created_at" in value)


def usage_of(value: Any, model: str | None = None) -> Usage | None:
    """The tokens of a call of a model; none of the cache are left out."""
    figures: dict[str, Any] = {}
    for names, least in ((_TOKENS, 0), (_CACHED, 1)):
        for name, field in names.items():
            count = value.get(name) if isinstance(value, dict) else None
            if type(count) is int and least <= count < 1 << 63:
                figures[field] = count
    return Usage(**figures, model=model) if figures else None


class Conversation:
    """Feeds messages to a TraceBuilder; the same id again is a copy, and who holds it received it."""

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._seen: dict[str, tuple[list[str], str]] = {}  # id -> events of the message, and its content as text
        self._callers: dict[str, str] = {}
        self._kinds: Counter[str] = Counter()
        self.asked: set[str] = set()  # texts in the arguments of calls

    def agent(self, name: str, role: Any = None) -> str:
        """The agent of a name; one whose messages have the role user is a person."""
        is_person = role == "user" and name not in self._callers
        return self._builder.agent(name, role="user", participant=False) if is_person else self._builder.agent(name)

    def add(self, message: Item, ref: str, holder: str | None = None, *, extra: Item | None = None, **first: Any) -> list[str]:
        """Add a message that an agent holds in its memory, if one does. ``first``: further fields of its first event.

        Returns the ids of its events.
        """
        self.count(message)
        identity = message.get("id")
        known = self._seen.get(identity) if isinstance(identity, str) else None
        if known is not None and known[1] == repr(message.get("content")):
            self._notes.add("copy", ref, f"message {identity} again", known[0][0] if known[0] else None)
            for event_id in known[0] if holder is not None and holder != message.get("name") else ():
                self._builder.receive(event_id, [str(holder)])
            return known[0]
        made = _Message(self._builder, self, message, ref, holder, extra or {}, first).events()
        if isinstance(identity, str) and known is None:
            self._seen[identity] = (made, repr(message.get("content")))
        return made

    def close(self) -> None:
        """Say which classes, roles and kinds of blocks there were."""
        self._builder.count_types(self._kinds)

    def count(self, message: Item) -> None:
        """Count the words of a message that decide what it becomes."""
        blocks = message["content"] if isinstance(message.get("content"), list) else []
        sources = [block.get("source") for block in blocks if isinstance(block, dict)]
        words = [message.get("__module__"), message.get("__name__"), message.get("role")]
        words += [block.get("type") for block in (*blocks, *sources) if isinstance(block, dict)]
        outputs = [block["output"] for block in blocks if isinstance(block, dict) and isinstance(block.get("output"), list)]
        words += [block.get("type") for output in outputs for block in output if isinstance(block, dict)]
        self._kinds.update(word for word in words if isinstance(word, str) and word)

    def called(self, name: str, caller: str) -> None:
        """Remember who calls tools: an agent, whatever role it has in the memory of others."""
        self._callers[caller] = name


class _Message:
    """One message on its way to events: texts and pictures that stand together are one, each call is one."""

    def __init__(
        self, builder: TraceBuilder, talk: Conversation, message: Item, ref: str, holder: str | None, extra: Item, first: Item
    ) -> None:
        self._builder = builder
        self._talk = talk
        self._message = message
        self._ref = ref
        name = message.get("name")
        self._sender = name if isinstance(name, str) and name else None
        self._role = message.get("role")
        self._holder = holder
        self._first = first
        self._waiting: list[Block] = []
        self._thoughts: list[str] = []
        self._events: list[str] = []
        self._turn = 0
        self._answered = False
        self._results = 0
        time = message.get("timestamp", message.get("created_at"))
        self._time = time if isinstance(time, str) else None
        self._extra = {**extra, **{key: item for key, item in message.items() if key not in _KNOWN and item not in (None, [], {})}}
        if time is not None and self._time is None:
            self._extra["timestamp"] = time
        self._extra |= misfits(message, dict.fromkeys(("id", "name", "role"), str))

    def events(self) -> list[str]:
        """Make the events; returns their ids."""
        blocks = list(blocks_of(self._message.get("content"), self._ref))
        only_results = bool(blocks) and all(block.kind == "result" for block in blocks)
        for block in blocks:
            if block.kind == "result":
                self._flush()
                self._result(block)
                self._answered = True
                continue
            if self._answered:  # the model was asked again
                self._turn += 1
                self._answered = False
            if block.kind == "thinking":
                self._thoughts.append(str(block.value.get("thinking")))
                self._keep(block, "thinking")
            elif block.kind == "call":
                self._flush()
                self._call(block)
            elif block.kind == "hint":
                self._flush()
                self._hint(block)
            else:
                self._waiting.append(block)
        self._flush()
        if not self._events and not only_results:
            self._said(self._ref, self._message.get("content") if isinstance(self._message.get("content"), str) else None, [])
        return self._events

    # -- parts -----------------------------------------------------------------------------------

    def _keep(self, block: Block, text: str) -> None:
        rest = {key: item for key, item in block.value.items() if key not in ("type", text, "id", "created_at", "finished_at")}
        if rest := {key: item for key, item in rest.items() if item not in (None, [], {})}:
            self._extra.setdefault("blocks", []).append({"type": block.kind, **rest})

    def _event(self, place: str, block: Block | None) -> Item:
        """Fields of the next event; what the message itself says goes with its first."""
        extra: Item = {}
        identity = self._message.get("id")
        fields: Item = {"source_ref": place, "timestamp": self._time_of(block)}
        if self._role == "assistant":
            fields["turn_id"] = f"turn:{identity if isinstance(identity, str) else self._ref}" + (f":{self._turn}" if self._turn else "")
        if self._thoughts:
            fields["reasoning"] = "\n".join(self._thoughts)
            self._thoughts = []
        if not self._events:
            extra |= self._extra
            fields["event_id"] = identity if isinstance(identity, str) else None
            fields |= self._first
            usage = self._message.get("usage")
            if usage is not None:  # of all calls of the model that one reply took
                extra["usage_of_reply"] = usage
        return {**fields, "extra": extra or None}

    def _time_of(self, block: Block | None) -> str | None:
        made = block.value.get("created_at") if block is not None else None
        return made if isinstance(made, str) else self._time

    def _flush(self) -> None:
        """Texts and pictures that wait become a message."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        parts = [part_of(block) for block in waiting]
        rest = [{"type": block.kind, **left} for block, (_, left) in zip(waiting, parts, strict=True) if _more(left)]
        content: Any = tuple(part for part, _ in parts)
        if len(parts) == 1 and parts[0][0].kind == "text":
            content = parts[0][0].text
        self._said(waiting[0].place, content, rest, waiting[0])

    def _said(self, place: str, content: str | tuple[ContentPart, ...] | None, rest: list[Item], block: Block | None = None) -> None:
        event = self._event(place, block)
        if rest:
            event["extra"] = {**(event["extra"] or {}), "blocks": [*(event["extra"] or {}).get("blocks", []), *rest]}
        metadata = self._message.get("metadata") if not self._events else None
        if metadata is not None and not isinstance(metadata, dict):
            event["extra"] = {**(event["extra"] or {}), "metadata": metadata}
        receivers = [self._holder] if self._holder is not None and self._holder != self._sender else []
        sender = self._talk.agent(self._sender, self._role) if self._sender is not None else None
        self._events.append(
            self._builder.message(
                sender,
                content,
                receivers=receivers,
                kind="system" if self._role == "system" else "chat",
                metadata=metadata if isinstance(metadata, dict) and metadata else None,
                **event,
            )
        )

    def _call(self, block: Block) -> None:
        value = block.value
        name, given = value.get("name"), value.get("id")
        event = self._event(block.place, block)
        extra = {
            key: item
            for key, item in value.items()
            if key not in ("type", "id", "name", "input", "created_at") and item not in (None, [], "")
        }
        if "raw_input" in extra and parse_arguments(extra["raw_input"])[0] == value.get("input"):
            del extra["raw_input"]  # the same, as the model wrote it
        extra |= misfits(value, {"id": str, "name": str}, "call.")
        metadata = self._message.get("metadata") if not self._events else None
        if metadata:
            extra["metadata"] = metadata
        event["extra"] = {**(event["extra"] or {}), **extra} or None
        self._talk.asked.update(_texts_in(value.get("input")))
        if self._sender is not None:
            self._talk.called(str(given), self._sender)
            self._talk.agent(self._sender)
        call_id = given if isinstance(given, str) and given else None
        tool = name if isinstance(name, str) and name else None
        self._events.append(self._builder.call(self._sender, tool, value.get("input"), call_id=call_id, **event))

    def _result(self, block: Block) -> None:
        """A result is folded into its call; that of a call which is not there becomes one."""
        value = block.value
        given, name = value.get("id"), value.get("name")
        outcome = outcome_of(value)
        held = (
            {"type", "id", "name", "output", "created_at", "state"}
            if outcome.status is not None
            else {"type", "id", "name", "output", "created_at"}
        )
        extra = {f"result.{key}": item for key, item in value.items() if key not in held and item not in (None, [], {}, "")}
        extra |= misfits(value, {"id": str, "name": str}, "result.")
        identity = self._message.get("id")
        if isinstance(identity, str) and self._role == "system":
            extra["result.message_id"] = identity
        if self._message.get("metadata") and self._role == "system":
            extra["result.metadata"] = self._message["metadata"]
        event_id = self._builder.result(
            given if isinstance(given, str) and given else f"result:{block.place}",
            outcome.result,
            status=outcome.status,
            error=outcome.error,
            completed_at=self._time_of(block),
            tool=name if isinstance(name, str) and name else None,
            source_ref=block.place,
            extra=extra or None,
        )
        self._results += 1
        if self._role == "system":
            self._events.append(event_id)

    def _hint(self, block: Block) -> None:
        """What the runtime, or a member of the team, tells the model of the one who replies."""
        hint, source = block.value.get("hint"), block.value.get("source")
        event = self._event(block.place, block)
        event.pop("turn_id", None)
        event["event_id"] = None
        content = hint if isinstance(hint, str) else (ContentPart(kind="data", value=hint),)
        metadata = {"source": source} if source is not None else None
        receivers = [self._sender] if self._sender is not None else []
        self._events.append(self._builder.message(None, content, receivers=receivers, kind="system", metadata=metadata, **event))


def _more(left: Item) -> bool:
    """Whether a block says more than its id and times."""
    return any(key not in ("id", "created_at", "finished_at") for key in left)


def _texts_in(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
