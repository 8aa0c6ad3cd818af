"""One contract for all readers. A new reader is tested here without a line being added."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agenttrace import codec
from agenttrace.analysis.validation import validate
from agenttrace.errors import ReadError
from agenttrace.formats import Format, formats, verdicts
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source
from tests.readers.test_golden import CASES

READERS = list(formats().values())
each_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")


def input_of(case: Path) -> Path:
    (path,) = case.glob("input*")
    return path


def read(given: bytes | Path, reader: Format) -> tuple[list[Trace], Notes]:
    """What a reader makes of bytes, or of a case's file or folder."""
    notes = Notes()
    source = Source("input", data=given) if isinstance(given, bytes) else Source.open(given)
    return list(traces_of(source, reader.name, notes)[2]), notes


@each_reader
def test_a_reader_says_what_it_is(reader: Format) -> None:
    module = __import__(reader.read.__module__, fromlist=["x"])
    assert module.__doc__ and len(module.__doc__) > 80, "the docstring says what a maintainer must know"
    assert reader.spec.startswith("https://")
    assert re.fullmatch(r"[a-z][a-z0-9_]*", reader.name)
    assert reader.variants and all(reader.variants.values())
    assert reader.mapping, "what stands in the log and where it goes"
    assert all(reader.not_mapped.values())


@each_reader
def test_a_reader_has_a_case_for_every_variant(reader: Format) -> None:
    matches = [reader.sniff(Source.open(input_of(case))) for case in CASES if case.parent.name == reader.name]
    shown = {match.variant for match in matches if match}
    missing = set(reader.variants) - shown
    assert not missing, f"no golden case for {missing}"


@each_case
def test_a_fixture_is_claimed_by_one_reader(case: Path) -> None:
    claims = [said for said in verdicts(Source.open(input_of(case))) if said.match and said.match.level != "possible"]
    assert [said.format.name for said in claims] == [case.parent.name]


@each_case
def test_the_same_bytes_give_the_same_bytes(case: Path) -> None:
    reader, path = formats()[case.parent.name], input_of(case)
    first, second = (([codec.dumps(trace) for trace in traces], notes.items) for traces, notes in (read(path, reader), read(path, reader)))
    assert first == second


@each_case
def test_traces_are_valid_and_survive_the_round_trip(case: Path) -> None:
    traces, _ = read(input_of(case), formats()[case.parent.name])
    assert traces
    for trace in traces:
        assert validate(trace, strict=True) == []
        assert codec.loads(codec.dumps(trace), strict=True) == trace


@each_case
def test_every_event_says_where_it_stands(case: Path) -> None:
    if case.parent.name == "agenttrace":
        pytest.skip("AgentTrace files keep the places of the log they came from")
    traces, notes = read(input_of(case), formats()[case.parent.name])
    places = [event.source_ref for trace in traces for event in trace.events]
    assert all(places) and len(set(places)) == len(places)
    if not notes.damage:
        for place in [*places, *(note.source_ref for note in notes.items if note.source_ref)]:
            assert stands_in(input_of(case), str(place)), place


def stands_in(path: Path, place: str) -> bool:
    """Whether a place is there: ``line:N``, ``table/rowid`` or a JSON pointer, with a file of a folder before ``#``."""
    if path.is_dir():
        name, _, place = place.partition("#")
        path = path / name
        if not place:
            return path.is_file()
    if path.suffix == ".db":
        table, rowid = place.split("/")[:2]
        with sqlite3.connect(path) as database:
            return bool(database.execute(f"SELECT 1 FROM {table} WHERE rowid = ?", (rowid,)).fetchone())
    text = path.read_text("utf-8")
    line, slash, rest = place.partition("/")
    if not line.startswith("line:"):
        return resolve(json.loads(text), place) is not None
    lines = text.split("\n")
    held = lines[int(line.removeprefix("line:")) - 1]
    return bool(held) if not slash or path.suffix in (".txt", ".log") else resolve(json.loads(held), f"/{rest}") is not None


def resolve(value: Any, place: str) -> Any:
    """The value at a JSON pointer; it may go on inside a text that holds JSON, or that a terminal showed."""
    for part in place.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                return value
        if isinstance(value, list) and not key.isdigit():
            return value  # inside an object that was printed over several lines
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@each_case
def test_reading_prints_nothing_and_calls_nobody(case: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    read(input_of(case), formats()[case.parent.name])
    assert capfd.readouterr() == ("", "")


@each_case
def test_no_text_in_extra_stands_in_a_standard_field(case: Path) -> None:
    traces, _ = read(input_of(case), formats()[case.parent.name])
    for trace in traces:
        document = json.loads(codec.dumps(trace))
        standard, aside = split_texts(document)
        assert [text for text in aside if len(text) >= 12 and text in standard] == []


def split_texts(value: Any, aside: bool = False) -> tuple[set[str], list[str]]:
    """The texts in standard fields, and those in ``extra``."""
    standard: set[str] = set()
    kept: list[str] = []
    stack = [(value, aside)]
    while stack:
        item, inside = stack.pop()
        if isinstance(item, dict):
            # A config may hold anything: constructors of AutoGen 0.2 are logged with whole conversations in them.
            stack += [(part, inside or key == "extra") for key, part in item.items() if key != "config"]
        elif isinstance(item, list):
            stack += [(part, inside) for part in item]
        elif isinstance(item, str):
            kept.append(item) if inside else standard.add(item)
    return standard, kept


# -- hostile input: only a ReadError or a trace may come out ----------------------------


def damaged(data: bytes) -> Iterator[tuple[str, bytes]]:
    for sixteenth in range(1, 16):
        yield f"cut at {sixteenth}/16", data[: len(data) * sixteenth // 16]
    middle = len(data) // 2
    yield "NUL bytes", data[:middle] + b"\0" * 50 + data[middle:]
    yield "a byte that is no UTF-8", data[:middle] + b"\xff" + data[middle:]
    yield "as GB18030", data.decode("utf-8", "replace").encode("gb18030")
    yield "as UTF-16", data.decode("utf-8", "replace").encode("utf-16")
    yield "twice", data + data
    yield "garbage behind", data + b"\n}}} not json"
    yield "a value nested deeply", data.replace(b'"content"', b'"nest": ' + b"[" * 200 + b"]" * 200 + b', "content"')
    yield "numbers for texts", data.replace(b'"content": "', b'"content": 7, "was": "')
    yield "NaN", re.sub(rb'"content": "[^"\\]*"', b'"content": NaN', data)
    yield "lone surrogates", data.replace(b'"content": "', b'"content": "\\ud800')
    yield "keys twice", data.replace(b'"content"', b'"content": "first", "content"')


@each_case
def test_line_ends_of_windows_change_nothing(case: Path) -> None:
    path = input_of(case)
    if path.is_dir() or path.suffix == ".db" or b"\r" in path.read_bytes():
        pytest.skip("no file of text, or one with line ends of its own")
    reader, data = formats()[case.parent.name], path.read_bytes()
    (unix, _), (windows, _) = read(data, reader), read(data.replace(b"\n", b"\r\n"), reader)
    assert [without_id(trace) for trace in windows] == [without_id(trace) for trace in unix]


def without_id(trace: Trace) -> dict[str, Any]:
    """A trace without what is made of the bytes of its file."""
    made: dict[str, Any] = json.loads(codec.dumps(trace))
    del made["trace_id"]
    made["meta"].pop("source", None)
    return made


@each_case
def test_hostile_input_is_refused_or_salvaged(case: Path) -> None:
    if input_of(case).is_dir():
        pytest.skip("its files are the cases of their own variants")
    for name, data in damaged(input_of(case).read_bytes()):
        try:
            traces, _ = read(data, formats()[case.parent.name])
        except ReadError as error:
            assert error.code != "reader_failed", f"{name}: {error}"
            assert "\n" not in str(error)
            continue
        for trace in traces:
            assert [issue for issue in validate(trace) if issue.severity == "error"] == [], name
