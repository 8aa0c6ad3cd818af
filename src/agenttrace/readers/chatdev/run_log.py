"""A run of ChatDev 1.x in its log.

Facts from ``chatdev/`` and ``camel/`` of ChatDev 1.x (chat_chain.py, phase.py, composed_phase.py, chat_env.py,
statistics.py, camel/agents/role_playing.py):

* ``[chatting]`` sets up a phase in a table, ``[RolePlaying]`` repeats it for the two roles; ``[Seminar Conclusion]``
  is the phase's result. A ``Reflection`` is a phase within the one that it concludes.
* ``X: [Start Chat]`` is what the user role tells the assistant role. ``X: A<->B on : Phase, turn n`` is what one of the
  assistant role A and the user role B says to the other; both may speak in a turn. Before each stands, in
  brackets, the system prompt of the one who is told.
* ``[Execute Detail]`` names the composed phase, and its cycle, of the phase that follows.
* Usage is logged before the message that the call gave; ``[Software Info]`` repeats totals.
* ``[Test Reports]`` is what running the software printed; no agent runs it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from agenttrace.builder import TraceBuilder
from agenttrace.model import Usage
from agenttrace.notes import Notes
from agenttrace.readers.chatdev.code_versions import CodeVersions
from agenttrace.readers.chatdev.lines import Entry
from agenttrace.readers.chatdev.phases import Phases
from agenttrace.readers.chatdev.tables import table_of

__all__ = ["Left", "fill_log"]

_MARKED = re.compile(r"(?:(?P<who>[^\n:*]{1,100}): )?\*\*\[(?P<what>[^\]\n]{1,60})\]\*\*:?[ \t]*\n?(?P<rest>.*)", re.DOTALL)
_TURN = re.compile(
    r"(?P<who>[^\n:*]{1,100}): \*\*(?P<a>[^*\n]{1,100}?)<->(?P<b>[^*\n]{1,100}?) on : "
    r"(?P<phase>[^*\n]{1,100}), turn (?P<turn>\d{1,9})\*\*\s*(?P<rest>.*)",
    re.DOTALL,
)
_SAID = re.compile(r"(?P<who>[^\n:*]{1,60}): (?P<rest>.*)", re.DOTALL)
_FIGURE = re.compile(r"^[ \t]*(\w{1,60}): (?:\$(?=\d))?(\d{1,15}(?:\.\d{1,15})?)[ \t\r]*$", re.ASCII | re.MULTILINE)
_TOTAL = re.compile(r"\*\*(\w{1,60})\*\*=\$?([\d.]{1,30})", re.ASCII)
_TASK = re.compile(r"^\*\*task_prompt\*\*: (?P<task>.*?)\n\n\*\*project_name\*\*: ", re.MULTILINE | re.DOTALL)
_PARAMETER = re.compile(r"^\*\*(\w{1,60})\*\*: (.*)$", re.MULTILINE)
_EXECUTE = re.compile(
    r"execute SimplePhase:\[(?P<phase>[^\]\n]{1,100})\] in ComposedPhase:\[(?P<composed>[^\]\n]{1,100})\], cycle (?P<cycle>\d{1,9})"
)
_MODULE = re.compile(r"(?P<who>[A-Z][\w ]{1,60}?) (?:found|resolve) ModuleNotFoundError(?::| by:)")
_COMMENT = re.compile(r"\s*In the #\d+ of total \d+ comments:\s*", re.ASCII)
_COMMAND = re.compile(r"\s*\[CMD\] ?(?P<command>[^\n]*)\s*")
_NO_ERROR = "The software run successfully without errors."
_HUMAN = "Human"


class Left(NamedTuple):
    """What a run left behind that files beside its log may repeat: its task and its code."""

    task: str | None
    codes: CodeVersions


def fill_log(builder: TraceBuilder, notes: Notes, entries: list[Entry]) -> Left:
    """Fill a builder from the entries of a log."""
    run = _Run(builder, notes, entries)
    for place, entry in enumerate(entries):
        notes.count_source([_values(entry.text), entry.time, entry.level])
        run.add(place, entry)
    run.close()
    return Left(run.task, run.codes)


def _fill_totals(builder: TraceBuilder, text: str) -> None:
    """The totals of a run: tokens, cost, duration."""
    totals = dict(_TOTAL.findall(text))
    names = (("num_prompt_tokens", "prompt_tokens"), ("num_completion_tokens", "completion_tokens"), ("num_total_tokens", "total_tokens"))
    figures: dict[str, Any] = {key: int(totals[name]) for name, key in names if totals.get(name, "").isdigit()}
    for name, key in (("cost", "cost_usd"), ("duration", "seconds")):
        try:
            figures[key] = float(totals[name])
        except (KeyError, ValueError):
            continue
    seconds = figures.pop("seconds", None)
    builder.meta(usage=Usage(**figures) if figures else None, duration_ms=round(seconds * 1000) if seconds is not None else None)


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes, entries: list[Entry]) -> None:
        self._builder = builder
        self._notes = notes
        self._turns = [(place, match) for place, entry in enumerate(entries) if (match := _TURN.fullmatch(entry.text)) is not None]
        self._turns.reverse()  # the next one is the last
        self._phases = Phases(builder, notes)
        self._roles: dict[str, str] = {}  # the table of the role play at work
        self._usage: list[tuple[Entry, dict[str, float]]] = []
        self._sent: dict[str, Any] = {}
        self._last: dict[tuple[str, str], str] = {}  # (sender, receiver) -> event of the last message of this chat
        self._prompts: dict[str, str] = {}
        self._other_prompts: dict[tuple[str, str], list[str]] = {}  # (receiver, prompt) -> messages before which it stands
        self._kinds: Counter[str] = Counter()
        self._updates = 0
        self.task: str | None = None
        self.codes = CodeVersions()
        self._handlers: dict[str, Callable[[Entry, str], bool]] = {
            "chatting": self._chatting,
            "RolePlaying": self._role_playing,
            "Seminar Conclusion": self._conclusion,
            "OpenAI_Usage_Info Send": self._send,
            "OpenAI_Usage_Info Receive": self._receive,
            "Update Codes": self._update_codes,
            "Test Reports": self._test_report,
            "CMD Execute": self._command,
            "User Provided Comments": self._comment,
            "Execute Detail": self._execute,
            "Preprocessing": self._preprocessing,
            "Post Info": self._post_info,
        }

    def add(self, place: int, entry: Entry) -> None:
        """Add an entry."""
        while self._turns and self._turns[-1][0] < place:
            self._turns.pop()
        if self._turns and self._turns[-1][0] == place:
            self._kinds["turn"] += 1
            self._turn(entry, self._turns[-1][1])
            return
        marked = _MARKED.fullmatch(entry.text)
        if marked is not None:
            self._kinds[marked["what"]] += 1
            if marked["what"] == "Start Chat" and marked["who"]:
                self._start(entry, marked["who"], marked["rest"])
                return
            handler = self._handlers.get(marked["what"])
            if handler is not None and handler(entry, marked["rest"]):
                return
        self._other(entry)

    def close(self) -> None:
        """Settle what only the end can tell."""
        self._flush_usage()
        self._phases.end()
        self._keep_prompts()
        self._builder.count_types(self._kinds)
        if self._updates:
            self._notes.add(
                "derived", None, f"contents of {self._updates} versions of files: the logged differences applied one after the other"
            )

    def _keep_prompts(self) -> None:
        """System prompts of an agent after its first one, unless another agent has the same."""
        known = set(self._prompts.values())
        for (agent_id, prompt), events in self._other_prompts.items():
            if prompt in known:
                self._notes.add("copy", None, f"a system prompt of {agent_id} that another agent has, too")
                continue
            kept = self._builder.extra.setdefault("system_prompts", [])
            kept.append({"agent_id": agent_id, "prompt": prompt, "events": events})
            self._notes.add("aside", None, f"a further system prompt of {agent_id}, in the trace's `extra`")

    # -- what is said ----------------------------------------------------------------------

    def _start(self, entry: Entry, who: str, rest: str) -> None:
        """The user role tells the assistant role what to do."""
        following = self._turns[-1][1] if self._turns else None
        receiver = self._roles.get("assistant_role_name") if self._roles.get("user_role_name") == who else None
        if receiver is None and following is not None and following["b"] == who:
            receiver = following["a"]
        pair = {self._roles.get("assistant_role_name", who), self._roles.get("user_role_name", who)}
        if following is not None and pair <= {following["a"], following["b"]}:  # a chat outside the phases has no turns
            self._phases.expect(following["phase"], (following["a"], following["b"]), entry)
        self._last.clear()
        self._flush_usage()
        event_id = self._message(entry, who, receiver, rest)
        if receiver is not None:
            self._last[who, receiver] = event_id

    def _turn(self, entry: Entry, match: re.Match[str]) -> None:
        """One role answers the other."""
        assistant, user = match["a"], match["b"]
        sender, receiver = (user, assistant) if match["who"] == user else (assistant, user)
        third = match["who"] if match["who"] not in (assistant, user) else None
        self._phases.expect(match["phase"], (assistant, user), entry)
        # Both roles may be asked, the assistant first, before either is shown.
        second = len(self._usage) > 1 and sender == user
        usage = self._usage.pop(1 if second else 0)[1] if self._usage else {}
        event_id = self._message(
            entry,
            sender,
            receiver,
            match["rest"],
            usage=usage,
            metadata={"phase": match["phase"], "turn": int(match["turn"]), **({"logged_by": third} if third is not None else {})},
            extra=self._sent | _level(entry),
        )
        self._sent = {}
        asked = self._last.get((receiver, sender))
        if asked is not None:
            self._builder.link(asked, event_id, "receives_msg", evidence=f"turn {match['turn']} of their chat on {match['phase']}")
        self._last[sender, receiver] = event_id

    def _message(self, entry: Entry, sender: str, receiver: str | None, text: str, **more: Any) -> str:
        """A message without the system prompt of its receiver, which stands before it in brackets."""
        other: str | None = None  # than the first one of the receiver
        prompt, text = _prompt_and_text(text)
        extra = dict(more.pop("extra", None) or {})
        if prompt is not None and receiver is not None:
            known = self._prompts.setdefault(receiver, prompt)
            self._builder.agent(receiver, system_prompt=known)
            if known == prompt:
                self._notes.add("copy", entry.ref, f"the system prompt of {receiver}")
            else:
                other = prompt
        elif prompt is not None:
            text = f"[{prompt}]\n\n{text}"
        usage = more.pop("usage", None)
        event_id = self._builder.message(
            sender,
            text,
            receivers=[receiver] if receiver is not None else (),
            timestamp=entry.time,
            source_ref=entry.ref,
            usage=_usage(usage, self._phases.model) if usage else None,
            turn_id=f"turn:{entry.ref}" if usage else None,
            extra=extra or None,
            **more,
        )
        if other is not None and receiver is not None:
            self._other_prompts.setdefault((receiver, other), []).append(event_id)
        return event_id

    def _other(self, entry: Entry) -> None:
        """A line of a role of the play at work is its message, anything else a line of the log."""
        said = _SAID.fullmatch(entry.text)
        names = (self._roles.get("assistant_role_name"), self._roles.get("user_role_name"))
        module = _MODULE.match(entry.text)
        if said is not None and said["who"] in names:
            receiver = names[0] if said["who"] == names[1] else names[1]
            usage = self._usage.pop(0)[1] if self._usage else {}
            self._message(entry, said["who"], receiver, said["rest"], usage=usage, extra=self._sent | _level(entry))
            self._sent = {}
        elif module is not None:
            self._builder.message(module["who"], entry.text, timestamp=entry.time, source_ref=entry.ref, extra=_level(entry) or None)
        else:
            self._log(entry)

    def _log(self, entry: Entry, **fields: Any) -> str:
        kind = "error" if entry.level in ("ERROR", "CRITICAL") else "log"
        extra = _level(entry) or None
        return self._builder.message(None, entry.text, kind=kind, timestamp=entry.time, source_ref=entry.ref, extra=extra, **fields)

    def _log_rest(self, entry: Entry, rest: str) -> None:
        """What stands in a marked entry beside what has been taken."""
        if rest.strip():
            self._log(entry._replace(ref=f"{entry.ref}/rest", text=rest.strip("\r\n")))

    # -- marked entries: True when the entry has been taken ----------------------------------

    def _chatting(self, entry: Entry, rest: str) -> bool:
        table, more = table_of(rest)
        if "phase_name" not in table:
            return False
        self._roles = table
        self._phases.begin(table, entry)
        self._log_rest(entry, more)
        return True

    def _role_playing(self, entry: Entry, rest: str) -> bool:
        table, more = table_of(rest)
        if "assistant_role_name" not in table:
            return False
        of_phase = self._phases.repeats(table, entry)
        self._roles = table
        if of_phase:
            self._log_rest(entry, more)
        else:
            self._log(entry)
        return True

    def _conclusion(self, entry: Entry, rest: str) -> bool:
        return self._phases.conclude(rest.strip(), entry)

    def _execute(self, entry: Entry, rest: str) -> bool:
        match = _EXECUTE.search(rest)
        if match is not None:
            self._phases.compose(match["composed"], match["phase"], entry)
        return False

    def _send(self, entry: Entry, rest: str) -> bool:
        figures = {name: _number(text) for name, text in _FIGURE.findall(rest)}
        self._sent |= figures
        if figures:
            self._log_rest(entry, _FIGURE.sub("", rest))
        return bool(figures)

    def _receive(self, entry: Entry, rest: str) -> bool:
        figures = {name: _number(text) for name, text in _FIGURE.findall(rest)}
        if figures:
            self._usage.append((entry, figures))
            self._log_rest(entry, _FIGURE.sub("", rest))
        return bool(figures)

    def _flush_usage(self) -> None:
        """Calls of a model that gave no message."""
        for entry, figures in self._usage:
            self._log(entry, usage=_usage(figures, self._phases.model), turn_id=f"turn:{entry.ref}")
        self._usage = []

    def _update_codes(self, entry: Entry, rest: str) -> bool:
        update = self.codes.update(rest)
        if update is None:
            return False
        self._updates += update.content is not None
        self._builder.artifact(
            update.name,
            name=update.name,
            version=update.version,
            content=update.content,
            source_event_id=self._phases.concluded,
            event={"timestamp": entry.time, "source_ref": entry.ref, "extra": {"diff": update.diff, **_level(entry)}},
        )
        return True

    def _test_report(self, entry: Entry, rest: str) -> bool:
        text, call_id = rest.strip(), f"test:{entry.ref}"
        self._builder.call(None, "exist_bugs", None, call_id=call_id, source_ref=entry.ref, extra=_level(entry) or None)
        whole = text.startswith(_NO_ERROR)
        self._builder.result(
            call_id, text, status="success" if whole else "failure", error=None if whole else text, completed_at=entry.time
        )
        self._notes.add("made_up", entry.ref, f"tool_call_id {call_id}; exist_bugs is the function that runs the software")
        return True

    def _command(self, entry: Entry, rest: str) -> bool:
        match = _COMMAND.fullmatch(rest)
        if match is None:
            return False
        call_id = f"cmd:{entry.ref}"
        self._builder.call(None, "CMD", {"command": match["command"]}, call_id=call_id, source_ref=entry.ref, extra=_level(entry) or None)
        self._builder.result(call_id, None, completed_at=entry.time)  # it is logged when the command has ended
        self._notes.add("made_up", entry.ref, f"tool_call_id {call_id}")
        return True

    def _comment(self, entry: Entry, rest: str) -> bool:
        self._builder.agent(_HUMAN, role="user")
        head = _COMMENT.match(rest)
        text = rest[head.end() :] if head is not None else rest
        extra = {**({"comment": " ".join(head[0].split())} if head is not None else {}), **_level(entry)}
        self._builder.message(_HUMAN, text.strip(), timestamp=entry.time, source_ref=entry.ref, extra=extra or None)
        return True

    def _preprocessing(self, _entry: Entry, rest: str) -> bool:
        facts = dict(_PARAMETER.findall(rest))
        asked = _TASK.search(rest)
        self.task = self._phases.task = asked["task"].strip() if asked is not None else facts.get("task_prompt")
        self._builder.meta(task=self.task, run_id=facts.get("Timestamp"))
        return False

    def _post_info(self, _entry: Entry, rest: str) -> bool:
        _fill_totals(self._builder, rest)
        self._phases.end()
        return False


def _values(text: str) -> Any:
    """What an entry says, value by value: the rows of a table, figures, or a text."""
    beginning = text[:300]
    if "| **" in beginning:
        return table_of(text).rows
    return [number for _, number in _FIGURE.findall(text)] if "_Usage_Info" in beginning else text


def _prompt_and_text(text: str) -> tuple[str | None, str]:
    """The system prompt in brackets before a message, and the message."""
    text = text.strip("\r\n")
    end = text.find("]\n\n") if text.startswith("[") else -1
    return (text[1:end], text[end + 3 :]) if end > 0 else (None, text)


def _number(text: str) -> float:
    return float(text) if "." in text else int(text)


def _usage(figures: dict[str, float], model: str | None) -> Usage:
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counted: dict[str, Any] = {name: figures[name] for name in names if isinstance(figures.get(name), int)}
    return Usage(**counted, cost_usd=figures.get("cost"), model=model)


def _level(entry: Entry) -> dict[str, Any]:
    """The level of an entry, where it is not the usual one."""
    return {"level": entry.level} if entry.level not in (None, "INFO") else {}
