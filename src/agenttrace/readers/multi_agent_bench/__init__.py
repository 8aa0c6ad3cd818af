"""Multi-Agent-Bench (MultiAgentBench, MARBLE): one JSON record a run, appended to the output file of the configuration.

``marble/engine/engine.py`` writes it in four coordination modes:

* graph: every agent acts on its assignment; from the second iteration on each has planned its own. Results are
  ``[{"agent_id", "result"}]`` in the first iteration and ``[{agent: result}]`` later.
* star: the planner assigns; results are ``[{agent: result}]``; the run has a ``final_output``.
* chain: one agent an iteration, whose ``result`` is a text and whose plan is the task of the next link.
* tree: ``task_assignments`` is a list of ``{child: task}``; results come from the root first.

A result is ``Result from the model:…`` and, if a tool was called, ``Result from the function:…``; neither the tool
nor its arguments are recorded. A communication is the text of one session, ``From A to B: …`` a message. There are no
times: the order is that of the record. An assignment without a result is of an agent that raised.

The tasks, ``SCENARIO_main.jsonl``, hold what the agents are; in a folder with them each run takes its roster from there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.multi_agent_bench.run import RunReader
from agenttrace.readers.multi_agent_bench.scores import add_scores
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source, children

__all__ = ["FORMAT"]

_MOST_FILES = 200
_TASKS = "_main.jsonl"
_MODES = frozenset({"graph", "star", "chain", "tree"})
_RUN = frozenset({"task", "coordination_mode", "iterations"})
_TASK_KEYS = frozenset({"task_id", "scenario", "agents", "relationships", "task"})

Record = dict[str, Any]


# -- recognising ---------------------------------------------------------------------------


def sniff(source: Source) -> Match | None:
    """Records of runs, or a folder of such files with the tasks that they worked on."""
    if source.is_folder:
        files = children(source, [])[0]
        if len(files) > _MOST_FILES or not any(_is_tasks(file) for file in files):
            return None
        runs = any(_mode(file) is not None for file in files)
        return Match("with_tasks", "certain", "records of runs and the tasks that they worked on") if runs else None
    mode = _mode(source)
    return Match(mode, "certain", f"records with coordination_mode {mode} and iterations") if mode is not None else None


def _records_in(source: Source) -> list[Record]:
    """The records among the first of a file."""
    try:
        seen = look(source)
    except ReadError:
        return []
    sample = seen.sample if seen.kind == "jsonl" else [seen.value] if seen.kind == "json" else []
    return [item for item in sample if isinstance(item, dict)]


def _mode(source: Source) -> str | None:
    """The mode of the first run in a file; None where it holds no runs."""
    for item in _records_in(source):
        mode = item.get("coordination_mode")
        if item.keys() >= _RUN and isinstance(item["iterations"], list) and isinstance(mode, str) and mode in _MODES:
            return mode
    return None


def _is_tasks(source: Source) -> bool:
    if not source.name.endswith(_TASKS):
        return False
    found = _records_in(source)
    return bool(found) and all(item.keys() >= _TASK_KEYS for item in found)


# -- reading -----------------------------------------------------------------------------------


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace for each run."""
    match = sniff(source)
    if match is None:
        raise ReadError("unparsable", source.label, None, "no run of Multi-Agent-Bench", "`agenttrace doctor` says what is in it")
    if not source.is_folder:
        for number, (ref, record) in enumerate(_runs(source, notes), 1):
            yield _trace(_builder(source, notes, match.variant, number), notes, ref, record, {})
        return
    rosters: dict[str, tuple[str, Record]] = {}
    files = children(source, [])[0]
    for file in files:
        if _is_tasks(file):
            rosters.update(_tasks(file, notes))
    used: set[str] = set()
    number = 0
    for file in files:
        if _mode(file) is None:
            if not _is_tasks(file):
                notes.add("aside", f"{file.name}#", "neither runs nor tasks; not read")
            continue
        inner = Notes(counting=notes.counting)
        for ref, record in _runs(file, inner):
            number += 1
            place, task = rosters.get(_content(record.get("task")), ("", {}))
            used.add(place)
            yield _trace(_builder(source, notes, match.variant, number), notes, f"{file.name}#{ref}", record, task, place)
        notes.absorb(inner, file.name)
        file.forget()
    unused = len({place for place, _ in rosters.values()} - used)
    if unused:
        notes.add("aside", None, f"tasks that no run here worked on ({unused}); not read")


def _runs(source: Source, notes: Notes) -> Iterator[tuple[str, Record]]:
    """The runs of a file with their places."""
    for ref, record in records(source, notes) if look(source).kind == "jsonl" else [("", document(source, notes))]:
        if isinstance(record, dict) and isinstance(record.get("iterations"), list):
            yield ref, record
        else:
            notes.drop("unreadable", ref, "no record of a run", record)


def _tasks(file: Source, notes: Notes) -> Iterator[tuple[str, tuple[str, Record]]]:
    inner = Notes(counting=False)
    for ref, record in records(file, inner):
        if isinstance(record, dict) and (content := _content(record.get("task"))):
            yield content, (f"{file.name}#{ref}", record)
    notes.absorb(inner, file.name)
    file.forget()


def _content(task: Any) -> str:
    """What a task asks, to find it again: runs have its text, tasks an object."""
    text = task.get("content") if isinstance(task, dict) else task
    return " ".join(text.split()) if isinstance(text, str) else ""


def _builder(source: Source, notes: Notes, variant: str, number: int) -> TraceBuilder:
    return TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, variant), number=number)


def _trace(builder: TraceBuilder, notes: Notes, ref: str, record: Record, task: Record, task_place: str = "") -> Trace:
    run = RunReader(builder, notes, record)
    if task:
        run.roster(task, task_place)
    for index, iteration in enumerate(record["iterations"]):
        place = f"{ref}/iterations/{index}"
        if isinstance(iteration, dict):
            run.iteration(place, iteration, index + 1)
        else:
            notes.drop("unreadable", place, "no iteration", iteration)
    add_scores(builder, notes, ref, record)
    return builder.build()


FORMAT = Format(
    name="multi_agent_bench",
    title="Multi-Agent-Bench (MARBLE): records of runs",
    spec="https://github.com/ulab-uiuc/MARBLE",
    variants={
        "graph": "every agent acts, and plans its next task itself",
        "star": "a planner assigns",
        "chain": "one agent an iteration hands on to the next",
        "tree": "tasks go down from a root agent",
        "with_tasks": "folder: files of runs, and the tasks (`SCENARIO_main.jsonl`) that say who the agents are",
    },
    versions="2025 (main, and the fork GGeminii/MultiAgentBench)",
    mapping={
        "a record": "a trace; task: meta.task; coordination_mode: meta.extra",
        "task_assignments": "SubtaskUpdate created, `iteration-N/AGENT`; it reads the agent's last result (graph) or the summary (star), "
        "or the link before spawns it (chain)",
        "Result from the model:": "Message to engine_planner, derived: the engine hands every result to it",
        "Result from the function:": "ToolCall `unknown` without arguments; a stated `success` is its status",
        "a result": "SubtaskUpdate completed",
        "communications": "a session's turns: Messages, explicit, each depending on the one that it answers",
        "summary": "Artifact `summary`, a version for each iteration, by engine_planner, which reads the results",
        "final_output": "meta.final_answer",
        "planning_scores, communication_scores, task_evaluation, code_quality": "Annotations, score; -1 is no score",
        "agent_kpis, total_milestones": "Annotations, metric; within an iteration they run up to its end",
        "root_cause, root_causes, labels": "Annotations, ground_truth",
        "token_usage": "meta.usage.total_tokens",
        "agents of the tasks": "AgentInstance: profile, model; role and type in extra",
    },
    not_mapped={
        "times": "there are none",
        "names and arguments of tools": "not recorded",
        "continue_simulation": "extra of the iteration's summary",
        "success": "not stated; null",
        "why an assignment has no result": "only the logger of the engine knew",
        "parents in a tree": "not recorded, but for the root",
    },
    sniff=sniff,
    read=read,
)
