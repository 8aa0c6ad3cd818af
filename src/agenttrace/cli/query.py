"""``agenttrace query``: the events of logs that fit conditions."""

from __future__ import annotations

from typing import Any

import click

from agenttrace.cli.output import common_options, describe, fail, format_option, table
from agenttrace.codec import encode_value
from agenttrace.errors import AgentTraceError, UsageError
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from agenttrace.query import EVENT_TYPES, select


@click.command("query")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT…")
@format_option
@click.option("--agent", metavar="ID", help="Acted, sent, received, called, executed, or was assigned.")
@click.option("--type", "type_", type=click.Choice(EVENT_TYPES), help="The kind of event.")
@click.option("--tool", metavar="NAME", help="Calls of this tool.")
@click.option("--status", type=click.Choice(["success", "failure", "exception", "none"]), help="Calls that ended so.")
@click.option("--subtask-status", metavar="STATUS", help="Subtask updates that state this status.")
@click.option(
    "--since", metavar="TIME", help="At this time or later: 2026-01-31 or 2026-01-31T12:00:00Z. Events without a time do not fit."
)
@click.option("--until", metavar="TIME", help="Until this time; a date is meant to its end.")
@click.option("--text", metavar="WORDS", help="Stands, in any letter case, in a text of the event.")
@common_options
def command(*, inputs: tuple[str, ...], format_: str, as_json: bool, quiet: bool, type_: str | None, **conditions: Any) -> int:
    """Print the events of logs that fit all conditions.

    A table of events; with --json one JSON object a line, as in the trace, with trace_id. Exit status 0
    also when nothing fits, 1 when an input could not be read.
    """
    conditions["type"] = type_
    rows: list[tuple[Any, ...]] = []
    timed = conditions["since"] is not None or conditions["until"] is not None
    read = failed = timeless = 0
    for path in inputs:
        try:
            for source in find_inputs([path], format_):
                for trace in traces_of(source, format_, Notes(counting=False))[2]:
                    read += 1
                    timeless += sum(event.timestamp is None for event in trace.events) if timed else 0
                    for event in select(trace, **conditions):
                        if as_json:
                            click.echo(encode_value({"trace_id": trace.trace_id, "event": event}))
                        else:
                            rows.append((trace.trace_id, event.event_id, *describe(event)))
                source.forget()
        except UsageError:
            raise
        except AgentTraceError as error:
            failed += 1
            fail(error, as_json=as_json)
    if not as_json and not quiet:
        table(("trace", "event", "time", "agent", "what", "to", "status", "text"), rows)
    if timeless and not quiet:
        click.echo(f"agenttrace: {timeless} events have no time, so --since and --until leave them out", err=True)
    return 2 if not read else 1 if failed else 0
