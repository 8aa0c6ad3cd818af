"""Documents of a team: files that were written, and texts that messages carry, as versions of artifacts.

Facts from ``metagpt/schema.py`` (Document, Documents), ``utils/file_repository.py`` and ``utils/dependency_file.py``:

* A log names the file that was saved, whole, without its text; a message carries a document by its path below the workspace.
* ``.dependencies.json`` and ``update dependency`` say from which files one was made, by paths below the workspace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.notes import Notes

__all__ = ["Shelf", "documents_in", "endings", "plain_path"]

_DEEPEST = 12


def plain_path(path: str) -> str:
    """A path with ``/``, as messages on all systems give it."""
    return path.replace("\\", "/").removeprefix("./")


def endings(path: str) -> Iterator[str]:
    """A path, and what remains of it without its first folder, its first two, ..."""
    parts = plain_path(path).split("/")
    for first in range(max(0, len(parts) - _DEEPEST), len(parts)):
        yield "/".join(parts[first:])


class Shelf:
    """The documents of a run."""

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._names: dict[str, str] = {}  # a path -> how it was first written
        self._tails: dict[str, str] = {}  # an ending of a path -> the same
        self._own: set[str] = set()  # paths of files that lie apart, however alike they end
        self._versions: dict[str, int] = {}
        self._texts: dict[str, Any] = {}
        self._events: dict[str, str] = {}  # path -> event of its last version

    def saved(self, path: str, agent: str | None, ref: str, timestamp: str | None, text: Any = None) -> str:
        """A file was written; its text if that is known from elsewhere. Returns the event's id."""
        name = self._name(path)
        if text is not None:
            self._texts[name] = text
        else:
            self._texts.pop(name, None)
        return self._add(name, agent, ref, timestamp, uri=path, content=text)

    def carried(self, path: str, text: Any, agent: str | None, message: str, ref: str, timestamp: str | None) -> None:
        """A message carries a document: a further version when its text is another than the last one's."""
        name = self._name(path)
        if name in self._texts and self._texts[name] == text:
            self._notes.add("copy", ref, f"document {path} again")
            return
        self._texts[name] = text
        self._add(name, agent, ref, timestamp, content=text, source_event_id=message)

    def lies(self, path: str, text: Any, ref: str) -> None:
        """A file that lies in the workspace: the version that a message carried, or one of its own."""
        name = self._name(path)
        if name in self._events and self._texts.get(name) == text:
            self._notes.add("copy", ref, f"document {path} again")
            return
        self._texts[name] = text
        self._add(name, None, ref, None, uri=path, content=text)

    def made_from(self, path: str, sources: Iterable[str], evidence: str) -> list[str]:
        """The file was made from others: a link from the last version of each. Returns those of which the run has no event."""
        made = self._events.get(self._known(path) or path)
        unknown = []
        for source in sources:
            found = self._events.get(self._known(source) or source)
            if found is None or made is None:
                unknown.append(source)
            elif found != made:
                self._builder.link(found, made, "reads", evidence=evidence)
        return unknown

    def reserve(self, paths: Iterable[str]) -> None:
        """Say which files there are: none of them is another one of them."""
        self._own.update(map(plain_path, paths))

    def _known(self, path: str) -> str | None:
        """The file that a path means: one of them is the end of the other, by a folder and a name at least."""
        plain = plain_path(path)
        if plain in self._names:
            return self._names[plain]
        ends = (self._names[ending] for ending in endings(plain) if "/" in ending and ending in self._names)
        found = self._tails.get(plain) or next(ends, None)
        return None if found is not None and plain in self._own and plain_path(found) in self._own else found

    def _name(self, path: str) -> str:
        name = self._known(path) or path
        self._names[plain_path(path)] = name
        self._tails.update((ending, name) for ending in endings(path) if "/" in ending)
        return name

    def _add(self, name: str, agent: str | None, ref: str, timestamp: str | None, **fields: Any) -> str:
        self._versions[name] = version = self._versions.get(name, 0) + 1
        short = plain_path(name).rpartition("/")[2]
        event = {"source_ref": ref, "timestamp": timestamp}
        self._events[name] = self._builder.artifact(name, agent=agent, name=short, version=version, event=event, **fields)
        return self._events[name]


class Document(NamedTuple):
    """A document that a message carries; ``place`` is its JSON pointer in the value of ``instruct_content``."""

    place: str
    path: str
    text: Any


def documents_in(instruct: Any) -> tuple[list[Document], Any]:
    """The documents in an ``instruct_content``, and what of it is none."""
    value = instruct.get("value") if isinstance(instruct, dict) else None
    if not isinstance(value, dict):
        return [], instruct
    several = value.keys() == {"docs"} and isinstance(value["docs"], dict)
    listed = {pointer("docs", name): item for name, item in value["docs"].items()} if several else {"": value}
    found = [document for place, item in listed.items() if (document := _document(place, item)) is not None]
    if not found or len(found) < len(listed):
        return [], instruct
    frame = {key: item for key, item in instruct.items() if key != "value"}
    return found, frame or None


def _document(place: str, value: Any) -> Document | None:
    if not isinstance(value, dict) or value.keys() != {"root_path", "filename", "content"}:
        return None
    root, name = str(value["root_path"] or ""), str(value["filename"] or "")
    return Document(place, plain_path(f"{root}/{name}" if root else name), value["content"])
