"""Meaning, second part: what connects events. Artifacts, subtasks, links, and cycles among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agenttrace.analysis.validation.rules import Issue, issue

__all__ = ["Add", "Item", "Placed", "check_artifacts", "check_links", "check_subtasks", "find_cycle"]

Item = dict[str, Any]
Placed = list[tuple[int, Item]]
Add = Callable[[Issue], None]

_ENDED = frozenset({"completed", "failed", "cancelled"})


def check_artifacts(events: Placed, complete: bool, add: Add) -> None:
    """Artifact ids and versions, and the events that made them. ``complete``: no event was left out."""
    made = [(index, event["data"]) for index, event in events if event["data"]["type"] == "artifact"]
    place = {event["event_id"]: index for index, event in events} if made else {}
    seen: dict[tuple[str, Any], int] = {}
    for index, data in made:
        key = (data["artifact_id"], data.get("version"))
        if key in seen:
            message = f"Artifact {key[0]!r:.60} version {key[1]} stands at /events/{seen[key]} already."
            add(issue("duplicate_artifact", f"/events/{index}/data/artifact_id", message))
        seen.setdefault(key, index)
        origin = data.get("source_event_id")
        if origin is None or not complete:
            continue
        at = f"/events/{index}/data/source_event_id"
        if origin not in place:
            add(issue("unknown_event", at, f"There is no event {origin!r:.60}."))
        elif place[origin] >= index:
            add(issue("artifact_source", at, f"The event {origin!r:.60} does not stand before the artifact."))
    if complete:
        _named_artifacts(events, {data["artifact_id"] for _, data in made}, add)


def _named_artifacts(events: Placed, known: set[str], add: Add) -> None:
    for index, event in events:
        for number, name in enumerate(event["data"].get("output_artifact_ids") or ()):
            if name not in known:
                at = f"/events/{index}/data/output_artifact_ids/{number}"
                add(issue("unknown_artifact", at, f"There is no artifact {name!r:.60}."))


def check_subtasks(events: Placed, task: set[str | None] | None, complete: bool, add: Add) -> None:
    """Subtasks that are named exist, form a tree and no cycle, and do not go on after their end.

    ``task`` holds the id of the whole task; None when that is not known.
    """
    updates = [(index, event["data"]) for index, event in events if event["data"]["type"] == "subtask"]
    known = {data["subtask_id"] for _, data in updates}
    inside = {event.get("subtask_id") for _, event in events} - {None}
    if complete and not inside <= known:
        for index, event in events:
            name = event.get("subtask_id")
            if name is not None and name not in known:
                add(issue("unknown_subtask", f"/events/{index}/subtask_id", f"No update speaks of a subtask {name!r:.60}."))
    tasks = known | (task or set())
    first_at: dict[str, int] = {}
    ended: dict[str, str] = {}
    for index, data in updates:
        at, name, status = f"/events/{index}/data", data["subtask_id"], data.get("status")
        first_at.setdefault(name, index)
        parent = data.get("parent_task_id")
        if complete and task is not None and parent is not None and parent not in tasks:
            add(issue("unknown_subtask", f"{at}/parent_task_id", f"{parent!r:.60} is neither a subtask nor the task."))
        for number, other in enumerate(data.get("depends_on") or ()):
            if complete and other not in known:
                add(issue("unknown_subtask", f"{at}/depends_on/{number}", f"No update speaks of a subtask {other!r:.60}."))
        if status is not None and name in ended and status != ended[name]:
            add(issue("subtask_order", f"{at}/status", f"The subtask was {ended[name]} and is {status} again."))
        if status in _ENDED:
            ended[name] = status
    _subtask_cycles(updates, first_at, add)


def _subtask_cycles(updates: Placed, first_at: Mapping[str, int], add: Add) -> None:
    for key, word in (("parent_task_id", "parents"), ("depends_on", "prerequisites")):
        edges: dict[str, list[str]] = {}
        for _, data in updates:
            value = data.get(key)
            if value:
                edges.setdefault(data["subtask_id"], []).extend([value] if isinstance(value, str) else value)
        if edges and (cycle := find_cycle(edges)):
            at = f"/events/{first_at[cycle[0]]}/data/{key}"
            add(issue("subtask_cycle", at, f"Subtasks are each other's {word}: {' -> '.join(map(repr, cycle)):.200}."))


def find_cycle(edges: Mapping[str, Iterable[str]]) -> list[str] | None:
    """A cycle in a directed graph, as the nodes along it, or None. Iterative: depth is no risk."""
    finished: set[str] = set()
    for start in edges:
        if start in finished:
            continue
        path: list[str] = [start]
        on_path = {start}
        stack = [iter(edges[start])]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                finished.add(node := path.pop())
                on_path.discard(node)
            elif following in on_path:
                return [*path[path.index(following) :], following]
            elif following in edges and following not in finished:
                path.append(following)
                on_path.add(following)
                stack.append(iter(edges[following]))
    return None


def check_links(links: Placed, events: Placed, add: Add) -> None:
    """Both ends exist, forward, no self-links, no duplicates, ends of the right kind, explicit ones sure."""
    if not links:
        return
    # Of events with one id, the first is meant: the others are told already.
    place = {event["event_id"]: index for index, event in reversed(events)}
    data = {event["event_id"]: event["data"] for _, event in reversed(events)}
    seen: set[tuple[str, str, str]] = set()
    for index, link in links:
        at = f"/dependency_links/{index}"
        source, target, kind = link["source_event_id"], link["target_event_id"], link["dep_type"]
        start, end = place.get(source), place.get(target)
        if start is None or end is None:
            key, name = ("source_event_id", source) if start is None else ("target_event_id", target)
            add(issue("unknown_event", f"{at}/{key}", f"There is no event {name!r:.60}."))
            continue
        if start == end:
            add(issue("self_link", at, f"The link leads from event {source!r:.60} to itself."))
        elif start > end:
            add(issue("backward_link", at, f"The source /events/{start} stands behind the target /events/{end}."))
        if (source, target, kind) in seen:
            add(issue("duplicate_link", at, "The same link stands before."))
        seen.add((source, target, kind))
        _link_kind(kind, data[source]["type"], data[target]["type"], at, add)
        if link["origin"] == "explicit" and link.get("confidence") not in (None, 1):
            add(issue("explicit_confidence", f"{at}/confidence", "A link that the source states has confidence 1."))
        if field := _stated(source, data[source], data[target]):
            add(issue("repeated_edge", at, f"The target's {field} says this already."))


def _stated(source_id: str, source: Item, target: Item) -> str | None:
    """The field of the target that holds the edge from the source already, if one does."""
    if target.get("source_event_id") == source_id:
        return "source_event_id"
    name = source.get("subtask_id")
    if name is None or target["type"] != "subtask":
        return None
    if name in (target.get("depends_on") or ()):
        return "depends_on"
    return "parent_task_id" if target.get("parent_task_id") == name else None


def _link_kind(kind: str, source: str, target: str, at: str, add: Add) -> None:
    fits = {
        "receives_msg": source == "message",
        "trigger_toolcall": target == "tool_call",
        "spawn_subtask": "subtask" in (source, target),
    }.get(kind, True)
    if not fits:
        add(issue("link_kind", f"{at}/dep_type", f"{kind} does not lead from a {source} to a {target}."))
