"""Mappings: their files, what they leave aside, what is proposed, and what a hostile or mistaken one does."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agenttrace import codec
from agenttrace.errors import MissingExtra, ReadError, UsageError
from agenttrace.formats import get_format
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.readers.custom_json import mapping_file
from agenttrace.readers.custom_json.mapping_file import load_mapping
from agenttrace.sources import Source
from tests.cli.test_convert import run
from tests.conftest import FORMATS, ROOT

EXAMPLES = ROOT / "examples" / "mappings"
FOLDERS = {"sentinel": "hand_sentinel", "chat": "hand_chat", "steps": "hand_steps"}
LOGS = {"sentinel": "healthy-001.jsonl", "chat": "fair.json", "steps": "runs.json"}


def log_of(name: str) -> Path:
    return FORMATS / "custom_json" / FOLDERS[name] / "input" / LOGS[name]


def mapped(log: Path, mapping: Path) -> tuple[list[dict[str, Any]], Notes]:
    notes = Notes()
    return [json.loads(codec.dumps(trace)) for trace in traces_of(Source.open(log), str(mapping), notes)[2]], notes


def wrote(folder: Path, text: str, name: str = "map.toml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("name", FOLDERS)
def test_the_examples_are_the_mappings_of_the_fixtures(name: str) -> None:
    (beside,) = (FORMATS / "custom_json" / FOLDERS[name] / "input").glob("agenttrace-mapping.*")
    assert load_mapping(beside) == load_mapping(EXAMPLES / f"{name}.toml")


@pytest.mark.parametrize("name", FOLDERS)
def test_a_mapping_by_name_and_one_beside_the_log_give_the_same_events(name: str) -> None:
    by_name, _ = mapped(log_of(name), EXAMPLES / f"{name}.toml")
    beside = json.loads((FORMATS / "custom_json" / FOLDERS[name] / "expected.json").read_text("utf-8"))["traces"]
    without_file = json.dumps([trace["events"] for trace in beside]).replace(f"{LOGS[name]}#", "")
    assert [trace["events"] for trace in by_name] == json.loads(without_file)


@pytest.mark.parametrize(("name", "edits"), [("sentinel", 3), ("chat", 4), ("steps", 8)])
def test_a_proposal_comes_within_a_few_edits_of_the_example(name: str, edits: int) -> None:
    proposed = stated(run("mapping", "init", log_of(name)).stdout.decode())
    wanted = stated((EXAMPLES / f"{name}.toml").read_text("utf-8"))
    assert (wanted - proposed).total() + (proposed - wanted).total() <= edits


def stated(text: str) -> Counter[str]:
    """The lines of a mapping that say something, but for its name."""
    lines = (line.strip() for line in text.splitlines())
    return Counter(line for line in lines if line and not line.startswith(("#", "name =")))


def test_check_says_what_stays_aside() -> None:
    done = run("mapping", "check", log_of("chat"), EXAMPLES / "chat.toml", "--json")
    found = json.loads(done.stdout)
    assert (found["traces"], found["events"], found["agents"]) == (1, {"message": 3}, ["baker", "miller", "seller"])
    assert {item["path"] for item in found["aside"]} >= {"event: mood", "run: venue", "agent: shift", "run: turns[].note"}
    shown = run("mapping", "check", log_of("chat"), EXAMPLES / "chat.toml").stdout.decode()
    assert "event: mood" in shown and "calm" in shown


def test_a_record_that_no_rule_takes_is_told_and_kept(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text('{"who": "a", "says": "hello"}\n{"bell": "rang"}\n')
    mapping = wrote(tmp_path, 'name = "x"\n[[events]]\neach = "[]"\ntype = "message"\nsender = "who"\ncontent = "says"\n')
    done = run("mapping", "check", log, mapping)
    assert done.returncode == 1
    assert b"1 records are taken by no rule" in done.stdout
    (trace,), _ = mapped(log, mapping)
    assert trace["extra"]["records"] == [{"source_ref": "line:2", "value": {"bell": "rang"}}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "no TOML"),
        ('name = "x"\n', "missing required field `events`"),
        ('name = "x"\nevents = []\n', "no rule says what an event is"),
        ('name = "x"\nfoo = 1\n[[events]]\ntype = "message"\n', "unknown field `foo`"),
        ('name = "x"\n[[events]]\ntype = "massage"\n', "events[0].type"),
        ('name = "x"\n[[events]]\ntype = "message"\ncontent = "a[?"\n', "events[0].content: no JMESPath"),
        ('name = "x"\n[[events]]\ntype = "message"\neach = "a[0]"\n', "events[0].each: 'a[0]' is no path"),
        ('name = "x"\n[meta]\ncolour = "a"\n[[events]]\ntype = "message"\n', "meta.colour: TraceMeta has no such field"),
        ('name = "x"\n[[events]]\ntype = "message"\nusage.pears = "a"\n', "events[0].usage.pears"),
        ('name = "x"\n[[events]]\ntype = "artifact"\n', "says where artifact_id is"),
        ('name = "x"\n[[events]]\ntype = "message"\ncontent = "' + "(" * 5000 + '"\n', "no JMESPath"),
    ],
)
def test_a_fault_of_a_mapping_is_one_line_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    done = run("convert", log_of("chat"), "--from", wrote(tmp_path, text))
    assert done.returncode == 64
    assert said in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("text", ["a: [b", "- 1\n- 2\n", "a: &x [*x]\n", "!!python/object/apply:os.system ['true']\n"])
def test_yaml_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    done = run("convert", log_of("chat"), "--from", wrote(tmp_path, text, "map.yaml"))
    assert done.returncode == 64
    assert done.stderr.count(b"\n") == 1


def test_values_of_odd_kinds_stay_aside(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    odd = {"who": [1], "says": None, "to": [3], "at": {"x": 1}, "id": True, "tokens": "many", "took": False, "sort": {"a": 1}}
    log.write_text(json.dumps([{**odd, "says": {"deep": ["TOKEN"]}}, {**odd, "says": "y", "at": 10**30, "took": 1e400}]))
    lines = 'sender = "who"\ncontent = "says"\nreceivers = "to"\ntimestamp = "at"\nevent_id = "id"\nkind = "sort"\n'
    more = 'duration_s = "took"\nusage.prompt_tokens = "tokens"\n'
    mapping = wrote(tmp_path, f'name = "x"\n[[events]]\neach = "[]"\ntype = "message"\n{lines}{more}')
    (trace,), _ = mapped(log, mapping)
    first = trace["events"][0]
    assert first["data"]["content"] == [{"kind": "data", "value": {"deep": ["TOKEN"]}}]
    assert first["extra"] == {key: value for key, value in odd.items() if key != "says"}


def test_a_part_of_a_value_leaves_the_rest_aside(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps([{"says": ["taken", "left"], "who": {"name": "a", "mood": "calm"}}]))
    rule = '[[events]]\neach = "[]"\ntype = "message"\nsender = "who.name"\ncontent = "says[0]"\n'
    (trace,), _ = mapped(log, wrote(tmp_path, f'name = "x"\n{rule}'))
    assert trace["events"][0]["extra"] == {"says": ["taken", "left"], "who": {"mood": "calm"}}


def test_records_may_be_traces_or_grouped_into_them(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"run": run_id, "says": str(number)}) + "\n" for number, run_id in enumerate("abab")))
    grouped = 'name = "x"\ngroup_by = "run"\n[meta]\nrun_id = "[0].run"\n[[events]]\neach = "[]"\ntype = "message"\ncontent = "says"\n'
    traces, _ = mapped(log, wrote(tmp_path, grouped))
    assert [[event["data"]["content"] for event in trace["events"]] for trace in traces] == [["0", "2"], ["1", "3"]]
    assert [trace["events"][1]["source_ref"] for trace in traces] == ["line:3", "line:4"]
    single = 'name = "x"\nsplit = "record"\n[meta]\nrun_id = "run"\n[[events]]\ntype = "message"\ncontent = "says"\n'
    traces, _ = mapped(log, wrote(tmp_path, single))
    assert [trace["meta"]["run_id"] for trace in traces] == list("abab")


def test_results_of_their_own_are_folded_into_calls(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [
        {"t": "call", "id": "c1", "tool": "add", "in": {"a": 1}},
        {"t": "done", "id": "c1", "out": 2, "ok": "failure", "at": "2026-01-01T00:00:00Z"},
    ]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    call = '[[events]]\neach = "[]"\nwhen = "t == \'call\'"\ntype = "tool_call"\ncall_id = "id"\ntool = "tool"\narguments = "in"\n'
    done = '[[events]]\neach = "[]"\nwhen = "t == \'done\'"\ntype = "tool_result"\ncall_id = "id"\nresult = "out"\nstatus = "ok"\ntimestamp = "at"\n'
    (trace,), _ = mapped(log, wrote(tmp_path, f'name = "x"\n{call}{done}'))
    (event,) = trace["events"]
    assert (event["data"]["result"], event["data"]["status"], event["data"]["completed_at"]) == (2, "failure", "2026-01-01T00:00:00Z")
    assert event["extra"] == {"t": "done"}


def test_a_log_that_no_rule_fits_is_refused(tmp_path: Path) -> None:
    log = wrote(tmp_path, '[{"other": 1}]', "log.json")
    with pytest.raises(ReadError, match="no rule of the mapping chat fits it"):
        mapped(log, EXAMPLES / "chat.toml")


def test_without_jmespath_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jmespath", None)
    monkeypatch.setattr(mapping_file, "_COMPILED", {})
    with pytest.raises(MissingExtra, match=r"agenttrace-suite\[mapping\]"):
        get_format(str(EXAMPLES / "chat.toml"))


def test_init_writes_a_file_once(tmp_path: Path) -> None:
    out = tmp_path / "map.toml"
    assert run("mapping", "init", log_of("chat"), "-o", out).returncode == 0
    assert run("mapping", "check", log_of("chat"), out).returncode == 0
    before = out.read_bytes()
    assert run("mapping", "init", log_of("steps"), "-o", out).returncode == 64
    assert out.read_bytes() == before
    assert run("mapping", "init", log_of("steps"), "-o", out, "--force").returncode == 0


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        7,
        [[]],
        [{"a'b\\c": 1, 'q"x': [{"to ol": "x", "name": "n", "args": {}}]}],
        {"a.b": [{"text": "x", "type": "it's"}, {"text": "y", "type": "b"}]},
    ],
)
def test_a_proposal_for_anything_is_a_mapping(tmp_path: Path, value: Any) -> None:
    log = wrote(tmp_path, json.dumps(value), "log.json")
    done = run("mapping", "init", log, "-o", tmp_path / "map.toml")
    assert done.returncode == 0, done.stderr
    load_mapping(tmp_path / "map.toml")


def test_a_folder_whose_mapping_is_broken_says_so(tmp_path: Path) -> None:
    shutil.copytree(log_of("chat").parent, tmp_path / "runs")
    (tmp_path / "runs" / "agenttrace-mapping.toml").write_text("name = ")
    done = run("convert", tmp_path / "runs")
    assert done.returncode == 2
    assert b"agenttrace-mapping.toml: no TOML" in done.stderr
    with pytest.raises(UsageError):
        load_mapping(tmp_path / "runs" / "agenttrace-mapping.toml")


# -- proposals for the shapes that logs of single agents have ----------------------------------


def proposed(folder: Path, log: Any) -> tuple[list[dict[str, Any]], str]:
    path = folder / "log.json"
    path.write_text(json.dumps(log), "utf-8")
    text = run("mapping", "init", path).stdout.decode()
    return mapped(path, wrote(folder, text))[0], text


def test_steps_that_act_by_text_are_proposed_as_calls(tmp_path: Path) -> None:
    steps = [{"action": "ls", "observation": "a b", "thought": "look"}, {"action": "cat a", "observation": "", "thought": "read"}]
    history = [{"role": "user", "content": "Mend it.", "agent": "main"}] * 3
    (trace,), text = proposed(tmp_path, {"trajectory": steps, "history": history})
    assert [(event["data"]["arguments"], event["data"].get("result"), event["reasoning"]) for event in trace["events"]] == [
        ("ls", "a b", "look"),
        ("cat a", "", "read"),
    ]
    assert "# Also a list of objects: history[] (role, content, agent)" in text


def test_calls_results_and_figures_inside_steps_are_proposed(tmp_path: Path) -> None:
    steps = [
        {"source": "user", "message": "List."},
        {
            "source": "agent",
            "message": "So be it.",
            "reasoning_content": "ls will do",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "a b"}]},
            "metrics": {"prompt_tokens": 7, "cost_usd": 0.5},
        },
    ]
    (trace,), _ = proposed(tmp_path, {"agent": {"name": "solver", "model_name": "small-1", "version": "2"}, "steps": steps})
    first, second, call = trace["events"]
    assert second["usage"] == {"prompt_tokens": 7, "cost_usd": 0.5} and second["reasoning"] == "ls will do"
    assert (call["data"]["result"], call["turn_id"]) == ("a b", second["turn_id"]) and first["turn_id"] != second["turn_id"]
    assert {"agent_id": "solver", "model": "small-1", "version": "2"}.items() <= trace["agent_instances"][0].items()


def test_records_that_hold_lists_are_traces_or_the_frame_of_items(tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "Hm?"}, {"role": "assistant", "content": "Hm."}]
    traces, _ = proposed(tmp_path, [{"id": "a", "conversations": turns}, {"id": "b", "conversations": turns}])
    assert [len(trace["events"]) for trace in traces] == [2, 2]
    (trace,), _ = proposed(tmp_path, [{"ts": 1, "parts": turns[:1]}, {"ts": 2, "parts": turns[1:]}])
    assert [event["data"]["content"] for event in trace["events"]] == ["Hm?", "Hm."]
