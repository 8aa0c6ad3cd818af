"""Values of a kind that no framework writes, where a reader compares or groups by them: found by mutation, kept by hand."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agenttrace import codec
from agenttrace.analysis.validation import validate
from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.model import Trace, Usage
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source


def said(content: Any, source: Any = "clerk", kind: Any = "TextMessage", **more: Any) -> dict[str, Any]:
    return {"source": source, "models_usage": None, "metadata": {}, "content": content, "type": kind, **more}


def spoke(content: Any, name: Any = "clerk", **more: Any) -> dict[str, Any]:
    return {"content": content, "role": "user", "name": name, **more}


def read(document: Any, reader: str = "auto") -> tuple[list[Trace], Notes]:
    data = document if isinstance(document, bytes) else orjson.dumps(document)
    notes = Notes()
    traces = list(traces_of(Source("input", data=data), reader, notes)[2])
    assert [issue for trace in traces for issue in validate(trace) if issue.severity == "error"] == []
    return traces, notes


def texts(trace: Trace) -> list[Any]:
    return [getattr(event.data, "content", None) for event in trace.events]


@pytest.mark.parametrize("odd", [["a"], {"b": 1}], ids=["list", "object"])
def test_a_type_that_is_no_text_between_stream_chunks(odd: Any) -> None:
    (trace,), _ = read([said("one", kind="ModelClientStreamingChunkEvent"), said("two", kind=odd), said("one")])
    assert "one" in texts(trace)


@pytest.mark.parametrize("odd", [["a"], {"b": 1}], ids=["list", "object"])
def test_a_name_and_a_culprit_that_are_no_texts(odd: Any) -> None:
    labelled = {"mistake_agent": odd, "mistake_step": "0", "mistake_reason": "r", "question": "q", "is_correct": False}
    (trace,), _ = read({"history": [spoke("x"), spoke("y", odd)], **labelled})
    assert texts(trace) == ["x", "y"]
    marks = {note.name: note for note in trace.meta.annotations or ()}
    assert marks["mistake_agent"].value == odd
    assert marks["mistake_agent"].agent_id is None
    (trace,), _ = read(
        {"history": [{"role": "human", "content": "x"}, {"role": "Orchestrator (thought)", "content": "y"}], **labelled}, "who_and_when"
    )
    assert {note.name: note.value for note in trace.meta.annotations or ()}["mistake_agent"] == odd


@pytest.mark.parametrize("odd", [["a"], {"b": 1}], ids=["list", "object"])
def test_an_author_of_a_model_context_that_is_no_text(odd: Any) -> None:
    context = [
        {"type": "UserMessage", "content": "q", "source": "user"},
        {"type": "AssistantMessage", "content": "a", "source": odd},
    ]
    (trace,), _ = read(context)
    assert texts(trace) == ["q", "a"]


@pytest.mark.parametrize("odd", [["a"], {"b": 1}, 5], ids=["list", "object", "number"])
def test_ids_and_threads_of_a_state_that_are_of_another_kind(odd: Any) -> None:
    thread = [said("hello", "user"), said("saved", kind="MemoryQueryEvent", id=odd)]
    agents = {
        "manager": {"type": "RoundRobinManagerState", "version": "1.0.0", "message_thread": thread, "current_turn": 0},
        "other": {"type": "RoundRobinManagerState", "version": "1.0.0", "message_thread": odd},
        "clerk": {"type": "ChatAgentContainerState", "version": "1.0.0", "message_buffer": list(thread)},
    }
    (trace,), _ = read({"type": "TeamState", "version": "1.0.0", "agent_states": agents})
    assert texts(trace)[0] == "hello"


def test_an_integer_of_more_than_64_bits_in_lists_that_are_laid_over_each_other() -> None:
    log = b'{"a": {"b": [{"content": "x", "role": "user", "name": "b", "n": %d}]}, "b": {"a": [{"content": "x", "role": "assistant", "name": "b", "n": %d}]}}'
    (trace,), _ = read(log % (10**30, 10**30))
    assert texts(trace) == ["x"]


def test_a_turn_is_one_agents() -> None:
    """A second agent in a turn keeps it aside, and its usage with itself."""
    notes = Notes()
    builder = TraceBuilder("x", notes=notes)
    builder.message("a", "one", turn_id="t1")
    builder.message("b", "two", turn_id="t1", usage=Usage(prompt_tokens=3))
    first, second = builder.build().events
    assert (first.turn_id, first.usage) == ("t1", None)
    assert (second.turn_id, second.extra["turn_id"]) == (None, "t1")
    assert second.usage == Usage(prompt_tokens=3)
    assert [(note.event_id, note.detail) for note in notes.items if note.code == "aside"] == [
        (second.event_id, "the turn of another agent, in `extra`")
    ]


def test_dumps_of_several_kinds_and_in_lists() -> None:
    result = {"messages": [said("hi", "user")], "stop_reason": "done"}
    chat = {"chat_id": 1, "chat_history": [spoke("ho")], "summary": "ho", "cost": {}, "human_input": []}
    traces, _ = read([[result], chat])
    assert [(texts(trace), [event.source_ref for event in trace.events]) for trace in traces] == [
        (["hi"], ["/0/0/messages/0"]),
        (["ho"], ["/1/chat_history/0"]),
    ]


@pytest.mark.parametrize("odd", ['["e1"]', '{"e": 1}'], ids=["list", "object"])
def test_event_ids_of_a_cut_agenttrace_file_that_are_no_texts(odd: str) -> None:
    """What is no event is refused as such, in the sentence of validation."""
    whole = codec.dumps(read([said("one", "a", id="m1"), said("two", "b", id="m2")])[0][0]).decode()
    cut = whole.replace('"event_id":"m1"', f'"event_id":{odd}', 1)[:-40]
    with pytest.raises(ReadError) as caught:
        read(cut.encode(), "agenttrace")
    assert caught.value.code != "reader_failed"
