"""Convert one input or many: the only place that puts readers, analyses and writers together.

An input is a file, or a folder that one reader claims whole. Each is converted on
its own: a broken one ends as a :class:`Report` with an error and stops no other.
Where the work runs is an argument (``jobs``); the outcome does not depend on it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agenttrace import codec, collector
from agenttrace.analysis.validation import Issue, validate
from agenttrace.errors import AgentTraceError, ReadError
from agenttrace.fidelity import unmapped_leaves
from agenttrace.formats import Format, get_format, recognise, verdicts
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.sources import Source, children

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

__all__ = ["Made", "Report", "convert", "find_inputs", "iter_traces", "read", "traces_of"]


@dataclass
class Report:
    """What came of one input.

    Attributes:
        path: as the user wrote it.
        format: the reader's name, None when none was found.
        variant: the variant of the format.
        trace_ids: of the traces that were made.
        events: how many events they hold.
        notes: what the conversion noted.
        problems: validation errors of the traces, by trace id. Readers should leave none.
        error: why nothing, or nothing more, could be read.
    """

    path: str
    format: str | None = None
    variant: str | None = None
    trace_ids: list[str] = field(default_factory=list)
    events: int = 0
    notes: Notes = field(default_factory=Notes)
    problems: list[tuple[str, Issue]] = field(default_factory=list)
    error: AgentTraceError | None = None

    @property
    def sound(self) -> bool:
        """Whether the input was whole and everything in it was read."""
        return self.error is None and not self.notes.damage and not self.problems

    def to_dict(self, *, notes: bool = True) -> dict[str, Any]:
        """The shape that ``--notes`` writes; without ``notes`` the summary of ``--json``."""
        shape: dict[str, Any] = {
            "path": self.path,
            "format": self.format,
            "variant": self.variant,
            "trace_ids": self.trace_ids,
            "counts": self.notes.counts(),
            "mapped_share": self.notes.mapped_share,
        }
        if notes:
            shape["notes"] = [note.to_dict() for note in self.notes.items]
        if self.error is not None:
            shape["error"] = self.error.to_dict()
        return shape


class Made(NamedTuple):
    """One trace as it goes to a writer. ``notes_end``: how many notes of the report had been made by then."""

    trace_id: str
    data: bytes
    notes_end: int


@dataclass(frozen=True)
class Work:
    """How to convert: see :func:`convert`."""

    format: str
    strict: bool
    check: bool
    count: bool


# -- reading ------------------------------------------------------------------------------


def read(path: str | os.PathLike[str], *, format: str = "auto", notes: Notes | None = None) -> list[Trace]:  # noqa: A002 - pinned name
    """All traces of a file or a folder in any known format. See :func:`iter_traces`."""
    return list(iter_traces(path, format=format, notes=notes))


def iter_traces(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 - pinned name
    notes: Notes | None = None,
) -> Iterator[Trace]:
    """The traces of a file, a folder or standard input (``-``), one at a time.

    Args:
        path: what to read. In a folder, files that no reader knows are noted ``unreadable`` and passed over.
        format: a reader's name, or ``auto``.
        notes: where conversion notes go.

    Raises:
        UnknownFormat, AmbiguousFormat: which reader to take is not clear.
        ReadError: nothing could be read.
        UsageError: no format has that name.
    """
    notes = notes if notes is not None else Notes()
    sources = find_inputs([os.fspath(path)], format)
    found = 0
    first_error: ReadError | None = None
    for source in sources:
        try:
            for trace in traces_of(source, format, notes)[2]:
                found += 1
                yield trace
        except ReadError as error:
            if len(sources) == 1:
                raise
            first_error = first_error or error
            notes.add("unreadable", source.name, error.reason)
    if not found and first_error is not None:
        raise first_error


def find_inputs(
    paths: Iterable[str],
    format: str = "auto",  # noqa: A002 - as in read
    errors: list[ReadError] | None = None,
) -> list[Source]:
    """The inputs behind paths: files, and folders that one reader claims whole; other folders stand for their files.

    Folders below a path that cannot be listed go to ``errors``, or are raised when that is None.

    Raises:
        ReadError: a path is not there, or a folder holds no file.
    """
    sources: list[Source] = []
    unlisted: list[ReadError] = [] if errors is None else errors
    for path in paths:
        source = Source.open(path)
        if not source.is_folder or _claimed_whole(source, format):
            sources.append(source)
            continue
        inside = list(_inside(source, format, unlisted))
        if not inside:
            raise unlisted[0] if unlisted else ReadError("empty", str(path), None, "the folder holds no files", "check the path")
        sources += inside
    if errors is None and unlisted:
        raise unlisted[0]
    return sources


def _inside(folder: Source, format: str, errors: list[ReadError], within: str = "") -> Iterator[Source]:  # noqa: A002 - as in read
    """The inputs in a folder: its files, then each folder in it, whole or as its inputs."""
    files, folders = children(folder, errors, within)
    yield from (file for file in files if not file.name.endswith(codec.NOTES_SUFFIX))
    for inner in folders:
        if _claimed_whole(inner, format):
            yield inner
        else:
            yield from _inside(inner, format, errors, f"{inner.name}/")


def _claimed_whole(folder: Source, format: str) -> bool:  # noqa: A002 - as in read
    if format != "auto":
        return get_format(format).sniff(folder) is not None
    return any(verdict.match for verdict in verdicts(folder))


def traces_of(source: Source, format: str, notes: Notes) -> tuple[Format, str, Iterator[Trace]]:  # noqa: A002 - as in read
    """The reader of one input, the variant, and its traces. Raises like :func:`iter_traces`."""
    if format == "auto":
        reader, match = recognise(source)
        variant = match.variant
    else:
        reader = get_format(format)
        match_ = reader.sniff(source)
        variant = match_.variant if match_ else "unknown"
    return reader, variant, _guarded(reader, source, notes)


def _guarded(reader: Format, source: Source, notes: Notes) -> Iterator[Trace]:
    """A reader's traces; a defect of the reader ends as one clear error, and an input without a run as another."""
    found = False
    try:
        for trace in reader.read(source, notes):
            found = True
            if notes.counting:
                notes.unmapped_leaves += unmapped_leaves(trace)
            yield trace
    except AgentTraceError:
        raise
    except (Exception, RecursionError) as error:
        reason = f"the reader {reader.name} broke on it: {type(error).__name__}: {error}"
        raise ReadError("reader_failed", source.label, None, " ".join(reason.split())[:300], "please report it with the log") from error
    if not found:
        raise ReadError("no_trace", source.label, None, f"recognised as {reader.name}, but no run could be read", "see the notes")


# -- converting -----------------------------------------------------------------------------


def convert(
    sources: Iterable[Source],
    *,
    format: str = "auto",  # noqa: A002 - as in read
    strict: bool = False,
    check: bool = True,
    count: bool = True,
    jobs: int = 1,
) -> Iterator[tuple[Report, Iterator[Made]]]:
    """Convert inputs in order: for each its report and its traces.

    The report is complete when the traces are exhausted. ``strict`` refuses damaged
    inputs instead of salvaging them, ``check`` validates every trace, ``count`` finds
    the mapped share. With ``jobs`` above one the inputs are converted in that many processes; the outcome is the same.
    """
    work = Work(format, strict, check, count)
    if jobs <= 1:
        for source in sources:
            report = Report(source.label, notes=Notes(counting=work.count))
            yield report, _convert(source, report, work)
        return
    from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - only for several jobs
    from multiprocessing import get_context  # noqa: PLC0415

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from _convert_apart(list(sources), pool, work, 2 * jobs)


def _convert_apart(sources: list[Source], pool: Executor, work: Work, window: int) -> Iterator[tuple[Report, Iterator[Made]]]:
    """In worker processes; what is no plain file (standard input) stays here.

    Only a few inputs are under way at a time, so that finished traces do not pile up in memory.
    """
    waiting: deque[tuple[Source, Future[tuple[Report, list[Made]]] | None]] = deque()
    remaining = iter(sources)
    while True:
        for source in islice(remaining, window - len(waiting)):
            plain = source.path is not None and source.path.is_file()
            waiting.append((source, pool.submit(convert_file, str(source.path), source.name, work) if plain else None))
        if not waiting:
            return
        source, task = waiting.popleft()
        if task is None:
            report = Report(source.label, notes=Notes(counting=work.count))
            yield report, _convert(source, report, work)
        else:
            report, made = task.result()
            del task
            yield report, iter(made)


def convert_file(path: str, name: str, work: Work) -> tuple[Report, list[Made]]:
    """Convert one file in a worker process."""
    report = Report(path, notes=Notes(counting=work.count))
    return report, list(_convert(Source(name, path=Path(path)), report, work))


def _convert(source: Source, report: Report, work: Work) -> Iterator[Made]:
    """The traces of one input as bytes. Everything that goes wrong ends in the report."""
    try:
        reader, report.variant, traces = traces_of(source, work.format, report.notes)
        report.format = reader.name
        if work.strict:
            traces = iter(_undamaged(list(traces), source, report.notes))
        while True:
            with collector.paused():
                made = _next(traces, report, work.check)
            if made is None:
                break
            yield made
    except AgentTraceError as error:
        report.error = error
    finally:
        source.forget()


def _next(traces: Iterator[Trace], report: Report, check: bool) -> Made | None:
    """The next trace, encoded and checked; the report is brought up to date. None at the end."""
    trace = next(traces, None)
    if trace is None:
        return None
    data = codec.dumps(trace)
    report.trace_ids.append(trace.trace_id)
    report.events += len(trace.events)
    if check:
        report.problems += [(trace.trace_id, found) for found in validate(data) if found.severity == "error"]
    return Made(trace.trace_id, data, len(report.notes.items))


def _undamaged(traces: list[Trace], source: Source, notes: Notes) -> list[Trace]:
    if damage := notes.damage:
        raise ReadError("damaged", source.label, damage[0].source_ref, damage[0].detail, "without --strict what can be read is salvaged")
    if aside := [note for note in notes.items if "unknown key" in note.detail]:
        raise ReadError("invalid", source.label, aside[0].source_ref, "unknown key", "without --strict it is kept in `extra`")
    return traces
