"""``team.json`` of MetaGPT, and the single files of its older layout: a team, its roles and what they remember.

Facts from ``metagpt/team.py``, ``environment/base_env.py``, ``roles/role.py``, ``memory/memory.py``, ``schema.py``:

* ``env.roles`` is keyed by profile (to 0.8) or by name (main); ``env.history`` is the text of all messages
  (to 0.8.2) or a memory (main).
* A memory holds its messages in ``storage``; ``index`` has them again by ``cause_by``.
* What is in a role's memory was received by it, or is its own.
* A plan has its tasks in ``tasks`` and again in ``task_map``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.model import Usage
from agenttrace.notes import Notes
from agenttrace.readers.metagpt.history import lost_messages
from agenttrace.readers.metagpt.messages import Conversation, Item, identity_of, is_message, same_text
from agenttrace.readers.metagpt.plans import Tasks

__all__ = ["TeamReader", "fill_team", "is_team", "memory_ids"]

_ROLE_FACTS = ("name", "profile", "goal", "desc")
_LONG = 12  # characters from which on a text is unlikely to be the same by chance
_ID = re.compile(r"[0-9a-f]{32}")
_MEMORIES = ("memory", "working_memory", "news", "msg_buffer")


def is_team(value: Any) -> str | None:
    """``team`` for a team.json, ``role`` for a role, ``memory`` for a memory; None for anything else."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("env"), dict) and "idea" in value:
        return "team"
    if isinstance(value.get("env"), dict) and value["env"].keys() & {"roles", "history"}:
        return "team"
    if {"name", "profile", "goal", "actions"} <= value.keys():
        return "role"
    if isinstance(value.get("storage"), list) and isinstance(value.get("index"), dict):
        return "memory"
    return None


def fill_team(builder: TraceBuilder, notes: Notes, value: Item, at: str, kind: str, conversation: Conversation) -> None:
    """Fill a builder from a team, a role or a memory; the caller closes the conversation."""
    reader = TeamReader(builder, notes, conversation)
    if kind == "team":
        reader.team(value, at)
    elif kind == "role":
        reader.role("", value, at)
    else:
        reader.remember(value, at, None)
    reader.close()


class TeamReader:
    """Takes what a team has, part by part, and adds what was said when it is closed."""

    def __init__(self, builder: TraceBuilder, notes: Notes, conversation: Conversation) -> None:
        self._builder = builder
        self._notes = notes
        self._conversation = conversation
        self._memories: list[tuple[str, str | None, list[tuple[str, Any]]]] = []  # place, role, messages with places
        self._plans: list[tuple[str, str | None, Any]] = []
        self._history: tuple[str, str] | None = None
        self._facts: tuple[str, Item] | None = None

    def team(self, value: Item, at: str) -> None:
        """A whole team."""
        env = value["env"]
        idea = value.get("idea")
        roles = env.get("roles")
        for key, role in roles.items() if isinstance(roles, dict) else ():
            if isinstance(role, dict):
                self.role(key, role, at + pointer("env", "roles", key))
        history = env.get("history")
        if isinstance(history, dict):
            self._memories.insert(0, self._memory(history, f"{at}/env/history", None))
        elif isinstance(history, str):
            self.history(f"{at}/env/history", history)
        context = value.get("context")
        manager = context.get("cost_manager") if isinstance(context, dict) else None
        rest = {key: item for key, item in value.items() if key not in ("env", "idea") and item is not None}
        rest |= {f"env.{key}": item for key, item in env.items() if key not in ("roles", "history") and item not in (None, "")}
        odd = {
            "idea": not isinstance(idea, str),
            "env.roles": not isinstance(roles, dict),
            "env.history": not isinstance(history, dict | str),
        }
        stated = {"idea": idea, "env.roles": roles, "env.history": history}
        rest |= {key: stated[key] for key, is_odd in odd.items() if is_odd and stated[key] is not None}
        self._builder.meta(task=idea if isinstance(idea, str) else None, usage=_total(manager))
        self._facts = (at, rest)

    def history(self, at: str, text: str) -> None:
        """The text of all messages."""
        self._history = (at, text)

    def role(self, key: str, value: Item, at: str) -> str:
        """A role: an agent, its memory and its plan. Returns the agent's id."""
        name, profile = str(value.get("name") or ""), str(value.get("profile") or "")
        self._conversation.introduce(f"{name}({profile})")
        agent_id = self._conversation.agent(f"{name}({profile})")
        facts = {key: item for key, item in value.items() if key not in (*_ROLE_FACTS, "rc", "planner", "latest_observed_msg")}
        rc = value.get("rc")
        rc = rc if isinstance(rc, dict) else {}
        facts |= {f"rc.{key}": item for key, item in rc.items() if key not in _MEMORIES}
        config = {key: item for key, item in facts.items() if item not in (None, "", [], {})}
        self._builder.agent(
            agent_id,
            description=str(value["goal"]) if value.get("goal") else None,
            config={**config, **({"profile": profile} if profile else {}), **({"desc": value["desc"]} if value.get("desc") else {})},
        )
        for alias in (key, name, value.get("__module_class_name")):
            if isinstance(alias, str):
                self._conversation.alias(alias, agent_id)
        for field in _MEMORIES:
            memory = rc.get(field)
            if isinstance(memory, dict) and "storage" in memory:
                self._memories.append(self._memory(memory, f"{at}/rc/{field}", agent_id))
        latest = value.get("latest_observed_msg")
        if isinstance(latest, dict) and latest:  # an exception takes the newest message out of the memory; it is still here
            self._memories.append((f"{at}/latest_observed_msg", agent_id, [(f"{at}/latest_observed_msg", latest)]))
        planner = value.get("planner")
        if isinstance(planner, dict):
            self._plans.append((f"{at}/planner/plan", agent_id, planner.get("plan")))
            memory = planner.get("working_memory")
            if isinstance(memory, dict) and memory.get("storage"):
                self._memories.append(self._memory(memory, f"{at}/planner/working_memory", agent_id))
        return agent_id

    def remember(self, value: Item, at: str, agent_id: str | None) -> None:
        """A memory of its own."""
        self._memories.append(self._memory(value, at, agent_id))

    def _memory(self, memory: Item, at: str, agent_id: str | None) -> tuple[str, str | None, list[tuple[str, Any]]]:
        storage = memory.get("storage")
        if storage is not None and not isinstance(storage, list):
            self._builder.extra.setdefault("records", []).append({"source_ref": f"{at}/storage", "value": storage})
            self._notes.add("aside", f"{at}/storage", "no list of messages; kept whole in the trace's `extra`")
        found = [(f"{at}/storage/{place}", item) for place, item in enumerate(storage if isinstance(storage, list) else ())]
        known = {identity for _, item in found if (identity := identity_of(item)) is not None}
        index = memory.get("index")
        lost = []
        for cause, items in index.items() if isinstance(index, dict) else ():
            for place, item in enumerate(items if isinstance(items, list) else ()):
                if is_message(item) and identity_of(item) not in known:  # storage was cut, or loses what the index keeps
                    lost.append((at + pointer("index", cause, place), item))
        copies = sum(len(items) for items in index.values() if isinstance(items, list)) - len(lost) if isinstance(index, dict) else 0
        if copies:
            self._notes.add("copy", f"{at}/index", f"messages of the storage by the action that caused them ({copies})")
        return at, agent_id, found + lost

    def close(self) -> None:
        """Lay the memories over each other and add what was said."""
        kept_back = self._kept_back()
        for ref, item in _merged([items for _, _, items in self._memories]):
            if is_message(item):
                published = identity_of(item) not in kept_back
                self._conversation.add(item, ref, published=published)
                if not published:
                    self._notes.add("derived", ref, "only its author remembers it, so it was not published: no receivers")
            elif identity_of(item) in self._conversation.events:  # cut, but known from elsewhere
                self._notes.add("copy", ref, f"message {item['id']} again, cut")
            else:
                self._builder.extra.setdefault("records", []).append({"source_ref": ref, "value": item})
                self._notes.add("aside", ref, "no message of a known shape; kept whole in the trace's `extra`")
        events = self._conversation.events
        for at, agent_id, items in self._memories:
            held = [events[identity] for _, item in items if is_message(item) and (identity := identity_of(item)) in events]
            if agent_id is not None:
                for event_id in held:
                    self._builder.receive(event_id, [agent_id])
            if held:
                self._notes.add("copy", at or None, f"messages that other memories hold, too, or that this one gives ({len(held)})")
        if self._history is not None:
            self._read_history(*self._history)
        plans = [(at, agent_id, plan) for at, agent_id, plan in self._plans if isinstance(plan, dict) and plan.get("tasks")]
        for at, agent_id, plan in plans:  # the ids of tasks are those of one plan
            self._plan(at, agent_id, plan, f"{agent_id}/" if len(plans) > 1 else "")
        if self._facts is not None:
            self._keep_facts(*self._facts)

    def _kept_back(self) -> set[str]:
        """The ids of messages that a role only put into its own memory; unknown where the memories of fewer than two roles are there."""
        holders: dict[str, set[str | None]] = {}
        for _, agent_id, items in self._memories:
            for identity in {identity_of(item) for _, item in items} - {None}:
                holders.setdefault(str(identity), set()).add(agent_id)
        if len({agent_id for _, agent_id, items in self._memories if agent_id is not None and items}) < 2:
            return set()
        told = "".join(self._history[1].split()) if self._history is not None else ""
        found: set[str] = set()
        for _, agent_id, items in self._memories:
            for _, item in items:
                identity = identity_of(item)
                if identity is None or holders[identity] != {agent_id} or agent_id is None or identity in self._conversation.events:
                    continue
                content = item.get("content")
                named = self._conversation.sender_of(item) if is_message(item) else None
                if isinstance(content, str) and named is not None and self._conversation.resolve(named) == agent_id:
                    found |= {identity} if "".join(content.split()) not in told else set()
        return found

    def _keep_facts(self, at: str, facts: Item) -> None:
        """What a team has beside its roles, less the texts that messages have, too."""
        kept = _without(facts, _texts_in([self._conversation.instructed, list(self._conversation.said)]))
        if kept != facts:
            self._notes.add("copy", at or None, "texts of messages in what the team has beside its roles")
        self._builder.meta(extra=kept)
        for key in kept:
            self._notes.add("aside", at or None, f"{key}, in `meta.extra`")

    def _read_history(self, at: str, text: str) -> None:
        """The text of all messages: where the memories have them, a copy; what they lack is kept."""
        lost = lost_messages(text, self._conversation)
        for told in lost:
            sender = self._conversation.agent(told.label) if told.label is not None else None
            ref = f"{at}/line:{told.line + 1}"
            event_id = self._builder.message(sender, told.text, kind="chat" if sender is not None else "log", source_ref=ref)
            self._notes.add("derived", ref, "stands in no memory: a message of its own, behind those that do", event_id)
        if not lost:
            self._notes.add("copy", at, "the text of the messages")

    def _plan(self, at: str, agent_id: str | None, plan: Item, prefix: str) -> None:
        """A plan: a subtask for each task, with what it depends on."""
        tasks = plan["tasks"]
        stated = [(place, task) for place, task in enumerate(tasks) if isinstance(task, dict)] if isinstance(tasks, list) else []
        stated = [(place, task) for place, task in stated if task.get("task_id") is not None]
        subtasks = Tasks(self._builder, self._notes, [task for _, task in stated], prefix)
        for place, task in stated:
            assignee = task.get("assignee")
            named = assignee if isinstance(assignee, str) and assignee else None
            assigned_to = self._conversation.agent(self._conversation.resolve(named)) if named is not None else None
            subtasks.add(task, _status(task), {"source_ref": f"{at}/tasks/{place}"}, agent=agent_id, assigned_to=assigned_to)
        rest = {key: item for key, item in plan.items() if key not in ("tasks", "task_map") and item not in (None, "")}
        said = [key for key, item in rest.items() if isinstance(item, str) and item in self._conversation.said]
        for key in said:
            self._notes.add("copy", f"{at}/{key}", "the text of a message")
            del rest[key]
        if rest:
            self._builder.extra.setdefault("plans", []).append({"source_ref": at, **rest})
        self._notes.add("copy", f"{at}/task_map", "the tasks by their ids")


def _status(task: Item) -> str:
    """What a task says of itself; one that is finished may say whether it succeeded."""
    if not task.get("is_finished"):
        return "created"
    return "failed" if task.get("is_success") is False else "completed"


def _texts_in(value: Any) -> set[str]:
    """The longer texts in a JSON tree."""
    found: set[str] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            found |= {item} if len(item) >= _LONG else set()
        stack += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return found


def _without(value: Any, known: set[str], depth: int = 6) -> Any:
    """A JSON tree of a few levels without the texts that are known."""
    if isinstance(value, dict) and depth:
        return {key: _without(item, known, depth - 1) for key, item in value.items() if not (isinstance(item, str) and item in known)}
    return value


def memory_ids(value: Any) -> set[str]:
    """The ids of all messages in a JSON tree."""
    found: set[str] = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if (identity := identity_of(item)) is not None and _ID.fullmatch(identity):  # of a cut one, too
            found.add(identity)
        stack += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return found


def _merged(memories: list[list[tuple[str, Any]]]) -> Iterator[tuple[str, Any]]:
    """The orders of several memories as one: what only one of them has goes behind what stands before it there."""
    behind: dict[str | None, list[tuple[str, Any]]] = {}  # id -> what was put behind the message, the latest first
    known: dict[str, Any] = {}
    for items in memories:
        last: str | None = None
        new: list[tuple[str, Any]] = []
        for ref, item in items:
            identity = identity_of(item)
            if identity in known and same_text(item.get("content"), known[identity]):
                behind.setdefault(last, []).extend(reversed(new))
                last, new = identity, []
            else:
                new.append((ref, item))
                if identity is not None:
                    known.setdefault(identity, item.get("content"))
        behind.setdefault(last, []).extend(reversed(new))
    waiting = behind.pop(None, [])
    while waiting:
        ref, item = waiting.pop()
        yield ref, item
        if (identity := identity_of(item)) is not None:
            waiting += behind.pop(identity, ())


def _total(manager: Any) -> Usage | None:
    """The totals of a cost manager, which main keeps as JSON in a text."""
    if isinstance(manager, str):
        try:
            manager = orjson.loads(manager)
        except orjson.JSONDecodeError:
            return None
    if not isinstance(manager, dict):
        return None
    figures: dict[str, Any] = {}
    for name, key in (("total_prompt_tokens", "prompt_tokens"), ("total_completion_tokens", "completion_tokens")):
        if type(manager.get(name)) is int:
            figures[key] = manager[name]
    if type(manager.get("total_cost")) in (int, float):
        figures["cost_usd"] = manager["total_cost"]
    return Usage(**figures) if figures else None
