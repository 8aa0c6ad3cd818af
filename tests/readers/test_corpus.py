"""Every file of the folders of real logs: is it a log, which variant, how many traces, and is anything lost?

``corpus.tsv`` lists them by path only. What it calls ``-`` is no log, or one whose variant no
reader knows yet; such a file must be refused, not misread.
"""

from __future__ import annotations

import csv
import importlib.util
import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from agenttrace import codec
from agenttrace.analysis.validation import validate
from agenttrace.errors import ReadError, UnknownFormat
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from tests import bench_texts, company_texts
from tests.conftest import ROOT, corpus_folder
from tests.message_texts import excerpt
from tests.printed_texts import said_in, times_in, unpacked_notebook
from tests.readers.test_contract import split_texts

pytestmark = pytest.mark.corpus


class Row(NamedTuple):
    path: str
    kind: str
    format: str
    variant: str
    traces: str
    damaged: str


def rows() -> list[Row]:
    with (Path(__file__).parent / "corpus.tsv").open(encoding="utf-8") as stream:
        return [Row(*line) for line in list(csv.reader(stream, delimiter="\t"))[1:]]


LISTED = rows()
READ = [row for row in LISTED if row.format != "-"]
each_log = pytest.mark.parametrize("row", READ, ids=lambda row: row.path[-80:])


@pytest.fixture(scope="module")
def coverage_tool() -> ModuleType:
    return load_coverage_tool()


def load_coverage_tool() -> ModuleType:
    """The tool that counts texts, which lies beside the real logs."""
    path = corpus_folder().parent / "tools" / "leaf_coverage.py"
    if not path.is_file():
        pytest.skip(f"no leaf_coverage.py at {path}")
    spec = importlib.util.spec_from_file_location("leaf_coverage", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def twin(path: Path) -> Path:
    """A printed object has the same values as the JSON that was dumped beside it; text tools cannot look into it."""
    if path.name.endswith(".naive_json_dump.json"):  # cut by the framework: the whole state lies beside it
        return path.with_name(path.name.replace(".naive_json_dump", ""))
    if not path.name.endswith(".repr.txt"):
        return path
    stem = path.name.removesuffix(".repr.txt")
    return next(beside for beside in (path.with_name(f"{stem}.messages.jsonl"), path.with_name(f"{stem}.json")) if beside.is_file())


def printed(path: Path, leaves: list[str]) -> list[str]:
    """Of the twin's values those that were printed: a picture prints as ``<Image object at …>``."""
    if twin(path) == path:
        return leaves
    text = path.read_text("utf-8")
    return [leaf for leaf in leaves if leaf in text or repr(leaf)[1:-1] in text or json.dumps(leaf)[1:-1] in text]


TEXTS: dict[str, ModuleType] = dict.fromkeys(company_texts.FORMATS, company_texts) | dict.fromkeys(bench_texts.FORMATS, bench_texts)
"""By format: who takes its texts apart, without the reader."""

NO_JSON = {"console_chat", "console_team", "core_events", "notebook", "runtime_file", "runtime_sqlite"}
"""Variants that are no plain JSON of messages."""


def leaves_of(row: Row, tool: ModuleType) -> list[str]:
    """The values of a log as the tool counts them."""
    path = corpus_folder() / row.path
    if row.format in TEXTS:
        return list(tool.leaves(TEXTS[row.format].whole(path, row.variant)))
    if row.variant == "notebook":
        return list(tool.leaves(unpacked_notebook(path)))
    return printed(path, tool.source_leaves(twin(path))[1])


def texts_of(row: Row) -> list[str]:
    """The message and tool texts of a log."""
    path = corpus_folder() / row.path
    if row.format in TEXTS:
        found: list[Any] = TEXTS[row.format].said(path, row.variant)
        return found
    return said_in(path, row.variant) if row.variant in NO_JSON else excerpt(twin(path))


MAPPINGS = {"sentinel": str(ROOT / "examples" / "mappings" / "sentinel.toml")}
"""By folder: logs that are read by a mapping."""


def convert(path: Path) -> tuple[str, str, list[Any], Notes]:
    (source,) = find_inputs([str(path)])
    notes = Notes()
    format_ = MAPPINGS.get(path.relative_to(corpus_folder()).parts[0], "auto")
    reader, variant, traces = traces_of(source, format_, notes)
    return reader.name, variant, [json.loads(codec.dumps(trace)) for trace in traces], notes


def test_the_list_names_every_file() -> None:
    folders = {row.path.split("/")[0] for row in LISTED}
    found = {
        path.relative_to(corpus_folder()).as_posix()
        for folder in folders
        for path in (corpus_folder() / folder).rglob("*")
        if path.is_file()
    }
    assert {row.path for row in LISTED} == found


@each_log
def test_a_log_is_recognised_valid_and_whole(row: Row) -> None:
    name, variant, documents, notes = convert(corpus_folder() / row.path)
    assert (name, variant, str(len(documents))) == (row.format, row.variant, row.traces)
    assert bool(notes.damage) == (row.damaged == "yes"), notes.damage
    for document in documents:
        assert validate(json.dumps(document).encode(), strict=True) == []


@each_log
def test_nothing_of_a_log_is_lost(row: Row, coverage_tool: ModuleType) -> None:
    _, _, documents, _ = convert(corpus_folder() / row.path)
    texts = [leaf for leaf in leaves_of(row, coverage_tool) if coverage_tool.kind(leaf) == "texts"]
    lost = coverage_tool.missing(texts, documents)
    assert len(lost) <= 0.01 * len(texts), lost[:5]


@each_log
def test_texts_stand_in_standard_fields(row: Row, coverage_tool: ModuleType) -> None:
    path = corpus_folder() / row.path
    _, _, documents, _ = convert(path)
    wanted = printed(path, list(coverage_tool.leaves(texts_of(row))))
    coverage_tool.SKIPPED.update(("extra", "metadata"))
    try:
        lost = coverage_tool.missing(wanted, documents)
    finally:
        coverage_tool.SKIPPED.clear()
    assert len(lost) <= 0.05 * len(wanted), lost[:5]


@each_log
def test_no_text_in_extra_stands_in_a_standard_field(row: Row) -> None:
    for document in convert(corpus_folder() / row.path)[2]:
        standard, aside = split_texts(document)
        assert [text for text in aside if len(text) >= 12 and text in standard] == []


def moments(value: Any, keys: tuple[str, ...]) -> set[datetime]:
    """The times under some keys of a JSON tree."""
    if isinstance(value, dict):
        here = {datetime.fromisoformat(item) for key, item in value.items() if key in keys and isinstance(item, str)}
        return here.union(*(moments(item, keys) for item in value.values()))
    return set().union(*(moments(item, keys) for item in value)) if isinstance(value, list) else set()


@each_log
def test_times_keep_their_value(row: Row) -> None:
    """The notation of a time may change, its moment may not. A log that says things several times keeps one of the times."""
    path = corpus_folder() / row.path
    kept = moments(convert(path)[2], ("timestamp", "completed_at", "started_at", "model_call_at"))
    if row.variant in NO_JSON or row.format in TEXTS:
        told_at = bench_texts.times_in(path) if row.variant == "otel" else times_in(path)
        assert {moment.replace(tzinfo=None) for moment in kept} <= told_at
        return
    text = twin(path).read_text("utf-8")
    try:
        source = json.loads(text)
    except ValueError:
        source = [json.loads(line) for line in text.splitlines()]
    told = moments(source, ("created_at", "timestamp"))
    assert kept <= told if row.damaged == "yes" else kept == told


@pytest.mark.parametrize("row", [row for row in READ if row.format == "multi_agent_bench"], ids=lambda row: row.path[-60:])
def test_a_record_of_multi_agent_bench_has_as_many_of_each_as_its_trace(row: Row) -> None:
    found: Counter[str] = Counter()
    for document in convert(corpus_folder() / row.path)[2]:
        kinds = [event["data"] for event in document["events"]]
        found["runs"] += 1
        found["assignments"] += sum(data.get("status") == "created" for data in kinds)
        found["answered"] += sum(data.get("status") == "completed" for data in kinds)
        found["function results"] += sum(data["type"] == "tool_call" for data in kinds)
        found["results"] += len({event["turn_id"] for event in document["events"] if "turn_id" in event})
        sessions = [data["metadata"]["session"] for data in kinds if "session" in data.get("metadata", {})]
        found["sessions"] += len(set(sessions))
        found["session messages"] += len(sessions)
    assert found == bench_texts.counts(corpus_folder() / row.path)


def test_what_no_reader_knows_is_refused() -> None:
    for row in LISTED:
        if row.format == "-":
            with pytest.raises(UnknownFormat if row.kind != "empty" and row.path.split("/")[0] not in MAPPINGS else ReadError):
                convert(corpus_folder() / row.path)
