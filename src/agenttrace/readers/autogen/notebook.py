"""Jupyter notebooks in which AutoGen ran: what its code cells printed, and the results that they end with.

A cell with a run in its outputs is a trace; several runs of ``Console`` in one cell are
several. Where a cell both printed a run and shows its result, they are laid over each
other: the result is the fuller record, the transcript shows its order and receivers.
Everything else in the notebook stays in the ``extra`` of the trace it precedes.

Format: https://nbformat.readthedocs.io/en/latest/format_description.html (nbformat 4).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.autogen.console_lines import Line, plain
from agenttrace.readers.autogen.printed import Printed, printed_messages, printed_objects
from agenttrace.readers.autogen.transcripts import fill_transcript, is_transcript

__all__ = ["has_runs", "is_notebook", "read_notebook"]

_CALLS = re.compile(r"\bFunction(?:Call|ExecutionResult)\(")


@dataclass
class _Cell:
    """A code cell's outputs: what it printed, the objects among its results, and the outputs that hold them."""

    index: int
    lines: list[Line] = field(default_factory=list)
    objects: list[Printed] = field(default_factory=list)
    used: set[int] = field(default_factory=set)

    @property
    def has_run(self) -> bool:
        """Whether a run of AutoGen shows in the outputs."""
        return bool(self.objects) or is_transcript(self.lines) or any(_CALLS.search(line.plain) for line in self.lines)


def is_notebook(value: Any) -> bool:
    """Whether a document is a notebook."""
    return isinstance(value, dict) and isinstance(value.get("cells"), list) and isinstance(value.get("nbformat"), int)


def has_runs(value: dict[str, Any]) -> bool:
    """Whether any cell of a notebook shows a run of AutoGen."""
    return any(_cell(index, cell).has_run for index, cell in enumerate(value["cells"]))


def read_notebook(value: dict[str, Any], notes: Notes, new_builder: Callable[[int], TraceBuilder]) -> Iterator[Trace]:
    """The traces of a notebook, in the order of its cells."""
    number = 0
    first = 0  # the first cell that no trace has taken yet
    last: list[TraceBuilder] = []
    for index, source in enumerate(value["cells"]):
        cell = _cell(index, source)
        if not cell.has_run:
            continue
        yield from (builder.build() for builder in last)
        last = []
        for fill in fill_transcript(cell.lines, cell.objects, notes):
            number += 1
            builder = new_builder(number)
            fill(builder)
            last.append(builder)
        if last:
            _keep_cells(last[0], notes, value["cells"], first, index, cell)
            first = index + 1
    if last:
        rest = {key: item for key, item in value.items() if key != "cells"}
        rest["cells"] = value["cells"][first:]
        last[-1].extra["notebook"] = {**last[-1].extra.get("notebook", {}), **_merged(last[-1], rest)}
    yield from (builder.build() for builder in last)


def _merged(builder: TraceBuilder, rest: dict[str, Any]) -> dict[str, Any]:
    before = builder.extra.get("notebook", {}).get("cells", [])
    return {**rest, "cells": [*before, *rest["cells"]]}


def _keep_cells(builder: TraceBuilder, notes: Notes, cells: list[Any], first: int, index: int, cell: _Cell) -> None:
    """The cells since the last run, and this one without the text that was read."""
    source = cells[index]
    outputs = source["outputs"]
    kept = [_shell(output) if number in cell.used else output for number, output in enumerate(outputs)]
    builder.extra["notebook"] = {"cells": [*cells[first:index], {**source, "outputs": kept}]}
    notes.add("aside", f"/cells/{index}", f"cells {first} to {index} without the text that was read, in the trace's `extra`")


def _shell(output: dict[str, Any]) -> dict[str, Any]:
    """An output without the text that was read."""
    rest = {key: item for key, item in output.items() if key != "text"}
    data = output.get("data")
    return {**rest, "data": {key: item for key, item in data.items() if key != "text/plain"}} if isinstance(data, dict) else rest


def _cell(index: int, source: Any) -> _Cell:
    """The outputs of a cell, sorted into lines and objects."""
    cell = _Cell(index)
    outputs = source.get("outputs") if isinstance(source, dict) and source.get("cell_type") == "code" else None
    streams: set[int] = set()
    for number, output in enumerate(outputs if isinstance(outputs, list) else ()):
        if not isinstance(output, dict):
            continue
        place = f"/cells/{index}/outputs/{number}"
        if output.get("output_type") == "stream" and output.get("name") == "stdout":
            streams.add(number)
            _add_lines(cell.lines, f"{place}/text", output.get("text"))
        elif isinstance(data := output.get("data"), dict):
            text = _text(data.get("text/plain"))
            ref = f"{place}/data/text~1plain"
            if found := printed_objects(text, ref):
                cell.objects += found
                cell.used.add(number)
            elif _CALLS.search(text):
                _add_lines(cell.lines, ref, data["text/plain"])
                cell.used.add(number)
    text = "\n".join(line.plain for line in cell.lines)
    if not is_transcript(cell.lines) and (
        found := printed_messages(cell.lines) or printed_objects(text, cell.lines[0].ref if cell.lines else "")
    ):
        cell.objects += found
        cell.lines = []
        cell.used |= streams
    elif cell.has_run:
        cell.used |= streams
    return cell


def _text(value: Any) -> str:
    """A text of a notebook, which may be a list of lines."""
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _add_lines(lines: list[Line], place: str, text: Any) -> None:
    """Output comes in pieces; a line may go on in the next one."""
    pieces = text if isinstance(text, list) else [text]
    for number, piece in enumerate(pieces):
        if not isinstance(piece, str):
            continue
        ref = f"{place}/{number}" if isinstance(text, list) else place
        for part_number, part in enumerate(piece.split("\n")):
            if part_number == 0 and lines:
                raw = lines[-1].raw + part
                lines[-1] = Line(lines[-1].ref if lines[-1].raw else ref, raw, plain(raw))
            else:
                lines.append(Line(ref, part, plain(part)))
