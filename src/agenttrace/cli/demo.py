"""``agenttrace demo``: the main job on a bundled real log, and what came out."""

from __future__ import annotations

from importlib.resources import as_file, files

import click
import orjson

from agenttrace import codec
from agenttrace.analysis.validation import validate
from agenttrace.cli.output import common_options, describe, print_json, printable, table
from agenttrace.errors import UsageError
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.pipeline import iter_traces


@click.command("demo")
@click.option("-o", "--out", type=click.Path(), metavar="FILE", help="Keep the trace in NAME.json, too.")
@common_options
def command(*, out: str | None, as_json: bool, quiet: bool) -> int:
    """Convert a bundled AutoGen run and show what came out.

    The log is a TaskResult of AutoGen 0.7.5: a Swarm of two agents with parallel tool calls, one of
    them failing, and two hand-offs. It was made by AutoGen itself, with a scripted model.
    """
    if out is not None and codec.output_form(out) != "json":
        raise UsageError("usage", out, None, "the demo writes one trace", "name a .json file")
    notes = Notes()
    with as_file(files("agenttrace.cli") / "demo_run.json") as path:
        (trace,) = iter_traces(path, notes=notes)
        size = path.stat().st_size
    data = codec.dumps(trace)
    if out is not None:
        codec.save(trace, out)
    if as_json:
        print_json(orjson.loads(data))
    elif not quiet:
        _show(trace, notes, size, len(data))
        click.echo(
            f"\nwritten to {printable(out)}"
            if out
            else "\nKeep it with `agenttrace demo -o trace.json`; your own logs: `agenttrace convert LOG -o OUT`."
        )
    return 1 if any(issue.severity == "error" for issue in validate(data)) else 0


def _show(trace: Trace, notes: Notes, size: int, written: int) -> None:
    source = trace.meta.source
    variant = f"{source.reader}, variant {source.variant}" if source else "?"
    click.echo(f"An AutoGen run of {size:,} bytes, recognised as {variant}.\n")
    table(
        ("#", "time", "agent", "what", "to", "status", "text"),
        [(number, *describe(event)) for number, event in enumerate(trace.events, 1)],
        right=("#",),
    )
    agents = ", ".join(agent.agent_id for agent in trace.agent_instances)
    counts = ", ".join(f"{count} {code}" for code, count in notes.counts().items())
    click.echo(f"\n{len(trace.events)} events of {len(trace.agent_instances)} agents ({agents}), {written:,} bytes of AgentTrace, valid.")
    click.echo(f"Notes: {counts}. {notes.mapped_share:.0%} of the log's values stand in standard fields, the rest in `extra`.")
