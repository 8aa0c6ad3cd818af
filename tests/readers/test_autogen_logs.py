"""AutoGen's own logs, transcripts and folders: known answers, worked out by hand from the documented shapes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import agenttrace
from agenttrace.errors import ReadError
from agenttrace.formats import recognise
from agenttrace.model import Message, ToolCall, Trace
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of
from agenttrace.sources import Source

TEAM = "2f0c6f6e-4a8f-4b1e-8a38-9d6f1f7a2b10"
INNER = "7a1c6f6e-4a8f-4b1e-8a38-9d6f1f7a2b11"


def read(data: bytes | str, notes: Notes | None = None) -> list[Trace]:
    raw = data.encode() if isinstance(data, str) else data
    return list(traces_of(Source("input", data=raw), "autogen", notes or Notes())[2])


def lines(*records: Any) -> str:
    return "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)


def said(trace: Trace) -> list[tuple[str | None, tuple[str, ...], Any]]:
    """Sender, receivers and content of the messages that are no log lines and no selections."""
    found = (event.data for event in trace.events if isinstance(event.data, Message))
    return [(data.sender_id, data.receiver_ids, data.content) for data in found if data.kind in ("chat", "handoff", "summary")]


def calls(trace: Trace) -> list[ToolCall]:
    return [event.data for event in trace.events if isinstance(event.data, ToolCall)]


# -- the event log ---------------------------------------------------------------------


def agent(name: str, team: str = TEAM) -> str:
    return f"{name}_{team}/{team}"


def sent(payload: Any, sender: str | None, receiver: str | None, stage: str = "SEND", kind: str = "PUBLISH") -> dict[str, Any]:
    text = payload if isinstance(payload, str) else json.dumps(payload)
    route = {"sender": sender, "receiver": receiver, "kind": f"MessageKind.{kind}", "delivery_stage": f"DeliveryStage.{stage}"}
    return {"payload": text, **route, "type": "Message"}


def spoke(source: str, content: Any, kind: str = "TextMessage", **more: Any) -> dict[str, Any]:
    return {"source": source, "models_usage": None, "content": content, "type": kind, **more}


def start(text: str, manager: str = "Manager", team: str = TEAM) -> dict[str, Any]:
    return sent({"messages": [spoke("user", text)]}, None, agent(manager, team), kind="DIRECT")


def turn(name: str, content: str, team: str = TEAM) -> list[dict[str, Any]]:
    """What a turn of 0.4 writes: the message to the output, the response to the group, two deliveries."""
    record = spoke(name, content)
    response = {"agent_response": {"chat_message": record, "inner_messages": []}}
    return [
        sent({"message": record}, agent(name, team), agent("output_topic", team)),
        sent(response, agent(name, team), agent("group_topic", team)),
        sent(response, agent(name, team), None, "DELIVER"),
        sent(response, agent(name, team), None, "DELIVER"),
    ]


def end(manager: str = "Manager", team: str = TEAM) -> dict[str, Any]:
    return sent("Message could not be serialized", agent(manager, team), agent("output_topic", team))


def test_a_text_that_is_said_twice_is_two_events_and_its_deliveries_are_none() -> None:
    (trace,) = read(lines(start("Go."), *turn("a", "Continue"), *turn("b", "ok"), *turn("a", "Continue"), end()))
    assert said(trace) == [("user", ("a", "b"), "Go."), ("a", ("b",), "Continue"), ("b", ("a",), "ok"), ("a", ("b",), "Continue")]
    assert sum(item["count"] for item in trace.extra["deliveries"]) == 14


def test_a_log_that_begins_between_sending_and_delivery_keeps_the_message() -> None:
    late = sent({"message": spoke("a", "I was first.")}, agent("a"), None, "DELIVER")
    (trace,) = read(lines(late, late, *turn("b", "second")))
    assert [content for _, _, content in said(trace)] == ["I was first.", "second"]


def test_a_start_after_the_end_is_a_run_of_its_own_and_one_in_the_middle_a_team_inside() -> None:
    inner = [start("Inner task.", "Manager", INNER), *turn("x", "in", INNER), end("Manager", INNER)]
    ask = sent({}, agent("Manager"), agent("a"))
    first, second = read(lines(start("One."), ask, *inner, *turn("a", "out"), end(), start("Two."), *turn("a", "again"), end()))
    assert said(first) == [("user", ("a",), "One."), ("user", ("x",), "Inner task."), ("x", (), "in"), ("a", (), "out")]
    assert {item.agent_id: item.parent_agent_id for item in first.agent_instances}["a/Manager"] == "a"
    assert said(second) == [("user", ("a",), "Two."), ("a", (), "again")]


def test_the_same_team_that_starts_again_without_an_end_is_another_run() -> None:
    assert len(read(lines(start("One."), *turn("a", "so"), start("Two."), *turn("a", "so")))) == 2


def test_a_tool_that_returned_is_the_outcome_of_the_call_with_its_arguments() -> None:
    request = spoke(
        "a",
        [{"id": "c1", "name": "add", "arguments": '{"n": 1}'}, {"id": "c2", "name": "add", "arguments": '{"n": 2}'}],
        "ToolCallRequestEvent",
    )
    ran = {"type": "ToolCall", "tool_name": "add", "arguments": {"n": 2}, "result": "two", "agent_id": agent("a")}
    alone = {**ran, "arguments": {"n": 3}, "result": "three"}
    (trace,) = read(lines(start("Go."), sent({"message": request}, agent("a"), agent("output_topic")), ran, alone))
    assert [(call.arguments, call.result, call.status) for call in calls(trace)] == [
        ({"n": 1}, None, None),
        ({"n": 2}, "two", "success"),  # the log ends before the execution event
        ({"n": 3}, "three", "success"),
    ]


def test_a_prefix_gives_the_time_and_a_line_without_one_goes_on_from_the_line_before() -> None:
    prefix = "2026-02-21 01:55:13,928 - autogen_core.events - INFO - "
    log = prefix + json.dumps(sent({"text": "hi"}, "a/default", "b/default", kind="DIRECT")) + "\n"
    log += "2026-02-21 01:55:14,000 - other - ERROR - it broke\nTraceback (most recent call last):\n  ValueError\n"
    (trace,) = read(log)
    first, second = trace.events
    assert (first.timestamp, first.agent_id) == ("2026-02-21T01:55:13.928", "a")
    assert isinstance(second.data, Message) and str(second.data.content).endswith("ValueError") and second.data.kind == "log"


def test_a_cut_record_is_salvaged_and_told() -> None:
    notes = Notes()
    whole = lines(start("Go."), *turn("a", "so"))
    read(whole[:-40], notes)
    assert [note.source_ref for note in notes.damage] == ["line:5"]


def test_an_answer_of_which_no_record_came_stands_in_its_place() -> None:
    call = {"type": "LLMCall", "messages": [{"role": "system", "content": "Be brief."}], "prompt_tokens": 9, "completion_tokens": 1}
    used = {**call, "response": {"content": "ok"}, "agent_id": agent("a")}
    lost = {**call, "response": {"content": "unheard"}, "agent_id": agent("Manager")}
    record = spoke("a", "ok", models_usage={"prompt_tokens": 9, "completion_tokens": 1})
    (trace,) = read(lines(start("Go."), lost, used, sent({"message": record}, agent("a"), agent("output_topic"))))
    kinds = [(event.data.kind, event.data.content, event.raw_response) for event in trace.events if isinstance(event.data, Message)]
    assert kinds == [("chat", "Go.", None), ("log", "unheard", {"content": "unheard"}), ("chat", "ok", {"content": "ok"})]
    assert {item.agent_id: item.system_prompt for item in trace.agent_instances}["a"] == "Be brief."


# -- runtime_logging ------------------------------------------------------------------------


def row(name: str, message: Any, sender: str, moment: str, source_id: int = 1) -> dict[str, Any]:
    state = json.dumps({"message": message, "sender": sender, "valid": True})
    return {
        "source_id": source_id,
        "source_name": name,
        "event_name": "received_message",
        "json_state": state,
        "timestamp": moment,
        "thread_id": 1,
    }


def test_what_a_manager_relays_is_received_by_the_members_and_a_repeat_is_another_message() -> None:
    def relay(name: str) -> dict[str, Any]:
        return row(name, {"content": "go on", "role": "user", "name": "a"}, "boss", "2026-01-01 10:00:01")

    told = [row("boss", "go on", "a", "2026-01-01 10:00:00"), relay("b"), relay("c")]
    (trace,) = read(lines("Started new session with Session ID: s1", *told, *told))
    assert said(trace) == [("a", ("boss", "b", "c"), "go on")] * 2
    assert trace.meta.session_id == "s1"


def test_a_function_that_ran_dates_the_result_of_its_call() -> None:
    call = {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"n":1}'}}]}
    ran = {
        "source_id": 2,
        "source_name": "user",
        "input_args": '{"n": 1}',
        "returns": "7",
        "timestamp": "2026-01-01 10:00:05",
        "thread_id": 1,
    }
    answer = {"role": "tool", "content": "7", "tool_responses": [{"tool_call_id": "c1", "role": "tool", "content": "7"}]}
    stray = {**ran, "input_args": '{"n": 2}', "returns": '"alone"'}
    (trace,) = read(
        lines(
            "Started new session with Session ID: s1",
            row("user", call, "bot", "2026-01-01 10:00:00"),
            ran,
            row("bot", answer, "user", "2026-01-01 10:00:09"),
            stray,
        )
    )
    first, second = calls(trace)
    assert (first.caller_id, first.executor_id, first.result, first.completed_at) == ("bot", "user", "7", "2026-01-01T10:00:05")
    assert (second.caller_id, second.executor_id, second.tool_name, second.result) == (None, "user", "unknown", '"alone"')


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "logs.db"
    with closing(sqlite3.connect(path)) as made:
        made.executescript(
            """CREATE TABLE agents (id INTEGER PRIMARY KEY, agent_id INTEGER, session_id TEXT, name TEXT, class TEXT, init_args TEXT, timestamp TEXT);
            CREATE TABLE events (event_name TEXT, source_id INTEGER, source_name TEXT, id INTEGER PRIMARY KEY, json_state TEXT, timestamp TEXT);
            CREATE TABLE chat_completions (id INTEGER PRIMARY KEY, session_id TEXT, source_name TEXT, request TEXT, response TEXT, end_time TEXT);
            CREATE TABLE oai_wrappers (id INTEGER PRIMARY KEY, session_id TEXT, timestamp TEXT);"""
        )
    return path


def insert(path: Path, table: str, **values: Any) -> None:
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", tuple(values.values()))
        made.commit()


def received(path: Path, name: str, text: str, moment: str, source_id: int) -> None:
    state = json.dumps({"message": text, "sender": "user", "valid": True})
    insert(path, "events", event_name="received_message", source_id=source_id, source_name=name, json_state=state, timestamp=moment)


def test_rows_without_a_session_go_by_time_and_where_two_ran_at_once_by_agent(database: Path) -> None:
    for session, name, source_id, moment in [
        ("s1", "a", 1, "10:00"),
        ("s2", "a", 1, "11:00"),
        ("s3", "b", 2, "12:00"),
        ("s4", "c", 3, "12:01"),
    ]:
        insert(database, "agents", agent_id=source_id, session_id=session, name=name, timestamp=f"2026-01-01 {moment}:00")
    insert(database, "chat_completions", session_id="s3", source_name="b", response="null", end_time="2026-01-01 12:09:00")
    received(database, "a", "one", "2026-01-01 10:30:00", 1)
    received(database, "a", "two", "2026-01-01 11:30:00", 1)  # the same id() again
    received(database, "b", "three", "2026-01-01 12:05:00", 2)  # s4 has begun, s3 runs on
    received(database, "c", "four", "2026-01-01 12:06:00", 3)
    traces = agenttrace.read(database)
    assert [(trace.meta.session_id, [content for _, _, content in said(trace)]) for trace in traces] == [
        ("s1", ["one"]),
        ("s2", ["two"]),
        ("s3", ["three"]),
        ("s4", ["four"]),
    ]


def test_a_view_or_a_virtual_table_of_a_known_name_is_not_asked(database: Path) -> None:
    with closing(sqlite3.connect(database)) as made:
        made.executescript(
            "CREATE VIEW function_calls AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS source_id FROM n;"
            "DROP TABLE agents; CREATE VIRTUAL TABLE agents USING fts5(name);"
        )
    received(database, "a", "hello", "2026-01-01 10:30:00", 1)
    (trace,) = agenttrace.read(database)
    assert [content for _, _, content in said(trace)] == ["hello"]


def test_bytes_and_numbers_in_cells_are_no_obstacle(database: Path) -> None:
    insert(database, "events", event_name=b"\xffreceived", source_id=b"x", source_name=7, json_state=b'{"message": 1}', timestamp=3.5)
    insert(database, "agents", agent_id="x", session_id=5, name=None, init_args="{broken", timestamp="never")
    (trace,) = agenttrace.read(database)
    assert trace.events or trace.agent_instances


# -- transcripts --------------------------------------------------------------------------

RULE = "-" * 80


def test_null_an_empty_text_and_blank_lines_are_told_apart() -> None:
    log = f"a (to b):\n\n\n{RULE}\na (to b):\n\n\n\n{RULE}\na (to b):\n\n\nx\n\n\n{RULE}\n"
    (trace,) = read(log)
    assert [content for _, _, content in said(trace)] == [None, "", "\nx\n"]


def test_headers_inside_a_message_are_text_and_so_is_a_call_that_a_model_prints() -> None:
    text = f"He wrote:\nbob (to eve):\nhi\n\n{RULE}\nThen: ***** Suggested tool call (x): rm *****"
    (trace,) = read(f"a (to b):\n\n{text}\n\n{RULE}\nb (to a):\n\nI see.\n\n{RULE}\n")
    assert said(trace) == [("a", ("b",), text), ("b", ("a",), "I see.")]
    assert calls(trace) == []


def test_a_header_that_no_source_has_is_text_where_headers_have_types() -> None:
    log = "---------- TextMessage (a) ----------\nA list\n---------- Note ----------\nend\n---------- TextMessage (b) ----------\nok\n"
    (trace,) = read(log)
    assert [(sender, content) for sender, _, content in said(trace)] == [("a", "A list\n---------- Note ----------\nend"), ("b", "ok")]


def notebook(*outputs: list[dict[str, Any]]) -> str:
    cells = [{"cell_type": "code", "source": f"cell {number}", "outputs": made} for number, made in enumerate(outputs)]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})


def stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}


def test_a_result_that_is_not_what_was_printed_is_a_run_of_its_own() -> None:
    printed = stream("---------- TextMessage (a) ----------\nhello\n---------- TextMessage (b) ----------\nyes\n")
    other = "TaskResult(messages=[TextMessage(source='c', models_usage=None, content='elsewhere', type='TextMessage')], stop_reason=None)"
    result = {"output_type": "execute_result", "data": {"text/plain": other}}
    assert [len(trace.events) for trace in read(notebook([printed, result]))] == [2, 1]


def test_no_cell_of_a_notebook_is_lost() -> None:
    run = stream(f"a (to b):\n\nhi\n\n{RULE}\n")
    traces = read(notebook([stream("before")], [run], [stream("between")], [run], [stream("after")]))
    kept = [cell["source"] for trace in traces for cell in trace.extra["notebook"]["cells"]]
    assert kept == [f"cell {number}" for number in range(5)]


# -- folders --------------------------------------------------------------------------------


def dump(*messages: dict[str, Any]) -> str:
    return json.dumps({"messages": list(messages), "stop_reason": None})


def stamped(source: str, content: str, second: int) -> dict[str, Any]:
    return spoke(source, content, created_at=f"2026-01-01T10:00:{second:02}Z", metadata={})


def test_two_runs_that_say_the_same_at_other_times_stay_two(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(dump(stamped("user", "Go.", 1), stamped("a", "Done.", 2)))
    (tmp_path / "two.json").write_text(dump(stamped("user", "Go.", 11), stamped("a", "Done.", 12)))
    (tmp_path / "three.json").write_text(dump(stamped("user", "Go.", 11), stamped("a", "Done.", 12)))
    first, second = agenttrace.read(tmp_path)
    assert (first.meta.extra["files"], second.meta.extra["files"]) == (["one.json"], ["three.json", "two.json"])


def test_one_time_that_is_the_same_makes_no_run_of_two(tmp_path: Path) -> None:
    for number in (1, 2):
        own = [stamped(name, f"{number} {second}", 10 * number + second) for second, name in enumerate("abab", 1)]
        (tmp_path / f"{number}.json").write_text(dump(stamped("user", f"Task {number}.", 1), *own))
    assert [len(trace.events) for trace in agenttrace.read(tmp_path)] == [5, 5]


def test_data_that_the_reader_does_not_know_keeps_a_folder_from_being_a_run(tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_text(dump(stamped("user", "Go.", 1), stamped("a", "Done.", 2)))
    assert len(find_inputs([str(tmp_path)])) == 1
    (tmp_path / "other.json").write_text('{"spans": []}')
    assert len(find_inputs([str(tmp_path)])) == 3


def test_each_folder_below_is_asked(tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        (tmp_path / "runs" / day).mkdir(parents=True)
        for name in ("one.json", "two.json"):
            (tmp_path / "runs" / day / name).write_text(dump(stamped("user", day, 1), stamped("a", "Done.", 2)))
    assert [source.name for source in find_inputs([str(tmp_path / "runs")])] == ["monday", "tuesday"]


def test_a_database_that_is_no_log_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as made:
        made.execute("CREATE TABLE things (x)")
        made.commit()
    with pytest.raises(ReadError):
        agenttrace.read(tmp_path / "other.db")


# -- runs that are much alike ------------------------------------------------------------------


def transcript(*said: tuple[str, str, str]) -> str:
    """What AutoGen 0.2 prints of messages (sender, receiver, text)."""
    return "".join(f"{sender} (to {receiver}):\n\n{text}\n\n{'-' * 80}\n" for sender, receiver, text in said)


LONG = (("user", "bot", "Solve 2 + 2."), ("bot", "user", "4"), ("user", "bot", "Are you sure?"), ("bot", "user", "TERMINATE"))


def in_folder(folder: Path, **files: str) -> list[Trace]:
    """The traces of a folder with files of these names and texts; ``__`` stands for the dot."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")
    return [trace for source in find_inputs([str(folder)]) for trace in traces_of(source, "auto", Notes())[2]]


def test_a_task_that_is_run_again_is_another_run(tmp_path: Path) -> None:
    again = transcript(LONG[0], ("bot", "user", "TERMINATE"))
    assert sorted(len(trace.events) for trace in in_folder(tmp_path, a__txt=transcript(*LONG), b__txt=again)) == [2, 4]


def test_equal_runs_are_as_many_as_their_logs(tmp_path: Path) -> None:
    assert len(in_folder(tmp_path, a__txt=transcript(*LONG), b__txt=transcript(*LONG), c__txt=transcript(*LONG))) == 3


def test_results_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "Solve 2 + 2."}, {"role": "assistant", "content": "TERMINATE"}]
    results = [json.dumps({"chat_id": None, "chat_history": history, "summary": "", "cost": {"total": cost}}) for cost in (1, 2)]
    traces = in_folder(tmp_path, a__json=results[0], b__json=results[1])
    assert [trace.meta.extra["cost"]["total"] for trace in traces] == [1, 2]


# -- transcripts that are long, or broken off ----------------------------------------------------


@pytest.mark.parametrize("before", ["pip: installed a package\n" * 4000, transcript(("user", "bot", "a pasted document " * 5000))])
def test_a_transcript_is_found_behind_a_long_beginning(before: str) -> None:
    source = Source("x.txt", data=(before + transcript(*LONG)).encode())
    assert recognise(source)[1].variant == "console_chat"


def test_a_message_that_is_broken_off_keeps_its_sender() -> None:
    broken = (
        transcript(LONG[0])
        + "bot (to user):\n\nfirst try\nTraceback\n\n"
        + transcript(("user", "bot", "second try"), ("bot", "user", "ok"))
    )
    notes = Notes()
    (trace,) = traces_of(Source("x.txt", data=broken.encode()), "autogen", notes)[2]
    assert [(event.agent_id, event.data.content) for event in trace.events if isinstance(event.data, Message)] == [
        ("user", "Solve 2 + 2."),
        ("bot", "first try\nTraceback"),
        ("user", "second try"),
        ("bot", "ok"),
    ]
    assert len(notes.damage) == 1


def test_a_cut_call_in_a_transcript_is_damage() -> None:
    text = "---------- TextMessage (user) ----------\nhello\n---------- ToolCallRequestEvent (bot) ----------\n[FunctionCall(id='c1', argum"
    notes = Notes()
    list(traces_of(Source("x.txt", data=text.encode()), "autogen", notes)[2])
    assert [note.source_ref for note in notes.damage] == ["line:3"]


def test_control_sequences_of_a_terminal_do_not_split_agents() -> None:
    text = transcript(*LONG).replace("bot (to", "\x1b]0;title\x07\x1b(Bbot\x1b[?25l (to", 1)
    (trace,) = traces_of(Source("x.txt", data=text.encode()), "autogen", Notes())[2]
    assert {agent.agent_id for agent in trace.agent_instances} == {"user", "bot"}


def test_other_files_of_a_run_folder_are_named_and_no_damage(tmp_path: Path) -> None:
    result = {"chat_id": None, "chat_history": [{"role": "user", "content": text} for _, _, text in LONG], "summary": "", "cost": {}}
    files = {"run__txt": transcript(*LONG), "run__json": json.dumps(result), "README__md": "# A run\n\nof two\n"}
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text, "utf-8")
    notes = Notes()
    (source,) = find_inputs([str(tmp_path)])
    (trace,) = traces_of(source, "auto", notes)[2]
    assert trace.meta.extra["other_files"] == ["README.md"]
    assert notes.damage == []


def test_damage_in_cells_of_a_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "logs.db"
    columns = "source_id, source_name, event_name, agent_module, agent_class_name, json_state, timestamp, session_id"
    states = ['{"message": "whole", "sender": "user"}', "{broken", b'{"message": "\xff\xe9", "sender": "user"}']
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE events (event_id INTEGER PRIMARY KEY, {columns})")
        for table in ("chat_completions", "agents", "oai_wrappers", "oai_clients", "version", "function_calls"):
            database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, session_id, agent_id, invocation_id)")
        for state in states:
            row = (1, "bot", "received_message", "m", "ConversableAgent", state, "2026-01-01 00:00:00", "s")
            database.execute(f"INSERT INTO events ({columns}) VALUES (?,?,?,?,?,?,?,?)", row)
    notes = Notes()
    list(traces_of(Source.open(path), "autogen", notes)[2])
    assert [note.source_ref for note in notes.damage] == ["events/2/json_state", "events/3/json_state"]
