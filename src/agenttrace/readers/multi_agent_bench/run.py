"""One run of Multi-Agent-Bench, iteration by iteration: assignments, sessions, results, the planner's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import orjson

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.notes import Notes
from agenttrace.readers.multi_agent_bench.scores import OF_SCORES, TRUTH, listed

__all__ = ["RunReader"]

_PLANNER = "engine_planner"
_MODEL = "Result from the model:"
_FUNCTION = "Result from the function:"
_SESSION = re.compile(r"\s*In Session (?P<session>\S{1,100})[ \t]*\n?")
_SAID = re.compile(r"^From (?P<sender>\S{1,200}) to (?P<receiver>\S{1,200}): ?", re.MULTILINE)
_OF_RUN = OF_SCORES | {"task", "coordination_mode", "iterations", "final_output"}
_OF_ITERATION = frozenset(
    {"iteration", "task_assignments", "task_results", "summary", "continue_simulation", "communications", "result"}
    | {"total_milestones", "agent_kpis"}
)

Record = dict[str, Any]


class _Own(NamedTuple):
    """What an agent did last: its result, and the update that ended its work."""

    result: str
    completed: str | None


class RunReader:
    """One run."""

    def __init__(self, builder: TraceBuilder, notes: Notes, record: Record) -> None:
        self._builder = builder
        self._notes = notes
        self._mode = str(record.get("coordination_mode"))
        self._last: dict[str, _Own] = {}  # by agent
        self._assigned: dict[str, str] = {}  # agent -> its assignment of the iteration at work
        self._latest: _Own | None = None  # of anybody: the link before, in a chain
        self._summary: str | None = None
        builder.agent(_PLANNER, role="planner", participant=False)
        task, final = record.get("task"), record.get("final_output")
        extra: dict[str, Any] = {"coordination_mode": self._mode}
        extra |= {key: value for key, value in record.items() if key not in _OF_RUN and value is not None}
        if task is not None and not isinstance(task, str):
            extra["task"] = task
        builder.meta(
            task=task if isinstance(task, str) else None,
            dataset="MultiAgentBench",
            final_answer=final if final != "" else None,
            extra=extra,
        )

    # -- who takes part ------------------------------------------------------------------------

    def roster(self, task: Record, place: str) -> None:
        """What the task says of the agents."""
        for item in task["agents"] if isinstance(task["agents"], list) else ():
            if isinstance(item, dict) and isinstance(item.get("agent_id"), str):
                profile, model = item.get("profile"), item.get("llm")
                rest = {key: value for key, value in item.items() if key not in ("agent_id", "profile", "llm") and value not in (None, "")}
                self._builder.agent(
                    item["agent_id"],
                    description=profile if isinstance(profile, str) else None,
                    model=model if isinstance(model, str) and model else None,
                    extra=rest or None,
                )
        scenario, number = task.get("scenario"), task.get("task_id")
        described = {key: value for key, value in task.items() if key not in ("agents", "task_id", "scenario") and value not in (None, "")}
        asked = described.get("task")
        if isinstance(asked, dict):  # what it asks is the task of the run already; its labels are the truth
            described["task"] = {key: value for key, value in asked.items() if key not in (*TRUTH, "content")}
            for key in sorted(TRUTH & asked.keys()):
                self._builder.annotate(key, asked[key], kind="ground_truth", source_ref=f"{place}/task/{key}")
        self._builder.meta(task_id=f"{scenario}-{number}", extra={"task_file": described})
        self._notes.add("copy", place, "the text of the task, which the run has, too")
        self._notes.add("aside", place, "what else the task says, in `meta.extra.task_file`")

    # -- an iteration ------------------------------------------------------------------------------

    def iteration(self, place: str, iteration: Record, number: int) -> None:
        """Assignments, sessions, results, the planner's summary: in this order they came about."""
        self._assigned = {}
        for ref, agent, goal in self._pairs(f"{place}/task_assignments", iteration.get("task_assignments")):
            self._assign(ref, agent, goal, number)
        communications = iteration.get("communications")
        for ref, session in listed(f"{place}/communications", communications):
            self._session(ref, session)
        finished: list[str] = []
        for ref, agent, result in self._results(place, iteration):
            if (completed := self._result(ref, agent, result, number)) is not None:
                finished.append(completed)
        answered = {agent for agent, own in self._last.items() if own.completed in finished}
        for agent in self._assigned:
            if agent not in answered:
                reason = f"{agent} has no result in iteration {number}: its subtask stays open"
                self._notes.add("aside", f"{place}/task_assignments", reason)
        self._sum_up(place, iteration, number, finished)

    def _pairs(self, place: str, value: Any) -> Iterator[tuple[str, str, Any]]:
        """Agents and what is theirs: an object, or a list of objects with one key, or with agent_id and result."""
        if isinstance(value, dict):
            for agent, item in value.items():
                yield f"{place}{pointer(agent)}", agent, item
            return
        for ref, item in listed(place, value):
            if isinstance(item, dict) and isinstance(item.get("agent_id"), str) and "result" in item:
                yield f"{ref}/result", item["agent_id"], item["result"]
                if rest := {key: value for key, value in item.items() if key not in ("agent_id", "result")}:
                    self._notes.drop("unreadable", ref, f"keys that no result has: {', '.join(map(str, rest))[:100]}", rest)
            elif isinstance(item, dict) and item:
                for agent, inner in item.items():
                    yield f"{ref}{pointer(agent)}", agent, inner
            elif item is not None and item != {}:
                self._notes.drop("unreadable", ref, "names no agent", item)

    def _results(self, place: str, iteration: Record) -> Iterator[tuple[str, str, Any]]:
        yield from self._pairs(f"{place}/task_results", iteration.get("task_results"))
        result, current = iteration.get("result"), iteration.get("current_agent")
        if result is not None:  # a chain has one agent an iteration
            if isinstance(current, str):
                yield f"{place}/result", current, result
            else:
                self._notes.drop("unreadable", f"{place}/result", "names no agent", result)

    def _assign(self, ref: str, agent: str, goal: Any, number: int) -> None:
        subtask = f"iteration-{number}/{agent}"
        own = self._last.get(agent)
        planned = self._mode == "graph" and number > 1  # after the first iteration each plans its own next task
        by = agent if planned else _PLANNER if self._mode == "star" else None
        event_id = self._builder.subtask(
            subtask,
            agent=by,
            assigned_to=(agent,),
            goal=goal if isinstance(goal, str) else None,
            status="created",
            event={"source_ref": ref, "extra": {"goal": goal} if goal is not None and not isinstance(goal, str) else None},
        )
        self._assigned[agent] = event_id
        if planned and own is not None:
            self._builder.link(own.completed or own.result, event_id, "reads", evidence="the agent plans its next task from its own result")
        elif self._mode == "star" and self._summary is not None:
            self._builder.link(self._summary, event_id, "reads", evidence="the planner assigns from its progress")
        elif self._mode == "chain" and self._latest is not None:
            self._builder.link(self._latest.result, event_id, "spawn_subtask", evidence="the plan of the link before")

    def _session(self, ref: str, text: Any) -> None:
        """The messages of a session; each turn answers the one before."""
        if not isinstance(text, str):
            if text is not None:
                self._notes.drop("unreadable", ref, "no text of a session", text)
            return
        header = _SESSION.match(text)
        session = header["session"] if header is not None else None
        found = list(_SAID.finditer(text))
        start = found[0].start() if found else len(text)
        before = text[header.end() if header is not None else 0 : start].strip()
        if before:
            self._builder.message(None, before, kind="log", source_ref=f"{ref}/before", metadata={"session": session} if session else None)
        said: tuple[str, str] | None = None  # event, receiver
        ends = [*(turn.start() for turn in found[1:]), len(text)]
        for number, (turn, end) in enumerate(zip(found, ends, strict=False)):
            content = text[turn.end() : end]
            event_id = self._builder.message(
                turn["sender"],
                content.removesuffix("\n"),
                receivers=(turn["receiver"],),
                metadata={"session": session} if session else None,
                source_ref=f"{ref}/{number}",
            )
            if said is not None and said[1] == turn["sender"]:
                self._builder.link(said[0], event_id, "receives_msg", evidence="the next turn of the session")
            said = (event_id, turn["receiver"])

    def _result(self, ref: str, agent: str, result: Any, number: int) -> str | None:
        """What an agent answered: a message, the call of a tool that has no name, the end of its subtask, which is returned."""
        created = self._assigned.get(agent)
        event: dict[str, Any] = {"turn_id": f"turn:{ref}", "subtask_id": f"iteration-{number}/{agent}" if created else None}
        text = result if isinstance(result, str) else None
        model, function = _parts(text) if text is not None else (None, None)
        made: list[str] = []
        if model is not None or function is None:
            content = model if model is not None else text
            extra = {"result": result} if result is not None and text is None else None
            made.append(
                self._builder.message(
                    agent, content, receivers=(_PLANNER,), origin="derived", source_ref=f"{ref}/model", extra=extra, **event
                )
            )
        if function is not None:
            made.append(self._call(f"{ref}/function", agent, function, event))
        if created is not None:
            self._builder.link(created, made[0], "spawn_subtask", evidence="the agent's result in the same iteration")
        completed = None
        if created is not None:
            completed = self._builder.subtask(f"iteration-{number}/{agent}", agent=agent, status="completed", event={"source_ref": ref})
            self._builder.link(made[-1], completed, "reads", evidence="the agent's result in the same iteration")
        self._last[agent] = self._latest = _Own(made[-1], completed)
        return completed

    def _call(self, ref: str, agent: str, function: str, event: dict[str, Any]) -> str:
        value: Any = function
        with suppress(orjson.JSONDecodeError):
            value = orjson.loads(function)
        ok = value.get("success") if isinstance(value, dict) else None
        call = self._builder.call(agent, None, None, source_ref=ref, **event)
        status = ("success" if ok else "failure") if isinstance(ok, bool) else None
        self._builder.result(f"call_{call}", value, status=status)
        return call

    def _sum_up(self, place: str, iteration: Record, number: int, finished: list[str]) -> None:
        """The planner's summary, and what the engine says of the iteration."""
        facts = {key: value for key, value in iteration.items() if key not in _OF_ITERATION and value is not None}
        stated = iteration.get("iteration")
        if stated is not None and stated != number:
            facts["iteration"] = stated
        if (goes_on := iteration.get("continue_simulation")) is not None:
            facts["continue_simulation"] = goes_on
        summary = iteration.get("summary")
        if summary is not None and summary != "":
            self._summary = self._builder.artifact(
                "summary",
                agent=_PLANNER,
                version=number,
                name=f"summary of iteration {number}",
                content=summary,
                event={"source_ref": f"{place}/summary", "extra": facts or None},
            )
            for completed in finished:
                self._builder.link(completed, self._summary, "reads", evidence="results of the iteration")
        elif facts:
            self._builder.extra.setdefault("iterations", []).append({"iteration": number, **facts})
        if facts:
            self._notes.add("aside", place, f"{', '.join(facts)}, in `extra`"[:300])
        for key in ("total_milestones", "agent_kpis"):
            if iteration.get(key) not in (None, {}):
                self._builder.annotate(
                    key,
                    iteration[key],
                    kind="metric",
                    author="program",
                    event_id=self._summary if summary else None,
                    comment=f"to the end of iteration {number}",
                    source_ref=f"{place}/{key}",
                )


def _parts(text: str) -> tuple[str | None, str | None]:
    """What the model said and what the function returned; None for what is not there."""
    if not text.startswith(_MODEL):
        return None, None
    model, found, function = text.removeprefix(_MODEL).partition(_FUNCTION)
    said = model.removesuffix("\n")
    return said or (None if found else ""), function if found else None
