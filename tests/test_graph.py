"""EventGraph: equal to networkx on random graphs, and by hand on small ones."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenttrace.errors import UsageError
from agenttrace.graph import EventGraph
from agenttrace.model import Artifact, DependencyLink, Event, Message, SubtaskUpdate, Trace, TraceMeta
from tests.strategies import traces

TYPES = ("reads", "receives_msg", "trigger_toolcall", "spawn_subtask")


def trace_of(events: list[Event], links: list[tuple[int, int, str]]) -> Trace:
    made = tuple(
        DependencyLink(source_event_id=f"e{start}", target_event_id=f"e{end}", dep_type=kind, origin="inferred", confidence=0.5)  # type: ignore[arg-type]
        for start, end, kind in links
    )
    return Trace(trace_id="t", meta=TraceMeta(framework="test"), agent_instances=(), events=tuple(events), dependency_links=made, extra={})


def messages(count: int) -> list[Event]:
    return [Event(event_id=f"e{index}", data=Message(receiver_ids=())) for index in range(count)]


def subtask(index: int, name: str, status: str, **fields: object) -> Event:
    return Event(event_id=f"e{index}", data=SubtaskUpdate(subtask_id=name, status=status, **fields))  # type: ignore[arg-type]


@st.composite
def graphs(draw: st.DrawFn, *, forward: bool = True) -> Trace:
    count = draw(st.integers(1, 25))
    pairs = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1), st.sampled_from(TYPES))
    drawn = draw(st.lists(pairs, max_size=60, unique=True))
    if forward:
        drawn = [(min(start, end), max(start, end), kind) for start, end, kind in drawn if start != end]
    return trace_of(messages(count), drawn)


@settings(deadline=None, max_examples=150)
@given(graphs(), st.sets(st.sampled_from(TYPES)))
def test_answers_are_those_of_networkx(trace: Trace, kinds: set[str]) -> None:
    graph = EventGraph(trace)
    other = graph.to_networkx()
    some = nx.MultiDiGraph()
    some.add_nodes_from(other)
    some.add_edges_from((start, end) for start, end, kind in other.edges(keys=True) if kind in kinds)
    place = {event.event_id: index for index, event in enumerate(trace.events)}
    assert graph.is_forward()
    assert nx.is_directed_acyclic_graph(other)
    for event in trace.events:
        name = event.event_id
        assert graph.ancestors(name) == sorted(nx.ancestors(other, name), key=place.__getitem__)
        assert graph.descendants(name) == sorted(nx.descendants(other, name), key=place.__getitem__)
        assert set(graph.ancestors(name, kinds)) == nx.ancestors(some, name)
        assert set(graph.descendants(name, kinds)) == nx.descendants(some, name)
    chain = graph.longest_chain()
    assert len(chain) == nx.dag_longest_path_length(nx.DiGraph(other)) + 1
    assert all(other.has_edge(one, two) for one, two in pairwise(chain))
    assert graph.order() == [event.event_id for event in trace.events]
    assert graph.cycles() == []


@settings(deadline=None, max_examples=150)
@given(graphs(forward=False))
def test_graphs_that_break_the_rule(trace: Trace) -> None:
    graph = EventGraph(trace)
    other = nx.DiGraph(graph.to_networkx())
    if nx.is_directed_acyclic_graph(other):
        assert graph.cycles() == []
        place = {name: index for index, name in enumerate(graph.order())}
        assert all(place[start] < place[end] for start, end in other.edges)
        assert len(graph.longest_chain()) == nx.dag_longest_path_length(other) + 1
    else:
        cycles = graph.cycles()
        assert cycles
        for cycle in cycles:
            assert all(other.has_edge(one, two) for one, two in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        other.remove_nodes_from(name for cycle in cycles for name in cycle)
        assert nx.is_directed_acyclic_graph(other)
        with pytest.raises(UsageError, match="cycle"):
            graph.order()


@settings(deadline=None, max_examples=60)
@given(graphs(), st.data())
def test_a_part_is_the_part_of_networkx(trace: Trace, data: st.DataObject) -> None:
    graph = EventGraph(trace)
    wanted = data.draw(st.sets(st.sampled_from([event.event_id for event in trace.events])))
    part = graph.subgraph(wanted)
    expected = graph.to_networkx().subgraph(wanted)
    assert set(part.to_networkx().edges(keys=True)) == set(expected.edges(keys=True))
    assert [event.event_id for event in part.events] == [event.event_id for event in trace.events if event.event_id in wanted]
    for name in wanted:
        assert set(part.ancestors(name)) == nx.ancestors(expected, name)


@settings(deadline=None, max_examples=60)
@given(traces())
def test_every_valid_trace_is_acyclic(trace: Trace) -> None:
    graph = EventGraph(trace)
    assert graph.order() == [event.event_id for event in trace.events]
    assert len(list(graph.edges())) >= len(trace.dependency_links)


def test_fields_hold_edges() -> None:
    events = [
        subtask(0, "plan", "created"),
        subtask(1, "one", "created", parent_task_id="plan"),
        subtask(2, "two", "created", parent_task_id="plan", depends_on=("one", "unknown")),
        Event(event_id="e3", data=Message(receiver_ids=())),
        Event(event_id="e4", data=Artifact(artifact_id="a", source_event_id="e3")),
        subtask(5, "one", "completed"),
        subtask(6, "two", "in_progress", depends_on=("one",)),
        subtask(7, "plan", "completed"),
    ]
    graph = EventGraph(trace_of(events, [(3, 6, "reads")]))
    found = {(edge.source_id, edge.target_id, edge.dep_type, edge.link is None) for edge in graph.edges()}
    assert found == {
        ("e3", "e6", "reads", False),
        ("e3", "e4", "reads", True),
        ("e0", "e1", "spawn_subtask", True),
        ("e0", "e2", "spawn_subtask", True),
        ("e5", "e6", "reads", True),  # from the end of the prerequisite to what came behind it
    }
    assert graph.ancestors("e6") == ["e0", "e1", "e3", "e5"] or graph.ancestors("e6") == ["e3", "e5"]
    assert graph.ancestors("e4", ["spawn_subtask"]) == []


def test_a_prerequisite_that_never_ended_binds_by_its_beginning() -> None:
    events = [subtask(0, "one", "created"), subtask(1, "two", "created", depends_on=("one",))]
    assert [(edge.source_id, edge.target_id) for edge in EventGraph(trace_of(events, [])).edges()] == [("e0", "e1")]


def test_only_some_types() -> None:
    trace = trace_of(messages(3), [(0, 1, "reads"), (1, 2, "receives_msg")])
    assert EventGraph(trace, ["reads"]).descendants("e0") == ["e1"]
    assert EventGraph(trace).descendants("e0", ["receives_msg"]) == []
    assert EventGraph(trace).descendants("e0") == ["e1", "e2"]


def test_networkx_gets_the_attributes() -> None:
    trace = trace_of(messages(2), [(0, 1, "reads"), (0, 1, "receives_msg")])
    graph = EventGraph(trace).to_networkx()
    assert graph.nodes["e1"] == {
        "index": 1,
        "event": trace.events[1],
        "type": "message",
        "agent": None,
        "timestamp": None,
        "turn_id": None,
    }
    assert graph.edges["e0", "e1", "reads"] == {"dep_type": "reads", "origin": "inferred", "confidence": 0.5, "evidence": None}
    assert graph.number_of_edges() == 2


def test_what_is_no_event() -> None:
    graph = EventGraph(trace_of(messages(1), []))
    with pytest.raises(UsageError, match="no event"):
        graph.ancestors("nowhere")
    assert "e0" in graph
    assert "nowhere" not in graph
    assert len(EventGraph(trace_of([], []))) == 0
    assert EventGraph(trace_of([], [])).longest_chain() == []


def test_links_to_nowhere_are_left_out() -> None:
    trace = trace_of(messages(1), [(0, 5, "reads")])
    assert list(EventGraph(trace).edges()) == []
