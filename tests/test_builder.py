"""TraceBuilder: ids, agents, receivers, results, turns, order and links, and what it notes on the way."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenttrace import builder as builder_module
from agenttrace.analysis.validation import validate
from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.codec import dumps
from agenttrace.model import Annotation, Artifact, DependencyLink, Event, Message, SourceInfo, SubtaskUpdate, ToolCall, Trace, Usage
from agenttrace.notes import Notes
from tests.strategies import as_time, json_values, moments, names, texts


def at(seconds: float, zone: str = "Z") -> str:
    return as_time(round(seconds * 10**9), zone)


def ids_of(trace: Trace) -> list[str]:
    return [event.event_id for event in trace.events]


def event_of(trace: Trace, event_id: str) -> Event:
    return next(event for event in trace.events if event.event_id == event_id)


def message_of(trace: Trace, event_id: str) -> Message:
    data = event_of(trace, event_id).data
    assert isinstance(data, Message)
    return data


def call_of(trace: Trace, event_id: str) -> ToolCall:
    data = event_of(trace, event_id).data
    assert isinstance(data, ToolCall)
    return data


def agents_of(trace: Trace) -> list[str]:
    return [agent.agent_id for agent in trace.agent_instances]


def codes(builder: TraceBuilder) -> list[str]:
    return [note.code for note in builder.notes.items]


@pytest.fixture
def builder() -> TraceBuilder:
    return TraceBuilder("test")


# -- the example, the whole ---------------------------------------------------------------------


def test_the_example_in_the_documentation_works() -> None:
    text = inspect.getdoc(builder_module) or ""
    example = textwrap.dedent(text.split("::\n", 1)[1].split("\n\nIt makes")[0])
    names_in_it: dict[str, Any] = {"TraceBuilder": TraceBuilder}
    exec(example, names_in_it)
    trace = names_in_it["trace"]
    assert validate(trace) == []
    assert [type(event.data) for event in trace.events] == [Message, ToolCall, Message]
    assert trace.events[1].data == ToolCall(
        tool_call_id="c1", caller_id="solver", tool_name="add", arguments={"a": 2, "b": 2}, result=4, status="success"
    )
    assert sorted(agents_of(trace)) == ["solver", "user"]


def test_a_run_without_events_is_a_trace(builder: TraceBuilder) -> None:
    trace = builder.build()
    assert validate(trace) == []
    assert (trace.meta.framework, trace.events, builder.notes.items) == ("test", (), [])


def test_the_same_calls_give_the_same_bytes() -> None:
    def run() -> bytes:
        builder = TraceBuilder("test", source=SourceInfo(sha256="ab" * 32))
        builder.message("a", "hello", receivers=["c", "b"])
        builder.call("b", None, "{}")
        builder.message("b", "all", receivers=EVERYONE)
        return dumps(builder.build())

    assert run() == run()


def test_meta_is_merged_and_null_sets_nothing(builder: TraceBuilder) -> None:
    builder.meta(task="a task", success=True, extra={"one": 1})
    builder.meta(task=None, success=False, extra={"two": 2})
    meta = builder.build().meta
    assert (meta.task, meta.success, meta.extra) == ("a task", False, {"one": 1, "two": 2})


def test_annotations_keep_their_order_and_fields(builder: TraceBuilder) -> None:
    builder.agent("a")
    builder.annotate("score", 0.5, kind="metric", agent_id="a")
    builder.annotate("verdict")
    assert builder.build().meta.annotations == (
        Annotation(name="score", value=0.5, kind="metric", agent_id="a"),
        Annotation(name="verdict"),
    )


def test_types_of_records_are_counted_in_extra(builder: TraceBuilder) -> None:
    builder.count_types({})
    assert builder.extra == {}
    builder.count_types({"b": 1, "a": 2})
    assert builder.build().extra == {"record_types": [{"type": "a", "count": 2}, {"type": "b", "count": 1}]}


# -- ids ------------------------------------------------------------------------------------------


def test_without_a_source_the_id_is_made_of_the_content() -> None:
    def built(text: str) -> str:
        builder = TraceBuilder("test", number=2)
        builder.message("a", text)
        return builder.build().trace_id

    assert built("one") == built("one")
    assert built("one") != built("two")
    assert built("one").endswith("-2")


@pytest.mark.parametrize(
    ("arguments", "trace_id"),
    [
        ({"trace_id": "run 1", "source": SourceInfo(sha256="ab" * 32)}, "run 1"),
        ({"source": SourceInfo(sha256="0123456789abcdef" * 4)}, "0123456789abcdef-1"),
        ({"source": SourceInfo(sha256="0123456789abcdef" * 4), "number": 3}, "0123456789abcdef-3"),
    ],
)
def test_the_trace_id_is_the_source_s_own_or_made_of_its_hash(arguments: dict[str, Any], trace_id: str) -> None:
    trace = TraceBuilder("test", **arguments).build()
    assert trace.trace_id == trace_id
    assert trace.meta.source == arguments.get("source")


def test_given_ids_are_kept(builder: TraceBuilder) -> None:
    assert [builder.message("a", "x", event_id=name) for name in ("first", "e1", "7")] == ["first", "e1", "7"]
    assert ids_of(builder.build()) == ["first", "e1", "7"]
    assert builder.notes.items == []


def test_absent_and_empty_ids_are_made_up_and_noted_once(builder: TraceBuilder) -> None:
    made = [builder.message("a", "x", event_id=name) for name in (None, "", None)]
    trace = builder.build()
    assert made == ids_of(trace) == ["e1", "e2", "e3"]
    assert [(note.code, note.event_id) for note in builder.notes.items] == [("made_up", None)]
    assert "3 events" in builder.notes.items[0].detail


def test_an_id_given_twice_is_kept_once_and_made_up_once(builder: TraceBuilder) -> None:
    first, second = (builder.message("a", text, event_id="x") for text in ("one", "two"))
    trace = builder.build()
    assert first == "x"
    assert second != "x"
    assert ids_of(trace) == [first, second]
    assert trace.events[1].extra == {"id": "x"}
    assert codes(builder) == ["aside", "made_up"]


def test_made_up_ids_pass_over_the_given_ones(builder: TraceBuilder) -> None:
    made = [builder.message("a", "x", event_id=name) for name in ("e2", None, "e5", None, None)]
    assert ids_of(builder.build()) == made
    assert len(set(made)) == len(made)
    assert (made[0], made[2]) == ("e2", "e5")


def test_fields_can_be_added_to_the_extra_of_an_event(builder: TraceBuilder) -> None:
    event_id = builder.message("a", "x", extra={"one": 1})
    builder.keep(event_id, {"two": 2})
    assert event_of(builder.build(), event_id).extra == {"one": 1, "two": 2}


# -- agents and receivers ---------------------------------------------------------------------------


def test_agents_stand_in_the_order_in_which_they_appear(builder: TraceBuilder) -> None:
    builder.agent("first", name="First")
    builder.message("second", "x")
    builder.call("third", "run", call_id="c1")
    builder.message("second", "x", receivers=["fourth", "first"])
    builder.call("second", "run", call_id="c2", executor="fifth")
    builder.result("c1", 1, executor="sixth")
    builder.subtask("s", assigned_to=("seventh",))
    builder.artifact("x", agent="eighth")
    assert agents_of(builder.build()) == ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]


def test_fields_of_an_agent_are_added_and_the_first_value_stays(builder: TraceBuilder) -> None:
    assert builder.agent("a", role="planner", model=None) == "a"
    builder.agent("a", role="critic", model="m-1")
    (agent,) = builder.build().agent_instances
    assert (agent.role, agent.model) == ("planner", "m-1")


def test_nobody_is_no_agent(builder: TraceBuilder) -> None:
    builder.message(None, "x")
    builder.call(None, "run", call_id="c")
    assert agents_of(builder.build()) == []


def test_receivers_given_twice_are_merged_in_order(builder: TraceBuilder) -> None:
    event_id = builder.message("a", "x", receivers=["c", "b", "c", "d", "b"])
    message = message_of(builder.build(), event_id)
    assert (message.receiver_ids, message.receivers_origin, message.broadcast) == (("c", "b", "d"), "explicit", False)


def test_without_receivers_nothing_is_said_of_their_origin(builder: TraceBuilder) -> None:
    event_id = builder.message("a", "x")
    message = message_of(builder.build(), event_id)
    assert (message.receiver_ids, message.receivers_origin) == ((), None)


def test_the_origin_of_receivers_can_be_derived(builder: TraceBuilder) -> None:
    event_id = builder.message("a", "x", receivers=["b"], origin="derived", broadcast=True)
    message = message_of(builder.build(), event_id)
    assert (message.receivers_origin, message.broadcast) == ("derived", True)


def test_everyone_is_all_participants_but_the_sender(builder: TraceBuilder) -> None:
    for agent_id, role in (("user", "user"), ("planner", None), ("coder", "worker"), ("shell", "environment"), ("search", "tool")):
        builder.agent(agent_id, role=role)
    builder.agent("manager", participant=False)
    from_planner = builder.message("planner", "x", receivers=EVERYONE)
    from_nobody = builder.message(None, "x", receivers=EVERYONE)
    from_manager = builder.message("manager", "x", receivers=EVERYONE)
    trace = builder.build()
    assert message_of(trace, from_planner).receiver_ids == ("user", "coder")
    assert message_of(trace, from_nobody).receiver_ids == ("user", "planner", "coder")
    assert message_of(trace, from_manager).receiver_ids == ("user", "planner", "coder")
    assert {(message_of(trace, each).receivers_origin, message_of(trace, each).broadcast) for each in ids_of(trace)} == {("derived", True)}


def test_everyone_heeds_what_is_said_of_agents_later(builder: TraceBuilder) -> None:
    builder.agent("shell")
    event_id = builder.message("planner", "x", receivers=EVERYONE)
    builder.agent("shell", role="environment")
    builder.agent("planner", participant=False)
    assert message_of(builder.build(), event_id).receiver_ids == ()


def test_everyone_of_one_is_nobody(builder: TraceBuilder) -> None:
    event_id = builder.message("alone", "x", receivers=EVERYONE)
    message = message_of(builder.build(), event_id)
    assert (message.receiver_ids, message.receivers_origin, message.broadcast) == ((), None, True)


def test_a_message_keeps_what_is_given(builder: TraceBuilder) -> None:
    event_id = builder.message("a", "x", kind="handoff", metadata={"id": 1}, phase="plan", branch_id="b", source_ref="/0", duration_ms=5)
    event = event_of(builder.build(), event_id)
    assert event == Event(
        event_id=event_id,
        agent_id="a",
        branch_id="b",
        data=Message(sender_id="a", receiver_ids=(), kind="handoff", content="x", metadata={"id": 1}),
        phase="plan",
        duration_ms=5,
        source_ref="/0",
    )


def test_artifacts_and_subtasks_are_events(builder: TraceBuilder) -> None:
    builder.subtask("s", agent="a", goal="g", status="created", event={"event_id": "one", "timestamp": at(1)})
    builder.artifact("x", agent="a", version=2, event={"event_id": "two", "subtask_id": "s"})
    assert builder.build().events == (
        Event(event_id="one", timestamp=at(1), agent_id="a", data=SubtaskUpdate(subtask_id="s", goal="g", status="created")),
        Event(event_id="two", agent_id="a", subtask_id="s", data=Artifact(artifact_id="x", version=2)),
    )


# -- calls and results ----------------------------------------------------------------------------------


def test_a_result_is_folded_into_its_call(builder: TraceBuilder) -> None:
    event_id = builder.call("a", "run", {"n": 1}, call_id="c", timestamp=at(1), attempt=2, extra={"one": 1})
    builder.message("b", "between", timestamp=at(2))
    folded = builder.result("c", "out", status="failure", error="bad", completed_at=at(3), executor="shell", extra={"two": 2})
    trace = builder.build()
    assert folded == event_id
    assert len(trace.events) == 2
    assert event_of(trace, event_id).extra == {"one": 1, "two": 2}
    assert call_of(trace, event_id) == ToolCall(
        tool_call_id="c",
        caller_id="a",
        executor_id="shell",
        tool_name="run",
        arguments={"n": 1},
        result="out",
        status="failure",
        error="bad",
        completed_at=at(3),
        attempt=2,
    )


def test_a_result_that_says_less_takes_nothing_away(builder: TraceBuilder) -> None:
    builder.call("a", "run", call_id="c", executor="shell")
    event_id = builder.result("c", None)
    call = call_of(builder.build(), event_id)
    assert (call.result, call.status, call.executor_id) == (None, None, "shell")


@pytest.mark.parametrize("value", [0, False, "", [], {}])
def test_a_result_may_be_false_or_empty(builder: TraceBuilder, value: Any) -> None:
    builder.call("a", "run", call_id="c")
    event_id = builder.result("c", value)
    assert call_of(builder.build(), event_id).result == value


def test_a_call_without_a_result_has_no_outcome(builder: TraceBuilder) -> None:
    event_id = builder.call("a", "run", "not JSON", call_id="c")
    call = call_of(builder.build(), event_id)
    assert (call.result, call.status, call.completed_at) == (None, None, None)


def test_a_result_without_a_call_is_a_call_of_its_own(builder: TraceBuilder) -> None:
    event_id = builder.result("c", "out", status="success", tool="run", source_ref="/3")
    trace = builder.build()
    assert call_of(trace, event_id) == ToolCall(tool_call_id="c", tool_name="run", result="out", status="success")
    assert event_of(trace, event_id).source_ref == "/3"
    assert validate(trace) == []


def test_names_that_the_source_does_not_give_are_made_up_and_noted(builder: TraceBuilder) -> None:
    event_id = builder.call("a", None, source_ref="/1", event_id="one")
    call = call_of(builder.build(), event_id)
    assert call.tool_name == "unknown"
    assert call.tool_call_id
    assert [(note.code, note.source_ref, note.event_id) for note in builder.notes.items] == [("made_up", "/1", "one")] * 2


def test_made_up_call_ids_differ(builder: TraceBuilder) -> None:
    for _ in range(3):
        builder.call("a", "run")
    assert len({call_of(trace, each).tool_call_id for trace in [builder.build()] for each in ids_of(trace)}) == 3


def test_results_of_equal_call_ids_go_to_the_oldest_open_call(builder: TraceBuilder) -> None:
    calls = [builder.call("a", "run", number, call_id="0") for number in range(3)]
    assert [builder.result("0", f"out {number}") for number in range(2)] == calls[:2]
    trace = builder.build()
    assert [call_of(trace, each).result for each in calls] == ["out 0", "out 1", None]


def test_a_call_id_may_be_used_again_after_its_result(builder: TraceBuilder) -> None:
    for number in range(2):
        call = builder.call("a", "run", number, call_id="0")
        assert builder.result("0", number) == call
    assert [call_of(trace, each).result for trace in [builder.build()] for each in ids_of(trace)] == [0, 1]


def test_the_same_result_again_is_noted_as_a_copy(builder: TraceBuilder) -> None:
    call = builder.call("a", "run", call_id="c")
    assert [builder.result("c", {"n": 1}, error="e", source_ref=ref) for ref in ("/1", "/2", "/3")] == [call] * 3
    trace = builder.build()
    assert len(trace.events) == 1
    copies = [(note.source_ref, note.event_id) for note in builder.notes.items if note.code == "copy"]
    assert copies == [("/2", call), ("/3", call)]


@pytest.mark.parametrize(("result", "error"), [("other", None), ("out", "an error")])
def test_another_result_of_the_same_call_is_lost_nowhere(builder: TraceBuilder, result: str, error: str | None) -> None:
    call = builder.call("a", "run", call_id="c")
    builder.result("c", "out")
    second = builder.result("c", result, error=error)
    trace = builder.build()
    assert second != call
    assert [(call_of(trace, each).result, call_of(trace, each).error) for each in (call, second)] == [("out", None), (result, error)]


@pytest.mark.parametrize("text", ["{broken", "run this", "", "{'a': 1}"])
def test_arguments_that_do_not_parse_are_kept_and_end_as_exception(builder: TraceBuilder, text: str) -> None:
    builder.call("a", "run", text, call_id="c")
    event_id = builder.result("c", "out")
    call = call_of(builder.build(), event_id)
    assert (call.arguments, call.status) == (text, "exception")


def test_a_call_that_succeeded_with_odd_arguments_succeeded(builder: TraceBuilder) -> None:
    builder.call("a", "python", "print(1)", call_id="c")
    event_id = builder.result("c", "1", status="success")
    assert call_of(builder.build(), event_id).status == "success"


def test_odd_arguments_of_one_call_do_not_judge_another(builder: TraceBuilder) -> None:
    builder.call("a", "run", "{broken", call_id="one")
    builder.call("a", "run", {}, call_id="two")
    event_id = builder.result("two", "out")
    assert call_of(builder.build(), event_id).status is None


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("{}", {}),
        ("[1]", "[1]"),
        ("5", "5"),
        ('"text"', '"text"'),
        ("null", "null"),
    ],
)
def test_a_json_text_of_an_object_is_parsed_and_no_other(builder: TraceBuilder, text: str, arguments: Any) -> None:
    builder.call("a", "run", text, call_id="c")
    event_id = builder.result("c", "out")
    call = call_of(builder.build(), event_id)
    assert (call.arguments, call.status) == (arguments, None)


def test_huge_integers_in_arguments_keep_all_digits(builder: TraceBuilder) -> None:
    event_id = builder.call("a", "run", '{"n": 123456789012345678901234567890}', call_id="c")
    call = call_of(builder.build(), event_id)
    assert call.arguments in ({"n": 123456789012345678901234567890}, '{"n": 123456789012345678901234567890}')


# -- what a turn states once --------------------------------------------------------------------------------


def test_what_a_turn_states_goes_to_its_first_event(builder: TraceBuilder) -> None:
    first = builder.message("a", "x", turn_id="t")
    other = builder.message("a", "x", turn_id="u", reasoning="of another turn")
    second = builder.call("a", "run", call_id="c", turn_id="t", usage=Usage(total_tokens=1), reasoning="why", raw_response={"id": 1})
    trace = builder.build()
    of_first, of_second = event_of(trace, first), event_of(trace, second)
    assert (of_first.usage, of_first.reasoning, of_first.raw_response) == (Usage(total_tokens=1), "why", {"id": 1})
    assert (of_second.usage, of_second.reasoning, of_second.raw_response) == (None, None, None)
    assert event_of(trace, other).reasoning == "of another turn"


def test_the_same_statement_on_every_event_of_a_turn_is_kept_once(builder: TraceBuilder) -> None:
    for _ in range(3):
        builder.message("a", "x", turn_id="t", usage=Usage(total_tokens=1), reasoning="why")
    trace = builder.build()
    assert [event.usage for event in trace.events] == [Usage(total_tokens=1), None, None]
    assert [event.reasoning for event in trace.events] == ["why", None, None]


def test_another_figure_of_the_same_turn_is_kept_aside(builder: TraceBuilder) -> None:
    for number in range(3):
        builder.message("a", "x", turn_id="t", usage=Usage(total_tokens=number), reasoning=f"thought {number}")
    first, *later = builder.build().events
    assert (first.usage, first.reasoning) == (Usage(total_tokens=0), "thought 0")
    assert first.extra == {"later_usage": [{"total_tokens": 1}, {"total_tokens": 2}], "later_reasoning": ["thought 1", "thought 2"]}
    assert [(event.usage, event.reasoning) for event in later] == [(None, None), (None, None)]


def test_after_reordering_the_turn_s_new_first_event_states_it(builder: TraceBuilder) -> None:
    late = builder.message("a", "x", turn_id="t", timestamp=at(5), usage=Usage(total_tokens=1), reasoning="why", raw_response="r")
    early = builder.message("a", "x", turn_id="t", timestamp=at(1))
    trace = builder.build()
    first, second = trace.events
    assert (first.event_id, second.event_id) == (early, late)
    assert (first.usage, first.reasoning, first.raw_response) == (Usage(total_tokens=1), "why", "r")
    assert (second.usage, second.reasoning, second.raw_response) == (None, None, None)
    assert validate(trace) == []


def test_events_without_a_turn_keep_their_own(builder: TraceBuilder) -> None:
    for number in range(2):
        builder.message("a", "x", usage=Usage(total_tokens=number))
    assert [event.usage for event in builder.build().events] == [Usage(total_tokens=0), Usage(total_tokens=1)]


# -- order and times ---------------------------------------------------------------------------------------


def build_at(*times: str | None, done: dict[int, str] | None = None) -> tuple[TraceBuilder, Trace]:
    """A trace of calls at the given times, named by their place in the source; ``done`` are completion times."""
    builder = TraceBuilder("test")
    for number, time in enumerate(times):
        builder.call("a", "run", call_id=f"c{number}", event_id=str(number), timestamp=time)
    for number, time in (done or {}).items():
        builder.result(f"c{number}", 1, completed_at=time)
    trace = builder.build()
    assert [issue for issue in validate(trace) if issue.severity == "error"] == []
    return builder, trace


def test_events_are_ordered_by_timestamp() -> None:
    assert ids_of(build_at(at(3), at(1), at(2))[1]) == ["1", "2", "0"]


def test_equal_times_keep_the_order_of_the_source() -> None:
    assert ids_of(build_at(at(2), at(1), at(2), at(1))[1]) == ["1", "3", "0", "2"]


def test_completed_at_orders_where_there_is_no_timestamp() -> None:
    assert ids_of(build_at(at(3), None, at(1), done={1: at(2)})[1]) == ["2", "1", "0"]


def test_timestamp_goes_before_completed_at() -> None:
    assert ids_of(build_at(at(1), at(2), done={0: at(9)})[1]) == ["0", "1"]


@pytest.mark.parametrize(
    ("times", "order"),
    [
        ((None, at(1), None), "012"),
        ((at(2), None, None, at(1)), "3012"),
        ((at(2), at(1), None, at(3)), "1203"),
        ((None, at(2), None, at(1), None), "03412"),
        ((at(1), None, at(1), None), "0123"),
        ((None, None), "01"),
    ],
)
def test_untimed_events_stay_behind_their_predecessor(times: tuple[str | None, ...], order: str) -> None:
    assert "".join(ids_of(build_at(*times)[1])) == order


@pytest.mark.parametrize("zone", ["Z", ""])
def test_fractions_of_any_length_order_as_moments_do(zone: str) -> None:
    times = [at(1.5, zone), at(1, zone), at(1.25, zone), at(1.125, zone)]
    for count in range(2, 5):
        trace = build_at(*times[:count])[1]
        assert [event.timestamp for event in trace.events] == sorted(times[:count], key=lambda time: float(time[17:].rstrip("Z")))


def test_a_fraction_of_zeros_is_no_later_moment() -> None:
    base = at(1)[:-1]
    assert ids_of(build_at(f"{base}.000Z", f"{base}Z")[1]) == ["0", "1"]


def test_times_are_put_into_normal_form(builder: TraceBuilder) -> None:
    builder.call("a", "run", call_id="c", timestamp="2026-01-31 12:00:00.5+01:00")
    event_id = builder.result("c", 1, completed_at="2026-01-31 12:00:01 UTC")
    trace = builder.build()
    assert event_of(trace, event_id).timestamp == "2026-01-31T11:00:00.5Z"
    assert call_of(trace, event_id).completed_at == "2026-01-31T12:00:01Z"


def test_what_is_no_time_is_kept_aside_and_noted(builder: TraceBuilder) -> None:
    event_id = builder.call("a", "run", call_id="c", timestamp="yesterday", source_ref="/0")
    builder.result("c", 1, completed_at="now", source_ref="/1")
    trace = builder.build()
    event = event_of(trace, event_id)
    assert (event.timestamp, call_of(trace, event_id).completed_at) == (None, None)
    assert event.extra == {"timestamp": "yesterday", "completed_at": "now"}
    assert [(note.code, note.source_ref) for note in builder.notes.items if note.code == "aside"] == [("aside", "/0"), ("aside", "/1")]


def test_naive_times_alone_are_kept_and_noted_once() -> None:
    builder, trace = build_at(at(2, ""), at(1, ""), done={0: at(3, "")})
    assert [event.timestamp for event in trace.events] == [at(1, ""), at(2, "")]
    assert codes(builder) == ["naive_time"]


def test_zoned_times_alone_are_not_noted() -> None:
    assert codes(build_at(at(2), at(1))[0]) == []


def test_beside_zoned_times_naive_ones_are_kept_aside_and_noted() -> None:
    builder, trace = build_at(at(1), at(9, ""), at(2), done={0: at(8, ""), 2: at(3)})
    assert ids_of(trace) == ["0", "1", "2"]
    assert [event.timestamp for event in trace.events] == [at(1), None, at(2)]
    assert [event.extra for event in trace.events] == [{"completed_at": at(8, "")}, {"timestamp": at(9, "")}, {}]
    assert sorted((note.code, note.event_id) for note in builder.notes.items) == [("naive_time", "0"), ("naive_time", "1")]


def test_an_event_whose_naive_time_is_kept_aside_stays_behind_its_predecessor() -> None:
    assert ids_of(build_at(at(5), at(9, ""), at(1))[1]) == ["2", "0", "1"]


@pytest.mark.parametrize(("of_run", "of_event"), [("Z", ""), ("", "Z")])
def test_times_of_the_run_and_of_events_are_not_mixed(builder: TraceBuilder, of_run: str, of_event: str) -> None:
    builder.meta(start_time=at(0, of_run), end_time=at(9, of_run))
    builder.message("a", "x", timestamp=at(1, of_event))
    assert [issue.code for issue in validate(builder.build())] == []


def test_times_of_the_run_are_put_into_normal_form(builder: TraceBuilder) -> None:
    builder.meta(start_time="2026-01-31 12:00:00+01:00")
    assert builder.build().meta.start_time == "2026-01-31T11:00:00Z"


# -- links -----------------------------------------------------------------------------------------------------


def three_messages(builder: TraceBuilder) -> None:
    for number in range(3):
        builder.message("a", "x", event_id=f"m{number}")


def test_a_forward_link_is_explicit_and_sure(builder: TraceBuilder) -> None:
    three_messages(builder)
    builder.link("m0", "m2", "reads", evidence="named")
    ends = {"source_event_id": "m0", "target_event_id": "m2", "dep_type": "reads"}
    assert builder.build().dependency_links == (DependencyLink(**ends, origin="explicit", confidence=1.0, evidence="named"),)  # type: ignore[arg-type]
    assert builder.notes.items == []


@pytest.mark.parametrize(
    ("source", "target"),
    [("m2", "m0"), ("m1", "m1"), ("m0", "nowhere"), ("nowhere", "m0"), ("nowhere", "nowhere else")],
)
def test_a_link_that_does_not_point_forward_is_left_out_and_noted(builder: TraceBuilder, source: str, target: str) -> None:
    three_messages(builder)
    builder.link(source, target, "reads")
    trace = builder.build()
    assert trace.dependency_links == ()
    assert codes(builder) == ["backward_link"]
    assert f"reads {source} -> {target}" in builder.notes.items[0].detail


def test_a_link_may_be_stated_before_its_events(builder: TraceBuilder) -> None:
    builder.link("m0", "m1", "reads")
    three_messages(builder)
    assert len(builder.build().dependency_links) == 1


def test_direction_is_that_of_the_final_order(builder: TraceBuilder) -> None:
    builder.message("a", "x", event_id="late", timestamp=at(2))
    builder.message("a", "x", event_id="early", timestamp=at(1))
    builder.link("early", "late", "reads")
    builder.link("late", "early", "reads")
    trace = builder.build()
    assert [(link.source_event_id, link.target_event_id) for link in trace.dependency_links] == [("early", "late")]
    assert codes(builder) == ["backward_link"]


def test_a_link_stated_twice_stands_once_and_other_kinds_beside_it(builder: TraceBuilder) -> None:
    three_messages(builder)
    for dep_type in ("reads", "receives_msg", "reads"):
        builder.link("m0", "m1", dep_type)
    assert [link.dep_type for link in builder.build().dependency_links] == ["reads", "receives_msg"]


def test_links_stand_in_the_order_of_their_targets(builder: TraceBuilder) -> None:
    three_messages(builder)
    for source, target in (("m1", "m2"), ("m0", "m2"), ("m0", "m1")):
        builder.link(source, target, "reads")
    ends = [(link.source_event_id, link.target_event_id) for link in builder.build().dependency_links]
    assert ends == [("m0", "m1"), ("m0", "m2"), ("m1", "m2")]


# -- anything --------------------------------------------------------------------------------------------------

Draw = Callable[[st.SearchStrategy[Any]], Any]
ODD_TIMES = st.sampled_from(["yesterday", "", "2026-02-30T00:00:00Z", "2026-01-31 12:00:00,5+01:00"])
TIMES = st.none() | moments().map(lambda moment: as_time(moment, "Z")) | moments().map(lambda moment: as_time(moment, "")) | ODD_TIMES
IDS = st.none() | st.sampled_from(["e1", "e2", "x", "y", ""])
AGENTS = st.none() | st.sampled_from(["a", "b", "程"]) | names()


def any_step(draw: Draw, builder: TraceBuilder) -> str:
    """One call of the builder with whatever a log may hold, and what it was; a turn is of one agent."""
    agent = draw(AGENTS)
    turn = f"turn of {agent}" if draw(st.booleans()) else None
    shared = {"event_id": draw(IDS), "timestamp": draw(TIMES), "turn_id": turn, "reasoning": draw(st.none() | texts())}
    action = draw(st.sampled_from(["message", "everyone", "call", "result", "link", "agent"]))
    if action == "message":
        builder.message(agent, draw(texts()), receivers=draw(st.lists(names(), max_size=3)), **shared)
    elif action == "everyone":
        builder.message(agent, None, receivers=EVERYONE, usage=Usage(total_tokens=draw(st.integers(0, 9))), **shared)
    elif action == "call":
        tool, call_id = draw(st.none() | names()), draw(st.none() | st.sampled_from(["c", "d"]))
        builder.call(agent, tool, draw(json_values() | texts()), call_id=call_id, **shared)
    elif action == "result":
        status = draw(st.sampled_from([None, "success", "failure"]))
        builder.result(draw(st.sampled_from(["c", "d"])), draw(json_values()), status=status, completed_at=draw(TIMES), executor=agent)
    elif action == "link":
        builder.link(draw(st.sampled_from(["e1", "x"])), draw(st.sampled_from(["e2", "y"])), "reads")
    else:
        builder.agent(agent or "a", role=draw(st.sampled_from([None, "tool", "user"])), participant=draw(st.booleans()))
    return str(action)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_added_the_trace_has_no_errors_and_no_event_is_lost(data: st.DataObject) -> None:
    notes = Notes()
    builder = TraceBuilder("test", notes=notes)
    steps = [any_step(data.draw, builder) for _ in range(data.draw(st.integers(0, 12)))]
    trace = builder.build()
    assert [issue for issue in validate(trace) if issue.severity == "error"] == []
    assert len(set(ids_of(trace))) == len(trace.events)
    assert sum(isinstance(event.data, Message) for event in trace.events) == sum(step in ("message", "everyone") for step in steps)
    assert 0 <= sum(isinstance(event.data, ToolCall) for event in trace.events) - steps.count("call") <= steps.count("result")


def test_an_artifact_that_times_put_before_its_source_keeps_it_aside() -> None:
    builder = TraceBuilder("x")
    source = builder.message("a", "done", timestamp="2026-01-02T00:00:00Z")
    builder.artifact("file", source_event_id=source, event={"timestamp": "2026-01-01T00:00:00Z"})
    trace = builder.build()
    assert [event.extra for event in trace.events] == [{"source_event_id": source}, {}]
    assert validate(trace) == []
    assert [note.code for note in builder.notes.items if note.code == "backward_link"] == ["backward_link"]
