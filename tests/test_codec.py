"""Bytes <-> Trace: round trips in every form, the same bytes twice, what is mended and what is refused."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from agenttrace.codec import decode, dumps, file_names, load, loads, save
from agenttrace.errors import ModelError, ReadError, UsageError, WriteError
from agenttrace.model import AgentInstance, Event, Message, SubtaskUpdate, ToolCall, Trace, TraceMeta
from agenttrace.notes import Notes
from agenttrace.pipeline import iter_traces
from tests.full_trace import full_document
from tests.strategies import traces

EXAMPLES = settings(max_examples=100, deadline=None)
FEW_EXAMPLES = settings(max_examples=25, deadline=None)

USAGE = "prompt_tokens completion_tokens total_tokens cached_tokens cache_write_tokens reasoning_tokens cost_usd model"
PROFILING = (
    "schema_version scheduled_for executed_at duration_ms deviation_ms tempo_token tempo_alignment feedback_score reward_signal "
    "agent_latency_ms user_delay_ms execution_result attempts"
)
META = (
    "task_id task run_id session_id parent_trace_id continues_trace_id framework framework_version environment_version dataset difficulty "
    "success failure_reason final_answer start_time end_time duration_ms usage source annotations extra"
)
DATA = {
    "message": "type sender_id receiver_ids receivers_origin broadcast kind content metadata",
    "tool_call": "type tool_call_id caller_id executor_id tool_name arguments result status error completed_at attempt",
    "artifact": "type artifact_id version name media_type content uri sha256 source_event_id",
    "subtask": "type subtask_id parent_task_id assigned_to goal status result output_artifact_ids depends_on",
}
PAGE_ORDER = {
    "trace": "schema_version trace_id meta agent_instances events dependency_links extra",
    "meta": META,
    "annotation": "name value kind event_id agent_id author comment source_ref",
    "source": "name sha256 bytes reader variant reader_version",
    "agent": "agent_id name role description system_prompt model version tools config lifecycle parent_agent_id extra",
    "tool": "name description parameters",
    "lifecycle": "started_at ended_at status",
    "event": (
        "event_id timestamp agent_id turn_id subtask_id branch_id data reasoning raw_response phase duration_ms usage span profiling "
        "source_ref extra"
    ),
    "usage": USAGE,
    "span": "trace_id span_id parent_span_id",
    "profiling": PROFILING,
    "execution_result": "status return_type trace_id planned_by",
    "attempt": "executed_at duration_ms status feedback_score",
    "part": "kind text uri media_type data value",
    "link": "source_event_id target_event_id dep_type origin confidence evidence",
    **DATA,
}
"""The keys in the order of the format page, by the kind of object."""


EMPTY = Trace(trace_id="t", meta=TraceMeta(framework="test"), agent_instances=(), events=(), dependency_links=(), extra={})


def empty_trace(**fields: Any) -> Trace:
    return msgspec.structs.replace(EMPTY, **fields)


def empty_document() -> dict[str, Any]:
    return {"trace_id": "t", "meta": {"framework": "test"}, "agent_instances": [], "events": [], "dependency_links": [], "extra": {}}


def message_event(**fields: Any) -> dict[str, Any]:
    return {"event_id": "e1", "data": {"type": "message", "receiver_ids": []}} | fields


def read_back(path: Path) -> list[Trace]:
    notes = Notes()
    found = list(iter_traces(path, notes=notes))
    assert notes.items == []
    return found


def with_own_ids(some: list[Trace]) -> list[Trace]:
    return [msgspec.structs.replace(trace, trace_id=f"{number}-{trace.trace_id}") for number, trace in enumerate(some)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all examples of a property: Hypothesis runs them within one call of the test."""
    return tmp_path_factory.mktemp("codec")


# -- round trips ------------------------------------------------------------------------


@EXAMPLES
@given(traces())
def test_dumps_and_loads_give_the_same_trace(trace: Trace) -> None:
    data = dumps(trace)
    assert loads(data) == trace
    assert dumps(loads(data, strict=True)) == data


@pytest.mark.parametrize("suffix", ["json", "json.gz", "json.zst", "jsonl", "jsonl.gz", "jsonl.zst", "JSON", "JSONL.GZ"])
def test_save_and_load_give_the_same_trace(folder: Path, suffix: str) -> None:
    path = folder / f"one.{suffix}"

    @FEW_EXAMPLES
    @given(traces())
    def round_trip(trace: Trace) -> None:
        save(trace, path)
        assert load(path) == trace

    round_trip()


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_several_traces_in_lines_are_read_back(folder: Path, suffix: str) -> None:
    path = folder / f"several.{suffix}"

    @FEW_EXAMPLES
    @given(st.lists(traces(max_events=2), min_size=2, max_size=4))
    def round_trip(some: list[Trace]) -> None:
        save(some, path)
        assert read_back(path) == some

    round_trip()


@pytest.mark.parametrize("suffix", ["json", "json.gz", "json.zst", "jsonl", "jsonl.gz", "jsonl.zst"])
def test_a_large_trace_is_read_back(tmp_path: Path, suffix: str) -> None:
    """Larger than what is looked at to recognise a format, and than a block of the compressors."""
    trace = empty_trace(events=many_events(6000))
    path = tmp_path / f"large.{suffix}"
    save(trace, path)
    assert load(path) == trace
    assert read_back(path) == [trace]


def many_events(count: int, start: int = 0) -> tuple[Event, ...]:
    """Events with texts that do not compress well; another ``start`` gives other texts."""
    texts = (hashlib.sha512(str(number).encode()).hexdigest() for number in range(start, start + count))
    return tuple(Event(event_id=f"e{number}", data=Message(receiver_ids=(), content=text)) for number, text in enumerate(texts))


def damaged(path: Path, keep: float) -> list[Trace]:
    """What is read of a file of which only the given share of bytes is left, which must be noted."""
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * keep)])
    notes = Notes()
    found = list(iter_traces(path, notes=notes))
    assert notes.damage
    return found


@pytest.mark.parametrize("suffix", ["jsonl.gz", "jsonl.zst"])
@pytest.mark.parametrize("keep", [0.6, 0.9999])
def test_a_cut_compressed_file_of_lines_gives_its_first_traces_and_a_note(tmp_path: Path, suffix: str, keep: float) -> None:
    some = [empty_trace(trace_id=str(number), events=many_events(1000, start=number * 1000)) for number in range(6)]
    save(some, tmp_path / f"t.{suffix}")
    found = damaged(tmp_path / f"t.{suffix}", keep)
    whole = [trace for trace in found if trace in some]
    assert 2 <= len(whole) <= 6
    assert whole == some[: len(whole)]


@pytest.mark.parametrize("suffix", ["json", "json.gz", "json.zst"])
@pytest.mark.parametrize("keep", [0.5, 0.9999])
def test_a_cut_document_gives_its_first_events_and_a_note(tmp_path: Path, suffix: str, keep: float) -> None:
    """What stands behind the events, links and ``extra``, is lost with them; that is no reason to lose all."""
    trace = empty_trace(events=many_events(6000))
    save(trace, tmp_path / f"t.{suffix}")
    (found,) = damaged(tmp_path / f"t.{suffix}", keep)
    assert found.trace_id == trace.trace_id
    assert len(found.events) > 1000
    assert found.events[:-1] == trace.events[: len(found.events) - 1]


def test_traces_in_a_folder_are_read_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    @FEW_EXAMPLES
    @given(st.lists(traces(max_events=2), min_size=1, max_size=4).map(with_own_ids))
    def round_trip(some: list[Trace]) -> None:
        path = tmp_path_factory.mktemp("many")
        save(some, path)
        assert sorted(map(dumps, read_back(path))) == sorted(map(dumps, some))

    round_trip()


def test_a_folder_with_one_trace_can_be_loaded(tmp_path: Path) -> None:
    save(empty_trace(), tmp_path / "runs")
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["t.json"]
    assert load(tmp_path / "runs") == empty_trace()


def test_a_side_file_with_notes_is_no_trace(tmp_path: Path) -> None:
    save(empty_trace(), tmp_path)
    (tmp_path / "t.notes.jsonl").write_bytes(b'{"code": "copy"}\n')
    assert load(tmp_path) == empty_trace()


@pytest.mark.parametrize(("count", "code"), [(0, "no_trace"), (2, "many_traces")])
def test_load_refuses_a_folder_without_exactly_one_trace(tmp_path: Path, count: int, code: str) -> None:
    save([empty_trace(trace_id=str(number)) for number in range(count)], tmp_path)
    with pytest.raises(ReadError) as caught:
        load(tmp_path)
    assert (caught.value.code, caught.value.path) == (code, str(tmp_path))


def test_load_names_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ReadError) as caught:
        load(tmp_path / "none.json")
    assert (caught.value.code, caught.value.path) == ("not_found", str(tmp_path / "none.json"))


@pytest.mark.parametrize("count", [0, 2])
def test_save_refuses_one_json_file_for_any_number_but_one(tmp_path: Path, count: int) -> None:
    path = tmp_path / "t.json"
    with pytest.raises(UsageError):
        save([empty_trace()] * count, path)
    assert not path.exists()


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.jsonl.zst"])
def test_save_leaves_the_old_file_when_the_traces_end_in_an_error(tmp_path: Path, name: str) -> None:
    def failing() -> Iterator[Trace]:
        yield empty_trace()
        raise RuntimeError("no more")

    path = tmp_path / name
    path.write_bytes(b"the old one")
    with pytest.raises(RuntimeError, match="no more"):
        save(failing(), path)
    assert path.read_bytes() == b"the old one"
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_save_says_why_a_folder_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError) as caught:
        save(empty_trace(), tmp_path / "file" / "runs")
    assert caught.value.code == "write_failed"


# -- the same trace, the same bytes -------------------------------------------------------


@pytest.mark.parametrize("suffix", ["json", "json.gz", "json.zst", "jsonl", "jsonl.gz", "jsonl.zst"])
def test_the_same_trace_gives_the_same_file(folder: Path, suffix: str) -> None:
    first, second = folder / f"first.{suffix}", folder / f"a second name.{suffix}"

    @FEW_EXAMPLES
    @given(traces())
    def twice(trace: Trace) -> None:
        save(trace, first)
        save(loads(dumps(trace)), second)
        assert first.read_bytes() == second.read_bytes()

    twice()


@pytest.mark.parametrize(("suffix", "expand"), [("json.gz", gzip.decompress), ("json.zst", zstandard.decompress)])
def test_a_compressed_file_holds_the_plain_one(tmp_path: Path, suffix: str, expand: Callable[[bytes], bytes]) -> None:
    save(empty_trace(), tmp_path / f"t.{suffix}")
    assert expand((tmp_path / f"t.{suffix}").read_bytes()) == dumps(empty_trace()) + b"\n"


# -- what is written ------------------------------------------------------------------------


def objects_of(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All objects of a document whose keys the format fixes, with the kind of each."""

    def profile(event: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        found = event.get("profiling")
        if found is not None:
            yield "profiling", found
            yield "execution_result", found.get("execution_result", {})
            yield from (("attempt", attempt) for attempt in found.get("attempts", ()))

    meta = document["meta"]
    yield from (("trace", document), ("meta", meta), ("usage", meta.get("usage", {})), ("source", meta.get("source", {})))
    yield from (("annotation", note) for note in meta.get("annotations", ()))
    yield from (("link", link) for link in document["dependency_links"])
    for agent in document["agent_instances"]:
        yield from (("agent", agent), ("lifecycle", agent.get("lifecycle", {})))
        yield from (("tool", tool) for tool in agent.get("tools", ()))
    for event in document["events"]:
        data = event["data"]
        yield from (("event", event), (data["type"], data), ("usage", event.get("usage", {})), ("span", event.get("span", {})))
        yield from profile(event)
        if data["type"] == "message" and isinstance(data.get("content"), list):
            yield from (("part", part) for part in data["content"])


@EXAMPLES
@given(traces())
def test_keys_stand_in_the_order_of_the_format_page(trace: Trace) -> None:
    for kind, found in objects_of(json.loads(dumps(trace))):
        order = PAGE_ORDER[kind].split()
        places = [order.index(key) for key in found]
        assert all(earlier < later for earlier, later in pairwise(places)), (kind, list(found))


@EXAMPLES
@given(traces())
def test_null_and_empty_fields_are_left_out_below_the_top_level(trace: Trace) -> None:
    collections = {"annotations", "tools", "config", "extra", "metadata", "assigned_to", "output_artifact_ids", "depends_on", "attempts"}
    for kind, found in objects_of(json.loads(dumps(trace))):
        if kind == "trace":
            continue
        assert None not in found.values()
        assert [key for key in collections & found.keys() if not found[key]] == []


def test_the_top_level_is_written_whole_even_when_it_is_empty() -> None:
    assert dumps(empty_trace()) == (
        b'{"schema_version":"1.0","trace_id":"t","meta":{"framework":"test"},'
        b'"agent_instances":[],"events":[],"dependency_links":[],"extra":{}}'
    )


@pytest.mark.parametrize(
    ("data", "written"),
    [
        (Message(receiver_ids=()), {"type": "message", "receiver_ids": []}),
        (ToolCall(tool_name=""), {"type": "tool_call", "tool_name": ""}),
        (SubtaskUpdate(subtask_id="s"), {"type": "subtask", "subtask_id": "s"}),
    ],
)
def test_required_fields_are_written_even_when_they_are_empty(data: Any, written: dict[str, Any]) -> None:
    document = json.loads(dumps(empty_trace(events=(Event(event_id="e1", data=data),))))
    assert document["events"] == [{"event_id": "e1", "data": written}]


def test_values_that_are_false_zero_or_an_empty_text_are_written() -> None:
    call = ToolCall(tool_name="t", result=False, arguments=0, error="")
    document = json.loads(dumps(empty_trace(events=(Event(event_id="e1", duration_ms=0, data=call),))))
    expected = {"type": "tool_call", "tool_name": "t", "arguments": 0, "result": False, "error": ""}
    assert document["events"] == [{"event_id": "e1", "data": expected, "duration_ms": 0}]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_cannot_hold_become_null(number: float) -> None:
    assert json.loads(dumps(empty_trace(extra={"n": [number, 1.5]})))["extra"] == {"n": [None, 1.5]}


def test_lone_surrogates_become_the_replacement_character() -> None:
    trace = empty_trace(extra={"key \ud800": ["a\udfffb", {"n": float("nan")}], "pair": "\U0001f600"})
    assert json.loads(dumps(trace))["extra"] == {"key \ufffd": ["a\ufffdb", {"n": None}], "pair": "\U0001f600"}


def test_integers_beyond_64_bits_keep_all_digits() -> None:
    trace = empty_trace(extra={"n": [2**64, -(10**30)]})
    assert dumps(trace).endswith(b'"extra":{"n":[18446744073709551616,-1000000000000000000000000000000]}}')
    assert loads(dumps(trace)) == trace


# -- unknown keys, null collections, versions -------------------------------------------------

Object = dict[str, Any]
UNKNOWN_AT: list[tuple[str, str]] = [
    ("", ""),
    ("/dependency_links/0", ""),
    ("/meta", "/meta"),
    ("/meta/usage", "/meta"),
    ("/meta/source", "/meta"),
    ("/meta/annotations/0", "/meta"),
    ("/meta/annotations/1", "/meta"),
    ("/agent_instances/2", "/agent_instances/2"),
    ("/agent_instances/2/lifecycle", "/agent_instances/2"),
    ("/agent_instances/2/tools/0", "/agent_instances/2"),
    ("/events/0", "/events/0"),
    ("/events/0/data", "/events/0"),
    ("/events/0/data/content/1", "/events/0"),
    ("/events/1/data", "/events/1"),
    ("/events/1/usage", "/events/1"),
    ("/events/4/data", "/events/4"),
    ("/events/4/span", "/events/4"),
    ("/events/6/data", "/events/6"),
    ("/events/10/profiling", "/events/10"),
    ("/events/10/profiling/execution_result", "/events/10"),
    ("/events/10/profiling/attempts/0", "/events/10"),
    ("/events/11", "/events/11"),
]
"""Where an unknown key may stand, and the object whose ``extra`` is the nearest."""


def at_pointer(document: Any, pointer: str) -> Any:
    for part in pointer.split("/")[1:]:
        document = document[int(part) if isinstance(document, list) else part.replace("~1", "/").replace("~0", "~")]
    return document


def encoded(document: Object) -> bytes:
    return json.dumps(document).encode()


@pytest.mark.parametrize(("place", "nearest"), UNKNOWN_AT)
def test_an_unknown_key_moves_to_the_nearest_extra_and_is_reported(place: str, nearest: str) -> None:
    document = full_document()
    at_pointer(document, place)["strange"] = marker = {"deep": ["value", None]}
    trace, repairs = decode(encoded(document))
    read = json.loads(dumps(trace))
    extra = at_pointer(read, nearest)["extra"]
    moved = [key for key, value in extra.items() if value == marker]
    assert len(moved) == 1
    assert moved[0].endswith("strange")
    assert [(repair.code, repair.pointer) for repair in repairs] == [("aside", f"{place}/strange")]

    del extra[moved[0]]
    if not extra:
        del at_pointer(read, nearest)["extra"]
    assert read == full_document()


@pytest.mark.parametrize(("place", "nearest"), UNKNOWN_AT)
def test_an_unknown_key_is_an_error_when_strict(place: str, nearest: str) -> None:
    document = full_document()
    at_pointer(document, place)["strange"] = 1
    with pytest.raises(ModelError) as caught:
        loads(encoded(document), strict=True)
    assert (caught.value.code, caught.value.place) == ("invalid", f"{place}/strange")


def test_unknown_keys_everywhere_at_once_are_all_kept_and_reported() -> None:
    document = full_document()
    for number, (place, _) in enumerate(UNKNOWN_AT):
        at_pointer(document, place)["strange"] = f"value {number}"
    trace, repairs = decode(encoded(document))
    written = dumps(trace).decode()
    assert sorted(repair.pointer for repair in repairs) == sorted(f"{place}/strange" for place, _ in UNKNOWN_AT)
    assert [number for number in range(len(UNKNOWN_AT)) if f'"value {number}"' not in written] == []


@pytest.mark.parametrize("given", [{"extra": None}, {"extra": 5}, {}])
def test_an_unknown_key_does_not_stand_in_for_an_extra_that_is_missing(given: dict[str, Any]) -> None:
    document = {key: value for key, value in full_document().items() if key != "extra"}
    with pytest.raises(ModelError):
        loads(json.dumps({**document, **given, "strange": 1}).encode())


def test_an_unknown_key_with_slash_and_tilde_is_reported_as_a_json_pointer() -> None:
    _, repairs = decode(encoded(empty_document() | {"a/b~c": 1}))
    assert [repair.pointer for repair in repairs] == ["/a~1b~0c"]


def test_an_unknown_key_takes_no_value_from_extra() -> None:
    document = full_document()
    document["events"][0] |= {"own": 2, "extra": {"own": 1, "own~": 3}}
    trace, _ = decode(encoded(document))
    assert sorted(trace.events[0].extra.values()) == [1, 2, 3]


def test_an_unknown_key_below_takes_no_value_from_one_of_the_same_path() -> None:
    document = full_document()
    event = document["events"][0]
    event["data"]["strange"] = "from data"
    event["data.strange"] = "from the event"
    trace, repairs = decode(encoded(document))
    assert sorted(trace.events[0].extra.values()) == ["from data", "from the event"]
    assert sorted(repair.pointer for repair in repairs) == ["/events/0/data.strange", "/events/0/data/strange"]


@pytest.mark.parametrize(
    "place",
    [
        "/meta/annotations",
        "/meta/extra",
        "/agent_instances/2/tools",
        "/agent_instances/2/config",
        "/agent_instances/2/extra",
        "/events/0/data/metadata",
        "/events/1/data/assigned_to",
        "/events/8/data/output_artifact_ids",
        "/events/9/data/depends_on",
        "/events/10/profiling/attempts",
        "/events/11/extra",
    ],
)
def test_a_null_collection_is_an_empty_one(place: str) -> None:
    document = full_document()
    holder, _, key = place.rpartition("/")
    at_pointer(document, holder)[key] = None
    trace = loads(encoded(document), strict=True)
    assert key not in at_pointer(json.loads(dumps(trace)), holder)


@pytest.mark.parametrize("version", ["1.0", "1", "1.1", "1.12", "1.0.3"])
def test_version_1_is_read_with_what_is_new_in_it_kept_aside(version: str) -> None:
    document = {"schema_version": version} | empty_document() | {"new_in_1_1": [1]}
    trace, repairs = decode(encoded(document))
    assert trace.extra == {"new_in_1_1": [1]}
    assert [repair.pointer for repair in repairs] == ["/new_in_1_1"]


@pytest.mark.parametrize("version", ["2.0", "2", "0.9", "10.0", "one", "", 2, 1.0, ["1.0"]])
def test_another_version_is_a_clear_error(version: Any) -> None:
    document = {"schema_version": version} | empty_document()
    for known in (document, document | {"meta": "another shape", "strange": 1}):
        with pytest.raises(ModelError) as caught:
            loads(encoded(known))
        assert (caught.value.code, caught.value.place) == ("version", "/schema_version")


def test_an_absent_version_is_1_0() -> None:
    assert loads(encoded(empty_document())).schema_version == "1.0"


def test_load_says_which_file_has_another_version(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(encoded({"schema_version": "2.0"} | empty_document()))
    with pytest.raises(ModelError) as caught:
        load(path)
    assert (caught.value.code, caught.value.path) == ("version", str(path))


# -- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"trace_id": 5}, "/trace_id"),
        ({"events": {}}, "/events"),
        ({"events": [message_event(), 7]}, "/events/1"),
        ({"events": [message_event(timestamp=5)]}, "/events/0/timestamp"),
        ({"events": [message_event(data={"type": "nothing"})]}, "/events/0/data"),
        ({"extra": []}, "/extra"),
    ],
)
def test_the_first_fault_is_named_with_its_place(change: Object, place: str) -> None:
    with pytest.raises(ModelError) as caught:
        loads(encoded(empty_document() | change))
    assert caught.value.code == "invalid"
    assert (caught.value.place or "").startswith(place)


@pytest.mark.parametrize("data", [b"[]", b"null", b"5", b'"text"', b"", b" ", b"no JSON", b"\x00", b"\xff\xfe", b"{", b'{"trace_id":'])
def test_what_is_no_object_is_invalid(data: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        loads(data)
    assert caught.value.code == "invalid"


def test_a_document_cut_anywhere_is_invalid() -> None:
    """Also where the fault that comes first in the bytes is one of structure."""
    data = encoded({"strange": 1} | full_document())
    for end in range(len(data)):
        with pytest.raises(ModelError):
            loads(data[:end])


@pytest.mark.parametrize("data", [b'{"strange": 1, "x": "\xff"}', b'{"trace_id": 5, "x": "\xc3', b'{"trace_id": 5} }'])
def test_a_fault_of_structure_before_one_of_the_text_is_invalid(data: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        loads(data)
    assert caught.value.code == "invalid"


@pytest.mark.parametrize("start", [b"", b'{"trace_id": "t", "extra": '])
def test_nesting_without_end_is_invalid(start: bytes) -> None:
    with pytest.raises(ModelError):
        loads(start + b"[" * 100_000)


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\n\n"])
def test_several_lines_are_not_one_trace(separator: bytes) -> None:
    line = dumps(empty_trace())
    with pytest.raises(ReadError) as caught:
        loads(line + separator + line + b"\n")
    assert (caught.value.code, caught.value.place) == ("many_traces", "line:2")


def test_one_line_with_blanks_around_it_is_one_trace() -> None:
    assert loads(b"\n " + dumps(empty_trace()) + b"\r\n\n") == empty_trace()


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_compressed_bytes_are_expanded(compress: Callable[[bytes], bytes]) -> None:
    assert loads(compress(dumps(empty_trace()))) == empty_trace()


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_damaged_compressed_bytes_are_refused_wherever_they_are_cut(compress: Callable[[bytes], bytes]) -> None:
    data = compress(dumps(empty_trace()))
    for end in range(4, len(data)):
        with pytest.raises(ReadError) as caught:
            loads(data[:end])
        assert caught.value.code == "compressed"


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor(write_checksum=True).compress])
def test_compressed_bytes_with_a_wrong_checksum_are_refused(compress: Callable[[bytes], bytes]) -> None:
    data = bytearray(compress(dumps(empty_trace())))
    data[-5] ^= 0xFF
    with pytest.raises(ReadError) as caught:
        loads(bytes(data))
    assert caught.value.code == "compressed"


@pytest.mark.parametrize("suffix", ["gz", "zst"])
def test_load_says_which_compressed_file_is_damaged(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t.json.{suffix}"
    save(empty_trace(), path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ReadError) as caught:
        load(path)
    assert (caught.value.code, caught.value.path) == ("compressed", str(path))


@EXAMPLES
@given(
    st.binary(max_size=60)
    | st.builds(
        lambda data, at, byte: data[:at] + bytes([byte]) + data[at + 1 :], traces().map(dumps), st.integers(0, 400), st.integers(0, 255)
    )
)
def test_any_bytes_give_a_trace_or_an_error_of_ours(data: bytes) -> None:
    try:
        trace = loads(data)
    except (ModelError, ReadError):
        return
    assert loads(dumps(trace)) == trace


# -- file names -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trace_id", "name"),
    [
        ("run-1_a.B", "run-1_a.B.json"),
        ("a b/c\\d:é\n", "a_b_c_d___.json"),
        ("../../x", "_._.._x.json"),
        ("/etc/passwd", "_etc_passwd.json"),
        (".", "_.json"),
        ("", "_.json"),
        (".hidden", "_hidden.json"),
    ],
)
def test_file_names_are_safe(trace_id: str, name: str) -> None:
    assert file_names()(trace_id) == name


def test_equal_ids_get_names_of_their_own() -> None:
    name = file_names()
    assert [name("run"), name("run"), name("run"), name("other")] == ["run.json", "run~2.json", "run~3.json", "other.json"]


def test_ids_that_differ_only_in_case_or_unsafe_characters_get_names_of_their_own() -> None:
    name = file_names()
    assert len({name(trace_id).lower() for trace_id in ("a b", "A b", "a_b", "a/b")}) == 4


def test_long_ids_are_cut_and_stay_apart() -> None:
    name = file_names()
    made = [name("x" * 5000 + str(number)) for number in range(3)]
    assert len(set(made)) == 3
    assert max(map(len, made)) < 200


@EXAMPLES
@given(st.lists(st.text(max_size=8) | st.sampled_from(["", ".", "..", "a", "A", "a~2", "x" * 300]), max_size=8))
def test_file_names_never_repeat_and_never_leave_the_folder(trace_ids: list[str]) -> None:
    name = file_names()
    made = [name(trace_id) for trace_id in trace_ids]
    assert len({one.lower() for one in made}) == len(made)
    assert [one for one in made if not one.endswith(".json") or one.startswith(".") or "/" in one or len(one) > 200] == []


ODD_IDS = ["../../x", "", ".", "..", "a", "a", "A", "/abs", "x" * 3000, "线程 1", "con.notes.jsonl", "nul\x00"]


def test_traces_with_odd_ids_are_saved_in_the_folder_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs"
    save([empty_trace(trace_id=trace_id) for trace_id in ODD_IDS], path)
    assert sorted(trace.trace_id for trace in read_back(path)) == sorted(ODD_IDS)
    assert sorted(entry.relative_to(tmp_path).as_posix() for entry in tmp_path.iterdir()) == ["deep"]
    assert len(list(path.iterdir())) == len(ODD_IDS)


@pytest.mark.parametrize("trace_id", ODD_IDS)
def test_a_folder_with_one_odd_trace_can_be_loaded(tmp_path: Path, trace_id: str) -> None:
    save(empty_trace(trace_id=trace_id), tmp_path)
    assert load(tmp_path).trace_id == trace_id


def test_agents_and_events_share_no_default(tmp_path: Path) -> None:
    """The empty objects of the model are made anew for each struct."""
    first, second = AgentInstance(agent_id="a"), AgentInstance(agent_id="b")
    first.config["changed"] = True
    assert second.config == {}
    assert orjson.loads(dumps(empty_trace(agent_instances=(second,))))["agent_instances"] == [{"agent_id": "b"}]
