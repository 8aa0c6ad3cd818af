"""``agenttrace schema``: the published JSON Schema files."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agenttrace import compression
from agenttrace.atomic import write_atomic
from agenttrace.cli.output import print_json, table
from agenttrace.errors import UsageError
from agenttrace.schema import SCHEMAS, load_schema


@click.command("schema")
@click.argument("name", default="agenttrace-1.0", metavar="[NAME]")
@click.option("--list", "listing", is_flag=True, help="List the schemas instead.")
@click.option("-o", "--out", type=click.Path(), metavar="FILE", help="Write it to a file.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON.")
def command(*, name: str, listing: bool, out: str | None, as_json: bool) -> int:
    """Print the JSON Schema (2020-12) NAME; default agenttrace-1.0."""
    if listing:
        if as_json:
            print_json([{"name": key, "title": title} for key, title in SCHEMAS.items()])
        else:
            table(("name", "title"), SCHEMAS.items())
        return 0
    if name not in SCHEMAS:
        raise UsageError("usage", None, None, f"no schema is called {name!r:.60}", f"known: {', '.join(SCHEMAS)}")
    text = json.dumps(load_schema(name), indent=2, ensure_ascii=False) + "\n"
    if out and out != "-":
        write_atomic(Path(out), compression.compress(text.encode(), compression.suffix_of(out)))
    else:
        click.echo(text, nl=False)
    return 0
