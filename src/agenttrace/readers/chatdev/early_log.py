"""A run of ChatDev's predecessors of July 2023 (AgentTech), in its log: what camel printed, in colours.

``PhaseType: PhaseType.CODING`` begins a phase; ``AI Assistant (Role) sys message:`` and ``AI User (Role) sys message:``
print the prompts of its two roles as Python does; ``AI User (Role):`` and ``[n] AI Assistant (Role):`` are
what they say to each other; ``[OpenAI_Usage_Info]`` stands before the message that the call gave.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import Usage
from agenttrace.notes import Notes
from agenttrace.readers.chatdev.lines import Entry
from agenttrace.reprs import parse_repr

__all__ = ["fill_early_log", "is_early"]

_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
_ROLE = re.compile(
    r"(?:\[(?P<turn>\d{1,6})\] )?AI (?P<side>Assistant|User) \((?P<name>[^()\n]{1,100})\)"
    r"(?P<what> sys message:|:| terminated the chat\.)(?P<rest>.*)",
    re.DOTALL,
)
_PHASE = re.compile(r"PhaseType: (?:PhaseType\.)?(?P<name>\w{1,100})\s*")
_FIGURE = re.compile(r"^ *(prompt_tokens|completion_tokens|total_tokens): (\d{1,15})\s*$", re.ASCII | re.MULTILINE)
_TASK = "Task prompt:"
_USAGE = "[OpenAI_Usage_Info]"


def is_early(entries: list[Entry]) -> bool:
    """Whether a log is of the early kind: it begins without a marked entry, and has a phase or a coloured role."""
    return any(_PHASE.fullmatch(entry.text) or _ROLE.match(_COLOUR.sub("", entry.text[:200])) for entry in entries[:200])


def fill_early_log(builder: TraceBuilder, notes: Notes, entries: list[Entry]) -> None:
    """Fill a builder from the entries of an early log."""
    run = _Run(builder, notes)
    for entry in entries:
        notes.count_source([entry.text, entry.time, entry.level])
        run.add(entry)
    run.flush_usage()
    builder.count_types(run.kinds)


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._sides: dict[str, str] = {}  # Assistant, User -> name in the phase at work
        self._phases: Counter[str] = Counter()
        self._usage: list[tuple[Entry, Usage]] = []
        self._prompts: dict[str, str] = {}
        self._task: str | None = None
        self.kinds: Counter[str] = Counter()

    def add(self, entry: Entry) -> None:
        """Add an entry."""
        text = _COLOUR.sub("", entry.text).rstrip()
        role = _ROLE.fullmatch(text)
        phase = _PHASE.fullmatch(text)
        if phase is not None:
            self._phase(entry, phase["name"])
        elif role is not None and role["what"] == " sys message:":
            self._system(entry, role["side"], role["name"], role["rest"].strip())
        elif role is not None and role["what"] == ":":
            self._said(entry, role)
        elif role is not None:
            self._log(entry, text, role["name"])
        elif text.startswith(_USAGE) and self._took_usage(entry, text):
            pass
        elif text.startswith(_TASK) and text.removeprefix(_TASK).strip() == self._task:
            self._notes.add("copy", entry.ref, "the task of the run")
        else:
            self._facts(text)
            self._log(entry, text)

    def flush_usage(self) -> None:
        """Calls of a model that gave no message."""
        for entry, usage in self._usage:
            self._builder.message(
                None, entry.text, kind="log", timestamp=entry.time, source_ref=entry.ref, usage=usage, turn_id=f"turn:{entry.ref}"
            )
        self._usage = []

    def _phase(self, entry: Entry, name: str) -> None:
        self._phases[name] += 1
        subtask = name if self._phases[name] == 1 else f"{name}#{self._phases[name]}"
        self.flush_usage()
        self._builder.subtask(subtask, status="created", event={"timestamp": entry.time, "source_ref": entry.ref})
        self._builder.inside = subtask
        self.kinds["PhaseType"] += 1

    def _system(self, entry: Entry, side: str, name: str, printed: str) -> None:
        """The prompt of a role: the first is the agent's, another one is kept as a line of the log."""
        self._sides[side] = name
        self.kinds["sys message"] += 1
        found = parse_repr(printed)
        value = found.value if found is not None and isinstance(found.value, dict) else {}
        prompt = value.get("content")
        if not isinstance(prompt, str) or self._prompts.setdefault(name, prompt) != prompt:
            rest = {key: item for key, item in value.items() if key != "content" and item is not None}
            self._log(
                entry, prompt if isinstance(prompt, str) else printed, name, {"sys message": rest} if isinstance(prompt, str) else None
            )
            return
        rest = {key: item for key, item in value.items() if key != "content" and item is not None}
        self._builder.agent(name, system_prompt=prompt, config=rest)
        self._notes.add("copy", entry.ref, f"the prompt of {name}, in its AgentInstance")

    def _said(self, entry: Entry, role: re.Match[str]) -> None:
        others = [name for name in self._sides.values() if name != role["name"]]  # the side that is printed may be the other one's
        # Both sides may be asked, the assistant first, before either is shown, or only the user is.
        second = len(self._usage) > 1 and role["name"] == self._sides.get("User")
        usage = self._usage.pop(1 if second else 0)[1] if self._usage else None
        self._builder.message(
            role["name"],
            role["rest"].strip(),
            receivers=others if len(others) == 1 else (),
            timestamp=entry.time,
            source_ref=entry.ref,
            metadata={"turn": int(role["turn"])} if role["turn"] else None,
            usage=usage,
            turn_id=f"turn:{entry.ref}" if usage is not None else None,
        )
        self.kinds[f"AI {role['side']}"] += 1

    def _took_usage(self, entry: Entry, text: str) -> bool:
        figures: dict[str, Any] = {name: int(number) for name, number in _FIGURE.findall(text)}
        if figures:
            self._usage.append((entry, Usage(**figures)))
            self.kinds["OpenAI_Usage_Info"] += 1
        return bool(figures)

    def _facts(self, text: str) -> None:
        """The task, from the arguments of the program."""
        arguments = parse_repr(text.removeprefix("args: ")) if text.startswith("args: Namespace(") else None
        if arguments is not None and isinstance(arguments.value, dict) and isinstance(arguments.value.get("task"), str):
            self._task = arguments.value["task"]
            self._builder.meta(task=self._task)

    def _log(self, entry: Entry, text: str, agent_id: str | None = None, metadata: dict[str, Any] | None = None) -> None:
        kind = "error" if entry.level in ("ERROR", "CRITICAL") else "log"
        extra = {"level": entry.level} if entry.level not in (None, "INFO") else None
        self._builder.message(agent_id, text, kind=kind, timestamp=entry.time, source_ref=entry.ref, extra=extra, metadata=metadata)
