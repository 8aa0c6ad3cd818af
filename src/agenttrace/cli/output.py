"""What commands print: tables, messages, progress. Everything from a log is escaped before it is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from agenttrace.errors import AgentTraceError

if TYPE_CHECKING:
    from rich.progress import Progress

    from agenttrace.model import Event

__all__ = [
    "Ticker",
    "common_options",
    "complete_format",
    "fail",
    "print_json",
    "printable",
    "progress",
    "say",
    "table",
    "warn_of_broken_readers",
]

_WIDTH = 62
_PATIENCE = 1.0  # seconds of work before a progress bar appears


def printable(text: object) -> str:
    """Text that is safe on a terminal: control characters, escapes and direction marks become visible."""
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def say(line: str) -> None:
    """One line on stderr."""
    click.echo(printable(line), err=True)


def fail(error: AgentTraceError, *, as_json: bool) -> None:
    """An error on stderr: one line, or one JSON object."""
    if as_json:
        import orjson  # noqa: PLC0415 - only for JSON

        click.echo(orjson.dumps(error.to_dict()).decode(), err=True)
    else:
        say(f"agenttrace: error: {error}")


def print_json(value: Any) -> None:
    """A value as JSON on stdout, indented on a terminal."""
    import orjson  # noqa: PLC0415 - only for JSON

    option = orjson.OPT_INDENT_2 if sys.stdout.isatty() else 0
    click.echo(orjson.dumps(value, option=option).decode())


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[str] = ()) -> None:
    """A table on stdout: drawn by rich on a terminal, padded plain text in a pipe. ``right``: columns set to the right."""
    cells = [["" if cell is None else printable(cell) for cell in row] for row in rows]
    aligned = set(right)
    if sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - costs more than most commands
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        drawn = Table(header_style="bold", box=None, pad_edge=False)
        for column in columns:
            drawn.add_column(column, justify="right" if column in aligned else "left", overflow="fold")
        for row in cells:
            drawn.add_row(*(Text(cell) for cell in row))
        Console().print(drawn)
        return
    widths = [max(len(row[index]) for row in [list(columns), *cells]) for index in range(len(columns))]
    for row in [list(columns), *cells]:
        padded = (
            cell.rjust(width) if name in aligned else cell.ljust(width) for name, cell, width in zip(columns, row, widths, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


class Ticker:
    """Counts finished inputs on a progress bar, if there is one."""

    def __init__(self, bar: Progress | None, task: Any) -> None:
        self._bar, self._task = bar, task

    def step(self) -> None:
        """One more input is done."""
        if self._bar is not None:
            self._bar.advance(self._task)


@contextmanager
def progress(label: str, total: int, *, quiet: bool) -> Iterator[Ticker]:
    """A progress bar on stderr once the work takes over a second; nothing in pipes or when quiet."""
    if quiet or not sys.stderr.isatty():
        yield Ticker(None, None)
        return
    import threading  # noqa: PLC0415 - only on a terminal

    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=total)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield Ticker(bar, task)
    finally:
        timer.cancel()
        bar.stop()


def warn_of_broken_readers(*, quiet: bool) -> None:
    """A line on stderr for each reader of another package that could not be loaded."""
    from agenttrace.formats import broken_readers  # noqa: PLC0415 - loads every reader

    for name, reason in broken_readers().items() if not quiet else ():
        say(f"agenttrace: warning: the reader {name} of another package could not be loaded: {reason}")


def complete_format(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Names of formats, for shell completion."""
    from agenttrace.formats import formats  # noqa: PLC0415 - loads every reader

    return [name for name in formats() if name.startswith(incomplete)]


def common_options(function: Any) -> Any:
    """``--json`` and ``--quiet``, which every listing has."""
    function = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(function)
    return click.option("-q", "--quiet", is_flag=True, help="Leave out tables, summaries and warnings; errors are always told.")(function)


def format_option(function: Any) -> Any:
    """``--from``, for commands that read logs."""
    text = "The format of the inputs; default: recognise it."
    return click.option("--from", "format_", default="auto", metavar="NAME", shell_complete=complete_format, help=text)(function)


def describe(event: Event) -> tuple[Any, ...]:
    """An event as a row: time, agent, what, to, status, text. Long texts are cut."""
    data = event.data
    kind = data.__struct_config__.tag
    time = event.timestamp[11:23].rstrip("Z") if event.timestamp else ""
    to, status, text = "", "", ""
    if kind == "tool_call":
        call: Any = data
        to, status, kind = call.executor_id, call.status, "tool call"
        text = f"{call.tool_name}({_short(call.arguments)}) = {_short(call.result if call.error is None else call.error)}"
    elif kind == "message":
        message: Any = data
        to = "all" if message.broadcast else ", ".join(message.receiver_ids)
        kind = message.kind
        text = message.content if isinstance(message.content, str) else _short(message.content)
    elif kind == "artifact":
        made: Any = data
        also = dict.fromkeys(part for part in (made.name, made.uri) if part not in (None, made.artifact_id))
        text = " ".join(str(part) for part in (made.artifact_id, made.version, *also))
    else:
        update: Any = data
        to, status = ", ".join(update.assigned_to), update.status
        text = f"{update.subtask_id} {update.goal or ''}"
    folded = " ".join(text.split())
    return time, event.agent_id, kind, to, status, folded if len(folded) <= _WIDTH else folded[: _WIDTH - 1] + "…"


def _short(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, tuple):
        return " ".join(part.text or f"[{part.kind}]" for part in value)
    return str(value)
