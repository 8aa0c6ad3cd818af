"""The published schemas: what is shipped is what is generated, valid, and says what every part is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

from agenttrace import model, schema
from agenttrace.schema import SCHEMAS, generate, load_schema, schema_text, write_files

STRUCTS: dict[str, type[msgspec.Struct]] = {
    name: each
    for name, each in vars(model).items()
    if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == model.__name__ and name != "Record"
}


def definition(name: str) -> dict[str, Any]:
    found: dict[str, Any] = load_schema() if name == "Trace" else load_schema()["$defs"][name]
    return found


def subschemas(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from subschemas(item)


def test_the_shipped_files_are_what_is_generated_now(tmp_path: Path) -> None:
    write_files(tmp_path)
    generated = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    shipped = {entry.name: entry.read_text("utf-8") for entry in files(schema).iterdir() if entry.name.endswith(".json")}
    assert generated == shipped
    assert set(shipped) == {f"{name}.json" for name in SCHEMAS}


def test_the_schema_of_a_trace_is_generated_from_the_model() -> None:
    assert load_schema() == generate()
    assert schema_text() == schema_text()


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_2020_12(name: str) -> None:
    loaded = load_schema(name)
    assert validator_for(loaded, default=None) is Draft202012Validator
    Draft202012Validator.check_schema(loaded)


@pytest.mark.parametrize("name", SCHEMAS)
def test_references_lead_to_definitions_and_every_definition_is_used(name: str) -> None:
    loaded = load_schema(name)
    referred = {part["$ref"] for part in subschemas(loaded) if "$ref" in part}
    assert referred == {f"#/$defs/{key}" for key in loaded.get("$defs", {})}


@pytest.mark.parametrize("name", SCHEMAS)
def test_patterns_are_regular_expressions_anchored_at_both_ends(name: str) -> None:
    patterns = {part["pattern"] for part in subschemas(load_schema(name)) if isinstance(part.get("pattern"), str)}
    assert [pattern for pattern in patterns if not (pattern.startswith("^") and pattern.endswith("$") and re.compile(pattern))] == []


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_has_a_title_an_id_and_one_line_about_it(name: str) -> None:
    loaded = load_schema(name)
    assert loaded["title"]
    assert loaded["$id"].startswith("urn:agenttrace:")
    assert SCHEMAS[name].endswith(".")


@pytest.mark.parametrize("name", STRUCTS)
def test_every_struct_says_what_it_is(name: str) -> None:
    documented = inspect.cleandoc(STRUCTS[name].__doc__ or "")
    first = " ".join(documented.split("\n\n")[0].split())
    assert first.endswith(".")
    assert definition(name)["description"] == first


@pytest.mark.parametrize("name", STRUCTS)
def test_every_field_stands_in_the_schema_in_order(name: str) -> None:
    properties = [key for key in definition(name)["properties"] if key != "type"]
    assert properties == list(STRUCTS[name].__struct_fields__)


@pytest.mark.parametrize("name", STRUCTS)
def test_the_schema_requires_what_the_model_requires(name: str) -> None:
    required = {field.name for field in msgspec.structs.fields(STRUCTS[name]) if field.required}
    assert set(definition(name)["required"]) - {"type"} == required


@pytest.mark.parametrize("name", STRUCTS)
def test_no_struct_has_keys_beyond_its_own(name: str) -> None:
    assert definition(name)["additionalProperties"] is False


def test_the_format_requires_what_its_page_says() -> None:
    assert {name: sorted(set(definition(name)["required"]) - {"type"}) for name in STRUCTS if definition(name)["required"]} == {
        "Trace": ["agent_instances", "dependency_links", "events", "extra", "meta", "trace_id"],
        "TraceMeta": ["framework"],
        "AgentInstance": ["agent_id"],
        "Annotation": ["name"],
        "ToolDescription": ["name"],
        "ContentPart": ["kind"],
        "Event": ["data", "event_id"],
        "Message": ["receiver_ids"],
        "ToolCall": ["tool_name"],
        "Artifact": ["artifact_id"],
        "SubtaskUpdate": ["subtask_id"],
        "DependencyLink": ["dep_type", "origin", "source_event_id", "target_event_id"],
    }
