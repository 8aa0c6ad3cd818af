"""Saved states of AgentChat 0.4+: ``save_state()`` of teams, nested teams and single agents.

A state holds one conversation several times: the manager's ``message_thread``, each
agent's model context, and per agent a buffer of what was delivered and not yet read.
They are laid over each other as sequences: what matches is one event, whose receivers
are the agents that hold it; what only a context knows (tool calls of older versions,
messages before the thread was reset) stands where its neighbours put it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.notes import Notes
from agenttrace.readers.autogen.context import ModelContext
from agenttrace.readers.autogen.records import Record, text_of

__all__ = ["Entry", "Team", "add_state", "fill_state", "is_state", "key_of_record", "matches"]

_LARGEST = 20_000_000  # comparisons that laying two sequences over each other may cost
_LISTS = ("message_thread", "message_buffer", "llm_context", "agent_state", "inner_team_state", "agent_states")


def is_state(value: Any) -> str | None:
    """``team_state`` or ``agent_state``, if the document is one."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("agent_states"), dict):
        return "team_state"
    named = isinstance(value.get("type"), str) and value["type"].endswith("State")
    if not value.keys().isdisjoint(("llm_context", "message_thread", "inner_team_state", "agent_state")) and (
        named or "llm_context" in value
    ):
        return "agent_state"
    return None


@dataclass
class Entry:
    """A record of the conversation, and who holds it."""

    ref: str
    record: Any
    key: tuple[Any, ...]
    owner: str | None = None
    holders: list[str] = field(default_factory=list)
    spoken: bool = False  # said to the team, whatever its type: only such messages are buffered for agents


def fill_state(builder: TraceBuilder, notes: Notes, value: Record, at: str) -> None:
    """Fill a builder from a saved state."""
    team = Team(builder, notes)
    add_state(team, builder, notes, value, at)
    conversation = ModelContext(builder, notes)
    conversation.count(team.copied)
    conversation.team.add(team.members)
    conversation.add_held(team.entries)


def add_state(team: Team, builder: TraceBuilder, notes: Notes, value: Record, at: str) -> None:
    """Add a saved state to a conversation, and its facts to the run."""
    if is_state(value) == "team_state":
        team.add(value, at)
        rest = {key: item for key, item in value.items() if key not in ("agent_states", "team_id") and item is not None}
        builder.meta(session_id=text_of(value.get("team_id")), extra=rest)
        for key in rest:
            notes.add("aside", f"{at}/{key}", "kept in `meta.extra`")
        return
    authors = [item.get("source") for item in _context(value) if isinstance(item, dict) and item.get("type") == "AssistantMessage"]
    name = next((author for author in authors if isinstance(author, str)), "agent")
    if not authors:
        notes.add("made_up", at or None, "agent_id agent: the state does not name its agent")
    team.add_agent(name, value, at)


class Team:
    """The conversation of one team, with that of teams inside its agents."""

    def __init__(self, builder: TraceBuilder, notes: Notes, parent: str | None = None, taken: set[str] | None = None) -> None:
        self._builder = builder
        self._notes = notes
        self._parent = parent
        self._taken = taken if taken is not None else set()  # names of the teams around this one
        self._names: set[str] = set()
        self.members: set[str] = set()  # agents of the team, with those of teams inside them
        self.entries: list[Entry] = []
        self.copied: list[Any] = []

    def add(self, state: Record, at: str) -> None:
        """Add a team's state: managers first, since their thread is the conversation, then agents."""
        states = state["agent_states"]
        items = [(str(name).partition("/")[0], item, f"{at}/agent_states{pointer(str(name))}") for name, item in states.items()]
        self._names = {name for name, _, _ in items}
        managers = [item for item in items if isinstance(item[1], dict) and "message_thread" in item[1]]
        for name, item, place in managers:
            self._add_manager(name, item, place)
        for name, item, place in items:
            if item == {} or item is None:
                self._notes.drop("wrapper", place, "an empty state", item)
            elif not isinstance(item, dict):
                self._keep(place, item)
            elif "message_thread" not in item:
                self.add_agent(name, item, place)

    def _add_manager(self, name: str, state: Record, at: str) -> None:
        thread = state.get("message_thread")
        facts = {key: item for key, item in state.items() if key != "message_thread" and item is not None}
        if isinstance(facts.get("task"), str):  # Magentic-One
            self._builder.meta(task=facts.pop("task"))
        records = [record for record in thread if isinstance(record, dict)] if isinstance(thread, list) else []
        texts = [record.get("content") for record in records]
        for key in ("facts", "plan"):
            if isinstance(facts.get(key), str) and any(isinstance(text, str) and facts[key] in text for text in texts):
                del facts[key]
                self._notes.add("copy", f"{at}/{key}", "stands in the thread")
        self._agent(name, facts, at, participant=any(_source(record) == name for record in records))
        if not isinstance(thread, list):
            return
        for index, record in enumerate(thread):
            self.entries.append(Entry(f"{at}/message_thread/{index}", record, key_of_record(record, None)))

    def add_agent(self, name: str, state: Record, at: str) -> None:
        """Add one agent: its model context, its buffer, and a team inside it."""
        inner = state.get("agent_state")
        place = f"{at}/agent_state" if isinstance(inner, dict) else at
        core = inner if isinstance(inner, dict) else state
        facts = {key: item for key, item in state.items() if key not in _LISTS and item is not None}
        if core is not state:
            facts |= {f"agent_state.{key}": item for key, item in core.items() if key not in _LISTS and item is not None}
        self._agent(name, facts, at)
        if nested := core.get("inner_team_state"):  # SocietyOfMindAgent
            self._add_nested(name, nested, f"{place}/inner_team_state")
        elif "agent_states" in core:  # a team that is a member itself
            self._add_nested(name, core, place)
        messages = _context(state)
        self.lay_over(
            [
                Entry(f"{place}/llm_context/messages/{index}", item, key_of_record(item, name), owner=name)
                for index, item in enumerate(messages)
            ]
        )
        buffer = state.get("message_buffer")
        self.lay_over(
            [
                Entry(f"{at}/message_buffer/{index}", item, key_of_record(item, None), holders=[name], spoken=True)
                for index, item in enumerate(buffer if isinstance(buffer, list) else ())
            ],
            holder=name,
        )

    def _add_nested(self, name: str, state: Any, at: str) -> None:
        """A team inside an agent: its agents are the agent's, its conversation stands before what the agent said of it."""
        if not isinstance(state, dict) or not isinstance(state.get("agent_states"), dict):
            self._keep(at, state)
            return
        inner = Team(self._builder, self._notes, parent=name, taken=self._taken | self._names)
        inner.add(state, at)
        rest = {key: item for key, item in state.items() if key != "agent_states" and item is not None}
        if rest:
            self._agent(name, {f"inner_team.{key}": item for key, item in rest.items()}, at)
        self.copied += inner.copied
        self.members |= inner.members
        said = [index for index, entry in enumerate(self.entries) if _source(entry.record) == name]
        place = said[-1] if said else len(self.entries)
        self.entries[place:place] = inner.entries

    def _agent(self, name: str, facts: dict[str, Any], at: str, *, participant: bool = True) -> None:
        if name in self._taken:  # names are names inside a team
            name = f"{self._parent}/{name}"
        if participant and self._names:  # a state of its own is of no team
            self.members.add(name)
        self._builder.agent(name, name=name, parent_agent_id=self._parent, extra=facts or None, participant=participant)
        if facts:
            self._notes.add("aside", at, f"{', '.join(facts)}, in `extra` of agent {name}")

    def _keep(self, at: str, value: Any) -> None:
        self._builder.extra.setdefault("records", []).append({"source_ref": at, "value": value})
        self._notes.add("aside", at, "no state of a known shape; kept whole in the trace's `extra`")

    def lay_over(self, others: list[Entry], holder: str | None = None) -> None:
        """Match a sequence against the conversation; what is new goes before the next match, or to the end.

        Of two records of one message the one that says more is kept.
        """
        placed: list[Entry] = []
        position = 0
        copies = 0
        for mine, theirs in matches([entry.key for entry in self.entries], [entry.key for entry in others]):
            placed += self.entries[position:mine]
            position = mine
            if theirs is None:
                continue
            entry, other = (self.entries[mine] if mine < len(self.entries) else None), others[theirs]
            if entry is None or entry.key != other.key:
                placed.append(other)
                continue
            copies += 1
            self.copied.append(other.record)
            receiver = holder or other.owner
            if receiver is not None and receiver != _source(entry.record) and receiver not in entry.holders:
                entry.holders.append(receiver)
            placed += self._thought(entry, other)
            if isinstance(other.record, dict) and len(other.record) > len(entry.record if isinstance(entry.record, dict) else ()):
                entry.ref, entry.record, entry.owner = other.ref, other.record, None
            placed.append(entry)
            position = mine + 1
        self.entries = placed + self.entries[position:]
        if copies:
            self._notes.add("copy", others[0].ref.rpartition("/")[0], f"messages that stand in the conversation already ({copies})")

    def _thought(self, entry: Entry, other: Entry) -> list[Entry]:
        """A thought that only the context has becomes a record before the message it led to."""
        thought = other.record.get("thought") if isinstance(other.record, dict) else None
        if not thought or any(isinstance(known.record, dict) and known.record.get("content") == thought for known in self.entries):
            return []
        record = {"type": "ThoughtEvent", "source": _source(entry.record), "content": thought}
        return [Entry(f"{other.ref}/thought", record, ("thought", other.ref))]


def matches(mine: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> Iterator[tuple[int, int | None]]:
    """Pairs of places, in order; a place of theirs that matches nothing comes with the place of mine before which it goes."""
    if len(mine) * len(theirs) > _LARGEST:
        mine = mine[-len(theirs) :] if len(mine) > len(theirs) else mine
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    done = 0
    for start, other, size in matcher.get_matching_blocks():
        yield from ((start, index) for index in range(done, other))
        yield from ((start + step, other + step) for step in range(size))
        done = other + size


def _context(state: Record) -> list[Any]:
    core = state.get("agent_state") if isinstance(state.get("agent_state"), dict) else state
    context = core.get("llm_context") if isinstance(core, dict) else None
    messages = context.get("messages") if isinstance(context, dict) else None
    return messages if isinstance(messages, list) else []


def _source(record: Any) -> str | None:
    source = record.get("source") if isinstance(record, dict) else None
    return source if isinstance(source, str) else None


def key_of_record(record: Any, owner: str | None) -> tuple[Any, ...]:
    """What is equal in all copies of one record: who and what was said, or the ids of calls."""
    if not isinstance(record, dict):
        return ("?", repr(record))
    kind, content = record.get("type"), record.get("content")
    ids = tuple(_ids(content)) if isinstance(content, list) else ()
    if kind in ("ToolCallRequestEvent", "AssistantMessage") and ids:
        return ("calls", *ids)
    if kind in ("ToolCallExecutionEvent", "FunctionExecutionResultMessage") and ids:
        return ("results", *ids)
    if kind == "SystemMessage" or (isinstance(kind, str) and kind.endswith("Event")):
        return (kind, owner, repr(record.get("id")), repr(content))
    return ("message", _source(record) or owner, content if isinstance(content, str) else repr(content))


def _ids(items: Iterable[Any]) -> Iterator[str]:
    for item in items:
        name = item.get("call_id", item.get("id")) if isinstance(item, dict) else None
        if isinstance(name, str):
            yield name
