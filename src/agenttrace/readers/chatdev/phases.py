"""Phases of a run as subtasks: how each was set up, under which composed phase, and what it concluded."""

from __future__ import annotations

from dataclasses import dataclass

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes
from agenttrace.readers.chatdev.lines import Entry

__all__ = ["Phases"]

_REFLECTION = "Reflection"
_ROLES = ("assistant", "user")


@dataclass
class _Phase:
    name: str
    subtask: str
    event_id: str
    table: dict[str, str]


class Phases:
    """The phases of a run, one after the other; only a reflection stands within another one.

    Attributes:
        task: the task of the run, which tables repeat.
        concluded: the event of the last conclusion.
        model: the model of the phase at work.
    """

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._open: list[_Phase] = []
        self._counts: dict[str, int] = {}
        self._composed: tuple[str, str] | None = None  # a composed phase, and the phase of it that comes next
        self._known: set[str] = set()
        self._prompts: dict[str, str] = {}
        self._models: dict[str, str] = {}
        self.task: str | None = None
        self.concluded: str | None = None
        self.model: str | None = None

    def compose(self, composed: str, phase: str, entry: Entry) -> None:
        """A phase is about to begin as part of a composed one."""
        if composed not in self._known:
            self._known.add(composed)
            self._builder.subtask(composed, status="created", event={"timestamp": entry.time, "source_ref": f"{entry.ref}/composed"})
        self._composed = (composed, phase)
        self._builder.inside = composed

    def begin(self, table: dict[str, str], entry: Entry) -> None:
        """A phase begins with the table of its chat."""
        names = tuple(table[f"{role}_role_name"] for role in _ROLES if table.get(f"{role}_role_name"))
        self._begin(table["phase_name"], names, entry, table)

    def expect(self, name: str, names: tuple[str, ...], entry: Entry) -> None:
        """A message of a phase: it begins now if no table said so before."""
        if not self._open or self._open[-1].name != name:
            self._begin(name, names, entry, {})

    def _begin(self, name: str, names: tuple[str, ...], entry: Entry, table: dict[str, str]) -> None:
        reflects = name == _REFLECTION and bool(self._open)
        if not reflects:
            self._open.clear()
        self._counts[name] = count = self._counts.get(name, 0) + 1
        subtask = name if count == 1 else f"{name}#{count}"
        while subtask in self._known:
            subtask += "'"
        self._known.add(subtask)
        parent = self._open[-1].subtask if reflects else None
        if self._composed is not None and self._composed[1] == name:
            parent, self._composed = self._composed[0], None
        event_id = self._builder.subtask(
            subtask,
            parent_task_id=parent,
            assigned_to=names,
            goal=table.get("phase_prompt") or None,
            status="created",
            event={
                "timestamp": entry.time,
                "source_ref": entry.ref if table else f"{entry.ref}/phase",
                "extra": self._rest(table, entry) or None,
            },
        )
        self._open.append(_Phase(name, subtask, event_id, table))
        self._builder.inside = subtask

    def _rest(self, table: dict[str, str], entry: Entry) -> dict[str, str]:
        """What of a table no field has: less the task and the prompts of roles that are known."""
        mapped = ("phase_name", "phase_prompt", "assistant_role_name", "user_role_name")
        rest = {key: value for key, value in table.items() if key not in mapped and value not in ("", "None")}
        for role in _ROLES:
            name, prompt = table.get(f"{role}_role_name"), rest.get(f"{role}_role_prompt")
            if name and prompt and self._prompts.setdefault(name, prompt) == prompt:
                self._builder.agent(name, config={"role_prompt": prompt})
                del rest[f"{role}_role_prompt"]
        self._model(table, entry)
        rest.pop("model_type", None)
        if self.task is not None and rest.get("task_prompt") == self.task:
            del rest["task_prompt"]
            self._notes.add("copy", entry.ref, "the task of the run")
        return rest

    def _model(self, table: dict[str, str], entry: Entry) -> None:
        """The model of the two roles, if a table names one: an agent's first one is its own, calls have that of their phase."""
        model = table.get("model_type", "None")
        if model in ("", "None"):
            return
        self.model = model
        for role in _ROLES:
            if name := table.get(f"{role}_role_name"):
                self._builder.agent(name, model=model)
                if self._models.setdefault(name, model) != model:
                    self._notes.add("aside", entry.ref, f"{name} has now {model}: in the usage of its calls")

    def repeats(self, table: dict[str, str], entry: Entry) -> bool:
        """Whether the table of a role play is that of the open phase; what it says more is kept there."""
        phase = self._open[-1] if self._open else None
        if phase is None or any(phase.table.get(f"{role}_role_name") != table.get(f"{role}_role_name") for role in _ROLES):
            return False
        self._model(table, entry)
        known = set(phase.table.values()) | {self.task, "", "None", table.get("model_type")}
        more = {key: value for key, value in table.items() if value not in known}
        if more:
            self._builder.keep(phase.event_id, more)
        self._notes.add("copy", entry.ref, "the table of the phase again")
        return True

    def conclude(self, text: str, entry: Entry) -> bool:
        """The innermost open phase ends with a result; False when none is open."""
        if not self._open:
            return False
        phase = self._open.pop()
        event = {"timestamp": entry.time, "source_ref": entry.ref}
        self.concluded = self._builder.subtask(phase.subtask, status="completed", result=text or None, event=event)
        self._builder.inside = self._open[-1].subtask if self._open else phase.subtask  # what it changes comes next
        return True

    def end(self) -> None:
        """The run is over: what comes is in no phase."""
        self._open.clear()
        self._builder.inside = None
