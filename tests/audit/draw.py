"""Events to be checked by hand against the real logs, drawn before anybody looks.

    python -m tests.audit.draw READER SEED

prints one line an event: the log, the trace's number in it, the event's id and place. A variant is drawn
first, then a log of it, then an event, so that rare variants are looked at, too. Whoever checks compares kind,
actor, receivers, tool, result and status with the source and writes ``tests/audit/READER.csv``: place, verdict
and seed, no text of the source.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from pathlib import Path

from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from tests.conftest import ROOT, corpus_folder
from tests.readers.test_corpus import LISTED, MAPPINGS

EVENTS = 40


def draw(reader: str, seed: int) -> list[tuple[str, int, str, str]]:
    """Path, trace number, event id and source_ref of the events."""
    logs: dict[str, list[str]] = defaultdict(list)
    for row in LISTED:
        if row.format == reader:
            logs[row.variant].append(row.path)
    if few_events([path for paths in logs.values() for path in paths]):
        for inside in sorted((ROOT / "tests" / "formats" / reader).glob("*/input*")):
            logs[inside.parent.name].append(str(inside.relative_to(ROOT)))
    rng = random.Random(seed)
    drawn: list[tuple[str, int, str, str]] = []
    while len(drawn) < EVENTS:
        path = rng.choice(logs[rng.choice(sorted(logs))])
        found = events_of(path)
        if found and (event := (path, *rng.choice(found))) not in drawn:
            drawn.append(event)
    return drawn


def few_events(paths: list[str]) -> bool:
    """Whether the real logs hold too few events to draw from: then fixtures, runs of the real framework, are drawn from, too."""
    count = 0
    for path in paths:
        count += len(events_of(path))
        if count >= EVENTS:
            return False
    return True


def events_of(path: str) -> list[tuple[int, str, str]]:
    """Trace number, id and place of every event of a log, which is a path in the real logs or else in this project."""
    real = corpus_folder() / path
    (source,) = find_inputs([str(real if real.exists() else ROOT / path)])
    mapping = MAPPINGS.get(Path(path).parts[0], "auto") if real.exists() else "auto"
    traces = traces_of(source, mapping, Notes(counting=False))[2]
    return [(number, event.event_id, str(event.source_ref)) for number, trace in enumerate(traces, 1) for event in trace.events]


if __name__ == "__main__":
    for line in draw(sys.argv[1], int(sys.argv[2])):
        sys.stdout.write("\t".join(map(str, line)) + "\n")
