"""Golden pairs: every case under tests/formats/<format>/<case> gives exactly its ``expected.json``.

``pytest --accept`` rewrites the expectations; the diff is read before it is committed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agenttrace import codec
from agenttrace.analysis.validation import validate
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from tests.conftest import FORMATS

CASES = sorted(path.parent for path in FORMATS.glob("*/*/input*"))


def outcome(case: Path) -> dict[str, Any]:
    """What a case becomes: its format, traces and notes."""
    (path,) = case.glob("input*")
    (source,) = find_inputs([str(path)])
    notes = Notes()
    reader, variant, traces = traces_of(source, "auto", notes)
    documents = [json.loads(codec.dumps(trace)) for trace in traces]
    return {
        "format": reader.name,
        "variant": variant,
        "mapped_share": notes.mapped_share,
        "notes": [list(note) for note in notes.items],
        "traces": documents,
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_case_gives_what_is_expected(case: Path, accept: bool) -> None:
    found = outcome(case)
    text = json.dumps(found, indent=1, ensure_ascii=False) + "\n"
    expected = case / "expected.json"
    if accept:
        expected.write_text(text, "utf-8")
    assert json.loads(expected.read_text("utf-8")) == found, f"{case.name} changed; pytest --accept rewrites it"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_expectations_are_valid_traces(case: Path) -> None:
    for document in json.loads((case / "expected.json").read_text("utf-8"))["traces"]:
        assert validate(json.dumps(document).encode(), strict=True) == []


def test_every_format_has_cases_and_says_where_they_come_from() -> None:
    for folder in FORMATS.iterdir():
        assert (folder / "README.md").is_file(), f"{folder.name} has no README that says where its fixtures come from"
        assert any(case.parent == folder for case in CASES)
