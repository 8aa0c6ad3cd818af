"""AutoGen and AG2: everything that shows a run of 0.2 or of AgentChat (0.4 and later).

A framework with two generations that share a name and nothing else, so this reader
is a package. Two rooms hold what the generations mean: ``chat`` (0.2) and
``agentchat`` (0.4+). Around them stand the ways in which a run reaches a file:

* ``dumps``, ``state``: what users dump as JSON, since AutoGen has no log of its own.
* ``runtime_rows``, ``runtime_log``: 0.2 ``runtime_logging``.
* ``core_lines``, ``core_runs``, ``core_events``, ``model_calls``: the event log of 0.4+.
* ``console_lines``, ``console_chat``, ``console_team``, ``transcripts``: terminals.
* ``printed``, ``notebook``: objects as Python prints them, and notebooks.
* ``saved``, ``run_parts``, ``run_folder``: several of these of one run.

``shapes`` tells the variants apart.
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
from agenttrace.readers.autogen.mapping import MAPPING, NOT_MAPPED, VARIANTS
from agenttrace.readers.autogen.notebook import has_runs, is_notebook, read_notebook
from agenttrace.readers.autogen.run_folder import read_folder, sniff_folder
from agenttrace.readers.autogen.runtime_log import fill_session
from agenttrace.readers.autogen.runtime_rows import Session, is_database, line_sessions, table_sessions
from agenttrace.readers.autogen.shapes import classify, classify_lines, classify_text
from agenttrace.readers.autogen.transcripts import fill_transcript
from agenttrace.salvage import document, look, note_damage, records
from agenttrace.sources import Source, decode_log

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
    return classify_text(source) if seen.kind == "text" else None


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
    text, _, guess = decode_log(source.data)
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


FORMAT = Format(
    name="autogen",
    title="AutoGen / AG2: conversations, AgentChat messages, runtime and event logs, transcripts, notebooks",
    spec="https://microsoft.github.io/autogen/",
    variants=VARIANTS,
    versions="0.2.35 and AG2; 0.4.0, 0.6.1, 0.7.5",
    mapping=MAPPING,
    not_mapped=NOT_MAPPED,
    sniff=sniff,
    read=read,
)
