"""MetaGPT: teams of roles that write documents for each other.

``lines`` cuts the daily loguru log into entries, ``log`` reads a run of it; ``team`` reads
``team.json`` of all generations, ``layout`` the folder that older ones wrote; ``messages`` and
``documents`` is what all are made of. ``workspace`` reads the files that a team wrote, ``run_folder``
finds what lies together. MASFT wraps the text of a log in JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.model import Trace, Usage
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.lines import has_headers, is_log, log_lines
from agenttrace.readers.metagpt.log import fill_run, log_runs
from agenttrace.readers.metagpt.messages import Conversation
from agenttrace.readers.metagpt.run_folder import read_folder, sniff_folder
from agenttrace.readers.metagpt.team import fill_team, is_team
from agenttrace.salvage import document, look, note_damage
from agenttrace.sources import Source, decode_log

__all__ = ["FORMAT"]

_WHY = {
    "team": "a team with its environment and idea",
    "role": "one role with its actions",
    "memory": "one memory with storage and index",
}


def sniff(source: Source) -> Match | None:
    """A folder by what lies in it, a document by its keys, a text by its loguru headers."""
    if source.is_folder:
        return sniff_folder(source, sniff)
    seen = look(source)
    if seen.kind == "text":
        return Match("log", "certain", "loguru lines of MetaGPT") if is_log(source) else None
    if not seen.is_document or not isinstance(seen.value, dict):
        return None
    if isinstance(content := seen.value.get("content"), str) and "run_id" in seen.value and has_headers(content):
        return Match("masft", "certain", "a MetaGPT log in a JSON document")
    kind = is_team(seen.value)
    return Match(kind, "certain", _WHY[kind]) if kind is not None else None


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """A trace for each run of a log or a folder; one for a team, a role or a memory."""
    match = sniff(source)
    if match is None:
        raise ReadError("unparsable", source.label, None, "no MetaGPT log of a known shape", "`agenttrace doctor` says what is in it")
    info = FORMAT.source_info(source, match.variant)

    def new_builder(number: int) -> TraceBuilder:
        return TraceBuilder(FORMAT.name, notes=notes, source=info, number=number)

    if source.is_folder:
        yield from read_folder(source, notes, sniff, match.variant, new_builder)
    elif match.variant == "log":
        yield from _read_log(source, notes, new_builder)
    else:
        yield _read_document(document(source, notes), match.variant, notes, new_builder(1))


def _read_log(source: Source, notes: Notes, new_builder: Callable[[int], TraceBuilder]) -> Iterator[Trace]:
    text, _, guess = decode_log(source.data)
    if guess:
        notes.add("salvaged", None, guess)
    note_damage(source, notes)
    for number, run in enumerate(log_runs(log_lines(text)), 1):
        builder = new_builder(number)
        conversation = Conversation(builder, notes)
        fill_run(builder, notes, run, conversation)
        conversation.close()
        yield builder.build()


def _read_document(value: dict[str, Any], variant: str, notes: Notes, builder: TraceBuilder) -> Trace:
    conversation = Conversation(builder, notes)
    if variant == "masft":
        fill_run(builder, notes, log_lines(value["content"], "/content/line:{}"), conversation)
        _masft_facts(builder, notes, value)
    else:
        fill_team(builder, notes, value, "", variant, conversation)
    conversation.close()
    return builder.build()


def _masft_facts(builder: TraceBuilder, notes: Notes, value: dict[str, Any]) -> None:
    """MASFT / MAST, the MetaGPT part: arXiv:2503.13657."""
    rest = {key: item for key, item in value.items() if key not in ("content", "prompt", "run_id") and item is not None}
    prompt, run_id = value.get("prompt"), value.get("run_id")
    if prompt is not None and not isinstance(prompt, str):
        rest["prompt"] = prompt
    cost = rest.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        builder.meta(usage=Usage(cost_usd=rest.pop("cost")))
    builder.meta(
        task=prompt if isinstance(prompt, str) else None, run_id=str(run_id) if run_id is not None else None, dataset="MASFT", extra=rest
    )
    for key in rest:
        notes.add("aside", f"/{key}", "kept in `meta.extra`")


FORMAT = Format(
    name="metagpt",
    title="MetaGPT: daily logs, team.json and memories",
    spec="https://github.com/FoundationAgents/MetaGPT",
    variants={
        "log": "loguru log of a day, with several runs",
        "team": "`team.json` (0.6 to main), with the memories of the roles",
        "role": "one role of the older folder layout (`role_info.json`)",
        "memory": "one memory of the older folder layout (`memory.json`)",
        "team_folder": "folder of a saved team (0.5): team_info.json, environment/",
        "workspace": "folder of documents that a team wrote, with .dependencies.json",
        "run_folder": "folder in which a log and a saved team hold one run",
        "masft": "MASFT/MAST, MetaGPT part: the text of a log in JSON",
    },
    versions="0.5 to 0.8.2 and main of 2025",
    mapping={
        "publish_message": "Message; content and instruct_content; id: Event.event_id",
        "role, sent_from, metadata.agent": "AgentInstance and Message.sender_id; other names of an agent: AgentInstance.extra.aliases",
        "send_to": "receivers: names and classes explicit; <all> derived; <none> nobody; <self> the sender",
        "memories of roles": "receivers, explicit, of messages that are not to all",
        "observed: [...]": "DependencyLink receives_msg, explicit, from the messages to what the role does next; the line: Message log",
        "instruct_content with documents": "Artifact with content, source_event_id: the message; a new version when its text changes",
        "save to: path": "Artifact; content where a later message or the workspace has it",
        "update dependency, .dependencies.json": "DependencyLink reads, explicit, from the last version of each file",
        "files of a workspace": "Artifact with content, in the order of what was made from what",
        "ready to take on task, planner.plan.tasks": "SubtaskUpdate with goal, depends_on, status, result",
        "update_cost": "Message log with usage, a turn of its own; cost where the line states that of the call",
        "X: to do Action": "Message log of X; what is printed below it: Message of X without receivers, derived",
        "other lines": "Message log, level ERROR and CRITICAL: error",
        "idea, UserRequirement": "meta.task",
        "goal of a role": "AgentInstance.description; actions, constraints, watch and the rest: config",
        "context.cost_manager": "meta.usage",
        "MASFT prompt, run_id": "meta.task, meta.run_id",
    },
    not_mapped={
        "index of a memory": "the messages of its storage by cause: copies",
        "history as text": "a copy where the memories hold the messages; else one Message log",
        "task_map": "the tasks again by id",
        "cause_by": "Message.metadata.cause_by: a routing key, no id of a message",
        "level, module, function and line number of a line": "extra of its event",
        "investment, use_mgx, context": "meta.extra",
        "success": "MetaGPT does not say whether a run succeeded: null",
    },
    sniff=sniff,
    read=read,
)
