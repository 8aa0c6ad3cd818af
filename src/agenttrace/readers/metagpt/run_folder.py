"""A folder of MetaGPT: the logs of its days, the team that was saved, the workspace that it wrote.

A team belongs to the run that published messages with its ids; a workspace to the last run that
saved files in it. Each run is one trace; so is a team or a workspace of no run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.layout import fill_layout, is_layout
from agenttrace.readers.metagpt.lines import LogLine, log_lines
from agenttrace.readers.metagpt.log import fill_run, log_runs, message_ids, saved_path
from agenttrace.readers.metagpt.messages import Conversation
from agenttrace.readers.metagpt.team import fill_team, memory_ids
from agenttrace.readers.metagpt.workspace import Workspace, is_workspace, workspace_at, workspaces_in
from agenttrace.salvage import document, look
from agenttrace.sources import Source, decode_log, walk

__all__ = ["read_folder", "sniff_folder"]

_MOST_FILES = 2000
_LARGEST = 256 << 20
_SAVED = ("team", "role", "memory")

Sniff = Callable[[Source], Match | None]


@dataclass
class _Run:
    """One run: the lines of a log, and the teams that were saved with it."""

    lines: list[LogLine] = field(default_factory=list)
    teams: list[tuple[str, str, Any]] = field(default_factory=list)  # file, kind, value
    workspaces: list[Workspace] = field(default_factory=list)
    files: set[str] = field(default_factory=set)

    def saved_in(self, workspace: Workspace) -> bool:
        """Whether the run saved a file of a workspace."""
        paths = [path for line in self.lines if (path := saved_path(line.text)) is not None]
        return any(workspace.has(path) for path in paths)


def sniff_folder(folder: Source, sniff: Sniff) -> Match | None:
    """Claims a saved team in the older layout, a workspace, or a folder in which a log and a team share messages."""
    if len(list(islice(walk(folder, []), _MOST_FILES + 1))) > _MOST_FILES:
        return None
    names = {file.name for file in folder.files}
    if is_layout(names):
        return Match("team_folder", "certain", "team_info.json and environment")
    if is_workspace(folder, names):
        return Match("workspace", "certain", "documents of MetaGPT and what they were made from")
    if folder.size > _LARGEST:
        return None
    spaces = workspaces_in(folder)
    found: dict[str, list[Source]] = {}
    for file in _apart(folder, spaces):
        kind = _kind(file, sniff)
        if kind is None and _is_data(file):
            return None  # data of another kind: the files are asked one by one
        found.setdefault(kind or "", []).append(file)
    shared = _shared(found.get("log", []), found.get("team", []), spaces)
    for file in folder.files:
        file.forget()
    return Match("run_folder", "certain", f"messages of one run: {shared}") if shared is not None else None


def read_folder(folder: Source, notes: Notes, sniff: Sniff, variant: str, new_builder: Callable[[int], TraceBuilder]) -> Iterator[Trace]:
    """The traces of a folder that was claimed as ``variant``."""
    if variant == "run_folder":
        yield from _read_runs(folder, notes, sniff, new_builder)
        return
    builder = new_builder(1)
    conversation = Conversation(builder, notes)
    if variant == "team_folder":
        fill_layout(builder, notes, {file.name: file for file in folder.files}, conversation)
    else:
        workspace_at(folder).put_on(conversation.shelf, notes)
    conversation.close()
    yield builder.build()


def _read_runs(folder: Source, notes: Notes, sniff: Sniff, new_builder: Callable[[int], TraceBuilder]) -> Iterator[Trace]:
    runs: list[_Run] = []
    teams = []
    others: list[str] = []
    spaces = workspaces_in(folder)
    for file in _apart(folder, spaces):
        kind = _kind(file, sniff)
        if kind == "log":
            text, _, guess = decode_log(file.data)
            if guess:
                notes.add("salvaged", f"{file.name}#", guess)
            runs += [_Run(run, files={file.name}) for run in log_runs(log_lines(text, f"{file.name}#line:{{}}"))]
        elif kind in _SAVED:
            inner = Notes(counting=notes.counting)
            teams.append((file.name, str(kind), document(file, inner)))
            notes.absorb(inner, file.name)
        else:
            others.append(file.name)
            damage = _damage(file)
            notes.add("unreadable" if damage else "aside", f"{file.name}#", damage or "no log of MetaGPT; its name in `meta.extra`")
        file.forget()
    for team in teams:
        _of_team(runs, memory_ids(team[2])).teams.append(team)
    for space in spaces:
        home = next((run for run in reversed(runs) if run.saved_in(space)), None)
        if home is None:
            runs.append(home := _Run())
        home.workspaces.append(space)
    for number, run in enumerate(runs, 1):
        yield _trace(new_builder(number), notes, run, others)


def _of_team(runs: list[_Run], ids: set[str]) -> _Run:
    """The run that published most messages of a team; a new one when none did."""
    shared = [len(message_ids(run.lines) & ids) for run in runs]
    if any(shared):
        return runs[shared.index(max(shared))]
    runs.append(_Run())
    return runs[-1]


def _trace(builder: TraceBuilder, notes: Notes, run: _Run, others: list[str]) -> Trace:
    conversation = Conversation(builder, notes)
    for space in run.workspaces:
        conversation.shelf.reserve(space.path_of(name) for name in space.texts)
    texts = {space.path_of(name): text for space in run.workspaces for name, text in space.texts.items() if text is not None}
    if run.lines:
        fill_run(builder, notes, run.lines, conversation, texts)
    for name, kind, value in run.teams:
        fill_team(builder, notes, value, f"{name}#", kind, conversation)
    for space in run.workspaces:
        space.put_on(conversation.shelf, notes)
    conversation.close()
    files = run.files.union((name for name, _, _ in run.teams), *(space.places for space in run.workspaces))
    builder.meta(extra={"files": sorted(files), **({"other_files": others} if others else {})})
    return builder.build()


def _kind(file: Source, sniff: Sniff) -> str | None:
    try:
        match = sniff(file)
    except ReadError:
        return None
    return match.variant if match is not None else None


def _is_data(file: Source) -> bool:
    try:
        return look(file).kind in ("json", "jsonl", "binary")
    except ReadError:
        return False


def _damage(file: Source) -> str | None:
    """Why a file cannot be looked at, None when it can."""
    try:
        look(file)
    except ReadError as error:
        return error.reason
    return None


def _apart(folder: Source, spaces: list[Workspace]) -> list[Source]:
    """The files of a folder that lie in no workspace."""
    inside = {place for space in spaces for place in space.places}
    return [file for file in folder.files if file.name not in inside]


def _shared(logs: list[Source], teams: list[Source], spaces: list[Workspace]) -> str | None:
    """A log and a team of which a message stands in both, or a log and a workspace in which it saved a file."""
    marks = {team.name: [f'"{identity}"' for identity in sorted(memory_ids(look(team).value))] for team in teams}
    for space in spaces:
        paths = [space.path_of(name) for name in space.files]
        marks[space.label] = [*paths, *(path.replace("/", "\\") for path in paths)]
    for name, texts in marks.items():
        for log in logs:
            if any(text.encode() in log.data for text in texts):
                return f"{log.name}, {name}"
    return None
