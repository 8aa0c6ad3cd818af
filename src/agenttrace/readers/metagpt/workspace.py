"""A workspace that MetaGPT wrote: the documents of a software company, and from which others each was made.

Facts from ``metagpt/utils/project_repo.py``, ``file_repository.py``, ``dependency_file.py``, ``const.py``:
``docs`` holds requirement, PRD, system design, tasks as JSON named by the time of the requirement; ``resources``
the same for people; the sources lie beside them, ``test_outputs`` has what tests printed.
``.dependencies.json`` is ``{path: [paths it was made from]}``, relative to the workspace, on Windows with backslashes.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from agenttrace.errors import ReadError
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.documents import Shelf, plain_path
from agenttrace.salvage import document, look
from agenttrace.sources import Source, children

__all__ = ["Workspace", "is_workspace", "workspace_at", "workspaces_in"]

_DEPENDENCIES = ".dependencies.json"
_DOCUMENTS = ("docs/prd/", "docs/system_design/", "docs/task/")
_LARGEST = 1 << 20


def is_workspace(folder: Source, names: set[str]) -> bool:
    """Whether a folder is a workspace: it says from what its files were made, or has documents where MetaGPT puts them."""
    if dependencies(folder, Notes(counting=False)):
        return True
    return "docs/requirement.txt" in names and any(name.startswith(_DOCUMENTS) and name.endswith(".json") for name in names)


def dependencies(folder: Source, notes: Notes) -> dict[str, list[str]]:
    """What ``.dependencies.json`` of a folder says; hidden, so no list of files names it."""
    path = (folder.path or Path()) / _DEPENDENCIES
    if not path.is_file():
        return {}
    inner = Notes(counting=notes.counting)
    try:
        file = Source.open(path)
        value = document(file, inner) if look(file).is_document else None
    except ReadError as error:
        notes.add("unreadable", f"{_DEPENDENCIES}#", error.reason)
        return {}
    if not isinstance(value, dict) or not all(isinstance(listed, list) for listed in value.values()):
        return {}
    notes.absorb(inner, _DEPENDENCIES)
    return {plain_path(name): [plain_path(item) for item in listed if isinstance(item, str)] for name, listed in value.items()}


def workspace_at(folder: Source, within: str = "") -> Workspace:
    """The workspace in a folder; ``within`` is its place below another one that is read."""
    return Workspace(folder, {file.name: file for file in folder.files}, within)


def workspaces_in(folder: Source) -> list[Workspace]:
    """The workspaces below a folder, by their hidden file."""
    found: list[Workspace] = []
    waiting = children(folder, [])[1]
    while waiting:
        inner = waiting.pop(0)
        if dependencies(inner, Notes(counting=False)):
            found.append(workspace_at(inner, inner.name))
        else:
            waiting += children(inner, [], f"{inner.name}/")[1]
    return found


class Workspace:
    """The files of a workspace, by their paths in it.

    Attributes:
        label: the name of its folder, with which absolute paths in a log end.
        places: the files' names below the folder that is read.
    """

    def __init__(self, folder: Source, files: dict[str, Source], within: str) -> None:
        self._folder = folder
        self.files = files
        self.label = within.rpartition("/")[2]
        self._within = f"{within}/" if within else ""
        self.places = [f"{self._within}{name}" for name in files]

    def has(self, path: str) -> bool:
        """Whether an absolute path means one of the files."""
        before, found, name = plain_path(path).rpartition(f"/{self.label}/")
        return bool(before and found) and name in self.files

    @cached_property
    def texts(self) -> dict[str, Any]:
        """The text of each file; None for one that is no text or is large: its name remains."""
        texts: dict[str, Any] = {}
        for name, file in self.files.items():
            texts[name] = None
            with suppress(ReadError, UnicodeDecodeError):
                if file.size <= _LARGEST and not file.leads_out_of(self._folder) and b"\0" not in file.head:
                    texts[name] = file.data.decode("utf-8")
            file.forget()
        return texts

    def put_on(self, shelf: Shelf, notes: Notes) -> None:
        """Put the files on the shelf, each behind what it was made from, and say what that was."""
        made_from = dependencies(self._folder, notes)
        shelf.reserve(self.path_of(name) for name in self.texts)
        for name in _in_order(sorted(self.texts), made_from):
            place = f"{self._within}{name}#"
            if self.texts[name] is None:
                notes.add("aside", place, "no text, a large one, or a link out of the folder: an artifact without content")
            shelf.lies(self.path_of(name), self.texts[name], place)
        for name, sources in sorted(made_from.items()):
            for source in shelf.made_from(self.path_of(name), map(self.path_of, sources), _DEPENDENCIES):
                notes.add("derived", None, f"{name} was made from {source}; one of the two is not there: no link")

    def path_of(self, name: str) -> str:
        """The end of a file's absolute path, as logs have it; of a workspace read alone its path within."""
        return f"{self.label}/{name}" if self.label else name


def _in_order(names: list[str], made_from: dict[str, list[str]]) -> list[str]:
    """Names so that what a file was made from stands before it; where they go in circles, as they come."""
    ordered: dict[str, None] = {}
    known = set(names)
    for first in names:
        path = [first]
        open_: set[str] = set()
        while path:
            name = path[-1]
            missing = [] if name in open_ else [source for source in made_from.get(name, ()) if source in known and source not in ordered]
            open_.add(name)
            missing = [source for source in missing if source not in open_]
            if missing:
                path += reversed(missing)
            else:
                ordered[path.pop()] = None
    return list(ordered)
