"""AutoGen and AG2: conversations of 0.2 and message lists of AgentChat (0.4 and later).

A framework with two generations that share a name and nothing else, so this
reader is a package: ``shapes`` tells the variants apart, ``dumps`` handles what
surrounds the messages, ``chat`` reads 0.2 and ``agentchat`` 0.4+.

Nobody writes these files but users: AutoGen itself has no log of this kind, so
every dump is a ``json.dump`` of ``chat_messages``, ``ChatResult``, ``TaskResult``
or a list of messages, as the documentation shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.autogen.console_lines import numbered
from agenttrace.readers.autogen.core_events import fill_core_run
from agenttrace.readers.autogen.core_lines import core_lines
from agenttrace.readers.autogen.core_runs import runs
from agenttrace.readers.autogen.dumps import fill, fill_from_lines
from agenttrace.readers.autogen.notebook import has_runs, is_notebook, read_notebook
from agenttrace.readers.autogen.run_folder import read_folder, sniff_folder
from agenttrace.readers.autogen.runtime_log import fill_session
from agenttrace.readers.autogen.runtime_rows import Session, is_database, line_sessions, table_sessions
from agenttrace.readers.autogen.shapes import classify, classify_lines, classify_text
from agenttrace.readers.autogen.transcripts import fill_transcript
from agenttrace.salvage import document, look, note_damage, records
from agenttrace.sources import Source, decode_text

__all__ = ["FORMAT"]

_WHOLE = frozenset({"chat_result", "task_result", "who_and_when", "masft", "response", "team_state", "agent_state"})


def sniff(source: Source) -> Match | None:
    """Looks at the decoded document, or the first lines."""
    if source.is_folder:
        return sniff_folder(source, sniff)
    if is_database(source):
        return Match("runtime_sqlite", "certain", "a sqlite file with the tables of 0.2 runtime_logging")
    seen = look(source)
    if seen.is_document:
        return _notebook(seen.value) if is_notebook(seen.value) else classify(seen.value)
    if seen.kind == "jsonl":
        return classify_lines(seen.sample)
    return classify_text(source.head) if seen.kind == "text" else None


def _notebook(value: dict[str, Any]) -> Match | None:
    return Match("notebook", "certain", "a notebook whose cells show runs of AutoGen") if has_runs(value) else None


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace per run: a dump, each dump of a list of dumps, or all messages of a file of messages."""
    match = sniff(source)
    if match is None:
        raise ReadError("unparsable", source.label, None, "no AutoGen dump of a known shape", "`agenttrace doctor` says what is in it")
    if match.variant == "run_folder":
        yield from read_folder(source, notes, sniff, lambda number: _builder(source, notes, "run_folder", number))
    elif match.variant == "runtime_sqlite":
        yield from _read_sessions(source, notes, match.variant, table_sessions(source, notes))
    elif match.variant == "runtime_file":
        yield from _read_sessions(source, notes, match.variant, line_sessions(source, notes))
    elif match.variant == "core_events":
        for number, lines in enumerate(runs(core_lines(source, notes)), 1):
            builder = _builder(source, notes, match.variant, number)
            fill_core_run(builder, notes, lines)
            yield builder.build()
    elif match.variant in ("console_chat", "console_team"):
        yield from _read_console(source, notes, match.variant)
    elif match.variant == "notebook":
        value = document(source, notes)
        yield from read_notebook(value, notes, lambda number: _builder(source, notes, "notebook", number))
    elif look(source).is_document:
        yield from _read_document(source, notes, match.variant)
    else:
        yield from _read_lines(source, notes, match.variant)


def _read_sessions(source: Source, notes: Notes, variant: str, sessions: Iterable[Session]) -> Iterator[Trace]:
    for number, session in enumerate(sessions, 1):
        builder = _builder(source, notes, variant, number)
        fill_session(builder, notes, session)
        yield builder.build()


def _read_console(source: Source, notes: Notes, variant: str) -> Iterator[Trace]:
    text, _, guess = decode_text(source.data)
    if guess:
        notes.add("salvaged", None, guess)
    note_damage(source, notes)
    for number, fill_run in enumerate(fill_transcript(numbered(text), [], notes), 1):
        builder = _builder(source, notes, variant, number)
        fill_run(builder)
        yield builder.build()


def _read_document(source: Source, notes: Notes, variant: str) -> Iterator[Trace]:
    value = document(source, notes)
    if isinstance(value, list) and variant in _WHOLE:
        yield from _read_dumps(source, notes, [("", value)])
        return
    builder = _builder(source, notes, variant, 1)
    fill(builder, notes, variant, value)
    yield builder.build()


def _read_lines(source: Source, notes: Notes, variant: str) -> Iterator[Trace]:
    lines = records(source, notes)
    if variant in _WHOLE or variant == "chat_messages":
        yield from _read_dumps(source, notes, lines)
        return
    builder = _builder(source, notes, variant, 1)
    fill_from_lines(builder, notes, variant, lines)
    yield builder.build()


def _read_dumps(source: Source, notes: Notes, dumps: Iterable[tuple[str, Any]]) -> Iterator[Trace]:
    """A trace for each dump; they may be of several variants, and in lists."""
    for number, (at, value, match) in enumerate(_flat(dumps), 1):
        if match is None:
            notes.drop("unreadable", at, "no dump of a known shape", value)
            continue
        builder = _builder(source, notes, match.variant, number)
        fill(builder, notes, match.variant, value, at)
        yield builder.build()


def _flat(dumps: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any, Match | None]]:
    for at, value in dumps:
        match = classify(value)
        if match and match.variant in _WHOLE and isinstance(value, list):
            yield from _flat((f"{at}/{index}", item) for index, item in enumerate(value))
        else:
            yield at, value, match


def _builder(source: Source, notes: Notes, variant: str, number: int) -> TraceBuilder:
    return TraceBuilder("autogen", notes=notes, source=FORMAT.source_info(source, variant), number=number)


MAPPING = {
    "0.2 name, or the conversation partner": "AgentInstance, Message.sender_id; a list's owner where the role says so",
    "0.2 content": "Message.content; parts of a multimodal content: ContentPart",
    "0.2 the two parties of a list": "Message.receiver_ids, explicit; in a group all members but the speaker, derived",
    "0.2 role": "Message.metadata.role (relative to the owner of the list)",
    "0.2 tool_calls, function_call": "ToolCall, caller: the speaker; one turn per message",
    "0.2 tool_responses, role tool or function": "ToolCall.result and status of the call with that id, executor: who answered",
    "0.2 text 'Error: …' of a response": "ToolCall.status exception and ToolCall.error, else success",
    "0.2 'exitcode: N (execution …)'": "ToolCall code_execution of the last other agent with code; 0 success, 124 exception, else failure",
    "0.2 ChatResult.summary": "meta.final_answer",
    "0.2 ChatResult.cost": "meta.usage, tokens where one model was used; all figures in meta.extra.cost",
    "0.4 source": "AgentInstance, Event.agent_id",
    "0.4 id, created_at": "Event.event_id, Event.timestamp",
    "0.4 models_usage": "Event.usage on the first event of the turn",
    "0.4 TextMessage, MultiModalMessage, StructuredMessage": "Message chat to the whole team, derived; objects as a data part",
    "0.4 StopMessage": "Message termination",
    "0.4 HandoffMessage": "Message handoff to target, explicit",
    "0.4 ToolCallRequestEvent": "a ToolCall per call, one turn",
    "0.4 ToolCallExecutionEvent": "ToolCall.result, status, completed_at of the call with that id; is_error: exception and ToolCall.error",
    "0.4 ToolCallSummaryMessage": "Message summary; the calls and results that it repeats are noted copy",
    "0.4 ThoughtEvent": "Message thought in the turn of the response that follows",
    "0.4 SelectSpeakerEvent, SelectorEvent": "Message selection to the chosen, who are no receivers of a text",
    "0.4 CodeGenerationEvent": "Message code",
    "0.4 CodeExecutionEvent": "ToolCall code_execution with the code blocks; exit code 0 success, else failure",
    "0.4 UserInputRequestedEvent": "Message input_request of an agent with role user",
    "0.4 MemoryQueryEvent": "Message log",
    "0.4 ModelClientStreamingChunkEvent": "noted copy; a stream without a message becomes a Message log",
    "0.4 save_state of a team": "the thread, contexts and buffers laid over each other; who holds a message received it, explicit",
    "0.4 save_state facts (type, version, turn, ledger)": "AgentInstance.extra; team_id: meta.session_id; Magentic-One task: meta.task",
    "Who&When question, question_ID, level, is_correct": "meta.task, task_id, difficulty, success",
    "Who&When mistake_*, ground_truth": "annotations; the step label points at the event it means",
    "Who&When system_prompt": "AgentInstance.system_prompt",
    "MASFT problem_statement, instance_id, other_data": "meta.task, task_id; correct: success, given: final_answer, the rest annotations",
    "MASFT note": "annotations of kind label",
}
NOT_MAPPED = {
    "type of a record": "decides what it becomes; types and their numbers stand in the trace's extra.record_types",
    "id of a ToolCallExecutionEvent": "call and result are one event, which has the id of the request; extra.result_id",
    "content of a message with several tool_responses": "AutoGen's join of the responses; extra.joined_results of the last call",
    "stop_reason, chat_id, human_input": "no statement about success; meta.extra",
    "success": "AutoGen does not say whether a run succeeded, and TERMINATE is no proof: null",
}

FORMAT = Format(
    name="autogen",
    title="AutoGen / AG2 conversations and AgentChat messages",
    spec="https://microsoft.github.io/autogen/",
    variants={
        "chat_messages": "0.2 `chat_messages` by conversation partner, of one agent or of several",
        "chat_result": "0.2 `ChatResult` with history, summary and cost",
        "group_chat": "0.2 `GroupChat.messages`, or any list of messages with role and name",
        "task_result": "0.4+ `TaskResult`",
        "messages": "0.4+ list or lines of messages and agent events",
        "response": "0.4+ `Response` of one agent",
        "model_context": "0.4+ messages of a model context",
        "team_state": "0.4+ `save_state()` of a team, with teams inside it",
        "agent_state": "0.4+ `save_state()` of one agent",
        "who_and_when": "Who&When, algorithm-generated: a 0.2 group chat with a failure label",
        "masft": "MASFT/MAST, AG2 part: a 0.2 conversation with failure modes",
    },
    versions="0.2.35 and AG2; 0.4.0, 0.6.1, 0.7.5",
    mapping=MAPPING,
    not_mapped=NOT_MAPPED,
    sniff=sniff,
    read=read,
)
