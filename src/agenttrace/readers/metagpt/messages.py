"""Messages of MetaGPT, from the log or from memories: who they are from, to whom they go, and the documents they carry.

Facts from ``metagpt/schema.py`` and ``metagpt/environment/base_env.py`` (0.5 to 0.8.2 and main):

* ``role`` is ``Name(Profile)`` or the profile, in main ``user`` or ``assistant`` with the role in
  ``metadata.agent``; ``sent_from`` is the role's class, or its name. ``cause_by`` is the class of the action that made the message.
* ``send_to`` holds names or classes, ``<all>``, ``<none>`` or ``<self>``. What goes to all is put
  into the buffer of every role.
* ``instruct_content`` is an object of documents, or of anything; ``content`` often is its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.model import ContentPart
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.documents import Shelf, documents_in

__all__ = ["Conversation", "Item", "identity_of", "is_message", "same_text"]

_KNOWN = frozenset({"id", "content", "instruct_content", "role", "cause_by", "sent_from", "send_to", "metadata"})
_NAMED = re.compile(r"(?P<name>[^()\n]*)\((?P<profile>[^\n]*)\)")
_PEOPLE = ("Human", "user")
_GENERIC = ("user", "assistant", "system")

Item = dict[str, Any]


def is_message(value: Any) -> bool:
    """Whether a JSON value is a message."""
    return isinstance(value, dict) and "content" in value and "cause_by" in value and "role" in value


def identity_of(message: Any) -> str | None:
    """The id of a message."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str) and found else None


def same_text(one: Any, other: Any) -> bool:
    """Whether two messages of one id say the same; one of them may be cut, or have bytes that could not be read."""
    if isinstance(one, str) and isinstance(other, str):
        return "\ufffd" in one + other or one.startswith(other) or other.startswith(one)
    return bool(one == other)


class Conversation:
    """Feeds messages, each once, to a TraceBuilder."""

    def __init__(self, builder: TraceBuilder, notes: Notes, shelf: Shelf | None = None) -> None:
        self._builder = builder
        self._notes = notes
        self._aliases: dict[str, str] = {}
        self._labels: dict[str, str | None] = {}  # name or profile -> the one role that has it, None: several have
        self._introduced: set[str] = set()
        self.shelf = shelf if shelf is not None else Shelf(builder, notes)
        self.events: dict[str, str] = {}  # message id -> event id
        self._contents: dict[str, Any] = {}
        self.said: set[str] = set()
        self.instructed: list[Any] = []  # values of ``instruct_content``

    # -- agents ------------------------------------------------------------------------

    def introduce(self, label: str) -> None:
        """Say that a role ``Name(Profile)`` takes part: its name, or its profile, alone means the same role."""
        match = _NAMED.fullmatch(label)
        self._introduced.add(label)
        for short in {match["name"], match["profile"]} if match is not None else ():
            if short and self._labels.setdefault(short, label) != label:
                self._labels[short] = None

    def label(self, label: str) -> str:
        """The id of the agent that a label stands for."""
        return self._labels.get(label) or label

    def knows(self, label: str) -> bool:
        """Whether a label is one of somebody who takes part."""
        return label in _PEOPLE or label in self._labels or label in self._introduced

    def agent(self, label: str, **fields: Any) -> str:
        """The agent behind ``Name(Profile)``, a name or a profile; Human and user are people, and no members of the team."""
        label = self.label(label)
        match = _NAMED.fullmatch(label)
        if match is not None:
            fields = {"name": match["name"] or None, **fields}
        elif label in _PEOPLE:
            fields |= {"role": "user", "participant": False}
        return self._builder.agent(label, **fields)

    def alias(self, alias: str, agent_id: str) -> None:
        """Another name of an agent: its class, its plain name."""
        if alias and alias != agent_id:
            self._aliases.setdefault(alias, agent_id)

    def resolve(self, name: str) -> str:
        """The agent that a name or a class stands for."""
        return self._aliases.get(name) or self.label(name)

    def close(self) -> None:
        """Say under which other names agents are known."""
        known: dict[str, list[str]] = {}
        for alias, agent_id in self._aliases.items():
            if not agent_id.startswith(f"{alias}("):  # that is its name
                known.setdefault(agent_id, []).append(alias)
        for agent_id, aliases in known.items():
            self._builder.agent(agent_id, extra={"aliases": aliases})

    def sender_of(self, message: Item) -> str | None:
        """The label of who sent a message: ``metadata.agent``, the role, or the class it was sent from."""
        metadata = message.get("metadata")
        for value in (metadata.get("agent") if isinstance(metadata, dict) else None, message.get("role")):
            if isinstance(value, str) and value and value not in _GENERIC:
                return value
        sent_from = message.get("sent_from")
        if isinstance(sent_from, str) and sent_from:
            return sent_from
        return "user" if message.get("role") == "user" else None  # ``assistant`` does not say who

    def _sender(self, message: Item) -> str | None:
        label = self.sender_of(message)
        if label is None:
            return None
        agent_id = self.agent(self.resolve(label))
        sent_from = message.get("sent_from")
        if isinstance(sent_from, str):
            self.alias(sent_from, agent_id)
        return agent_id

    def _receivers(self, message: Item, sender: str | None) -> Any:
        send_to = message.get("send_to")
        names = [name for name in send_to if isinstance(name, str) and name] if isinstance(send_to, list) else []
        if not names or "<none>" in names:
            return ()
        if "<all>" in names:
            return EVERYONE
        named = [sender if name == "<self>" else self._addressed(name) for name in names]
        return [name for name in named if name is not None]

    def _addressed(self, name: str) -> str:
        agent_id = self.agent(self.resolve(name))
        self.alias(name, agent_id)
        return agent_id

    def _unsettled(self, message: Item) -> Iterator[str]:
        """What of a message's addresses is more than a name of its sender or receivers."""
        if not isinstance(message.get("sent_from"), str):
            yield "sent_from"
        send_to = message.get("send_to")
        names = send_to if isinstance(send_to, list) else [None]
        if not all(isinstance(name, str) and not name.startswith("<") for name in names):
            yield "send_to"

    # -- messages ------------------------------------------------------------------------

    def add(self, message: Item, ref: str, timestamp: str | None = None, *, published: bool = True) -> str:
        """Add a message; one whose id was there before is a copy, one that was not published reached nobody. Returns the event's id."""
        identity = identity_of(message)
        if identity is not None and identity in self.events and same_text(message.get("content"), self._contents[identity]):
            self._notes.add("copy", ref, f"message {identity} again", self.events[identity])
            return self.events[identity]
        sender = self._sender(message)
        documents, rest = documents_in(message.get("instruct_content"))
        event_id = self._builder.message(
            sender,
            _content(message.get("content"), rest),
            receivers=self._receivers(message, sender) if published else (),
            metadata={key: message[key] for key in ("cause_by", *self._unsettled(message), "role", "metadata") if message.get(key)},
            event_id=identity,
            timestamp=timestamp,
            source_ref=ref,
            extra={key: value for key, value in message.items() if key not in _KNOWN and value is not None} or None,
        )
        if identity is not None and identity not in self.events:
            self.events[identity] = event_id
            self._contents[identity] = message.get("content")
        if isinstance(message.get("content"), str):
            self.said.add(message["content"])
        instruct = message.get("instruct_content")
        self.instructed.append(instruct.get("value") if isinstance(instruct, dict) else instruct)
        for document in documents:
            place = f"{ref}/instruct_content/value{document.place}"
            self.shelf.carried(document.path, document.text, sender, event_id, place, timestamp)
        return event_id


def _content(content: Any, rest: Any) -> Any:
    """The content of a message: its text, alone or with the data that comes with it."""
    if rest is None and (content is None or isinstance(content, str)):
        return content
    first = ContentPart(kind="text", text=content) if isinstance(content, str) else ContentPart(kind="data", value=content)
    parts = [] if content is None else [first]
    return (*parts, ContentPart(kind="data", value=rest)) if rest is not None else tuple(parts)
