"""A printed run of AutoGen, of either generation, with the result objects that stand beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes
from agenttrace.readers.autogen.agentchat import Conversation
from agenttrace.readers.autogen.chat_lists import ToldItem
from agenttrace.readers.autogen.console_chat import fill_chat_console, is_chat_console, parse_chat
from agenttrace.readers.autogen.console_lines import Frame, Line, joined
from agenttrace.readers.autogen.console_team import TeamRun, fill_summary, is_team_console, parse_team
from agenttrace.readers.autogen.dumps import fill, fill_chat_result_facts, keep_rest
from agenttrace.readers.autogen.printed import Printed
from agenttrace.readers.autogen.records import Record
from agenttrace.readers.autogen.shapes import classify, is_team_record
from agenttrace.readers.autogen.state import matches

__all__ = ["fill_transcript", "is_transcript", "said_by", "shown_key"]

Fill = Callable[[TraceBuilder], None]


def is_transcript(lines: list[Line]) -> bool:
    """Whether lines are a transcript of AutoGen 0.2 or of AgentChat."""
    return is_chat_console(lines) or is_team_console(lines)


def fill_transcript(lines: list[Line], objects: list[Printed], notes: Notes) -> Iterator[Fill]:
    """For each run in printed lines and the objects beside them: what fills a builder with it.

    An object that repeats what a run printed belongs to that run, any other is a run of its own.
    """
    taken: set[int] = set()  # places of objects that belong to a run
    if is_chat_console(lines):
        frame = Frame()
        entries = parse_chat(lines, frame, notes)
        said = Counter(text for entry in entries for text in said_by(entry.item)) if objects else Counter()
        repeats = [
            place
            for place, item in enumerate(objects)
            if _is_chat_result(item.value) and not Counter(said_by(item.value["chat_history"])) - said
        ]
        taken.update(repeats)
        yield partial(_fill_chat, notes, entries, frame, [objects[place] for place in repeats])
    else:
        runs = parse_team(lines) if is_team_console(lines) else _printed_run(objects)
        if runs:
            taken.update(place for place, item in enumerate(objects) if isinstance(item.value, dict) and item.value.keys() == {"text"})
        for run in runs:
            keys = {shown_key(record) for _, record in run.records} if objects else set()
            shared = [
                place
                for place, item in enumerate(objects)
                if place not in taken and any(shown_key(record) in keys for _, record in _records(item))
            ]
            taken.update(shared)
            yield partial(_fill_team, notes, run, [objects[place] for place in shared if not is_team_record(objects[place].value)])
    rest = [item for place, item in enumerate(objects) if place not in taken]
    for item in rest:
        match = classify(item.value)
        if match is not None:
            yield partial(_fill_object, notes, match.variant, item)
    if not taken and not rest and not is_transcript(lines):
        yield partial(_fill_text, notes, lines)


# -- AutoGen 0.2 ---------------------------------------------------------------------------


def _fill_chat(notes: Notes, entries: list[ToldItem], frame: Frame, results: list[Printed], builder: TraceBuilder) -> None:
    fill_chat_console(builder, notes, entries)
    frame.hand_over(builder, notes)
    for result in results:
        notes.add("copy", f"{result.ref}/chat_history", "messages that the transcript has already")
        roles = [item["role"] for item in result.value["chat_history"] if isinstance(item, dict) and isinstance(item.get("role"), str)]
        builder.count_types(Counter(roles))
        fill_chat_result_facts(builder, notes, result.value, result.ref)


def _is_chat_result(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("chat_history"), list)


def said_by(value: Any) -> Iterator[str]:
    """The texts of messages as a terminal shows them, without white space."""
    if isinstance(value, list):
        for item in value:
            yield from said_by(item)
    elif isinstance(value, dict):
        answers = value.get("tool_responses")
        if isinstance(answers, list) and answers:
            yield from said_by(answers)
        elif content := _shown(value.get("content")):
            yield content
        yield from said_by(value.get("tool_calls"))
        for call in (value.get("function"), value.get("function_call")):
            if isinstance(call, dict):
                yield _shown(call.get("arguments"))


def _shown(content: Any) -> str:
    """Content as it is printed: pictures as ``<image>``, white space left out."""
    if isinstance(content, list):
        parts = (part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None for part in content)
        content = "".join("<image>" if part is None else str(part) for part in parts)
    return "".join(str(content).split()) if content is not None else ""


# -- AgentChat --------------------------------------------------------------------------------


def _printed_run(objects: list[Printed]) -> list[TeamRun]:
    """Messages that were printed one by one are a run."""
    run = TeamRun()
    for item in objects:
        if is_team_record(item.value):
            run.records.append((item.ref, item.value))
        elif isinstance(item.value, dict) and item.value.keys() == {"text"}:
            run.texts.append((item.ref, item.value["text"]))
    return [run] if run.records else []


def _fill_team(notes: Notes, run: TeamRun, results: list[Printed], builder: TraceBuilder) -> None:
    for ref, detail in run.damage:
        notes.add("salvaged", ref, detail)
    for ref, text in run.texts:
        notes.count_source(text)
        builder.message(None, text, kind="log", source_ref=ref)
    records = run.records
    for result in results:
        records = _laid_over(records, _records(result), notes, result.ref)
        if isinstance(result.value, dict):
            keep_rest(builder, notes, result.value, ("messages", "chat_message", "inner_messages"), result.ref)
    for _, record in records:
        notes.count_source(record)
    Conversation(builder, notes).add_all(records)
    fill_summary(builder, run.summary)
    run.frame.hand_over(builder, notes)


def _records(item: Printed) -> list[tuple[str, Record]]:
    """The records of a printed result, a list of messages or one message."""
    value = item.value
    if is_team_record(value):
        return [(item.ref, value)]
    listed = value if isinstance(value, list) else value.get("messages") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(value.get("chat_message"), dict):
        listed = [*(value.get("inner_messages") or ()), value["chat_message"]]
    return [(item.ref, record) for record in listed if is_team_record(record)] if isinstance(listed, list) else []


def _laid_over(records: list[tuple[str, Record]], result: list[tuple[str, Record]], notes: Notes, ref: str) -> list[tuple[str, Record]]:
    """Records of a transcript, each replaced by the result's record of the same message, which says more of it."""
    merged: list[tuple[str, Record]] = []
    position = copies = 0
    mine, theirs = [shown_key(record) for _, record in records], [shown_key(record) for _, record in result]
    for at, other in matches(mine, theirs):
        merged += records[position:at]
        position = at
        if other is None:
            continue
        if at < len(mine) and mine[at] == theirs[other]:
            merged.append((records[at][0], result[other][1]))
            position = at + 1
            copies += 1
        else:
            merged.append(result[other])
    notes.add("copy", ref, f"messages that were printed already ({copies})")
    return merged + records[position:]


def shown_key(record: Record) -> tuple[str, ...]:
    """What is equal in a printed message and in the object: the source, and the text or the ids of calls."""
    content = record.get("content")
    if isinstance(content, list) and content and isinstance(content[0], dict) and ("call_id" in content[0] or "arguments" in content[0]):
        return (
            str(record.get("source")),
            *(str(item.get("call_id", ("call", item.get("id")))) for item in content if isinstance(item, dict)),
        )
    return (str(record.get("source")), _shown(content))


# -- anything else ------------------------------------------------------------------------------


def _fill_object(notes: Notes, variant: str, item: Printed, builder: TraceBuilder) -> None:
    notes.count_source(item.value)
    fill(builder, notes, variant, item.value, item.ref)


def _fill_text(notes: Notes, lines: list[Line], builder: TraceBuilder) -> None:
    """Text that shows calls of AutoGen in a form of its own: kept as what was printed, of which nobody is known to be the author."""
    text = joined(lines).strip("\n")
    notes.count_source(text)
    builder.message(None, text, kind="log", source_ref=lines[0].ref)
    notes.add("derived", lines[0].ref, "printed text in which no transcript is known; one log message")
