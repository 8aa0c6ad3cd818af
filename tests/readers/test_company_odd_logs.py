"""Odd logs of teams that write software: what stands in them must be in the trace, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agenttrace import codec
from agenttrace.notes import Notes
from agenttrace.pipeline import find_inputs, traces_of

HEAD = "[2023-22-08 14:46:{:02} INFO] "
LOGURU = "2025-05-20 22:05:48.220 | INFO     | metagpt."


def read(path: Path) -> tuple[list[dict[str, Any]], Notes]:
    """The traces of a file or a folder, and the notes."""
    (source,) = find_inputs([str(path)])
    notes = Notes()
    return [json.loads(codec.dumps(trace)) for trace in traces_of(source, "auto", notes)[2]], notes


def chatdev(folder: Path, *entries: str) -> dict[str, Any]:
    """The trace of a ChatDev log with a line for each entry, two seconds apart."""
    path = folder / "run.log"
    path.write_text("".join(HEAD.format(2 * number) + entry + "\n\n" for number, entry in enumerate(entries)), "utf-8")
    (trace,), _ = read(path)
    return trace


def metagpt(folder: Path, *lines: str) -> dict[str, Any]:
    path = folder / "20250520.txt"
    path.write_text("".join(LOGURU + line + "\n" for line in lines), "utf-8")
    (trace,), _ = read(path)
    return trace


def published(identity: str, content: str, **fields: Any) -> str:
    message = {
        "id": identity * 32,
        "content": content,
        "role": "Ann(Cook)",
        "cause_by": "kitchen.Cook",
        "sent_from": "",
        "send_to": ["<all>"],
    }
    return f"environment.base_env:publish_message:144 - publish_message: {json.dumps({**message, **fields})}"


CHATTING = (
    "System: **[chatting]**\n\n| Parameter | Value |\n| --- | --- |\n| **task_prompt** | Sell pears. |\n| **phase_name** | Coding |\n"
    "| **phase_prompt** | Write\nthe code. |\n| **assistant_role_name** | Programmer |\n| **user_role_name** | Officer |\n"
    "| **phase_name** | Twice |\nbehind the table"
)
USAGE = "**[OpenAI_Usage_Info Receive]**\nprompt_tokens: 11\ncompletion_tokens: 4\ntotal_tokens: 15\ncost: $0.00125\nseed kept by a fork"
TURN = "{}: **Programmer<->Officer on : Coding, turn 0**\n\n[Be brief.]\n\n{}"
PREPROCESSING = "**[Preprocessing]**\n\n**Timestamp**: 1\n\n**task_prompt**: Sell pears.\nAlso plums.\n\n**project_name**: Shop\n"


def test_what_happens_in_a_phase_of_chatdev_is_in_its_subtask(tmp_path: Path) -> None:
    said, concluded = TURN.format("Programmer", "print(1)"), "**[Seminar Conclusion]**:\n\n print(1)"
    updated = "**[Update Codes]**\n\nmain.py updated.\n--- Old\n+++ New\n@@ -1 +1,1 @@\n-# None\n+print(1)"
    trace = chatdev(tmp_path, PREPROCESSING, CHATTING, said, concluded, updated, "**[Post Info]**\n\nover")
    inside = {event["data"]["type"]: event.get("subtask_id") for event in trace["events"] if event["data"].get("kind") != "log"}
    assert inside == {"subtask": None, "message": "Coding", "artifact": "Coding"}
    assert [event["data"]["status"] for event in trace["events"] if event["data"]["type"] == "subtask"] == ["created", "completed"]
    assert next(event["data"]["content"] for event in trace["events"] if event["data"]["type"] == "artifact") == "print(1)"
    assert "subtask_id" not in trace["events"][-1]


def test_a_task_and_a_cell_of_several_lines(tmp_path: Path) -> None:
    trace = chatdev(tmp_path, PREPROCESSING, CHATTING)
    assert trace["meta"]["task"] == "Sell pears.\nAlso plums."
    (phase,) = (event for event in trace["events"] if event["data"]["type"] == "subtask")
    assert phase["data"]["goal"] == "Write\nthe code."
    assert trace["events"][-1]["data"]["content"] == "| **phase_name** | Twice |\nbehind the table"


def test_usage_has_its_cost_and_what_else_is_logged_with_it(tmp_path: Path) -> None:
    trace = chatdev(tmp_path, CHATTING, USAGE, TURN.format("Programmer", "print(1)"))
    (said,) = (event for event in trace["events"] if "usage" in event)
    assert said["usage"] == {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15, "cost_usd": 0.00125}
    assert [event["data"]["content"] for event in trace["events"] if event["source_ref"].endswith("/rest")][-1] == "seed kept by a fork"


def test_a_chat_before_the_phases_opens_none(tmp_path: Path) -> None:
    play = "System: **[RolePlaying]**\n\n| **assistant_role_name** | Engineer |\n| **user_role_name** | User |"
    trace = chatdev(tmp_path, play, "User: **[Start Chat]**\n\nImprove it.", "Engineer: Better.", CHATTING, TURN.format("Programmer", "1"))
    assert [event["data"]["subtask_id"] for event in trace["events"] if event["data"]["type"] == "subtask"] == ["Coding"]


def test_a_third_role_and_the_level_of_a_turn_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text(HEAD.format(1) + CHATTING + "\n" + HEAD.format(3).replace("INFO", "WARNING") + TURN.format("Reviewer", "x"), "utf-8")
    (trace,), _ = read(path)
    said = trace["events"][-1]
    assert (said["data"]["metadata"]["logged_by"], said["extra"]["level"]) == ("Reviewer", "WARNING")


def test_of_a_test_report_only_the_end_has_a_time(tmp_path: Path) -> None:
    trace = chatdev(tmp_path, CHATTING, "**[Test Reports]**:\n\nTraceback", "**[CMD Execute]**\n\n[CMD] pip install pears")
    calls = [event for event in trace["events"] if event["data"]["type"] == "tool_call"]
    assert ["timestamp" in event for event in calls] == [False, False]
    assert [event["data"]["completed_at"] for event in calls] == ["2023-08-22T14:46:02", "2023-08-22T14:46:04"]


@pytest.mark.parametrize("hunk", ["", "@@ -1 +1,99999999999999999999999 @@", "@@ odd @@"])
def test_a_difference_that_cannot_be_read_gives_no_content(tmp_path: Path, hunk: str) -> None:
    trace = chatdev(tmp_path, f"**[Update Codes]**\n\nb.py updated.\n```\n--- Old\n+++ New\n{hunk}\n+print(2)\n```")
    (artifact,) = (event for event in trace["events"] if event["data"]["type"] == "artifact")
    assert "content" not in artifact["data"]
    assert "print(2)" in artifact["extra"]["diff"]


def test_files_beside_a_log_that_lie_elsewhere_or_repeat_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "Shop_Org_1"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("not of this run")
    (folder / "run.log").write_text(HEAD.format(1) + PREPROCESSING, "utf-8")
    (folder / "a.prompt").write_text("first prompt")
    (folder / "b.prompt").write_text("second prompt")
    (folder / "notes.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "meta.txt").write_text("before\n\nTask:\nSell pears.\n\nModality:\nShop\n\nModality:\nStall\n")
    (trace,), notes = read(folder)
    text = json.dumps(trace)
    assert "not of this run" not in text
    assert any("link out of the folder" in note.detail for note in notes.items)
    for told in ("first prompt", "second prompt", "before", "Shop", "Stall"):
        assert told in text


def test_a_cost_that_is_no_number_is_a_line_of_the_log(tmp_path: Path) -> None:
    trace = metagpt(tmp_path, "utils.cost_manager:update_cost:108 - Current cost: $1.2.3, prompt_tokens: 1, completion_tokens: 2")
    assert "$1.2.3" in trace["events"][0]["data"]["content"]


def test_an_id_given_twice_with_other_words_is_two_messages(tmp_path: Path) -> None:
    trace = metagpt(tmp_path, published("a", "Peel them."), published("a", "Boil them."), published("a", "Peel them."))
    assert [event["data"]["content"] for event in trace["events"]] == ["Peel them.", "Boil them."]
    assert trace["events"][1]["extra"]["id"] == "a" * 32


def test_what_is_printed_below_a_message_is_kept(tmp_path: Path) -> None:
    trace = metagpt(tmp_path, published("a", "Peel them.") + "\nthe pot boils over\nand over")
    assert [event["data"]["content"] for event in trace["events"]] == ["Peel them.", "the pot boils over\nand over"]


def test_a_beginning_that_may_mean_two_messages_links_neither(tmp_path: Path) -> None:
    long = "Peel all of the potatoes"
    observed = f"roles.role:_observe:421 - Ben(Helper) observed: ['Ann(Cook): {long[:20]}...']"
    acts = "roles.role:_act:391 - Ben(Helper): to do Peel(Peel)"
    two = metagpt(tmp_path, published("a", long + "."), published("b", long + ", twice."), observed, acts)
    assert "dependency_links" not in two or two["dependency_links"] == []
    one = metagpt(tmp_path, published("a", long + "."), observed, acts)
    assert [link["source_event_id"] for link in one["dependency_links"]] == ["a" * 32]


def test_a_role_that_broke_off_had_decided_what_to_do(tmp_path: Path) -> None:
    observed = "roles.role:_observe:421 - Ben(Helper) observed: ['Ann(Cook): Peel them....']"
    decided = "roles.role:_think:404 - Ben(Helper): self.rc.state=0, will do Peel"
    trace = metagpt(tmp_path, published("a", "Peel them."), observed, decided)
    (link,) = trace["dependency_links"]
    assert link["target_event_id"] == trace["events"][-1]["event_id"]


def test_files_that_end_alike_are_not_one(tmp_path: Path) -> None:
    space = tmp_path / "shop"
    (space / "pkg").mkdir(parents=True)
    (space / "__init__.py").write_text("a = 1\n")
    (space / "pkg" / "__init__.py").write_text("b = 2\n")
    (space / ".dependencies.json").write_text(json.dumps({"pkg/__init__.py": ["__init__.py"]}))
    (trace,), _ = read(space)
    made = {event["data"]["artifact_id"]: event for event in trace["events"]}
    assert {name: event["data"]["content"] for name, event in made.items()} == {"__init__.py": "a = 1\n", "pkg/__init__.py": "b = 2\n"}
    (link,) = trace["dependency_links"]
    assert (link["source_event_id"], link["target_event_id"]) == tuple(
        made[name]["event_id"] for name in ("__init__.py", "pkg/__init__.py")
    )


def test_what_only_its_author_remembers_went_to_nobody(tmp_path: Path) -> None:
    shared = json.loads(published("a", "Peel them.").partition("message: ")[2])
    own = json.loads(published("b", "print('peeled')").partition("message: ")[2])
    roles = {
        name: {"name": name, "profile": profile, "goal": "", "actions": [], "rc": {"memory": {"storage": storage, "index": {}}}}
        for name, profile, storage in (("Ann", "Cook", [shared, own]), ("Ben", "Helper", [shared]))
    }
    (tmp_path / "team.json").write_text(json.dumps({"env": {"roles": roles, "history": ""}, "idea": "soup"}))
    (trace,), _ = read(tmp_path / "team.json")
    receivers = {event["data"]["content"]: event["data"]["receiver_ids"] for event in trace["events"]}
    assert receivers == {"Peel them.": ["Ben(Helper)"], "print('peeled')": []}


def test_odd_parts_of_a_team_are_kept(tmp_path: Path) -> None:
    odd = {"env": {"roles": ["TOKROLE"], "history": {"storage": "TOKSTORE", "index": {}}}, "idea": ["TOKIDEA"]}
    (tmp_path / "team.json").write_text(json.dumps(odd))
    (trace,), _ = read(tmp_path / "team.json")
    assert all(token in json.dumps(trace) for token in ("TOKROLE", "TOKSTORE", "TOKIDEA"))


def test_all_of_a_call_in_a_workflow_is_kept(tmp_path: Path) -> None:
    def log(kind: str, **fields: Any) -> dict[str, Any]:
        whole = {
            "timestamp": "2026-01-01T10:00:00",
            "level": "INFO",
            "node_id": "cook",
            "event_type": kind,
            "message": "",
            "duration": None,
        }
        return {**whole, "execution_path": [], **fields, "details": fields.get("details", {})}

    asked = {"tool_name": "search", "stage": "before", "arguments": {"q": "pears"}}
    failed = {"tool_name": "search", "stage": "after", "success": False, "error": "quota exceeded"}
    logs = [
        log("NODE_START", details={"node_type": "agent"}),
        log("TOOL_CALL", details=asked),
        log(
            "TOOL_CALL", details=failed, level="ERROR", duration=3.25, message="Tool search failed: quota", timestamp="2026-01-01T10:00:04"
        ),
        log("MEMORY_OPERATION", timestamp=["TOKTIME"], details={"what": "TOKWHAT"}),
        log("NODE_END", details={"output": "none"}),
    ]
    (tmp_path / "execution_logs.json").write_text(json.dumps({"workflow_id": "w", "start_time": 7, "logs": logs, "summary": {}}))
    (trace,), _ = read(tmp_path / "execution_logs.json")
    call = trace["events"][1]
    assert (call["data"]["status"], call["data"]["error"], call["subtask_id"]) == ("failure", "quota exceeded", "cook")
    assert call["extra"]["after.duration"] == 3.25
    assert all(
        token in json.dumps(trace) for token in ("TOKTIME", "TOKWHAT", "MEMORY_OPERATION", "Tool search failed: quota", '"start_time": 7')
    )


def test_odd_steps_of_a_path_are_kept(tmp_path: Path) -> None:
    step = {
        "agent": 7001,
        "action": {"action": [7002], "parameter": "x"},
        "cost": 1,
        "tokens": 1,
        "result": {"step_data": [7003]},
        "success": "7004",
    }
    (tmp_path / "path_0.jsonl").write_text(json.dumps([step, {**step, "action": {"action": "say"}}]))
    (trace,), _ = read(tmp_path / "path_0.jsonl")
    assert all(token in json.dumps(trace) for token in ("7001", "7002", "7003", "7004"))


def test_an_intern_is_called_by_the_longest_name_that_its_own_ends_with(tmp_path: Path) -> None:
    asked = "Planner's Response: Thought: look\nIntern Name: Codebase Navigator\nSubgoal: x"
    lines = [asked, "Navigator->Planner: done", "Codebase Navigator->Planner: done"]
    path = tmp_path / "run.log"
    path.write_text("\n".join(f"HyperAgent_shop-1 - INFO - {line}" for line in lines))
    (trace,), _ = read(path)
    assert trace["events"][0]["data"]["receiver_ids"] == ["Codebase Navigator"]
    assert trace["meta"]["task_id"] == "shop-1"
