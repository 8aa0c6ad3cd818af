"""How much of a source stands in standard fields: leaf counts of traces for the mapped share.

``extra`` and ``metadata`` are apart: what stands there is kept, not mapped.
"""

from __future__ import annotations

import msgspec

from agenttrace.model import Message, Trace
from agenttrace.notes import measure

__all__ = ["trace_leaves", "unmapped_leaves"]


def trace_leaves(trace: Trace) -> int:
    """All leaf values (not null) of a trace."""
    return measure(msgspec.to_builtins(trace)).leaves


def unmapped_leaves(trace: Trace) -> int:
    """Leaf values of a trace that stand in ``extra`` or ``metadata``."""
    # A count of record types is ours, not the source's.
    aside: list[object] = [{key: value for key, value in trace.extra.items() if key != "record_types"}, trace.meta.extra]
    aside += [agent.extra for agent in trace.agent_instances if agent.extra]
    for event in trace.events:
        if event.extra:
            aside.append(event.extra)
        data = event.data
        if type(data) is Message and data.metadata:
            aside.append(data.metadata)
    return measure(aside).leaves
