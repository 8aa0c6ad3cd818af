"""``agenttrace convert``: logs in, AgentTrace out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import click
import orjson

from agenttrace import codec, compression, pipeline
from agenttrace.atomic import make_folder, open_atomic, write_atomic
from agenttrace.cli.output import common_options, fail, format_option, print_json, progress, say
from agenttrace.errors import ReadError, UsageError, WriteError
from agenttrace.formats import get_format
from agenttrace.notes import Note
from agenttrace.pipeline import Made, Report
from agenttrace.sources import Source, shown_path

_SHOWN = 10  # damaged places told per input; --notes has all


@click.command("convert")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(readable=False), metavar="INPUT…")
@click.option(
    "-o",
    "--out",
    type=click.Path(readable=False),
    metavar="OUT",
    help="A folder, NAME.json (one trace) or NAME.jsonl (a line each), with .gz or .zst; default stdout.",
)
@format_option
@click.option(
    "--notes",
    "notes_path",
    type=click.Path(readable=False),
    metavar="FILE",
    help="Write what was copied, kept aside, made up or salvaged, as JSON, a line per input.",
)
@click.option("--strict", is_flag=True, help="Refuse damaged inputs and unknown keys instead of salvaging them.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Convert this many inputs at a time.")
@common_options
def command(
    *, inputs: tuple[str, ...], out: str | None, format_: str, notes_path: str | None, strict: bool, jobs: int, as_json: bool, quiet: bool
) -> int:
    """Convert logs of any known format to AgentTrace.

    An INPUT is a file, a folder (every file in it, or the whole where one reader claims it) or - for
    standard input. Several traces to a folder become TRACE_ID.json each, with what the conversion noted
    beside it in TRACE_ID.notes.jsonl.
    """
    if format_ != "auto":
        get_format(format_)
    sources, reports = _open(inputs, format_)
    sink = _sink(out, sources)
    _refuse_notes(notes_path, out, sources)
    stack = ExitStack()
    with stack, progress("converting", len(sources), quiet=quiet) as ticker:
        stack.enter_context(sink)
        for report, made in pipeline.convert(sources, format=format_, strict=strict, count=bool(notes_path or as_json), jobs=jobs):
            for item in made:
                sink.write(item)
            sink.finish(report)
            reports.append(report)
            ticker.step()
    if notes_path:
        _write_notes(notes_path, reports)
    for report in reports:
        _tell(report, as_json=as_json, quiet=quiet)
    if as_json and out not in (None, "-"):
        print_json([report.to_dict(notes=False) for report in reports])
    elif not quiet and not as_json:
        _summary(reports, out)
    return _status(reports)


def _open(inputs: Iterable[str], format_: str) -> tuple[list[Source], list[Report]]:
    """The sources behind the arguments; an argument that cannot be opened becomes a report of its own."""
    sources: list[Source] = []
    failed: list[Report] = []
    for path in inputs:
        try:
            unlisted: list[ReadError] = []
            sources += pipeline.find_inputs([path], format_, unlisted)
            failed += [Report(error.path or path, error=error) for error in unlisted]
        except ReadError as error:
            failed.append(Report(shown_path(path), error=error))
    return sources, failed


def _status(reports: list[Report]) -> int:
    if not any(report.trace_ids for report in reports):
        return 2
    return 0 if all(report.sound for report in reports) else 1


def _tell(report: Report, *, as_json: bool, quiet: bool) -> None:
    """What went wrong with one input, on stderr."""
    damage = report.notes.damage
    refused = report.error is not None and report.error.code == "damaged"  # --strict: the error tells it
    if not quiet and not as_json and not refused:
        for note in damage[:_SHOWN]:
            say(f"agenttrace: {report.path}: {_place(note)}{note.code}: {note.detail}")
        if len(damage) > _SHOWN:
            say(f"agenttrace: {report.path}: {len(damage) - _SHOWN} more damaged places (--notes FILE lists all)")
    for trace_id, problem in report.problems[:_SHOWN]:
        say(f"agenttrace: {report.path}: {trace_id}: {problem.pointer}: {problem.message} ({problem.code})")
    if report.error is not None:
        fail(report.error, as_json=as_json)


def _place(note: Note) -> str:
    return f"{note.source_ref}: " if note.source_ref else ""


def _summary(reports: list[Report], out: str | None) -> None:
    traces = sum(len(report.trace_ids) for report in reports)
    events = sum(report.events for report in reports)
    read = sum(bool(report.trace_ids) for report in reports)
    inputs = f"{len(reports)} input" + ("s" if len(reports) != 1 else "")
    line = f"{inputs}, {read} read" if read < len(reports) else inputs
    line += f": {traces} trace{'s' * (traces != 1)} with {events} events"
    counts = [f"{count} {code}" for code, count in _counts(reports).items()]
    if not traces:
        say(f"{inputs}: nothing read, nothing written")
        return
    say(f"{line} to {'stdout' if out in (None, '-') else out}" + (f"; notes: {', '.join(counts)}" if counts else ""))


def _counts(reports: list[Report]) -> dict[str, int]:
    total: dict[str, int] = {}
    for report in reports:
        for code, count in report.notes.counts().items():
            total[code] = total.get(code, 0) + count
    return total


def _write_notes(path: str, reports: list[Report]) -> None:
    lines = b"".join(orjson.dumps(report.to_dict()) + b"\n" for report in reports)
    if path == "-":
        sys.stdout.buffer.write(lines)
    else:
        write_atomic(Path(path), lines)


# -- where traces go ----------------------------------------------------------------


def _sink(out: str | None, sources: list[Source]) -> _Sink:
    if out is None or out == "-":
        return _Sink()
    inputs = _real(source.path for source in sources if source.path is not None)
    target = Path(out)
    form = codec.output_form(out)
    if form == "folder":
        if target.suffix[1:].isalpha() and not out.endswith("/") and not target.exists():
            reason = f"{target.suffix} is no kind of output"
            raise UsageError("usage", out, None, reason, "name a .json or .jsonl file, or a folder with a / behind it")
        return _FolderSink(target, inputs)
    if _real([target]) & inputs:
        raise UsageError("usage", out, None, "the output would replace an input", "choose another name with -o/--out")
    return _FileSink(target) if form == "json" else _LinesSink(target)


def _real(paths: Iterable[Path]) -> set[str]:
    """Where paths lead through links."""
    return {os.path.realpath(path) for path in paths}


def _refuse_notes(notes_path: str | None, out: str | None, sources: list[Source]) -> None:
    """Notes must replace neither an input nor the output."""
    if notes_path in (None, "-"):
        return
    taken = _real([*(source.path for source in sources if source.path is not None), *([Path(out)] if out not in (None, "-") else [])])
    if _real([Path(notes_path)]) & taken:
        raise UsageError("usage", notes_path, None, "the notes would replace an input or the output", "choose another name with --notes")


class _Sink:
    """Standard output: a line per trace."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        if kind is None:
            sys.stdout.flush()

    def write(self, made: Made) -> None:
        """Take one trace."""
        sys.stdout.buffer.write(made.data + b"\n")

    def finish(self, report: Report) -> None:
        """An input is done."""


class _FileSink(_Sink):
    """One trace in one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._made: Made | None = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        if kind is None and self._made is not None:
            data = self._made.data + b"\n"
            write_atomic(self._path, compression.compress(data, compression.suffix_of(self._path.name)))

    def write(self, made: Made) -> None:
        if self._made is not None:
            raise UsageError("usage", str(self._path), None, "several traces for one .json file", "use a .jsonl name or a folder")
        self._made = made


class _LinesSink(_Sink):
    """A line per trace in one file, which appears when all is written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stack = ExitStack()
        self._stream: compression.Writer | None = None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, place)

    def write(self, made: Made) -> None:
        if self._stream is None:
            raw = self._stack.enter_context(open_atomic(self._path))
            self._stream = self._stack.enter_context(codec.jsonl_stream(raw, self._path.name))
        self._stream.write(made.data + b"\n")


class _FolderSink(_Sink):
    """A file per trace, and one with its notes beside it where there are any."""

    def __init__(self, folder: Path, inputs: set[str]) -> None:
        self._folder = folder
        self._inputs = inputs
        self._name = codec.file_names()
        self._written: list[tuple[Path, int]] = []

    def write(self, made: Made) -> None:
        if not self._folder.is_dir():
            make_folder(self._folder)
        path = self._folder / self._name(made.trace_id)
        if os.path.realpath(path) in self._inputs:
            raise WriteError("write_failed", str(path), None, "it is one of the inputs", "choose another folder with -o/--out")
        write_atomic(path, made.data + b"\n")
        self._written.append((path, made.notes_end))

    def finish(self, report: Report) -> None:
        start = 0
        for index, (path, notes_end) in enumerate(self._written):
            end = len(report.notes.items) if index == len(self._written) - 1 else notes_end
            lines = b"".join(orjson.dumps(note.to_dict()) + b"\n" for note in report.notes.items[start:end])
            side = path.with_name(path.name.removesuffix(".json") + codec.NOTES_SUFFIX)
            if lines:
                write_atomic(side, lines)
            elif side.exists():
                side.unlink()  # of an earlier conversion
            start = end
        self._written.clear()
