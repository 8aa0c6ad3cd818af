"""A model context of AutoGen 0.4+: what one agent's model was shown, as LLM messages.

A UserMessage in it was received by the context's owner. Ids and times there are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes
from agenttrace.readers.autogen.agentchat import Conversation
from agenttrace.readers.autogen.records import NOTHING_BESIDE, Beside, Record, metadata_of, text_of

__all__ = ["ModelContext"]


class Held(Protocol):
    """A record, the agent whose context it stands in, and the agents that are known to have received it."""

    ref: str
    record: Any
    owner: str | None
    holders: list[str]
    spoken: bool


class ModelContext(Conversation):
    """Feeds the records of a context to a TraceBuilder; ``owner`` is its agent, where that is known."""

    def __init__(self, builder: TraceBuilder, notes: Notes, owner: str | None = None) -> None:
        super().__init__(builder, notes)
        self._owner = owner
        self._handlers |= {
            "SystemMessage": self._context_system,
            "UserMessage": self._context_user,
            "AssistantMessage": self._context_assistant,
        }

    def add_held(self, entries: Iterable[Held]) -> None:
        """Add records of a saved state, each with the owner of its context and the agents that hold it; then settle the end."""
        self.add_saved(entries)
        self.close()

    def add_saved(self, entries: Iterable[Held]) -> None:
        """Add records of a saved state."""
        for entry in entries:
            self._owner = entry.owner
            self.add(entry.ref, entry.record, Beside(tuple(entry.holders), spoken=entry.spoken) if entry.holders else NOTHING_BESIDE)

    def _context_system(self, record: Record, ref: str, source: str | None) -> str:
        return self._builder.message(
            source,
            self._content(record.get("content")),
            receivers=self._received(),
            kind="system",
            metadata=metadata_of(record),
            **self._event(record, ref, None),
        )

    def _context_user(self, record: Record, ref: str, source: str | None) -> str:
        receivers = [agent_id for agent_id in self._received() if agent_id != source]
        return self._builder.message(
            source,
            self._content(record.get("content")),
            receivers=receivers,
            metadata=metadata_of(record),
            **self._event(record, ref, None),
        )

    def _context_assistant(self, record: Record, ref: str, source: str | None) -> str | None:
        thought = record.get("thought")
        turn = self._turn_id(record, ref)
        content = record.get("content")
        record = {key: value for key, value in record.items() if key != "thought"}
        if isinstance(content, list):
            self._thought_turn[source] = turn
            if thought:
                self._builder.message(source, text_of(thought), kind="thought", turn_id=turn, source_ref=f"{ref}/thought")
            return self._request(record, ref, source)
        return self._builder.message(
            source, self._content(content), reasoning=text_of(thought), metadata=metadata_of(record), **self._event(record, ref, turn)
        )

    def _received(self) -> tuple[str, ...]:
        owner = (self._owner,) if self._owner is not None else ()
        return tuple(dict.fromkeys((*owner, *self._beside.holders)))
