"""``agenttrace mapping``: propose a mapping for a log of your own, and say what a mapping leaves aside."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from agenttrace.atomic import write_atomic
from agenttrace.cli.output import common_options, print_json, printable, table
from agenttrace.errors import ReadError
from agenttrace.formats import get_format
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.readers.custom_json.proposal import propose
from agenttrace.salvage import excerpt, look, records
from agenttrace.sources import Source

_SAMPLE = 200
_SHOWN = 30


@click.group("mapping")
def command() -> None:
    """Mappings for JSON logs that no reader knows: where in them traces, agents and events are."""


@command.command("init")
@click.argument("log", type=click.Path(readable=False), metavar="LOG")
@click.option("-o", "--out", type=click.Path(dir_okay=False), metavar="MAP.toml", help="The file to write; default stdout.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def init(*, log: str, out: str | None, force: bool) -> int:
    """Propose a mapping for LOG, from the shapes in its beginning."""
    source = Source.open(log)
    if source.is_folder:
        raise ReadError("not_readable", source.label, None, "a folder", "name one log in it")
    name = re.sub(r"[^\w.-]+", "_", Path(source.name).name.partition(".")[0]) or "log"
    text = propose(name, _sample(source))
    if out is None:
        click.echo(text, nl=False)
        return 0
    if os.path.lexists(out) and not force:
        raise click.UsageError(f"{out} is there already; --force replaces it")
    write_atomic(Path(out), text.encode())
    click.echo(f"{printable(out)}: read it, mend it, then: agenttrace mapping check {printable(log)} {printable(out)}", err=True)
    return 0


def _sample(source: Source) -> Any:
    """The value of a document, or the first records."""
    seen = look(source)
    if seen.kind == "jsonl":
        return [value for _, value in islice(records(source, Notes(counting=False)), _SAMPLE)]
    if seen.kind == "json":
        return seen.value
    raise ReadError("unparsable", source.label, None, "no JSON, which a mapping is for", "`agenttrace doctor` says what is in it")


@command.command("check")
@click.argument("log", type=click.Path(readable=False), metavar="LOG")
@click.argument("mapping", type=click.Path(readable=False), metavar="MAP")
@common_options
def check(*, log: str, mapping: str, as_json: bool, quiet: bool) -> int:
    """Say what LOG becomes by the mapping MAP, and what of it stays aside.

    Exit status 1 when a record is taken by no rule, or part of the log could not be read.
    """
    get_format(mapping)  # a fault of the mapping is told before the log is looked at
    source = Source.open(log)
    notes = Notes()
    traces = list(traces_of(source, mapping, notes)[2])
    found = _found(traces, notes)
    if as_json:
        print_json(found)
    else:
        _print(found, log, quiet=quiet)
    return 1 if found["records_without_a_rule"] or notes.damage else 0


def _found(traces: list[Trace], notes: Notes) -> dict[str, Any]:
    kinds = Counter(event.data.__struct_config__.tag for trace in traces for event in trace.events)
    aside: Counter[str] = Counter()
    examples: dict[str, str] = {}
    unruled = 0
    for trace in traces:
        held = [("event", event.extra) for event in trace.events] + [("agent", agent.extra) for agent in trace.agent_instances]
        unruled += len(trace.extra.get("records", ()))
        for where, extra in (*held, ("run", trace.meta.extra), ("record", [item["value"] for item in trace.extra.get("records", ())])):
            for path, value in _leaves(extra):
                name = f"{where}: {path}"
                aside[name] += 1
                examples.setdefault(name, excerpt(str(value), 60))
    return {
        "traces": len(traces),
        "events": dict(sorted(kinds.items())),
        "agents": sorted({agent.agent_id for trace in traces for agent in trace.agent_instances}),
        "mapped_share": notes.mapped_share,
        "records_without_a_rule": unruled,
        "aside": [{"path": path, "values": count, "example": examples[path]} for path, count in aside.most_common()],
        "damage": [note.to_dict() for note in notes.damage],
    }


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """The values in a tree by their paths, ``[]`` for each member of a list."""
    waiting = [("", value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            waiting += [(f"{path}.{key}".lstrip("."), part) for key, part in item.items()]
        elif isinstance(item, list):
            waiting += [(f"{path}[]", part) for part in item]
        elif item is not None:
            yield path, item


def _print(found: dict[str, Any], log: str, *, quiet: bool) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in found["events"].items()) or "none"
    shown = ", ".join(found["agents"][:_SHOWN]) or "none"
    click.echo(printable(f"{log}: traces {found['traces']}; events: {kinds}; agents: {shown}; mapped share {found['mapped_share']}"))
    for note in found["damage"]:
        click.echo(printable(f"  {note['code']} {note['source_ref'] or ''}: {note['detail']}"), file=sys.stderr)
    if quiet:
        return
    if found["records_without_a_rule"]:
        click.echo(f"{found['records_without_a_rule']} records are taken by no rule; they are kept in the trace's `extra`.")
    if not found["aside"]:
        click.echo("Nothing stays aside.")
        return
    click.echo("Stays aside, in `extra`:")
    rows = [(f"  {item['path']}", str(item["values"]), item["example"]) for item in found["aside"][:_SHOWN]]
    table(("  path", "values", "example"), rows)
    if len(found["aside"]) > _SHOWN:
        click.echo(f"  and {len(found['aside']) - _SHOWN} further paths; --json lists all")
