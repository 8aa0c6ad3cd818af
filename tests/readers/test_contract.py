"""One contract for all readers. A new reader is tested here without a line being added."""

from __future__ import annotations

import json
import re
import socket
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


def read(data: bytes, reader: Format) -> tuple[list[Trace], Notes]:
    notes = Notes()
    source = Source("input", data=data)
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
    reader, data = formats()[case.parent.name], input_of(case).read_bytes()
    first, second = (([codec.dumps(trace) for trace in traces], notes.items) for traces, notes in (read(data, reader), read(data, reader)))
    assert first == second


@each_case
def test_traces_are_valid_and_survive_the_round_trip(case: Path) -> None:
    traces, _ = read(input_of(case).read_bytes(), formats()[case.parent.name])
    assert traces
    for trace in traces:
        assert validate(trace, strict=True) == []
        assert codec.loads(codec.dumps(trace), strict=True) == trace


@each_case
def test_every_event_says_where_it_stands(case: Path) -> None:
    if case.parent.name == "agenttrace":
        pytest.skip("AgentTrace files keep the places of the log they came from")
    data = input_of(case).read_bytes()
    traces, notes = read(data, formats()[case.parent.name])
    places = [event.source_ref for trace in traces for event in trace.events]
    assert all(places) and len(set(places)) == len(places)
    if not notes.damage:
        document = [json.loads(line) for line in data.splitlines()] if input_of(case).suffix == ".jsonl" else json.loads(data)
        for place in [*places, *(note.source_ref for note in notes.items if note.source_ref)]:
            assert resolve(document, place) is not None, place


def resolve(document: Any, place: str | None) -> Any:
    """The value at a JSON pointer, or at ``line:N`` with a pointer behind it."""
    assert place is not None
    lines, _, rest = place.partition("/")
    value = document
    if lines:
        assert lines.startswith("line:")
        value = document[int(lines.removeprefix("line:")) - 1]
    for part in rest.split("/") if rest else ():
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@each_case
def test_reading_prints_nothing_and_calls_nobody(case: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a reader opened a socket")

    monkeypatch.setattr(socket, "socket", refuse)
    read(input_of(case).read_bytes(), formats()[case.parent.name])
    assert capfd.readouterr() == ("", "")


@each_case
def test_no_text_in_extra_stands_in_a_standard_field(case: Path) -> None:
    traces, _ = read(input_of(case).read_bytes(), formats()[case.parent.name])
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
            stack += [(part, inside or key == "extra") for key, part in item.items()]
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
def test_hostile_input_is_refused_or_salvaged(case: Path) -> None:
    for name, data in damaged(input_of(case).read_bytes()):
        try:
            traces, _ = read(data, formats()[case.parent.name])
        except ReadError as error:
            assert error.code != "reader_failed", f"{name}: {error}"
            assert "\n" not in str(error)
            continue
        for trace in traces:
            assert [issue for issue in validate(trace) if issue.severity == "error"] == [], name
