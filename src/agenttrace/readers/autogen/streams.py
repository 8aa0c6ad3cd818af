"""Streamed chunks of AgentChat: a copy, in pieces, of the message that they lead to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from agenttrace.notes import Notes
from agenttrace.readers.autogen.records import Record

__all__ = ["Stream", "Streams"]

_BETWEEN = ("MemoryQueryEvent", "UserInputRequestedEvent")  # may stand between chunks and their message; a tuple, as a type may be anything


@dataclass
class Stream:
    """The chunks of one message."""

    ref: str
    first: Record
    last_ref: str = ""
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What was streamed."""
        return "".join(self.pieces)

    @property
    def count(self) -> int:
        """How many chunks."""
        return len(self.pieces)


class Streams:
    """The streams that are still open, by source and by the id of the message they lead to."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._open: dict[tuple[str | None, str | None], Stream] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def add(self, ref: str, source: str | None, chunk: Record) -> None:
        """Take a chunk."""
        identity = chunk.get("full_message_id")
        key = (source, identity if isinstance(identity, str) else None)
        stream = self._open.setdefault(key, Stream(ref, chunk))
        stream.last_ref = ref
        stream.pieces.append(str(chunk.get("content") or ""))

    def settle(self, source: str | None, record: Record) -> Iterator[Stream]:
        """Close the streams of a source before its next record: noted as copies of it, or given back when it is another text."""
        if record.get("type") in _BETWEEN:
            return
        for key in [key for key in self._open if key[0] == source]:
            stream = self._open.pop(key)
            if (key[1] is not None and record.get("id") == key[1]) or (stream.text and stream.text in str(record.get("content"))):
                detail = f"{stream.count} stream chunks up to {stream.last_ref}: the message that follows holds their text"
                self._notes.add("copy", stream.ref, detail)
            else:
                yield stream

    def unfinished(self) -> Iterator[Stream]:
        """The streams that no record of their source followed."""
        while self._open:
            yield self._open.popitem()[1]
