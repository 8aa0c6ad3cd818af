"""A run in MetaGPT's daily log.

Facts from ``metagpt`` (team.py, roles/role.py, utils/cost_manager.py, utils/file_repository.py):

* ``publish_message:`` holds a whole message as JSON. ``X observed: [...]`` names the role and, of each message
  that it took up, who sent it and 20 characters; what the role does next follows from them.
* ``X: to do Action(Action)`` begins an action; what the model then answers is printed without a header.
* ``update_cost`` tells the tokens of one model call, with no agent; the total that it repeats is cumulative.
* ``save to: path`` names a file, ``update dependency: path:[...]`` those it was made from.
* Each run begins with ``Investment:`` of ``team:invest``; all processes of a day share the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from agenttrace.builder import TraceBuilder
from agenttrace.model import Usage
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.documents import documents_in, endings
from agenttrace.readers.metagpt.lines import LogLine
from agenttrace.readers.metagpt.messages import Conversation, Item, is_message
from agenttrace.readers.metagpt.plans import Tasks
from agenttrace.reprs import parse_fields, parse_repr
from agenttrace.salvage import parse

__all__ = ["fill_run", "log_runs", "message_ids", "saved_path"]

_PUBLISHED = "publish_message: "
_OBSERVED = " observed: ["
_TO_DO = ": to do "
_WILL_DO = ", will do "
_VERBS = ("to do ", "self.rc.state=", "ready to", "no news", "will do")
_LONGEST_LABEL = 2000
_COST = re.compile(
    r"(?:.*Current cost: \$(?P<cost>\d{1,15}(?:\.\d{1,30})?), )?"
    r"prompt_tokens: (?P<prompt>\d{1,15}), completion_tokens: (?P<completion>\d{1,15})"
)
_SAVED = re.compile(r"save to: (?P<path>\S[^\n]*)")
_MADE_FROM = "update dependency: "
_DEPENDENCY = re.compile(r"update dependency: (?P<path>\S.*?):(?P<sources>[\[{(].*)")
_TASK = "ready to take on task task_id="
_BEFORE = re.compile(r"metagpt\.(?:config2?|const|configs)[.\w]*:")
_ID = re.compile(r'publish_message: \{"id": ?"(\w{1,64})"')
_FAILED = ("ERROR", "CRITICAL")
_QUOTED = 20  # characters of a message that ``observed`` shows


class _Entry(NamedTuple):
    """A line, with the message it publishes, the role it tells of, or the file it says was saved."""

    line: LogLine
    message: Item | None
    label: str | None
    file: str | None


def log_runs(lines: list[LogLine]) -> Iterator[list[LogLine]]:
    """The lines of each run: an investment begins one, and the configuration just before it belongs to it."""
    run: list[LogLine] = []
    begun = False
    for line in lines:
        if line.where.endswith("team:invest"):
            place = len(run)
            while begun and place and _BEFORE.match(run[place - 1].where):
                place -= 1
            if begun:
                yield run[:place]
                run = run[place:]
            begun = True
        run.append(line)
    if run:
        yield run


def message_ids(lines: list[LogLine]) -> set[str]:
    """The ids of the messages that were published in a run."""
    return {match[1] for line in lines if (match := _ID.match(line.text)) is not None}


def saved_path(text: str) -> str | None:
    """The file that a line says was saved."""
    found = _SAVED.fullmatch(text) if text.startswith("save to: ") else None
    return found["path"].strip() if found is not None else None


def fill_run(
    builder: TraceBuilder, notes: Notes, lines: list[LogLine], conversation: Conversation, texts: Mapping[str, Any] | None = None
) -> None:
    """Fill a builder from the lines of one run. ``texts``: what lies in the workspace, by path; the caller closes the conversation."""
    run = _Run(builder, notes, conversation)
    run.look(lines, texts or {})
    for entry in run.entries:
        run.add(entry)
    run.close()
    builder.count_types(run.kinds)


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes, conversation: Conversation) -> None:
        self._builder = builder
        self._notes = notes
        self._conversation = conversation
        self._observed: dict[str, list[str]] = {}  # by role: events that its next event depends on
        self._shown: dict[str, list[str]] = {}  # how ``observed`` shows a message -> the events that it may mean
        self._decided: dict[str, str] = {}  # by role: what it said it will do about what it observed
        self._seen: set[tuple[str, str]] = set()  # role and event that it observed
        self._published: set[str] = set()
        self._tasks: dict[str, dict[str, Any]] = {}  # place of a ``ready to take on task`` -> its fields
        self._files: dict[str, Any] = {}  # place of a ``save to`` -> text of the file, where one is known
        self.entries: list[_Entry] = []
        self.kinds: Counter[str] = Counter()

    # -- looking ahead ---------------------------------------------------------------------

    def look(self, lines: list[LogLine], texts: Mapping[str, Any]) -> None:
        """Parse the messages, and learn from all lines who takes part and what was in the files that were saved."""
        known: set[str] = set()
        open_files: dict[str, str] = {}  # path -> place of its last ``save to``
        self.kinds.update(line.where or "text" for line in lines)
        for line in lines:
            text = line.text
            message = self._message(line) if text.startswith(_PUBLISHED) else None
            below = text.partition("\n")[2] if message is not None else ""
            self._notes.count_source([text if message is None else message, line.time, line.facts])
            file = saved_path(text)
            label = _speaker(text) if message is None and file is None else None
            self.entries.append(_Entry(line, message, label, file))
            if below.strip():  # JSON has no line ends of its own
                self.entries.append(_Entry(line._replace(ref=f"{line.ref}/below", text=below.strip("\n"), level=None), None, None, None))
            if message is not None:
                if isinstance(message.get("content"), str):
                    self._published.add(message["content"].strip())
                for document in documents_in(message.get("instruct_content"))[0]:
                    self._wrote(open_files.pop(document.path, None), document.text)
            elif text.startswith(_TASK):
                self._look_at_task(line)
            elif file is not None:
                open_files |= dict.fromkeys(endings(file), line.ref)
            elif label is not None and label not in known:
                known.add(label)
                self._conversation.introduce(label)
        for path, body in texts.items():
            self._wrote(open_files.get(path), body)
        self._plan = Tasks(self._builder, self._notes, self._tasks.values())

    def _look_at_task(self, line: LogLine) -> None:
        fields, _ = parse_fields(line.text, line.text.index("task_id="))
        if isinstance(fields.get("task_id"), str):
            self._tasks[line.ref] = fields

    def _wrote(self, place: str | None, text: Any) -> None:
        if place is not None:
            self._files.setdefault(place, text)

    def _message(self, line: LogLine) -> Item | None:
        """The message behind ``publish_message:``; a cut one is salvaged."""
        parsed = parse(line.text[len(_PUBLISHED) :].partition("\n")[0].encode("utf-8", "replace"))
        if not parsed.values or not is_message(parsed.values[0]):
            return None
        for repair in parsed.repairs:
            self._notes.add(repair.code, line.ref, repair.detail)
        message: Item = parsed.values[0]
        return message

    def close(self) -> None:
        """A role that came no further than to say what it will do has acted by that."""
        for agent_id, event_id in list(self._decided.items()):
            self._follows(agent_id, event_id)

    # -- events ------------------------------------------------------------------------------

    def add(self, entry: _Entry) -> None:
        """Add an entry of the log."""
        line = entry.line
        if entry.message is not None:
            self._publish(line, entry.message)
        elif entry.file is not None:
            event_id = self._conversation.shelf.saved(entry.file, None, line.ref, line.time, self._files.get(line.ref))
            self._builder.keep(event_id, line.facts or {})
        elif line.ref in self._tasks:
            event = {"source_ref": line.ref, "timestamp": line.time, "extra": line.facts}
            self._plan.add(self._tasks[line.ref], "in_progress", event, agent=None)
        else:
            self._log(line, entry.label)

    def _publish(self, line: LogLine, message: Item) -> None:
        known = len(self._conversation.events)
        event_id = self._conversation.add(message, line.ref, line.time)
        if len(self._conversation.events) > known:
            self._builder.keep(event_id, line.facts or {})
        content, sender = message.get("content"), self._conversation.sender_of(message)
        if isinstance(content, str):
            self._shown.setdefault(f"{message.get('role')}: {content[:_QUOTED]}...", []).append(event_id)
        if sender is not None:
            self._follows(self._conversation.resolve(sender), event_id)
        if isinstance(content, str) and str(message.get("cause_by")).endswith("UserRequirement"):
            self._builder.meta(task=content)

    def _follows(self, agent_id: str, event_id: str) -> None:
        self._decided.pop(agent_id, None)
        for source in dict.fromkeys(self._observed.pop(agent_id, ())):
            if source != event_id:
                self._builder.link(source, event_id, "receives_msg", evidence="the role observed the message before it acted")

    def _log(self, line: LogLine, label: str | None) -> None:
        """A line of the log; what is printed below ``to do`` is what the role's model said."""
        agent_id = self._conversation.agent(label) if label is not None else None
        text, said = line.text, ""
        acts = agent_id is not None and _TO_DO in text.partition("\n")[0]
        if acts and "\n" in text:
            text, said = self._apart(text)
        event_id = self._builder.message(
            agent_id,
            text,
            kind="error" if line.level in _FAILED else "log",
            timestamp=line.time,
            source_ref=line.ref,
            extra=line.facts,
            **(_usage(line) if line.where.endswith("update_cost") else {}),
        )
        if agent_id is not None and _OBSERVED in text:
            self._observed.setdefault(agent_id, []).extend(self._taken_up(agent_id, text))
            self._decided.pop(agent_id, None)
        elif agent_id is not None and acts:
            self._follows(agent_id, event_id)
        elif agent_id is not None and _WILL_DO in text:
            self._decided.setdefault(agent_id, event_id)
        if said:
            below = f"{line.ref}/below"
            event_id = self._builder.message(agent_id, said, source_ref=below)
            self._notes.add("derived", below, "said by the role whose action is named above it", event_id)
        if text.startswith(_MADE_FROM):
            self._made_from(line)

    def _apart(self, text: str) -> tuple[str, str]:
        """A line and what is printed below it, unless a message has that, too."""
        first, _, said = text.partition("\n")
        return (first, said) if said.strip() and said.strip() not in self._published else (text, "")

    def _taken_up(self, agent_id: str, text: str) -> list[str]:
        """The messages that a line ``X observed: ['Role: Beginning...']`` shows; none where the beginning may mean several new ones."""
        listed = parse_repr(text, text.index(_OBSERVED) + len(_OBSERVED) - 1)
        shown = listed.value if listed is not None and isinstance(listed.value, list) else []
        taken: list[str] = []
        for item in shown:
            new = [event for event in self._shown.get(item, ()) if (agent_id, event) not in self._seen] if isinstance(item, str) else []
            self._seen.update((agent_id, event) for event in new)
            taken += new if len(new) == 1 else ()
        return taken

    def _made_from(self, line: LogLine) -> None:
        match = _DEPENDENCY.fullmatch(line.text)
        listed = parse_repr(match["sources"]) if match is not None else None
        if match is None or listed is None or not isinstance(listed.value, list):
            return
        sources = [name for name in listed.value if isinstance(name, str)]
        for name in self._conversation.shelf.made_from(match["path"], sources, "update dependency"):
            self._notes.add("derived", line.ref, f"made from {name}, which this run did not write: no link")


def _speaker(text: str) -> str | None:
    """The role, ``Name(Profile)``, of which a line tells what it does or observed."""
    end = text.find("): ", 0, _LONGEST_LABEL)
    while end > 0 and not text.startswith(_VERBS, end + 3):
        end = text.find("): ", end + 3, _LONGEST_LABEL)
    if end < 0:
        end = text.find(")" + _OBSERVED, 0, _LONGEST_LABEL)
    return text[: end + 1] if end > 0 and "(" in text[:end] else None


def _usage(line: LogLine) -> dict[str, Any]:
    """The tokens of a model call; a turn of their own, since no agent is named."""
    found = _COST.fullmatch(line.text.partition("\n")[0])
    if found is None:
        return {}
    figures: dict[str, Any] = {"prompt_tokens": int(found["prompt"]), "completion_tokens": int(found["completion"])}
    if found["cost"] is not None:
        figures["cost_usd"] = float(found["cost"])
    return {"usage": Usage(**figures), "turn_id": f"turn:{line.ref}"}
