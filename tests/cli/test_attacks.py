"""What attackers and accidents found, each kept from coming back."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import agenttrace
from agenttrace.builder import TraceBuilder
from agenttrace.model import Message
from agenttrace.notes import Notes
from tests.cli.test_convert import GOOD, run, told, traces


def converted(tmp_path: Path, document: Any, status: int = 0) -> Any:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    done = run("convert", path, "-o", tmp_path / "out.jsonl")
    assert done.returncode == status, done.stderr
    told(done)
    assert run("validate", "--strict", tmp_path / "out.jsonl").returncode == 0
    return traces(tmp_path / "out.jsonl")[0]


def text(**fields: Any) -> dict[str, Any]:
    return {"source": "a", "type": "TextMessage", "content": "hello", "models_usage": None, **fields}


ODD = [
    [{"role": [], "content": "x", "name": "a"}, {"role": "user", "content": "y", "name": "b"}],
    {"messages": [text(), {"type": ["TextMessage"], "content": "x"}]},
    {"messages": [text(), text(type=[]), text(source={}), text(metadata=[1]), text(models_usage="many")]},
    {"messages": [text(), text(type="ToolCallExecutionEvent", content=[{"call_id": [], "content": "x"}])]},
    {"messages": [text(), text(type="ToolCallSummaryMessage", tool_calls=True, results=5)]},
    {"messages": [text(), text(type="CodeExecutionEvent", result={"exit_code": True}, retry_attempt=True)]},
    {"messages": [text(), text(type="HandoffMessage", target=["x"], context={"a": 1})]},
    {"chat_history": [{"role": "user", "name": "a", "content": "x", "tool_calls": 5}], "human_input": 5, "summary": []},
    {"chat_history": [{"role": "tool", "name": "a", "tool_responses": 5, "content": 7}], "human_input": "words", "cost": [1]},
    [{"role": "user", "name": ["x"], "content": [None, 5, {"type": "text"}]}, {"role": "user", "name": "b", "content": "y"}],
]


@pytest.mark.parametrize("document", ODD, ids=range(len(ODD)))
def test_values_of_odd_types_are_kept(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    done = run("convert", path, "-o", tmp_path / "out.jsonl")
    assert done.returncode in (0, 1), done.stderr
    told(done)
    assert run("validate", tmp_path / "out.jsonl").returncode == 0


def test_equal_call_ids_of_two_agents(tmp_path: Path) -> None:
    def request(agent: str) -> dict[str, Any]:
        return text(source=agent, type="ToolCallRequestEvent", content=[{"id": "0", "name": "f", "arguments": "{}"}])

    def execution(agent: str) -> dict[str, Any]:
        return text(source=agent, type="ToolCallExecutionEvent", content=[{"call_id": "0", "content": f"of {agent}", "name": "f"}])

    trace = converted(tmp_path, {"messages": [request("a"), request("b"), execution("b"), execution("a")]})
    assert [(event["agent_id"], event["data"]["result"]) for event in trace["events"]] == [("a", "of a"), ("b", "of b")]


def test_equal_ids_of_unequal_records(tmp_path: Path) -> None:
    trace = converted(tmp_path, [text(id="x", content="first"), text(id="x", source="b", content="second"), text(id="x", content="first")])
    assert [event["data"]["content"] for event in trace["events"]] == ["first", "second", "first"] or len(trace["events"]) == 2
    assert trace["events"][1]["extra"]["id"] == "x"


def test_an_id_like_those_that_are_made_up(tmp_path: Path) -> None:
    trace = converted(tmp_path, [text(content="first"), text(id="e1", content="second")])
    assert "e1" in json.dumps(trace["events"][1])


def test_arguments_with_keys_given_twice_stay_text(tmp_path: Path) -> None:
    request = text(type="ToolCallRequestEvent", content=[{"id": "1", "name": "f", "arguments": '{"a": 1, "a": 2}'}])
    assert converted(tmp_path, [text(), request])["events"][1]["data"]["arguments"] == '{"a": 1, "a": 2}'


def test_streams_that_lead_elsewhere_are_kept(tmp_path: Path) -> None:
    chunk = text(type="ModelClientStreamingChunkEvent", content="half of a thou")
    contents = [event["data"]["content"] for event in converted(tmp_path, [text(), chunk, text(content="another")])["events"]]
    assert sorted(contents) == ["another", "half of a thou", "hello"]


def test_lists_that_differ_are_no_copies(tmp_path: Path) -> None:
    def call(arguments: str) -> dict[str, Any]:
        return {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": arguments}}]}

    task = {"role": "user", "name": "u", "content": "go"}
    both = {"u": {"w": [task, call('{"n": 1}')]}, "w": {"u": [task, call('{"n": 2}')]}}
    assert [event["data"].get("arguments") for event in converted(tmp_path, both)["events"] if event["data"]["type"] == "tool_call"] == [
        {"n": 1},
        {"n": 2},
    ]


def test_lines_of_messages_keep_their_places(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text('{"role":"user","name":"a","content":"q"}\n{"role":"user","name":"b","content":"r"}\n')
    trace = json.loads(run("convert", path).stdout)
    assert [event["source_ref"] for event in trace["events"]] == ["line:1", "line:2"]


def test_the_last_byte_of_a_gzip_checksum(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(GOOD.read_bytes(), mtime=0))
    data[-6] ^= 0xFF
    (tmp_path / "log.json.gz").write_bytes(data)
    done = run("convert", tmp_path / "log.json.gz")
    assert done.returncode == 1
    assert len(json.loads(done.stdout)["events"]) == 11


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8"])
def test_documents_on_lines_of_their_own_are_whole(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "log.json").write_bytes("".join(json.dumps(text(content=word), indent=1) + "\n" for word in "xyz").encode(encoding))
    assert run("convert", tmp_path / "log.json").returncode == 0


# -- places -----------------------------------------------------------------------------------


@pytest.mark.parametrize("notes", ["log.json", "out.json", "link.json"])
def test_notes_replace_neither_input_nor_output(tmp_path: Path, notes: str) -> None:
    (tmp_path / "log.json").write_bytes(GOOD.read_bytes())
    (tmp_path / "link.json").symlink_to("log.json")
    done = run("convert", tmp_path / "log.json", "-o", tmp_path / "out.json", "--notes", tmp_path / notes)
    assert done.returncode == 64
    assert (tmp_path / "log.json").read_bytes() == GOOD.read_bytes()


def test_links_are_followed_and_devices_written_to(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    assert run("convert", GOOD, "-o", tmp_path / "link.json").returncode == 0
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads((tmp_path / "real.json").read_text())["trace_id"]
    assert run("schema", "-o", "/dev/stdout").stdout.startswith(b"{")
    assert run("schema", "-o", "/dev/full").returncode == 2


@pytest.mark.parametrize("name", ["loop.json", "x" * 300 + ".json", "sub\0.json"])
def test_paths_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")
    from agenttrace.errors import WriteError

    (trace,) = agenttrace.read(GOOD)
    with pytest.raises(WriteError, match="cannot be written"):
        agenttrace.save(trace, tmp_path / name)
    if "\0" not in name:
        assert run("convert", GOOD, "-o", tmp_path / name).returncode == 2


def test_a_suffix_that_is_no_output(tmp_path: Path) -> None:
    assert run("convert", GOOD, "-o", tmp_path / "x.xml").returncode == 64
    assert run("convert", GOOD, "-o", f"{tmp_path}/x.xml/").returncode == 0


def test_names_that_are_no_utf8_in_json(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/b\xff.json"
    with open(path, "wb") as stream:
        stream.write(GOOD.read_bytes())
    for command in ("info", "doctor", "validate"):
        done = subprocess.run([sys.executable, "-m", "agenttrace", command, "--json", path], capture_output=True, check=False)
        assert b"Traceback" not in done.stderr
        assert "b\ufffd.json" in done.stdout.decode()


@pytest.mark.parametrize("redirect", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_streams(tmp_path: Path, redirect: str) -> None:
    command = f'"{sys.executable}" -m agenttrace convert "{GOOD}" -o "{tmp_path}/out.json" {redirect}'
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.returncode, b"Traceback" in done.stderr) == (0, False)
    assert (tmp_path / "out.json").exists()


def test_a_signal_leaves_no_half_file(tmp_path: Path) -> None:
    code = f"from agenttrace.cli import main; main(['convert', *['{GOOD}'] * 3000, '-o', '{tmp_path}/out.jsonl', '--quiet'])"
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not any(tmp_path.iterdir()):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert list(tmp_path.iterdir()) == [] or process.returncode == 0


# -- the Python API --------------------------------------------------------------------------------


def test_paths_for_reading_that_cannot_be() -> None:
    for call in (agenttrace.load, agenttrace.read, agenttrace.detect, agenttrace.validate):
        for path in ("a\0b", "x" * 300, "", "nowhere.json"):
            with pytest.raises(agenttrace.ReadError):
                call(path)


def test_what_is_nested_too_deeply_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    for levels in (700, 960, 1000, 1020, 1100):
        nest = '{"a":' * levels + "1" + "}" * levels
        path.write_text('{"messages":[{"type":"TextMessage","source":"a","content":"x","metadata":{"m":' + nest + "}}]}")
        assert run("convert", path, "-o", tmp_path / "out.json").returncode in (0, 2)


def test_builder_takes_odd_texts() -> None:
    notes = Notes()
    builder = TraceBuilder("test", notes=notes)
    builder.message("a\ud800", "x", receivers="bob")
    trace = builder.build()
    assert [agent.agent_id for agent in trace.agent_instances] == ["a\ud800", "bob"]
    data = agenttrace.loads(agenttrace.dumps(trace)).events[0].data
    assert isinstance(data, Message) and data.sender_id == "a\ufffd"
