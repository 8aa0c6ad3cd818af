"""A conversation as other files of its run hold it, by what identifies a record in each of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from agenttrace.readers.autogen.records import Record
from agenttrace.readers.autogen.state import Entry, key_of_record
from agenttrace.times import parse_time

__all__ = ["Saved", "stamp_of"]


class Saved:
    """Entries that wait for the record of an event log that they are."""

    def __init__(self, entries: list[Entry]) -> None:
        self._waiting = dict(enumerate(entries))
        self._places: dict[Hashable, list[int]] = {}
        for index, entry in self._waiting.items():
            for name in _names(entry.record, entry.key):
                self._places.setdefault(name, []).append(index)

    def take(self, record: Record, *, by_text: bool = True) -> Entry | None:
        """The entry of the same message, once: by id, by source and time, or by what is said."""
        for name in _names(record, key_of_record(record, None) if by_text else None):
            for index in self._places.get(name, ()):
                if (entry := self._waiting.pop(index, None)) is not None:
                    return entry
        return None

    def rest(self) -> Iterator[Entry]:
        """The entries that no record took."""
        yield from self._waiting.values()


def stamp_of(record: Any) -> Hashable | None:
    """Source and time of a record, which tell it from others where there is no id."""
    moment = record.get("created_at") if isinstance(record, dict) else None
    time = parse_time(moment) if isinstance(moment, str) else None
    return ("time", str(record.get("source")), time) if time is not None else None


def _names(record: Any, key: tuple[Any, ...] | None) -> Iterator[Hashable]:
    if isinstance(record, dict):
        if isinstance(identity := record.get("id"), str):
            yield ("id", identity)
        if (stamp := stamp_of(record)) is not None:
            yield stamp
        if "content" not in record:
            return
    if key is not None:
        yield key
