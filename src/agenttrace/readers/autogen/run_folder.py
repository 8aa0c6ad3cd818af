"""A folder with the logs of a run: messages, state, events and transcript of one run are one trace.

Users save a run several times over: the messages of its result, the state of the team,
the event log, what the terminal showed. Files belong to one run when they share ids or
times of messages, or, where the versions have neither, when all that one of them says
stands in the other in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.autogen.console_chat import fill_chat_console
from agenttrace.readers.autogen.console_team import fill_summary
from agenttrace.readers.autogen.context import ModelContext
from agenttrace.readers.autogen.core_events import fill_core_run
from agenttrace.readers.autogen.dumps import fill, fill_chat_result_facts, keep_rest
from agenttrace.readers.autogen.run_parts import Part, is_part, parts_of
from agenttrace.readers.autogen.runtime_log import fill_session
from agenttrace.readers.autogen.saved import Saved
from agenttrace.readers.autogen.state import Entry, Team, add_state, key_of_record
from agenttrace.readers.autogen.transcripts import shown_key
from agenttrace.salvage import look
from agenttrace.sources import Source, walk

__all__ = ["read_folder", "sniff_folder"]

_MOST_FILES = 64
_LARGEST = 64 << 20
_STUB = frozenset({"source", "models_usage", "metadata"})


@dataclass
class _Run:
    """The parts of one run; the first holds most of it."""

    parts: list[Part] = field(default_factory=list)

    def takes(self, part: Part) -> bool:
        """Whether a part is of this run: one of a kind that it has already needs ids or times to say so."""
        return any(known.holds(part) for known in self.parts) and (
            bool(part.marks) or all(known.variant != part.variant for known in self.parts)
        )

    @property
    def files(self) -> set[str]:
        """The names of the files that its parts are from."""
        return {part.file for part in self.parts}


def sniff_folder(folder: Source, sniff: Callable[[Source], Match | None]) -> Match | None:
    """Claims a folder in which several files hold one run, unless other data or runs of their own lie in it, too."""
    if len(list(islice(walk(folder, []), _MOST_FILES + 1))) > _MOST_FILES or folder.size > _LARGEST:
        return None
    for file in folder.files:  # what is no log of AutoGen may be one of another framework
        foreign = _is_structured(file) and not _is_run(file, sniff)
        file.forget()
        if foreign:
            return None
    runs, _ = _runs(folder, sniff, Notes(counting=False), whole=False)
    shared = next((run.files for run in runs if len(run.files) > 1), None)
    below = any(all("/" in name for name in run.files) for run in runs)  # then the folders inside are the runs
    return None if shared is None or below else Match("run_folder", "certain", f"files of one run: {', '.join(sorted(shared))}")


def read_folder(
    folder: Source, notes: Notes, sniff: Callable[[Source], Match | None], new_builder: Callable[[int], TraceBuilder]
) -> Iterator[Trace]:
    """A trace for each run whose files lie in a folder."""
    runs, others = _runs(folder, sniff, notes)
    for name, damage in others.items():
        if damage is not None:
            notes.add("unreadable", f"{name}#", damage)
        else:
            notes.add("aside", f"{name}#", "no log of AutoGen; its name in `meta.extra`")
    for number, run in enumerate(runs, 1):
        builder = new_builder(number)
        (_fill_team if run.parts[0].is_team else _fill_chat)(builder, notes, run)
        builder.meta(extra={"files": sorted(run.files), **({"other_files": list(others)} if others else {})})
        yield builder.build()


def _runs(
    folder: Source, sniff: Callable[[Source], Match | None], notes: Notes, *, whole: bool = True
) -> tuple[list[_Run], dict[str, str | None]]:
    """The runs in a folder, and the files that hold none, with what is damaged in them.

    Not ``whole``: only what tells runs apart, since a folder may be large.
    """
    parts: list[Part] = []
    others: dict[str, str | None] = {}
    for file in folder.files:
        inner = Notes(counting=notes.counting)
        found: list[Part] = []
        try:
            match = sniff(file)
            found = parts_of(file, match, inner) if match is not None else []
            damage = None
        except ReadError as error:
            damage = error.reason
        if found:
            notes.absorb(inner, file.name)
        else:
            others[file.name] = damage
        parts += found if whole else [part.marked() for part in found]
        file.forget()
    runs: list[_Run] = []
    for part in sorted(parts, key=lambda part: part.rank):
        home = next((run for run in runs if run.takes(part)), None)
        if home is None:
            runs.append(home := _Run())
        home.parts.append(part)
    return sorted(runs, key=lambda run: min(run.files)), others


def _is_structured(file: Source) -> bool:
    """Whether a file is data in which another framework's log may lie."""
    try:
        return look(file).kind in ("json", "jsonl") or file.head.startswith(b"SQLite format 3\0")
    except ReadError:
        return False


def _is_run(file: Source, sniff: Callable[[Source], Match | None]) -> bool:
    try:
        return (match := sniff(file)) is not None and is_part(match)
    except ReadError:
        return False


# -- AgentChat ------------------------------------------------------------------------------


def _fill_team(builder: TraceBuilder, notes: Notes, run: _Run) -> None:
    team = Team(builder, notes)
    for part in run.parts:
        if part.state is not None:
            inner = Notes(counting=False)
            add_state(team, builder, inner, part.state, f"{part.file}#")
            notes.absorb(inner)
    for part in run.parts:
        if part.records:
            _add_records(team, part)
        if part.facts:
            keep_rest(builder, notes, part.facts, (), f"{part.file}#")
        fill_summary(builder, part.summary)
        for ref, text in part.texts:
            builder.message(None, text, kind="log", source_ref=f"{part.file}#{ref}")
        if part.frame is not None:
            part.frame.hand_over(builder, notes)
    _leave_out_stubs(team, notes)
    lines = run.parts[0].lines
    if lines:
        file = run.parts[0].file
        fill_core_run(builder, notes, [line._replace(ref=f"{file}#{line.ref}") for line in lines], Saved(team.entries), team.members)
        return
    conversation = ModelContext(builder, notes)
    conversation.count(team.copied)
    conversation.team.add(team.members)
    conversation.add_held(team.entries)


def _leave_out_stubs(team: Team, notes: Notes) -> None:
    """A record that a cut file broke off before its content is a copy of one that another file has whole."""
    stubs = [entry for entry in team.entries if isinstance(entry.record, dict) and entry.record.keys() <= _STUB]
    team.entries = [entry for entry in team.entries if entry not in stubs]
    for entry in stubs:
        notes.add("copy", entry.ref, "a record that breaks off before its content")


def _add_records(team: Team, part: Part) -> None:
    """Records that are known by id or time say no more than they do; the others are laid over the conversation by what they say."""
    known = Saved(team.entries)
    printed = Counter(shown_key(entry.record) for entry in team.entries if isinstance(entry.record, dict))
    new = []
    for ref, record in part.records:
        if part.variant == "console_team" and printed[shown_key(record)]:
            printed[shown_key(record)] -= 1
            team.copied.append(record)
            continue
        entry = known.take(record, by_text=False)
        if entry is None:
            new.append(Entry(f"{part.file}#{ref}", record, key_of_record(record, None)))
            continue
        team.copied.append(record)
        if len(record) > len(entry.record):
            entry.ref, entry.record, entry.key = f"{part.file}#{ref}", record, key_of_record(record, None)
    if new:
        team.lay_over(new)


# -- AutoGen 0.2 ---------------------------------------------------------------------------


def _fill_chat(builder: TraceBuilder, notes: Notes, run: _Run) -> None:
    """The fullest log is the run; the others say the same, and a ChatResult more about the whole."""
    base, *others = run.parts
    if base.session is not None:
        fill_session(builder, notes, base.session.within(base.file))
    elif base.entries:
        for entry in base.entries:
            entry.ref = f"{base.file}#{entry.ref}"
        fill_chat_console(builder, notes, base.entries)
    else:
        fill(builder, notes, base.variant, base.value, f"{base.file}#")
    for part in run.parts:
        if part.frame is not None:
            part.frame.hand_over(builder, notes)
    for part in others:
        notes.add("copy", f"{part.file}#", f"messages that {base.file} has already")
        if part.variant == "chat_result" and isinstance(part.value, dict):
            fill_chat_result_facts(builder, notes, part.value, f"{part.file}#")
