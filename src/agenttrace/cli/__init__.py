"""The command line: one module a command, imported when it is called. Thin: parse, call, print.

Exit status: 0 fine · 1 problems found, parts salvaged, or some inputs unreadable ·
2 nothing readable, or configuration broken · 64 wrong usage.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from agenttrace.cli.output import fail
from agenttrace.errors import AgentTraceError, UsageError, WriteError

__all__ = ["COMMANDS", "group", "main"]

COMMANDS = {
    "convert": "Convert logs of any known format to AgentTrace.",
    "validate": "Check AgentTrace files against the format, all problems at once.",
    "info": "Say what is in logs: format, agents, events, outcome.",
    "query": "Print the events of logs that fit conditions.",
    "formats": "List the formats that are read and written, or how one is mapped.",
    "schema": "Print the JSON Schema of a format.",
    "doctor": "Say why a log was, or was not, recognised, and what is damaged in it.",
    "mapping": "Propose a mapping for a JSON log of your own, and say what it leaves aside.",
    "demo": "Convert a bundled AutoGen run and show what came out.",
}

USAGE = 64


class _Commands(click.Group):
    """Finds commands by module, so that ``--help`` imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"agenttrace.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            import difflib  # noqa: PLC0415 - only for a slip

            near = difflib.get_close_matches(name, COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else f"commands: {', '.join(COMMANDS)}"
            raise UsageError("usage", None, None, f"no command is called {name!r:.60}", hint)
        return super().resolve_command(ctx, args)


def _version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415 - costs more than the rest of --help

        click.echo(f"agenttrace {version('agenttrace-suite')}")
        ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version and exit.")
def group() -> None:
    """One representation for the runs of multi-agent systems, whatever framework wrote the log."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its status."""
    arguments = sys.argv[1:] if arguments is None else arguments
    sys.stdout, sys.stderr = (stream or open(os.devnull, "w", encoding="utf-8") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115 - for good
    for name in ("SIGTERM", "SIGHUP"):  # end like Ctrl-C does, so that temporary files go
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, _frame: sys.exit(128 + number))
    as_json = "--json" in arguments
    try:
        status = group.main(list(arguments), prog_name="agenttrace", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        status = USAGE
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        command = f"see {context.command_path} --help" if context else "see agenttrace --help"
        fail(UsageError("usage", None, None, error.format_message().rstrip("."), command), as_json=as_json)
        status = USAGE
    except UsageError as error:
        fail(error, as_json=as_json)
        status = USAGE
    except AgentTraceError as error:
        fail(error, as_json=as_json)
        status = 2
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("agenttrace: interrupted", err=True)
        status = 130
    except BrokenPipeError:
        _drop_output()
        status = 1  # as click has it
    except OSError as error:  # standard output is a full or broken device; files have errors of their own
        _drop_output()
        reason = f"cannot be written: {error.strerror or error}"
        fail(WriteError("write_failed", "stdout", None, reason, "write to a file with -o/--out"), as_json=as_json)
        status = 2
    sys.exit(status if isinstance(status, int) else 0)


def _drop_output() -> None:
    """Whoever read our output has gone, or there is no room for it: what is still in buffers must not be tried again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
