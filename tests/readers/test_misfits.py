"""Whatever kind of value stands under a key, it is in the trace, or a note says what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agenttrace import codec
from agenttrace.errors import ReadError
from agenttrace.misfits import misfits
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source
from tests.conftest import FORMATS

CASES = ("agentscope/1_session", "agentscope/1_spans", "agentscope/2_messages", "agentscope/2_state", "mamu", "mas_sim/hand_otel")
CASES += ("mas_sim/hand_trajectory", "multi_agent_bench/hand_graph")
ODD: tuple[Any, ...] = (["oddvalue"], {"oddkey": "oddvalue"}, "oddvalue")
FREE = {
    *("agentscope.format.count", "agentscope.format.target"),  # of spans that only wrap: a note says so
    *("agentscope.function.input", "agentscope.function.output"),  # printed copies: a note says so
}


def inputs() -> Iterator[tuple[str, list[Any], bool]]:
    for case in CASES:
        for path in sorted((FORMATS / case).rglob("input.json*")):
            text = path.read_text("utf-8")
            lines = path.suffix == ".jsonl"
            values = [json.loads(line) for line in text.splitlines() if line.strip()] if lines else [json.loads(text)]
            yield str(path.parent.relative_to(FORMATS)), values, lines


def keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {*value, *(key for item in value.values() for key in keys(item))}
    return {key for item in value for key in keys(item)} if isinstance(value, list) else set()


def replaced(value: Any, name: str, odd: Any) -> Any:
    if isinstance(value, dict):
        return {key: odd if key == name else replaced(item, name, odd) for key, item in value.items()}
    return [replaced(item, name, odd) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("case", "values", "lines"), list(inputs()), ids=lambda value: value if isinstance(value, str) else "")
def test_no_odd_value_is_lost(case: str, values: list[Any], lines: bool) -> None:
    lost = []
    for name in sorted(keys(values) - FREE):
        for odd in ODD:
            data = "\n".join(json.dumps(replaced(value, name, odd)) for value in values)
            notes = Notes(counting=False)
            try:
                traces = list(
                    traces_of(Source("log.jsonl" if lines else "log.json", data=data.encode()), case.split("/", maxsplit=1)[0], notes)[2]
                )
            except ReadError:
                continue
            kept = b"".join(map(codec.dumps, traces)).decode() + " ".join(note.detail for note in notes.items)
            if "oddvalue" in data and "oddvalue" not in kept and not notes.damage:
                lost.append((name, odd))
    assert lost == []


def test_misfits_are_values_of_another_kind() -> None:
    record = {"name": ["a"], "count": True, "text": "x", "none": None, "more": 1}
    assert misfits(record, {"name": str, "count": int, "text": str, "none": str, "gone": str}, "x.") == {"x.name": ["a"], "x.count": True}
