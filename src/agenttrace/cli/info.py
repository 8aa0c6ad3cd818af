"""``agenttrace info``: what is in logs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from agenttrace.cli.output import common_options, fail, format_option, print_json, progress, say, table
from agenttrace.errors import AgentTraceError
from agenttrace.model import Event, Trace
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from agenttrace.sources import Source

_KINDS = ("message", "tool_call", "artifact", "subtask")
_ORIGINS = ("explicit", "derived", "inferred")


@click.command("info")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT…")
@format_option
@common_options
def command(*, inputs: tuple[str, ...], format_: str, as_json: bool, quiet: bool) -> int:
    """Say what is in logs of any known format: agents, events, links, outcome, times.

    Times are the run's own where it states them, else those of its first and last event.
    """
    rows: list[dict[str, Any]] = []
    failed = damaged = 0
    with progress("reading", len(inputs), quiet=quiet) as ticker:
        for path in inputs:
            try:
                for source in find_inputs([path], format_):
                    found, whole = _describe(source, format_, as_json=as_json)
                    rows += found
                    failed += not found
                    damaged += not whole
                    if not whole and found and not quiet:
                        say(f"agenttrace: {source.label}: damaged; `agenttrace doctor` says where")
            except AgentTraceError as error:
                failed += 1
                fail(error, as_json=as_json)
            ticker.step()
    if as_json:
        print_json(rows)
    elif rows:
        _print(rows)
    if not rows:
        return 2
    return 1 if failed or damaged else 0


def _describe(source: Source, format_: str, *, as_json: bool) -> tuple[list[dict[str, Any]], bool]:
    """A row per trace of one input, and whether the input was whole."""
    rows: list[dict[str, Any]] = []
    notes = Notes(counting=False)
    try:
        reader, variant, traces = traces_of(source, format_, notes)
        rows += [_row(source.label, reader.name, variant, trace) for trace in traces]
    except AgentTraceError as error:
        fail(error, as_json=as_json)
        return rows, False
    finally:
        source.forget()
    return rows, not notes.damage


def _row(path: str, format_: str, variant: str, trace: Trace) -> dict[str, Any]:
    kinds = Counter(event.data.__struct_config__.tag for event in trace.events)
    origins: Counter[str] = Counter(link.origin for link in trace.dependency_links)
    times = [time for event in trace.events if (time := _time(event))]
    return {
        "path": path,
        "format": format_,
        "variant": variant,
        "trace_id": trace.trace_id,
        "framework": trace.meta.framework,
        "agents": len(trace.agent_instances),
        "events": {"total": len(trace.events), **{kind: kinds[kind] for kind in _KINDS}},
        "links": {"total": len(trace.dependency_links), **{origin: origins[origin] for origin in _ORIGINS}},
        "success": trace.meta.success,
        "start_time": trace.meta.start_time or (times[0] if times else None),
        "end_time": trace.meta.end_time or (times[-1] if times else None),
    }


def _time(event: Event) -> str | None:
    return event.timestamp or getattr(event.data, "completed_at", None)


def _print(rows: list[dict[str, Any]]) -> None:
    numbers = ("agents", "events", "messages", "calls", "links")
    columns = ("path", "format", "variant", "trace_id", *numbers, "success", "start")
    success = {None: "n/a", True: "yes", False: "no"}
    table(
        columns,
        [
            (
                *(row[key] for key in ("path", "format", "variant", "trace_id", "agents")),
                row["events"]["total"],
                row["events"]["message"],
                row["events"]["tool_call"],
                row["links"]["total"],
                success[row["success"]],
                (row["start_time"] or "n/a")[:19],
            )
            for row in rows
        ],
        right=numbers,
    )
