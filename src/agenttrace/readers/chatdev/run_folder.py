"""The folder of a ChatDev 1.x run: its log and the files that stand beside it.

``WareHouse/NAME_ORGANISATION_TIME/`` holds the log, ``NAME.prompt``, ``meta.txt`` (what the environment knew at
the end), the three configurations of the company, the code, ``requirements.txt`` and ``manual.md``.
"""

from __future__ import annotations

import re
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.notes import Notes
from agenttrace.readers.chatdev.code_versions import CodeVersions
from agenttrace.readers.chatdev.run_log import Left
from agenttrace.salvage import document, look
from agenttrace.sources import Source, decode_text

__all__ = ["CONFIGS", "add_side_files", "log_of"]

CONFIGS = ("ChatChainConfig.json", "PhaseConfig.json", "RoleConfig.json")
_META = "meta.txt"
_LARGEST = 1 << 20
_SECTION = re.compile(r"^([A-Z]\w{0,40}):[ \t]*\n", re.MULTILINE)
_CODE = re.compile(r".+\.(?:py|js|ts|html|css|java|c|h|cpp|rs|go|md|txt|json|csv|toml|yaml|yml)|requirements\.txt|manual\.md")


def log_of(files: list[Source]) -> Source | None:
    """The one log of a folder, if its side files stand beside it."""
    logs = [file for file in files if file.name.endswith(".log") and "/" not in file.name]
    beside = {file.name for file in files}
    known = any(name in beside for name in (*CONFIGS, _META)) or any(name.endswith(".prompt") for name in beside)
    return logs[0] if len(logs) == 1 and known else None


def add_side_files(builder: TraceBuilder, notes: Notes, folder: Source, files: list[Source], left: Left) -> None:
    """Add what the files beside a log say to its trace."""
    others: list[str] = []
    config: dict[str, Any] = {}
    for file in files:
        try:
            if file.leads_out_of(folder):
                others.append(file.name)
                notes.add("aside", f"{file.name}#", "a link out of the folder; not read")
            elif file.name in CONFIGS and look(file).is_document:
                inner = Notes(counting=notes.counting)
                config[file.name.removesuffix(".json")] = document(file, inner)
                notes.absorb(inner, file.name)
                notes.add("aside", f"{file.name}#", "kept in `meta.extra`")
            elif not _add(builder, notes, file, left):
                others.append(file.name)
                notes.add("aside", f"{file.name}#", "no file of a known kind; its name in `meta.extra`")
        except ReadError as error:
            notes.add("unreadable", f"{file.name}#", error.reason)
        file.forget()
    if config:
        builder.meta(extra={"config": config})
    if others:
        builder.meta(extra={"other_files": others})


def _add(builder: TraceBuilder, notes: Notes, file: Source, left: Left) -> bool:
    """A file of text; False for anything else."""
    if file.name.endswith(".prompt") or file.name == _META or (_CODE.fullmatch(file.name) and file.size <= _LARGEST):
        if b"\0" in file.head or not file.head.strip():
            return False
        text, _, guess = decode_text(file.data)
        if guess:
            notes.add("salvaged", f"{file.name}#", guess)
        notes.count_source(text)
        if file.name == _META:
            _add_meta(builder, notes, text, left.task)
        elif file.name.endswith(".prompt"):
            _add_prompt(builder, notes, file.name, text.strip(), left.task)
        else:
            _add_document(builder, notes, file.name, text, left.codes)
        return True
    return False


def _add_prompt(builder: TraceBuilder, notes: Notes, name: str, text: str, task: str | None) -> None:
    """The task as it was given."""
    if text == (task or "").strip():
        notes.add("copy", f"{name}#", "the task of the run")
        return
    builder.meta(task=None if task else text, extra={f"prompt.{name}": text} if task else None)
    notes.add("aside", f"{name}#", "kept in `meta.extra`")


def _add_meta(builder: TraceBuilder, notes: Notes, text: str, task: str | None) -> None:
    """The sections of ``meta.txt``."""
    found = list(_SECTION.finditer(text))
    ends = [*(match.start() for match in found[1:]), len(text)][: len(found)]
    sections: dict[str, Any] = {}
    before = text[: found[0].start()].strip() if found else ""
    for match, end in zip(found, ends, strict=True):
        if match[1] in sections:
            before += "\n" + text[match.start() : end]
        else:
            sections[match[1]] = text[match.end() : end].strip()
    if sections.get("Task") == (task or "").strip():
        notes.add("copy", f"{_META}#", "the task of the run")
        del sections["Task"]
    kept = {name: value for name, value in sections.items() if value}
    builder.meta(extra={"meta": {**kept, **({"other": before.strip()} if before.strip() else {})} if sections else text})
    notes.add("aside", f"{_META}#", "kept in `meta.extra`")


def _add_document(builder: TraceBuilder, notes: Notes, name: str, text: str, codes: CodeVersions) -> None:
    """A file of the software: the last version that the log tells, or one behind it."""
    last = codes.last(name)
    if last is not None and "".join(last.split()) == "".join(text.split()):
        notes.add("copy", f"{name}#", "the last version that the log tells")
        return
    builder.artifact(
        name, name=name.rpartition("/")[2], version=codes.next_version(name), content=text, uri=name, event={"source_ref": f"{name}#"}
    )
