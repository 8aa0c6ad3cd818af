"""The profile of MAMU: its page, its schema and its reader say the same."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest

from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source
from tests.cli.test_convert import run
from tests.conftest import FORMATS, ROOT

PAGE = (ROOT / "docs" / "formats" / "mamu.md").read_text("utf-8")
EXAMPLE, SCHEMA = (json.loads(block) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))


def errors(value: Any) -> list[str]:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(value)]


def test_the_example_of_the_page_is_of_the_schema_and_is_read() -> None:
    assert errors(EXAMPLE) == []
    (trace,) = traces_of(Source("run", data=json.dumps(EXAMPLE).encode()), "auto", Notes())[2]
    kinds = [type(event.data).__name__ for event in trace.events]
    assert kinds == ["Artifact", "Message", "Message", "ToolCall", "Artifact"]
    by_name = {agent.agent_id: agent for agent in trace.agent_instances}
    assert by_name["agent_ada"].extra["principal"] == "Ada"
    assert trace.events[2].data.receiver_ids == ("agent_bo",)  # type: ignore[union-attr]


def test_the_schema_sees_what_is_odd_in_the_fixture() -> None:
    fixture = json.loads((FORMATS / "mamu" / "hand_run" / "input.json").read_text("utf-8"))
    assert sorted(errors(fixture)) == [
        "'a line that is no turn' is not of type 'object'",
        "'later' is not one of ['success', 'failure', 'exception']",
    ]


@pytest.mark.parametrize("key", ["scenario_id", "formation", "turns"])
def test_what_the_schema_requires_the_reader_requires(key: str) -> None:
    less = {name: value for name, value in EXAMPLE.items() if name != key}
    assert errors(less) == [f"'{key}' is a required property"]
    assert run("doctor", "-", stdin=json.dumps(less).encode()).returncode == 1


def test_it_says_that_it_is_experimental() -> None:
    assert b"experimental" in run("formats", "mamu").stdout
    notes = Notes()
    list(traces_of(Source("run", data=json.dumps(EXAMPLE).encode()), "auto", notes)[2])
    assert any(note.detail.startswith("experimental") for note in notes.items)
