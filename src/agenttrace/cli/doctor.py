"""``agenttrace doctor``: why a log was, or was not, recognised, and what is damaged in it."""

from __future__ import annotations

from typing import Any

import click

from agenttrace.cli.output import common_options, fail, print_json, printable, table, warn_of_broken_readers
from agenttrace.cli.refusals import what_it_is
from agenttrace.errors import AgentTraceError, ReadError, UnknownFormat
from agenttrace.formats import NOT_ITS_SHAPE, recognise, verdicts
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from agenttrace.salvage import Look, excerpt, look
from agenttrace.sources import Source, decode_text

_SHOWN = 12


@click.command("doctor")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="LOG…")
@common_options
def command(*, inputs: tuple[str, ...], as_json: bool, quiet: bool) -> int:
    """Say why each LOG was, or was not, recognised: what it looks like, what every reader says, what is damaged."""
    warn_of_broken_readers(quiet=quiet)
    findings: list[dict[str, Any]] = []
    for path in inputs:
        try:
            for source in find_inputs([path]):
                findings.append(_examine(source))
                source.forget()
        except ReadError as error:
            findings.append({"path": path, "damage": [], "verdict": error.reason, "error": error.to_dict()})
            if as_json:
                fail(error, as_json=True)
    if as_json:
        print_json(findings)
    else:
        for finding in findings:
            _print(finding, quiet=quiet)
    known = sum(finding.get("format") is not None for finding in findings)
    if all("bytes" not in finding and "error" in finding for finding in findings):
        return 2  # none could even be opened
    return 0 if known == len(findings) and not any(finding["damage"] for finding in findings) else 1


def _examine(source: Source) -> dict[str, Any]:
    finding: dict[str, Any] = {"path": source.label, "format": None, "variant": None, "level": None, "damage": []}
    try:
        finding["bytes"] = source.size
        finding |= _shape(source, look(source)) if not source.is_folder else {"kind": "folder"}
        finding["readers"] = [
            {"name": said.format.name, "level": said.match.level if said.match else None, "why": said.why} for said in verdicts(source)
        ]
        format_, match = recognise(source)
    except UnknownFormat as error:
        claimed = any(said["level"] for said in finding["readers"])
        verdict = error.reason if claimed or source.is_folder else f"no reader recognises it: {what_it_is(source, look(source))}"
        return finding | {"verdict": verdict, "error": error.to_dict()}
    except AgentTraceError as error:
        return finding | {"verdict": error.reason, "error": error.to_dict()}
    finding |= {"format": format_.name, "variant": match.variant, "level": match.level}
    finding["verdict"] = f"{format_.name}, variant {match.variant}: {match.why} ({match.level})"
    return finding | _read(source, format_.name)


def _read(source: Source, format_: str) -> dict[str, Any]:
    notes = Notes()
    traces = events = 0
    outcome: dict[str, Any] = {}
    try:
        for trace in traces_of(source, format_, notes)[2]:
            traces += 1
            events += len(trace.events)
    except AgentTraceError as error:
        outcome = {"verdict": error.reason, "error": error.to_dict(), "format": None}
    damage = [note.to_dict() for note in notes.damage]
    return {"traces": traces, "events": events, "counts": notes.counts(), "mapped_share": notes.mapped_share, "damage": damage, **outcome}


def _shape(source: Source, seen: Look) -> dict[str, Any]:
    """What the bytes look like, without any reader."""
    sample = seen.value if seen.is_document else seen.sample[0] if seen.sample else None
    shape: dict[str, Any] = {"kind": seen.kind, "encoding": decode_text(source.head[:4096].rpartition(b" ")[0] or source.head[:4096])[1]}
    if isinstance(sample, dict):
        shape["keys"] = [key[:60] for key in list(sample)[:_SHOWN]]
    elif isinstance(sample, list):
        first = sample[0] if sample else None
        shape["items"] = len(sample)
        shape["keys"] = [key[:60] for key in list(first)[:_SHOWN]] if isinstance(first, dict) else []
    elif seen.kind == "binary":
        shape["encoding"] = None
        shape["starts"] = "SQLite format 3" if source.head.startswith(b"SQLite format 3\0") else source.head[:16].hex(" ")
    elif seen.kind == "text":
        shape["starts"] = excerpt(source.head[:400].decode("utf-8", "replace"))
    return shape


def _print(finding: dict[str, Any], *, quiet: bool) -> None:
    click.echo(printable(f"{finding['path']}: {finding['verdict']}"))
    if quiet:
        return
    if "kind" in finding:
        keys = f", keys {', '.join(finding['keys'])}" if finding.get("keys") else ""
        items = f", a list of {finding['items']}" if "items" in finding else ""
        starts = f", starts {finding['starts']}" if "starts" in finding else ""
        encoding = f", {finding['encoding']}" if finding.get("encoding") else ""
        click.echo(printable(f"  it is {finding['kind']}{encoding}, {finding['bytes']} bytes{items}{keys}{starts}"))
    if finding.get("readers"):
        told = [said for said in finding["readers"] if said["level"] or said["why"] != NOT_ITS_SHAPE]
        if told:
            table(("  reader", "claim", "why"), [(f"  {said['name']}", said["level"] or "no", said["why"]) for said in told])
        others = [said["name"] for said in finding["readers"] if said not in told]
        click.echo(f"  {'no other reader claims' if told else 'no reader claims'} it: {', '.join(others)}")
    if "traces" in finding:
        counts = ", ".join(f"{count} {code}" for code, count in finding["counts"].items()) or "none"
        click.echo(f"  traces {finding['traces']}, events {finding['events']}, notes: {counts}, mapped share {finding['mapped_share']}")
    for note in finding["damage"][:_SHOWN] if "damage" in finding else ():
        where = f" {note['source_ref']}" if note["source_ref"] else ""
        click.echo(printable(f"  {note['code']}{where}: {note['detail']}"))
