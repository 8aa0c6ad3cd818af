"""The folder in which MetaGPT 0.5 saved a team: one file for the team, one for its history, a folder for each role.

``team_info.json`` {investment, idea}; ``environment/history.json`` {content}; ``environment/roles.json``
[{role_class, module_name, role_name, role_sub_tags}]; ``environment/roles/CLASS_NAME/role_info.json`` and
``memory.json``. Seen as MetaGPT wrote it on Windows, in GBK.
"""

from __future__ import annotations

from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.messages import Conversation
from agenttrace.readers.metagpt.team import TeamReader
from agenttrace.salvage import document, look
from agenttrace.sources import Source

__all__ = ["fill_layout", "is_layout"]

_INFO = "team_info.json"
_ROLES = "environment/roles.json"
_HISTORY = "environment/history.json"


def is_layout(names: set[str]) -> bool:
    """Whether files of these names, relative to a folder, are a team in the older layout."""
    return _INFO in names and bool(names & {_ROLES, _HISTORY})


def fill_layout(builder: TraceBuilder, notes: Notes, files: dict[str, Source], conversation: Conversation) -> None:
    """Fill a builder from the files of a team, by their names below its folder."""
    reader = TeamReader(builder, notes, conversation)
    info = _value(files, _INFO, notes)
    reader.team({"env": {}, **(info if isinstance(info, dict) else {})}, f"{_INFO}#")
    history = _value(files, _HISTORY, notes)
    if isinstance(history, dict) and isinstance(history.get("content"), str):
        reader.history(f"{_HISTORY}#/content", history["content"])
    listed = _value(files, _ROLES, notes)
    classes = (
        {f"{item.get('role_class')}_{item.get('role_name')}": item for item in listed if isinstance(item, dict)}
        if isinstance(listed, list)
        else {}
    )
    folders = dict.fromkeys(name.split("/")[2] for name in files if name.startswith("environment/roles/") and name.count("/") == 3)
    for folder in folders:
        _role(reader, notes, files, folder, classes.pop(folder, {}))
    for item in classes.values():  # listed, but without a folder
        reader.role("", {"name": item.get("role_name"), "profile": item.get("role_class"), **item}, f"{_ROLES}#")
    reader.close()


def _role(reader: TeamReader, notes: Notes, files: dict[str, Source], folder: str, listed: dict[str, Any]) -> None:
    """A role: what its own file says, and what only the list of roles does."""
    at = f"environment/roles/{folder}/"
    role = _value(files, f"{at}role_info.json", notes)
    name, profile = listed.get("role_name"), listed.get("role_class")
    whole = {"name": name, "profile": profile, **listed, **(role if isinstance(role, dict) else {})}
    agent_id = reader.role("", whole, f"{at}role_info.json#")
    memory = _value(files, f"{at}memory.json", notes)
    if isinstance(memory, dict):
        reader.remember(memory, f"{at}memory.json#", agent_id)


def _value(files: dict[str, Source], name: str, notes: Notes) -> Any:
    """The JSON of one of the files, None where there is none; damage goes to the notes."""
    file = files.get(name)
    if file is None:
        return None
    inner = Notes(counting=notes.counting)
    try:
        value = document(file, inner) if look(file).is_document else None
    except ReadError as error:
        notes.add("unreadable", f"{name}#", error.reason)
        return None
    notes.absorb(inner, f"{name}")
    if value is None:
        notes.add("unreadable", f"{name}#", "no JSON document")
    file.forget()
    return value
