"""ChatDev: pairs of roles that chat their way through the phases of making software.

``lines`` cuts a log into entries; ``run_log`` reads 1.x with ``phases``, ``tables`` and ``code_versions``,
``early_log`` what came before, ``run_folder`` the files beside a log. ``puppeteer`` reads paths of that
branch, ``execution_log`` workflows of 2.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.chatdev.code_versions import CodeVersions
from agenttrace.readers.chatdev.early_log import fill_early_log, is_early
from agenttrace.readers.chatdev.execution_log import fill_workflow, is_workflow
from agenttrace.readers.chatdev.lines import dates_are_sure, entries_of, is_log
from agenttrace.readers.chatdev.puppeteer import fill_path, is_path
from agenttrace.readers.chatdev.run_folder import add_side_files, log_of
from agenttrace.readers.chatdev.run_log import Left, fill_log
from agenttrace.salvage import document, look, note_damage
from agenttrace.sources import Source, decode_log

__all__ = ["FORMAT"]


def sniff(source: Source) -> Match | None:
    """A text by its headers and markers, a document by its keys, a folder by its log and what stands beside it."""
    if source.is_folder:
        log = log_of(source.files)
        found = log is not None and _is_text_log(log)
        return Match("run_folder", "certain", "a ChatDev log and the files of its run") if found else None
    seen = look(source)
    if seen.kind == "text":
        if not _is_text_log(source):
            return None
        early = is_early(entries_of(decode_log(source.head)[0]))
        return Match("early_log", "certain", "entries of camel roles") if early else Match("log", "certain", "entries of a ChatDev log")
    if not seen.is_document:
        return None
    if is_workflow(seen.value):
        return Match("workflow", "certain", "workflow_id and logs with event types")
    return Match("path", "certain", "steps of agents with actions") if is_path(seen.value) else None


def _is_text_log(source: Source) -> bool:
    try:
        return look(source).kind == "text" and is_log(decode_log(source.head)[0])
    except ReadError:
        return False


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace for each log, path, workflow or folder."""
    match = sniff(source)
    if match is None:
        raise ReadError("unparsable", source.label, None, "no ChatDev log of a known shape", "`agenttrace doctor` says what is in it")
    builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, match.variant))
    if match.variant == "workflow":
        fill_workflow(builder, notes, document(source, notes))
    elif match.variant == "path":
        fill_path(builder, notes, document(source, notes))
    elif match.variant == "run_folder":
        log = log_of(source.files)
        left = _fill_text(builder, notes, log, f"{log.name}#") if log is not None else Left(None, CodeVersions())
        add_side_files(builder, notes, source, [file for file in source.files if log is None or file.name != log.name], left)
    else:
        _fill_text(builder, notes, source, "")
    yield builder.build()


def _fill_text(builder: TraceBuilder, notes: Notes, source: Source, prefix: str) -> Left:
    """Fill a builder from the text of a log."""
    text, _, guess = decode_log(source.data)
    if guess:
        notes.add("salvaged", prefix or None, guess)
    note_damage(source, notes)
    if not dates_are_sure(text):
        notes.add("derived", prefix or None, "the day stands before the month, as ChatDev writes it; no day above 12 shows it")
    entries = entries_of(text, f"{prefix}line:{{}}")
    if is_early(entries):
        fill_early_log(builder, notes, entries)
        return Left(None, CodeVersions())
    return fill_log(builder, notes, entries)


FORMAT = Format(
    name="chatdev",
    title="ChatDev: run logs with their side files, Puppeteer paths, workflows of 2.0",
    spec="https://github.com/OpenBMB/ChatDev",
    variants={
        "log": "log of a 1.x run",
        "early_log": "log of July 2023, with the colours of camel",
        "run_folder": "folder of a 1.x run: the log, meta.txt, the prompt, configurations, code",
        "path": "`path_N.jsonl` of the Puppeteer branch: a JSON array of steps",
        "workflow": "`execution_logs.json` of 2.0",
    },
    versions="July 2023 to 1.x of 2024; Puppeteer of 2025; 2.0 from its source",
    mapping={
        "[YYYY-DD-MM HH:MM:SS LEVEL]": "Event.timestamp, the day before the month; level: extra",
        "[chatting]": "SubtaskUpdate in_progress: phase_name, phase_prompt: goal, the two roles: assigned_to; the rest: extra",
        "[Execute Detail]": "parent_task_id of the phase that follows; the composed phase: a SubtaskUpdate once",
        "[Seminar Conclusion]": "SubtaskUpdate completed with result; a Reflection within its phase",
        "X: [Start Chat]; X: A<->B on : Phase, turn n": "Message, explicit receiver; DependencyLink receives_msg, explicit, between turns",
        "system prompt in brackets": "AgentInstance.system_prompt of the receiver; another one: extra of the message",
        "[OpenAI_Usage_Info Receive]": "usage of the message that follows",
        "[Update Codes]": "Artifact with version, content, source_event_id: the conclusion; the difference: extra.diff",
        "[Test Reports]": "ToolCall exist_bugs, of nobody, with result and status",
        "[CMD Execute]": "ToolCall CMD",
        "[User Provided Comments]": "Message of Human",
        "[Preprocessing] task_prompt, Timestamp": "meta.task, meta.run_id",
        "[Post Info]": "meta.usage, meta.duration_ms",
        "manual.md, requirements.txt, code": "Artifact, a version behind those of the log",
        "other entries": "Message log, level ERROR and CRITICAL: error",
        "PhaseType, sys message, AI User (X), [n] AI Assistant (Y)": "SubtaskUpdate, system_prompt, Messages between the two",
        "Puppeteer step": "ToolCall where the action has a parameter, else Message; tokens: usage; answer: Message and meta.final_answer",
        "2.0 NODE_START, NODE_END": "SubtaskUpdate of the node, with its output as result",
        "2.0 EDGE_PROCESS": "Message handoff; DependencyLink reads, explicit: end of a node, edge, start of the next",
        "2.0 MODEL_CALL, HUMAN_INTERACTION": "Message; input before it: Message log, or of the node to Human",
        "2.0 TOOL_CALL": "ToolCall; stage before and after folded",
        "2.0 WORKFLOW_END success": "meta.success",
    },
    not_mapped={
        "[RolePlaying]": "the table of the phase again; a copy, what it says more in the phase's extra",
        "[OpenAI_Usage_Info Send]": "extra of the message that follows",
        "[Software Info]": "totals so far, repeated: Message log",
        "ChatChainConfig, PhaseConfig, RoleConfig; meta.txt": "meta.extra",
        "Puppeteer cost": "model size times tokens, no money: extra",
        "Puppeteer meta.log, path N.log, train.log": "not read: text without dates about training",
        "execution_path, duration, level of 2.0": "extra of the event",
        "success": "1.x does not say whether a run succeeded: null",
    },
    sniff=sniff,
    read=read,
)
