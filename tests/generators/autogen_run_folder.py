"""Make folders in which a user of AutoGen AgentChat keeps several files of a run.

No network, no key. Install one of the versions, then run (Python 3.11):

    pip install autogen-agentchat==0.7.5 autogen-ext==0.7.5 pillow   # or 0.4.0
    python tests/generators/autogen_run_folder.py tests/formats/autogen

Every case is a function that runs teams and writes files into the folder it is
given. CASES says which version makes which cases.
"""

import asyncio
import contextlib
import json
import logging
import sys
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_agentchat.ui import Console
from autogen_core import EVENT_LOGGER_NAME
from scripted_agentchat import VERSION, calls, find_room, find_train, model, refund


def speaker(name, *replies, **settings):
    """An agent that says the replies one after the other."""
    return AssistantAgent(name, model_client=model(*replies), **settings)


def room_team():
    """Tool calls one by one: the first raises, the second works."""
    clerk = speaker(
        "room_clerk",
        calls(("call_r1", "find_room", '{"city": "Köln"}'), thought="Köln comes first."),
        calls(("call_r2", "find_room", '{"city": "Porto"}')),
        tools=[find_room],
        reflect_on_tool_use=False,
    )
    boss = speaker("boss", "Then try Porto.", "Gut, gebucht.")
    return RoundRobinGroupChat([clerk, boss], max_turns=4)


def train_team():
    """Parallel tool calls, one raising, and an answer after them."""
    clerk = speaker(
        "train_clerk",
        calls(
            ("call_t1", "find_train", '{"origin": "Lyon", "destination": "Turin"}'),
            ("call_t2", "find_train", '{"origin": "Lyon", "destination": "Atlantis"}'),
        ),
        "Lyon → Turin leaves at 09:12. Atlantis has no station.",
        tools=[find_train],
        reflect_on_tool_use=True,
    )
    return RoundRobinGroupChat([clerk, speaker("checker", "Checked, très bien.")], max_turns=2)


def refund_team():
    """A handoff, a tool call, a handoff to the user."""
    desk = speaker("desk", calls(("call_s1", "transfer_to_refunds", "{}")), handoffs=["refunds"])
    refunds = speaker(
        "refunds",
        calls(("call_s2", "refund", '{"booking": "ÖBB-5521"}')),
        calls(("call_s3", "transfer_to_user", "{}")),
        tools=[refund],
        handoffs=["user"],
    )
    return Swarm([desk, refunds], termination_condition=HandoffTermination("user"))


def write_messages(file, messages):
    """One message a line."""
    lines = [json.dumps(message.model_dump(mode="json")) + "\n" for message in messages]
    file.write_text("".join(lines), encoding="utf-8")


async def write_state(file, team):
    file.write_text(json.dumps(await team.save_state(), default=str), encoding="utf-8")


async def run_folder(folder):
    """One run: its messages, its state, its events and what the console showed."""
    from autogen_events import Lines, logged  # it turns all logging on

    team = room_team()
    with contextlib.ExitStack() as stack:
        console = stack.enter_context((folder / "console.txt").open("w", encoding="utf-8"))
        events = stack.enter_context((folder / "events.jsonl").open("w", encoding="utf-8"))
        stack.enter_context(contextlib.redirect_stdout(console))
        stack.enter_context(logged(Lines(events), (EVENT_LOGGER_NAME, logging.INFO)))
        result = await Console(team.run_stream(task="A room in Köln for one night, or in Porto."))
    write_messages(folder / "messages.jsonl", result.messages)
    await write_state(folder / "team_state.json", team)


async def run_folder_two(folder):
    """Two runs of two teams side by side: the names say what belongs together."""
    first, second = train_team(), refund_team()
    tasks = "Next train from Lyon to Turin, and to Atlantis?", "Cancel ÖBB-5521, bitte."
    for name, team, task in zip(("first", "second"), (first, second), tasks):
        result = await team.run(task=task)
        write_messages(folder / f"{name}.messages.jsonl", result.messages)
        await write_state(folder / f"{name}.team_state.json", team)


async def run_folder_history(folder):
    """One run: the list of its messages, and its state."""
    team = train_team()
    result = await team.run(task="Next train from Lyon to Turin, and to Atlantis?")
    history = [message.model_dump() for message in result.messages]
    (folder / "team_history.json").write_text(json.dumps(history, indent=2), encoding="utf-8")
    await write_state(folder / "team_state.json", team)


CASES = {
    "04": {"run_folder": run_folder_history},
    "07": {"run_folder": run_folder, "run_folder_two": run_folder_two},
}


def main(out):
    for name, case in CASES[VERSION].items():
        folder = out / f"{VERSION}_{name}" / "input"
        folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(case(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
