"""``agenttrace validate``: all problems of AgentTrace files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from agenttrace.analysis.validation import Issue, validate
from agenttrace.cli.output import common_options, fail, print_json, progress, say, table
from agenttrace.codec import split_documents
from agenttrace.errors import ReadError
from agenttrace.formats import recognise
from agenttrace.pipeline import find_inputs
from agenttrace.sources import Source


@click.command("validate")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT…")
@click.option("--strict", is_flag=True, help="Unknown keys are errors, and warnings count.")
@common_options
def command(*, inputs: tuple[str, ...], strict: bool, as_json: bool, quiet: bool) -> int:
    """Check AgentTrace files against the format.

    Each INPUT is a file (.json, .jsonl, plain or compressed), a folder or - for standard input. All
    problems are told at once: structure by the JSON Schema, then what it cannot say.
    """
    results: list[dict[str, Any]] = []
    unread = 0
    with progress("validating", len(inputs), quiet=quiet) as ticker:
        for path in inputs:
            try:
                for source in find_inputs([path], "agenttrace"):
                    results += _check(source, strict)
                    source.forget()
            except ReadError as error:
                unread += 1
                fail(error, as_json=as_json)
            ticker.step()
    if as_json:
        print_json([_shape(result) for result in results])
    elif not quiet:
        _print(results)
    if not results:
        return 2
    bad = sum(not result["valid"] for result in results)
    if not as_json and not quiet:
        say(f"{len(results)} trace{'s' * (len(results) != 1)}, {len(results) - bad} valid")
    return 1 if bad or unread else 0


def _check(source: Source, strict: bool) -> Iterator[dict[str, Any]]:
    for place, data in split_documents(source.stream(), source.label):
        issues = validate(data, strict=strict)
        if place is None and any(issue.code == "missing_key" and not issue.pointer for issue in issues) and (name := _foreign(source)):
            issues = [Issue("error", "missing_key", "", f"This is a log of {name}, no AgentTrace yet: `agenttrace convert` it first.")]
        wrong = any(issue.severity == "error" or strict for issue in issues)
        yield {"path": f"{source.label}#{place}" if place else source.label, "valid": not wrong, "issues": issues}


def _foreign(source: Source) -> str | None:
    """The other format that an input is in, if it is in one."""
    try:
        name = recognise(source)[0].name
    except ReadError:
        return None
    return name if name != "agenttrace" else None


def _shape(result: dict[str, Any]) -> dict[str, Any]:
    return {**result, "issues": [issue._asdict() for issue in result["issues"]]}


def _print(results: list[dict[str, Any]]) -> None:
    rows: list[tuple[str, Issue]] = [(result["path"], issue) for result in results for issue in result["issues"]]
    if rows:
        table(
            ("path", "severity", "code", "pointer", "message"),
            [(path, issue.severity, issue.code, issue.pointer or "/", issue.message) for path, issue in rows],
        )
