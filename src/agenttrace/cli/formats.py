"""``agenttrace formats``: what is read and written, and how one format is mapped."""

from __future__ import annotations

from typing import Any

import click

from agenttrace.cli.output import common_options, complete_format, print_json, printable, table, warn_of_broken_readers
from agenttrace.formats import Format, formats, get_format


@click.command("formats")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=complete_format)
@common_options
def command(*, name: str | None, as_json: bool, quiet: bool) -> int:
    """List the formats that are read and written, or say how the format NAME is mapped."""
    warn_of_broken_readers(quiet=quiet)
    chosen = [get_format(name)] if name else list(formats().values())
    if as_json:
        print_json([_shape(format_) for format_ in chosen])
    elif name:
        _print_one(chosen[0])
    else:
        rows = [_shape(format_) for format_ in chosen]
        keys = ("name", "title", "versions")
        table(
            (*keys, "variants", "read", "written"),
            [(*(row[key] for key in keys), len(row["variants"]), "yes", "yes" if row["writes"] else "no") for row in rows],
        )
    return 0


def _shape(format_: Format) -> dict[str, Any]:
    return {
        "name": format_.name,
        "title": format_.title,
        "spec": format_.spec,
        "variants": dict(format_.variants),
        "versions": format_.versions,
        "mapping": dict(format_.mapping),
        "not_mapped": dict(format_.not_mapped),
        "experimental": format_.experimental,
        "reads": True,
        "writes": format_.name == "agenttrace",
    }


def _print_one(format_: Format) -> None:
    experimental = " (experimental)" if format_.experimental else ""
    click.echo(printable(f"{format_.name}: {format_.title}{experimental}"))
    click.echo(printable(f"versions: {format_.versions}"))
    click.echo(printable(f"spec: {format_.spec}"))
    for title, facts in (("variants", format_.variants), ("mapping", format_.mapping), ("not mapped", format_.not_mapped)):
        if facts:
            click.echo(f"\n{title}")
            width = min(36, max(map(len, facts)))
            for key, value in facts.items():
                click.echo(f"  {printable(key).ljust(width)}  {printable(value)}")
