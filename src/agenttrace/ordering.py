"""What ``TraceBuilder.build`` does last: order events, settle turns and times, keep the links that point forward.

The rules are the format page's: by ``timestamp``, else ``completed_at``; an event
with neither stays behind its predecessor in the source; ties keep the source's
order. Events are changed in place, since nobody has seen them yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import force_setattr

from agenttrace.model import Artifact, DependencyLink, Event
from agenttrace.notes import Notes
from agenttrace.times import order_key

__all__ = ["forward_links", "forward_sources", "give_to_first", "in_order", "separate_naive_times"]


def separate_naive_times(events: Iterable[Event], notes: Notes) -> None:
    """Naive and zoned times are never mixed in one trace: beside zoned ones, naive ones go to ``extra``, noted."""
    for event in events:
        for holder, name in ((event, "timestamp"), (event.data, "completed_at")):
            text = getattr(holder, name, None)
            if text and not text.endswith("Z"):
                force_setattr(event, "extra", {**event.extra, name: text})
                force_setattr(holder, name, None)
                notes.add("naive_time", event.source_ref, f"{name} without a zone beside times with one; kept in `extra`", event.event_id)


def in_order(events: Sequence[Event]) -> tuple[Event, ...]:
    """Events by time; one without a time stays behind its predecessor; ties keep the given order."""
    keys: list[str] = []
    latest = ""
    for event in events:
        time = event.timestamp or getattr(event.data, "completed_at", None)
        if time is not None:
            latest = time
        keys.append(latest)
    if all(earlier <= later for earlier, later in pairwise(keys)) and len({len(key) for key in keys if key}) <= 1:
        return tuple(events)
    order = sorted(range(len(keys)), key=lambda index: order_key(keys[index]) if keys[index] else "")
    ordered = tuple(events[index] for index in order)
    _settle_turns(ordered)
    return ordered


def _settle_turns(events: tuple[Event, ...]) -> None:
    """After reordering, what a turn states once stands on whichever of its events is now the first."""
    firsts: dict[str, Event] = {}
    for event in events:
        if event.turn_id is not None and (first := firsts.setdefault(event.turn_id, event)) is not event:
            give_to_first(first, event)


def forward_links(links: Iterable[DependencyLink], events: tuple[Event, ...], notes: Notes) -> tuple[DependencyLink, ...]:
    """The links whose ends exist and point forward, in the order of their targets; the others are noted."""
    place = {event.event_id: index for index, event in enumerate(events)}
    kept = []
    for link in links:
        start, end = place.get(link.source_event_id, -1), place.get(link.target_event_id, -1)
        if 0 <= start < end:
            kept.append((end, start, link))
        else:
            detail = f"{link.dep_type} {link.source_event_id} -> {link.target_event_id} does not point forward; left out"
            notes.add("backward_link", None, detail)
    return tuple(link for _, _, link in sorted(kept, key=lambda item: item[:2]))


def forward_sources(events: tuple[Event, ...], notes: Notes) -> None:
    """Times may put an artifact before the event that is said to have produced it; then that stays in ``extra``, noted."""
    place: dict[str, int] = {}
    for index, event in enumerate(events):
        data = event.data
        if type(data) is not Artifact or data.source_event_id is None:
            continue
        place = place or {known.event_id: number for number, known in enumerate(events)}
        source = data.source_event_id
        if place.get(source, index) >= index:
            force_setattr(data, "source_event_id", None)
            force_setattr(event, "extra", {**event.extra, "source_event_id": source})
            notes.add("backward_link", event.source_ref, f"source_event_id {source} stands behind the artifact; in `extra`", event.event_id)


def give_to_first(first: Event, later: Event) -> None:
    """Move what a turn states once to its first event; a figure that differs from one already there is kept aside."""
    for name in ("usage", "reasoning", "raw_response"):
        value = getattr(later, name)
        if value is None:
            continue
        force_setattr(later, name, None)
        present = getattr(first, name)
        if present is None:
            force_setattr(first, name, value)
        elif present != value:
            told = msgspec.to_builtins(value)
            force_setattr(first, "extra", {**first.extra, f"later_{name}": [*first.extra.get(f"later_{name}", []), told]})
