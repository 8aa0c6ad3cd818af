"""The other commands: what they print, as text and as JSON, and their exit statuses."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agenttrace import formats as formats_module
from agenttrace.cli import COMMANDS
from agenttrace.errors import AmbiguousFormat
from agenttrace.formats import Format, Match, detect
from agenttrace.schema import load_schema
from tests.cli.test_convert import CUT, GOOD, run, told
from tests.conftest import FORMATS

TRACE = FORMATS / "agenttrace" / "document" / "input.json"


def test_help_lists_every_command_with_the_sentence_it_begins_with() -> None:
    text = " ".join(run("--help").stdout.decode().split())
    for name, sentence in COMMANDS.items():
        assert sentence in text
        own = run(name, "--help")
        assert own.returncode == 0
        assert own.stdout.startswith(f"Usage: agenttrace {name}".encode())


def test_version() -> None:
    assert run("--version").stdout.startswith(b"agenttrace 0.")


# -- info -------------------------------------------------------------------------------


def test_info_as_json() -> None:
    (row,) = json.loads(run("info", GOOD, "--json").stdout)
    assert row == {
        "path": str(GOOD),
        "format": "autogen",
        "variant": "task_result",
        "trace_id": "8c63ba4e50f0a7f2-1",
        "framework": "autogen",
        "agents": 3,
        "events": {"total": 11, "message": 6, "tool_call": 5, "artifact": 0, "subtask": 0},
        "links": {"total": 0, "explicit": 0, "derived": 0, "inferred": 0},
        "success": None,
        "start_time": "2026-11-30T21:34:13.954032Z",
        "end_time": "2026-11-30T21:34:13.968525Z",
    }


def test_info_of_a_folder_is_a_table() -> None:
    done = run("info", FORMATS / "agenttrace")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 1  # one line of one file is cut
    assert lines[0].split()[:4] == ["path", "format", "variant", "trace_id"]
    assert [line.split()[3] for line in lines[1:]] == ["bakery-7", "short", "bakery-7", "other", "bakery-7"]
    assert "yes" in lines[1]


# -- validate -----------------------------------------------------------------------------


def test_a_valid_trace() -> None:
    done = run("validate", TRACE)
    assert (done.returncode, told(done)) == (0, ["1 trace, 1 valid"])


def test_all_problems_at_once(tmp_path: Path) -> None:
    document = json.loads(TRACE.read_text("utf-8"))
    document["events"][1]["event_id"] = "e1"
    document["events"][0]["data"]["receiver_ids"] = ["nobody"]
    del document["meta"]["framework"]
    (tmp_path / "bad.json").write_text(json.dumps(document))
    done = run("validate", tmp_path / "bad.json", "--json")
    assert done.returncode == 1
    (result,) = json.loads(done.stdout)
    assert result["valid"] is False
    found = {(issue["code"], issue["pointer"]) for issue in result["issues"]}
    assert {
        ("missing_key", "/meta"),
        ("duplicate_event_id", "/events/1/event_id"),
        ("unknown_agent", "/events/0/data/receiver_ids/0"),
    } <= found


def test_every_line_of_a_batch_is_a_result() -> None:
    done = run("validate", FORMATS / "agenttrace" / "lines" / "input.jsonl", "--json")
    assert [(result["path"].rpartition("#")[2], result["valid"]) for result in json.loads(done.stdout)] == [
        ("line:1", True),
        ("line:2", False),
        ("line:4", True),
    ]


def test_strict_takes_unknown_keys_for_errors() -> None:
    path = FORMATS / "agenttrace" / "unknown_keys" / "input.json"
    assert run("validate", path).returncode == 0
    assert run("validate", path, "--strict").returncode == 1


def test_another_log_is_no_trace() -> None:
    assert run("validate", GOOD).returncode == 1
    assert run("validate", "nowhere.json").returncode == 2


# -- formats, schema, demo --------------------------------------------------------------------


def test_formats() -> None:
    rows = json.loads(run("formats", "--json").stdout)
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)
    assert list(rows[0]) == ["name", "title", "spec", "variants", "versions", "mapping", "not_mapped", "experimental", "reads", "writes"]
    assert b"ToolCallRequestEvent" in run("formats", "autogen").stdout


def test_schema(tmp_path: Path) -> None:
    assert json.loads(run("schema").stdout) == load_schema()
    run("schema", "agenttrace-1.0", "-o", tmp_path / "schema.json")
    assert json.loads((tmp_path / "schema.json").read_text()) == load_schema()


def test_demo(tmp_path: Path) -> None:
    done = run("demo", "-o", tmp_path / "trace.json")
    assert done.returncode == 0
    assert "exception" in done.stdout.decode()
    assert run("validate", tmp_path / "trace.json", "--strict").returncode == 0


def test_the_bundled_run_is_the_fixture() -> None:
    import agenttrace.cli

    bundled = Path(agenttrace.cli.__file__).parent / "demo_run.json"
    assert bundled.read_bytes() == (FORMATS / "autogen" / "07_demo" / "input.json").read_bytes()


# -- doctor ---------------------------------------------------------------------------------------


def test_doctor_says_what_a_log_is_and_what_is_damaged() -> None:
    done = run("doctor", CUT)
    assert done.returncode == 1
    text = done.stdout.decode()
    assert "autogen, variant task_result" in text
    assert "salvaged" in text


def test_doctor_says_why_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "x", "version": "1.0"}')
    done = run("doctor", tmp_path / "package.json", "--json")
    assert done.returncode == 1
    (finding,) = json.loads(done.stdout)
    assert (finding["kind"], finding["keys"], finding["format"]) == ("json", ["name", "version"], None)
    assert {reader["name"] for reader in finding["readers"]} >= {"agenttrace", "autogen"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("why.txt", b"RuntimeError('No more replies')\n", "the text of an exception, RuntimeError(\u2026)"),
        (
            "trace.txt",
            b'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: no\n',
            "the traceback of an error, not a log",
        ),
        ("it.txt", b"Duck(name='Emma', age=3)", "a printed Python object Duck(\u2026)"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, "a PNG picture"),
        ("a.pkl", b"\x80\x04\x95" + bytes(range(32)) * 9, "a Python pickle, which is never loaded"),
        (
            "20240306.txt",
            b"2024-03-06 15:09:16.645 | INFO     | __main__:record:40 - * recording\n",
            "a log in the form of loguru, but no line is of a known framework",
        ),
        (
            "train.log",
            b"[10:09:45 INFO]\n[Init Policy Forward]\n",
            'plain text in which no line has the form of a known log; it begins "[10:09',
        ),
        ("notes.md", b"# Title\n\nSome words.\n", "a Markdown document, not a log"),
        ("rows.csv", b"a,b,c\n1,2,3\n4,5,6\n", "a table of comma-separated values, not a log"),
        ("b.ipynb", b'{"cells": [{"cell_type": "code", "outputs": []}], "nbformat": 4}', "none of its outputs shows a run"),
        ("list.json", b"[[1, 2], 3]", "a list of 2, the first a list of 2, the first a single int"),
        ("words.txt", b"nothing in particular\n", "no line has the form of a known log"),
    ],
)
def test_doctor_says_what_a_refused_file_is(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    done = run("doctor", tmp_path / name, "--json")
    (finding,) = json.loads(done.stdout)
    assert done.returncode == 1
    assert finding["verdict"].startswith("no reader recognises it: ")
    assert said in finding["verdict"]


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("metagpt/05_team_folder/input/team_info.json", "metagpt/05_team_folder/input"),
        ("metagpt/05_team_folder/input/environment/history.json", "metagpt/05_team_folder/input"),
        ("chatdev/hand_run_folder/input/RoleConfig.json", "chatdev/hand_run_folder/input"),
    ],
)
def test_doctor_names_the_folder_whose_run_a_file_is_a_part_of(file: str, folder: str) -> None:
    (finding,) = json.loads(run("doctor", FORMATS / file, "--json").stdout)
    assert finding["verdict"].endswith(f"a run lies in the folder around it: name {FORMATS / folder}")


def test_doctor_names_the_tables_of_a_database_that_is_no_log(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made:
        made.executescript("CREATE TABLE orders (x); CREATE TABLE goods (y);")
    (finding,) = json.loads(run("doctor", tmp_path / "shop.db", "--json").stdout)
    assert 'the tables "goods", "orders"' in finding["verdict"]


def test_doctor_without_anything_readable() -> None:
    assert run("doctor", "nowhere").returncode == 2


# -- two readers claim one input ---------------------------------------------------------------------


@pytest.fixture
def rival(monkeypatch: pytest.MonkeyPatch) -> str:
    """A second reader that is as sure of AutoGen dumps as ours."""
    own = dict(formats_module.formats())

    def certain(_: object) -> Match:
        return Match("any", "certain", "claims everything")

    twin = Format("rival", "A rival", "https://example.org", {"any": "anything"}, "1", {"all": "nothing"}, certain, own["autogen"].read)
    monkeypatch.setattr(formats_module, "formats", lambda: {**own, "rival": twin})
    return "rival"


def test_a_tie_names_both(rival: str) -> None:
    with pytest.raises(AmbiguousFormat, match=f"autogen and {rival}|{rival} and autogen"):
        detect(GOOD)


def test_python_dash_m() -> None:
    assert sys.executable
    assert run("formats").returncode == 0


# -- query --------------------------------------------------------------------------------------------


def test_query_prints_events_that_fit() -> None:
    done = run("query", GOOD, "--type", "tool_call", "--tool", "refund", "--json")
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert (found["trace_id"], found["event"]["data"]["tool_name"]) == ("8c63ba4e50f0a7f2-1", "refund")


def test_query_as_a_table_of_several_logs() -> None:
    done = run("query", GOOD, FORMATS / "autogen" / "07_demo" / "input.json", "--status", "exception")
    lines = done.stdout.decode().splitlines()[1:]
    assert [("exception" in line, "find_train(" in line) for line in lines] == [(True, True)]


def test_a_query_that_nothing_fits_is_fine_and_a_wrong_one_is_usage() -> None:
    assert run("query", GOOD, "--agent", "nobody").returncode == 0
    assert run("query", GOOD, "--since", "yesterday").returncode == 64


def test_query_by_time_says_how_many_events_have_none(tmp_path: Path) -> None:
    path = tmp_path / "messages.json"
    path.write_text(json.dumps([{"role": "user", "name": "a", "content": "x"}, {"role": "assistant", "name": "b", "content": "y"}]))
    done = run("query", str(path), "--since", "2026-01-01")
    assert done.returncode == 0
    assert b"2 events have no time" in done.stderr
    assert run("query", GOOD, "--type", "note").returncode == 64
    assert run("query", "nowhere").returncode == 2
