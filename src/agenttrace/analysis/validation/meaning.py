"""Meaning: what the format page asks and a schema cannot say.

Each rule first screens the whole trace with set and list operations, which cost
some tens of nanoseconds an event, and looks for the places only where the screen
finds something. Parts that the structure check refused are left out, so that one
fault is told once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agenttrace.analysis.validation.rules import Issue, issue
from agenttrace.analysis.validation.trees import Add, Item, Placed, check_artifacts, check_links, check_subtasks, find_cycle
from agenttrace.times import order_key, parse_time

__all__ = ["check_meaning"]


class _View:
    """The sound parts of a document, and where they stand."""

    def __init__(self, document: Item, broken: Mapping[str, set[str]]) -> None:
        self.events, self.at = _sound(document, "events", broken)
        self.agents, self.agents_at = _sound(document, "agent_instances", broken)
        self.links, self.links_at = _sound(document, "dependency_links", broken)
        meta = document.get("meta")
        refused = broken.get("meta", set())
        self.meta: Item = {} if not isinstance(meta, dict) else {key: value for key, value in meta.items() if key not in refused}
        self.annotations: list[Item] = self.meta.get("annotations") or []
        self.task_known = "" not in refused and "task_id" not in refused
        self.whole = "events" not in broken
        self.whole_cast = "agent_instances" not in broken
        self.data: list[Item] = [event["data"] for event in self.events]
        kinds = [data["type"] for data in self.data]
        self.messages = [data for data, kind in zip(self.data, kinds, strict=True) if kind == "message"]
        self.calls = [place for place, kind in enumerate(kinds) if kind == "tool_call"]  # places in `events` and `data`
        self.rare = len(self.messages) + len(self.calls) < len(self.data)
        self.receivers = set(map(tuple, [message["receiver_ids"] for message in self.messages]))
        self.stamps: list[str | None] = [event.get("timestamp") for event in self.events]
        self.ends: list[str | None] = [self.data[place].get("completed_at") for place in self.calls]

    def placed(self) -> Placed:
        """Events with their indices."""
        return list(zip(self.at, self.events, strict=True))


def check_meaning(document: Any, structural: Iterable[Issue]) -> list[Issue]:
    """All breaches of meaning in a decoded document whose structural issues are known."""
    structural = list(structural)
    if not isinstance(document, dict) or any(found.code == "too_deep" for found in structural):
        return []
    broken = _broken(structural)
    for key, kind in (("meta", dict), ("agent_instances", list), ("events", list), ("dependency_links", list)):
        if not isinstance(document.get(key), kind):
            broken.setdefault(key, set()).add("")
    view = _View(document, broken)
    issues: list[Issue] = []
    add = issues.append
    _ids(view.agents, view.agents_at, "agent_id", "duplicate_agent_id", "/agent_instances", add)
    _ids(view.events, view.at, "event_id", "duplicate_event_id", "/events", add)
    _actors(view, add)
    _annotations(view, add)
    _agent_tree(view, add)
    _order(view, add)
    _clocks(view, add)
    _turns(view, add)
    _messages(view, add)
    _calls(view, add)
    _profiling(view, add)
    if view.rare or any("subtask_id" in event for event in view.events):
        check_artifacts(view.placed(), view.whole, add)
        check_subtasks(view.placed(), {view.meta.get("task_id")} if view.task_known else None, view.whole, add)
    if view.links and view.whole:
        check_links(list(zip(view.links_at, view.links, strict=True)), view.placed(), add)
    return issues


def _broken(structural: Iterable[Issue]) -> dict[str, set[str]]:
    """Per top-level key, the items that structure refused; ``""`` for the whole list."""
    broken: dict[str, set[str]] = {}
    for found in structural:
        if found.code == "unknown_key":
            continue
        top, _, rest = found.pointer.lstrip("/").partition("/")
        if found.code == "missing_key" and not found.pointer:
            continue
        broken.setdefault(top, set()).add(rest.partition("/")[0])
    return broken


def _sound(document: Item, key: str, broken: Mapping[str, set[str]]) -> tuple[list[Item], Sequence[int]]:
    items = document.get(key)
    refused = broken.get(key)
    if not isinstance(items, list) or (refused and "" in refused):
        return [], ()
    if not refused:
        return items, range(len(items))
    kept = [index for index in range(len(items)) if str(index) not in refused]
    return [items[index] for index in kept], kept


def _ids(items: list[Item], at: Sequence[int], key: str, code: str, where: str, add: Add) -> None:
    names = [item[key] for item in items]
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for index, name in zip(at, names, strict=True):
        if name in seen:
            add(issue(code, f"{where}/{index}/{key}", f"{key} {name!r:.60} stands at {where}/{seen[name]} already."))
        seen.setdefault(name, index)


# -- who and what is named ---------------------------------------------------------


def _actors(view: _View, add: Add) -> None:
    """Everybody who is named is known; agent_id is the sender or the caller."""
    agents = [event.get("agent_id") for event in view.events]
    actors = [data.get("sender_id") or data.get("caller_id") for data in view.data]
    if agents != actors:
        for index, agent, actor in zip(view.at, agents, actors, strict=True):
            if agent != actor and agent is not None and actor is not None:
                add(issue("actor_mismatch", f"/events/{index}/agent_id", f"agent_id is {agent!r:.60}, the sender or caller {actor!r:.60}."))
    if not view.whole_cast:
        return
    known = {agent["agent_id"] for agent in view.agents}
    named = set(agents)
    named.update(actors)
    named.update(*view.receivers)
    named.update([view.data[place].get("executor_id") for place in view.calls])
    named.update([note.get("agent_id") for note in view.annotations])
    named.update([agent.get("parent_agent_id") for agent in view.agents])
    if view.rare:
        named.update(*[data.get("assigned_to") or () for data in view.data])
    if strange := named - known - {None}:
        for at, name in _where_named(view):
            if name in strange:
                add(issue("unknown_agent", at, f"{name!r:.60} is none of agent_instances."))


def _where_named(view: _View) -> Iterator[tuple[str, Any]]:
    for index, agent in zip(view.agents_at, view.agents, strict=True):
        yield f"/agent_instances/{index}/parent_agent_id", agent.get("parent_agent_id")
    for index, note in enumerate(view.annotations):
        yield f"/meta/annotations/{index}/agent_id", note.get("agent_id")
    for index, event in view.placed():
        at, data = f"/events/{index}", event["data"]
        yield f"{at}/agent_id", event.get("agent_id")
        for key in ("sender_id", "caller_id", "executor_id"):
            yield f"{at}/data/{key}", data.get(key)
        for key in ("receiver_ids", "assigned_to"):
            for number, name in enumerate(data.get(key) or ()):
                yield f"{at}/data/{key}/{number}", name


def _annotations(view: _View, add: Add) -> None:
    if not view.whole or not view.annotations:
        return
    known = {event["event_id"] for event in view.events}
    for index, note in enumerate(view.annotations):
        name = note.get("event_id")
        if isinstance(name, str) and name not in known:
            add(issue("unknown_event", f"/meta/annotations/{index}/event_id", f"There is no event {name!r:.60}."))


def _agent_tree(view: _View, add: Add) -> None:
    parents = {agent["agent_id"]: [agent["parent_agent_id"]] for agent in view.agents if agent.get("parent_agent_id")}
    if parents and (cycle := find_cycle(parents)):
        place = next(index for index, agent in zip(view.agents_at, view.agents, strict=True) if agent["agent_id"] == cycle[0])
        at = f"/agent_instances/{place}/parent_agent_id"
        add(issue("agent_cycle", at, f"Agents are each other's parents: {' -> '.join(map(repr, cycle)):.200}."))


# -- times ----------------------------------------------------------------------------


def _order(view: _View, add: Add) -> None:
    stamps = view.stamps
    if None in stamps:
        stamps = [stamp or data.get("completed_at") for stamp, data in zip(stamps, view.data, strict=True)]
    told = [stamp for stamp in stamps if stamp]
    if len({len(stamp) for stamp in told}) > 1:
        told = [order_key(stamp) for stamp in told]
    if told == sorted(told):
        return
    latest = ""
    for index, stamp in zip(view.at, stamps, strict=True):
        if stamp:
            key = order_key(stamp)
            if key < latest:
                add(issue("event_order", f"/events/{index}", f"The event at {stamp} stands behind a later one."))
            latest = max(latest, key)


def _clocks(view: _View, add: Add) -> None:
    """Times are of the calendar, of one kind (with or without a zone), and ends come after starts."""
    others = dict(_other_times(view))
    times = {text for text in {*view.stamps, *view.ends, *others.values()} if text is not None}
    zones = {text[-1] == "Z" for text in times}
    bad = {date for date in {text[:10] for text in times} if parse_time(f"{date}T00:00:00Z") is None}
    if bad or len(zones) > 1:
        _place_times(view, bad, len(zones) > 1, add)
    for first, last in (("/meta/start_time", "/meta/end_time"), *_lifecycles(view)):
        if first in others and last in others and order_key(others[last]) < order_key(others[first]):
            add(issue("time_reversed", last, f"{others[last]} is before {others[first]}."))
    for place, done in zip(view.calls, view.ends, strict=True):
        start = view.stamps[place]
        if done is None or start is None:
            continue
        if done < start if len(done) == len(start) else order_key(done) < order_key(start):
            add(issue("time_reversed", f"/events/{view.at[place]}/data/completed_at", f"{done} is before {start}."))


def _other_times(view: _View) -> Iterator[tuple[str, str]]:
    for key in ("start_time", "end_time"):
        if view.meta.get(key):
            yield f"/meta/{key}", view.meta[key]
    for index, agent in zip(view.agents_at, view.agents, strict=True):
        lifecycle = agent.get("lifecycle") or {}
        for key in ("started_at", "ended_at"):
            if lifecycle.get(key):
                yield f"/agent_instances/{index}/lifecycle/{key}", lifecycle[key]


def _lifecycles(view: _View) -> Iterator[tuple[str, str]]:
    for index in view.agents_at:
        at = f"/agent_instances/{index}/lifecycle"
        yield f"{at}/started_at", f"{at}/ended_at"


def _place_times(view: _View, bad: set[str], mixed: bool, add: Add) -> None:
    placed = list(_other_times(view))
    for index, event in view.placed():
        for at, text in (
            (f"/events/{index}/timestamp", event.get("timestamp")),
            (f"/events/{index}/data/completed_at", event["data"].get("completed_at")),
        ):
            if text:
                placed.append((at, text))
    for at, text in placed:
        if text[:10] in bad:
            add(issue("bad_date", at, f"{text!r:.60} is no time of the calendar."))
    if mixed:
        naive = next(at for at, text in placed if not text.endswith("Z"))
        add(issue("mixed_times", naive, "A time without a zone stands beside times with one."))


# -- turns, messages, calls, profiling -------------------------------------------------


def _turns(view: _View, add: Add) -> None:
    turns = [turn for event in view.events if (turn := event.get("turn_id")) is not None]
    if len(set(turns)) == len(turns):
        return
    first: dict[str, tuple[int, Any]] = {}
    several = {turn for turn, count in Counter(turns).items() if count > 1}
    for index, event in zip(view.at, view.events, strict=True):
        turn = event.get("turn_id")
        if turn is None or turn not in several:
            continue
        if turn not in first:
            first[turn] = (index, event.get("agent_id"))
            continue
        at, agent = first[turn]
        if event.get("agent_id") != agent:
            add(issue("turn_agents", f"/events/{index}/agent_id", f"The turn began at /events/{at} with agent {agent!r:.60}."))
        for key in ("reasoning", "raw_response", "usage"):
            if event.get(key) is not None:
                add(issue("turn_repeats", f"/events/{index}/{key}", f"{key} belongs on the first event of the turn, /events/{at}."))


_HOLDS = {"text": ("text",), "data": ("value",)}


def _messages(view: _View, add: Add) -> None:
    twice = any(len(set(ids)) < len(ids) for ids in view.receivers)
    if not twice and list not in set(map(type, [message.get("content") for message in view.messages])):
        return
    for index, data in zip(view.at, view.data, strict=True):
        ids, content = data.get("receiver_ids") or (), data.get("content")
        if data["type"] == "message" and len(set(ids)) < len(ids):
            add(issue("duplicate_receiver", f"/events/{index}/data/receiver_ids", "A receiver stands twice."))
        for number, part in enumerate(content if data["type"] == "message" and isinstance(content, list) else ()):
            wanted = _HOLDS.get(part["kind"], ("uri", "data", "text"))
            if all(part.get(key) is None for key in wanted):
                at = f"/events/{index}/data/content/{number}"
                add(issue("empty_part", at, f"A part of kind {part['kind']} has no {' or '.join(wanted)}."))


def _calls(view: _View, add: Add) -> None:
    for place in view.calls:
        data = view.data[place]
        if data.get("error") is not None and data.get("status") == "success":
            add(issue("status_conflict", f"/events/{view.at[place]}/data/error", "A call with status success has an error."))


def _profiling(view: _View, add: Add) -> None:
    if not any("profiling" in event for event in view.events):
        return
    for index, event in view.placed():
        profile = event.get("profiling") or {}
        status = (profile.get("execution_result") or {}).get("status")
        done = profile.get("executed_at")
        if (status in ("skipped", "cancelled") and done) or (status == "completed" and not done):
            at = f"/events/{index}/profiling/executed_at"
            add(issue("profiling_conflict", at, f"The execution is {status} and executed_at is {done!r:.40}."))
