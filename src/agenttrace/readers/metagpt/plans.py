"""Tasks of a plan, from the log and from a saved planner: subtasks with what they depend on.

Facts from ``metagpt/schema.py`` (Plan, Task): a task has ``task_id``, ``dependent_task_ids``, ``instruction``,
``result``, ``is_finished``, ``is_success`` and in main ``assignee``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes

__all__ = ["Tasks"]

_MAPPED = frozenset({"task_id", "dependent_task_ids", "instruction", "result", "is_finished", "is_success", "assignee"})


class Tasks:
    """The tasks of one plan, known before the first of them becomes an event."""

    def __init__(self, builder: TraceBuilder, notes: Notes, tasks: Iterable[Mapping[str, Any]], prefix: str = "") -> None:
        self._builder = builder
        self._notes = notes
        self._prefix = prefix
        depends: dict[str, list[str]] = {}
        for task in tasks:
            depends.setdefault(_id(task), []).extend(_before(task))
        self._place = _places(depends)

    def add(
        self, task: Mapping[str, Any], status: str, event: Mapping[str, Any], *, agent: str | None, assigned_to: str | None = None
    ) -> None:
        """A task with its status. What it depends on and the plan does not have, or cannot have, stays in ``extra``."""
        stated = _before(task)
        own = self._place[_id(task)]
        known = [name for name in stated if self._place.get(name, own) < own]
        extra = {key: value for key, value in task.items() if key not in _MAPPED and value not in (None, "", False)}
        listed = task.get("dependent_task_ids")
        if listed and listed != known:
            extra["dependent_task_ids"] = listed
            self._notes.add("aside", event.get("source_ref"), "tasks that the plan does not have, or that depend on this one, in `extra`")
        goal = task.get("instruction")
        if goal is not None and not isinstance(goal, str):
            extra["instruction"] = goal
        self._builder.subtask(
            self._prefix + _id(task),
            agent=agent,
            goal=goal if isinstance(goal, str) else None,
            status=status,
            result=task.get("result") or None,
            depends_on=tuple(self._prefix + name for name in dict.fromkeys(known)),
            assigned_to=(assigned_to,) if assigned_to is not None else (),
            event={**event, "extra": {**extra, **(event.get("extra") or {})} or None},
        )


def _id(task: Mapping[str, Any]) -> str:
    return str(task.get("task_id"))


def _before(task: Mapping[str, Any]) -> list[str]:
    listed = task.get("dependent_task_ids")
    return [str(name) for name in listed] if isinstance(listed, list) else []


def _places(depends: dict[str, list[str]]) -> dict[str, int]:
    """A place for each task behind all that it depends on; of those that depend on each other, in the order given."""
    waiting = {task: {name for name in before if name in depends and name != task} for task, before in depends.items()}
    after: dict[str, list[str]] = {}
    for task, before in waiting.items():
        for name in sorted(before):
            after.setdefault(name, []).append(task)
    left = {task: len(before) for task, before in waiting.items()}
    places: dict[str, int] = {}
    ready = deque(task for task, count in left.items() if not count)
    circles = iter(depends)
    while len(places) < len(depends):
        task = ready.popleft() if ready else next(circles)  # nothing is ready: a circle begins here
        if task in places:
            continue
        places[task] = len(places)
        for following in after.get(task, ()):
            left[following] -= 1
            if left[following] == 0:
                ready.append(following)
    return places
