"""EventGraph against networkx on the same traces: building, proving that there is no cycle, asking for ancestors.

Random forward links, about 1.25 an event. Medians of process CPU time, one run.

    python benchmarks/graph.py            # 60 to 1,000,000 events
    python benchmarks/graph.py --quick    # to 60,000
"""

from __future__ import annotations

import argparse
import gc
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

import networkx as nx

from agenttrace.graph import EventGraph
from agenttrace.model import DependencyLink, Event, Message, Trace, TraceMeta

SIZES = {60: 51, 600: 21, 6000: 9, 60_000: 3, 1_000_000: 1}


def synthetic(count: int, seed: int = 5) -> Trace:
    """Messages, and links from one of the forty events before each."""
    chance = random.Random(seed)
    data = Message(receiver_ids=())
    events = tuple(Event(event_id=f"e{index}", data=data) for index in range(count))
    links = []
    for index in range(1, count):
        for _ in range(1 + (chance.random() < 0.25)):
            source = max(0, index - chance.randint(1, 40))
            links.append(DependencyLink(source_event_id=f"e{source}", target_event_id=f"e{index}", dep_type="reads", origin="inferred"))
    return Trace(
        trace_id="synthetic", meta=TraceMeta(framework="none"), agent_instances=(), events=events, dependency_links=tuple(links), extra={}
    )


def cpu(run: Callable[[], object], rounds: int) -> float:
    """Median CPU seconds."""
    times = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return statistics.median(times)


def peer(trace: Trace) -> nx.DiGraph:
    """What a user would write."""
    graph = nx.DiGraph()
    graph.add_nodes_from(event.event_id for event in trace.events)
    graph.add_edges_from((link.source_event_id, link.target_event_id) for link in trace.dependency_links)
    return graph


def built_and_asked(trace: Trace) -> object:
    return EventGraph(trace).ancestors("e999999")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    columns = ("events", "ours build", "nx build", "ratio", "ours acyclic", "nx acyclic", "ours ancestors", "nx ancestors")
    print("  ".join(f"{column:>14}" for column in columns), "  (µs per event; ancestors of the last event in ms)")
    for size, rounds in SIZES.items():
        if quick and size > 60_000:
            continue
        trace = synthetic(size)
        graph, other = EventGraph(trace), peer(trace)
        last = trace.events[-1].event_id
        graph.ancestors(last)  # lays out the neighbours once
        assert set(graph.ancestors(last)) == nx.ancestors(other, last)
        ours, theirs = cpu(partial(EventGraph, trace), rounds), cpu(partial(peer, trace), rounds)
        numbers = (
            ours / size * 1e6,
            theirs / size * 1e6,
            ours / theirs,
            cpu(graph.is_forward, rounds) / size * 1e6,
            cpu(partial(nx.is_directed_acyclic_graph, other), rounds) / size * 1e6,
            cpu(partial(graph.ancestors, last), rounds) * 1e3,
            cpu(partial(nx.ancestors, other, last), rounds) * 1e3,
        )
        print(f"{size:>14}  " + "  ".join(f"{number:>14.2f}" for number in numbers), flush=True)
        if size == 1_000_000:
            whole = cpu(partial(built_and_asked, trace), 1)
            print(f"1,000,000 events: built and asked once in {whole:.2f} s CPU")


if __name__ == "__main__":
    main()
