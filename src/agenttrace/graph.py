"""EventGraph: why events happened, as a directed graph over the events of a trace.

Edges are the trace's dependency links and what fields say already: an artifact comes
from its ``source_event_id``, a subtask from its parent and from what it ``depends_on``.
Links of a valid trace point forward in the order of events, so that the order itself is
topological and one comparison an edge proves it; traces that break the rule are handled
too, with their cycles named.

Inside, events are numbers and edges two flat lists; neighbours are laid out once, when
the first question needs them (compressed sparse rows). See ``benchmarks/graph.py``.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from functools import cached_property
from itertools import accumulate, repeat
from operator import attrgetter, lt
from typing import TYPE_CHECKING, Any, NamedTuple

from agenttrace.errors import MissingExtra, UsageError
from agenttrace.model import Artifact, DependencyLink, Event, Message, SubtaskUpdate, ToolCall, Trace

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Edge", "EventGraph"]

_EVENT_ID, _DATA = attrgetter("event_id"), attrgetter("data")
_SOURCE_ID, _TARGET_ID = attrgetter("source_event_id"), attrgetter("target_event_id")
_WITHOUT_EDGES = frozenset({Message, ToolCall})
_ENDED = frozenset({"completed", "failed", "cancelled"})


class Edge(NamedTuple):
    """One edge: the target depends on the source. ``link`` is None for an edge that a field holds."""

    source_id: str
    target_id: str
    dep_type: str
    link: DependencyLink | None


class EventGraph:
    """The events of a trace and what each depends on.

    Args:
        trace: the trace; it is not copied.
        dep_types: keep only edges of these types; all when None.

    Links whose ends are no events of the trace are left out.
    """

    def __init__(self, trace: Trace, dep_types: Collection[str] | None = None) -> None:
        self.events = trace.events
        # Attributes are read by map: a large part of building is this loop, and a loop in C takes half the time.
        self._ids = list(map(_EVENT_ID, self.events))
        place: dict[str, int] = dict(zip(self._ids, range(len(self._ids)), strict=True))
        if len(place) < len(self._ids):  # of events with one id, the first counts
            place = dict(zip(reversed(self._ids), range(len(self._ids) - 1, -1, -1), strict=True))
        self._place = place
        links = trace.dependency_links if dep_types is None else [link for link in trace.dependency_links if link.dep_type in dep_types]
        sources = list(map(place.get, map(_SOURCE_ID, links), repeat(-1)))
        targets = list(map(place.get, map(_TARGET_ID, links), repeat(-1)))
        if -1 in sources or -1 in targets:
            whole = [index for index in range(len(links)) if sources[index] >= 0 <= targets[index]]
            links = [links[index] for index in whole]
            sources, targets = ([side[index] for index in whole] for side in (sources, targets))
        plain = set(map(type, map(_DATA, self.events))) <= _WITHOUT_EDGES
        fields = [] if plain else [edge for edge in _field_edges(self.events, place) if dep_types is None or edge[2] in dep_types]
        # Per edge: its link, or the type of an edge that a field holds.
        self._facts: list[DependencyLink | str] = [*links, *(dep_type for _, _, dep_type in fields)]
        sources += [start for start, _, _ in fields]
        targets += [end for _, end, _ in fields]
        self._net = _Net(len(self._ids), sources, targets)

    def __len__(self) -> int:
        return len(self.events)

    def __contains__(self, event_id: object) -> bool:
        return event_id in self._place

    def edges(self) -> Iterator[Edge]:
        """All edges: the links in their order, then those that fields hold."""
        ids, net = self._ids, self._net
        for start, end, fact in zip(net.sources, net.targets, self._facts, strict=True):
            yield Edge(ids[start], ids[end], _type_of(fact), None if isinstance(fact, str) else fact)

    # -- questions -------------------------------------------------------------------

    def ancestors(self, event_id: str, dep_types: Collection[str] | None = None) -> list[str]:
        """The events that an event depends on, directly or not, in the order of events.

        Raises UsageError when the trace has no such event.
        """
        return self._reach(event_id, dep_types, backwards=True)

    def descendants(self, event_id: str, dep_types: Collection[str] | None = None) -> list[str]:
        """The events that depend on an event, directly or not, in the order of events. Raises like :meth:`ancestors`."""
        return self._reach(event_id, dep_types, backwards=False)

    def is_forward(self) -> bool:
        """Whether every edge points forward in the order of events: one pass, and proof that there is no cycle."""
        return self._net.is_forward()

    def order(self) -> list[str]:
        """All events so that each stands behind what it depends on: the trace's own order where that is one.

        Raises UsageError when there is no such order, because of a cycle.
        """
        return [self._ids[node] for node in self._order()]

    def cycles(self) -> list[list[str]]:
        """Cycles that share no event, until none is left; empty for a valid trace."""
        if self.is_forward():
            return []
        left = set(range(len(self._ids))) - set(self._net.topological())
        return [[self._ids[node] for node in cycle] for cycle in self._net.cycles(left)]

    def longest_chain(self) -> list[str]:
        """The longest chain of events of which each depends on the one before; of several, one that ends first.

        Raises UsageError when there is a cycle.
        """
        return [self._ids[node] for node in self._net.longest_chain(self._order())]

    def subgraph(self, event_ids: Iterable[str]) -> EventGraph:
        """The graph of some events and the edges among them. Raises like :meth:`ancestors`."""
        wanted = sorted({self._index(event_id) for event_id in event_ids})
        new = dict(zip(wanted, range(len(wanted)), strict=True))
        part = copy(self)
        part.events = tuple(self.events[node] for node in wanted)
        part._ids = [self._ids[node] for node in wanted]  # noqa: SLF001 - of the same class
        part._place = {event_id: index for index, event_id in enumerate(part._ids)}  # noqa: SLF001
        net = self._net
        inside = [index for index in range(len(net.sources)) if net.sources[index] in new and net.targets[index] in new]
        part._facts = [self._facts[index] for index in inside]  # noqa: SLF001
        starts, ends = ([new[side[index]] for index in inside] for side in (net.sources, net.targets))
        part._net = _Net(len(wanted), starts, ends)  # noqa: SLF001
        return part

    def to_networkx(self) -> nx.MultiDiGraph:
        """The same graph for networkx.

        Nodes are event ids with ``type``, ``agent``, ``timestamp``, ``turn_id``, ``index`` and the
        ``event`` itself; edges are keyed by ``dep_type`` and carry ``origin``, ``confidence``, ``evidence``
        (an edge that a field holds: origin ``explicit``, confidence 1.0).

        Raises MissingExtra when networkx is not installed.
        """
        try:
            import networkx as nx  # noqa: PLC0415 - optional
        except ImportError:
            reason = "to_networkx needs networkx, which is not installed"
            raise MissingExtra("missing_extra", None, None, reason, "pip install 'agenttrace-suite[graph]'") from None
        graph = nx.MultiDiGraph()
        for index, event in enumerate(self.events):
            kind = event.data.__struct_config__.tag
            node = {"type": kind, "agent": event.agent_id, "timestamp": event.timestamp, "turn_id": event.turn_id}
            graph.add_node(event.event_id, index=index, event=event, **node)
        for edge in self.edges():
            link = edge.link
            facts: dict[str, Any] = {"origin": "explicit", "confidence": 1.0, "evidence": None}
            if link is not None:
                facts = {"origin": link.origin, "confidence": link.confidence, "evidence": link.evidence}
            graph.add_edge(edge.source_id, edge.target_id, key=edge.dep_type, dep_type=edge.dep_type, **facts)
        return graph

    def _index(self, event_id: str) -> int:
        if event_id not in self._place:
            raise UsageError("usage", None, None, f"the trace has no event {event_id!r:.60}", "`agenttrace query` lists events")
        return self._place[event_id]

    def _reach(self, event_id: str, dep_types: Collection[str] | None, *, backwards: bool) -> list[str]:
        net = self._net
        if dep_types is not None:
            kept = [index for index, fact in enumerate(self._facts) if _type_of(fact) in dep_types]
            net = _Net(net.count, *([side[index] for index in kept] for side in (net.sources, net.targets)))
        return [self._ids[node] for node in sorted(net.reach(self._index(event_id), backwards=backwards))]

    def _order(self) -> Sequence[int]:
        if self.is_forward():
            return range(len(self._ids))
        order = self._net.topological()
        if len(order) < len(self._ids):
            raise UsageError("usage", None, None, "the events depend on each other in a cycle", "EventGraph.cycles() names it")
        return order


class _Net:
    """Numbered nodes and two flat lists of edges; neighbours are laid out when they are first asked for."""

    def __init__(self, count: int, sources: list[int], targets: list[int]) -> None:
        self.count = count
        self.sources = sources
        self.targets = targets

    @cached_property
    def before(self) -> tuple[list[int], array[int]]:
        """Where the row of each node starts, and what the nodes depend on, row behind row."""
        return _rows(self.count, self.targets, self.sources)

    @cached_property
    def after(self) -> tuple[list[int], array[int]]:
        """Where the row of each node starts, and what depends on the nodes, row behind row."""
        return _rows(self.count, self.sources, self.targets)

    def is_forward(self) -> bool:
        return all(map(lt, self.sources, self.targets))

    def reach(self, start: int, *, backwards: bool) -> set[int]:
        starts, neighbours = self.before if backwards else self.after
        seen = {start}
        stack = [start]
        while stack:
            node = stack.pop()
            for other in neighbours[starts[node] : starts[node + 1]]:
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        seen.discard(start)
        return seen

    def topological(self) -> list[int]:
        """Kahn's algorithm; what is in or behind a cycle is missing."""
        starts, neighbours = self.after
        waiting = [0] * self.count
        for target in self.targets:
            waiting[target] += 1
        ready = [node for node, number in enumerate(waiting) if not number]
        for node in ready:
            for other in neighbours[starts[node] : starts[node + 1]]:
                waiting[other] -= 1
                if not waiting[other]:
                    ready.append(other)
        return ready

    def longest_chain(self, order: Sequence[int]) -> list[int]:
        starts, neighbours = self.before
        length = [1] * self.count
        previous = [-1] * self.count
        for node in order:
            for other in neighbours[starts[node] : starts[node + 1]]:
                if length[other] >= length[node]:
                    length[node], previous[node] = length[other] + 1, other
        node = length.index(max(length)) if length else -1
        chain = []
        while node != -1:
            chain.append(node)
            node = previous[node]
        return chain[::-1]

    def cycles(self, left: set[int]) -> Iterator[list[int]]:
        """Cycles that share no node, until none is left among the nodes of ``left``.

        From a node backwards along any edge: a node that comes again closes a cycle, an end shows that none leads here.
        """
        starts, neighbours = self.before
        for start in sorted(left):
            while start in left:
                path: dict[int, int] = {}
                node: int | None = start
                while node is not None and node not in path:
                    path[node] = len(path)
                    node = next((other for other in neighbours[starts[node] : starts[node + 1]] if other in left), None)
                if node is None:
                    left.discard(list(path)[-1])
                    continue
                cycle = list(path)[path[node] :]
                left -= set(cycle)
                yield cycle[::-1]


def _type_of(fact: DependencyLink | str) -> str:
    return fact if isinstance(fact, str) else fact.dep_type


def _rows(count: int, keys: list[int], values: list[int]) -> tuple[list[int], array[int]]:
    """``values`` grouped by ``keys``: where the row of each key starts, and the rows one behind the other."""
    sizes = [0] * (count + 1)
    for key in keys:
        sizes[key + 1] += 1
    starts = list(accumulate(sizes))
    free = starts[:-1]
    rows = array("q", bytes(8 * len(values)))
    for key, value in zip(keys, values, strict=True):
        rows[free[key]] = value
        free[key] += 1
    return starts, rows


def _field_edges(events: tuple[Event, ...], place: dict[str, int]) -> Iterator[tuple[int, int, str]]:
    """Edges that fields hold, as (source, target, dep_type)."""
    updates: dict[str, list[tuple[int, SubtaskUpdate]]] = {}
    kinds = (Artifact, SubtaskUpdate)
    for index, data in [(index, event.data) for index, event in enumerate(events) if type(event.data) in kinds]:
        if isinstance(data, SubtaskUpdate):
            updates.setdefault(data.subtask_id, []).append((index, data))
        elif isinstance(data, Artifact) and data.source_event_id is not None and (source := place.get(data.source_event_id)) is not None:
            yield source, index, "reads"
    for own in updates.values():
        first = own[0][0]
        parents = [update.parent_task_id for _, update in own if update.parent_task_id in updates]
        if parents and (parent := updates[parents[0]][0][0]) < first:
            yield parent, first, "spawn_subtask"
        for needed in dict.fromkeys(name for _, update in own for name in update.depends_on if name in updates):
            yield from _prerequisite(updates[needed], own)


def _prerequisite(needed: list[tuple[int, SubtaskUpdate]], own: list[tuple[int, SubtaskUpdate]]) -> Iterator[tuple[int, int, str]]:
    """From the end of a prerequisite to the first update behind it; where its end is not told, from its first update."""
    ends = [index for index, update in needed if update.status in _ENDED]
    for source in (*ends[-1:], needed[0][0]):
        for index, _ in own:
            if index > source:
                yield source, index, "reads"
                return
