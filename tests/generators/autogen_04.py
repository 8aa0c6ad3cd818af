"""Make real AutoGen AgentChat logs (0.4 and later) with scripted models.

No network, no key. Install one of the versions, then run (Python 3.11):

    pip install autogen-agentchat==0.7.5 autogen-ext==0.7.5 pillow   # or 0.6.1, or 0.4.0
    python tests/generators/autogen_04.py tests/formats/autogen

Every case is a function that runs one small team and returns what a user would
dump. CASES says which version makes which cases; the others are skipped.
"""

import json
import sys
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import HandoffTermination
from autogen_agentchat.messages import TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat, Swarm
from autogen_core import CancellationToken
from scripted_agentchat import (
    VERSION, as_json, calls, dump, find_room, find_train, model, refund, text_of, write,
    write_cases,
)

TRAVEL_TASK = "Next train from Lyon to Turin, and to Atlantis? Merci 🚆"


def travel_clerk():
    """Parallel calls: one good, one raising, one with bad arguments, one unknown."""
    first = calls(
        ("call_t1", "find_train", '{"origin": "Lyon", "destination": "Turin"}'),
        ("call_t2", "find_train", '{"origin": "Lyon", "destination": "Atlantis"}'),
        ("call_t3", "find_train", '{"origin": "Lyon'),
        ("call_t4", "book_zeppelin", '{"seats": 2}'),
        ("call_t5", "book_balloon", "{seats"),
        thought="Two trains to look up, and a zeppelin on the side.",
    )
    answer = "Lyon → Turin leaves at 09:12 for 47 €. Atlantis has no station."
    return AssistantAgent(
        "travel_clerk",
        model_client=model(first, answer),
        tools=[find_train],
        reflect_on_tool_use=True,
    )


async def run_travel_team():
    checker = AssistantAgent("checker", model_client=model("Checked, très bien. APPROVED"))
    return await RoundRobinGroupChat([travel_clerk(), checker], max_turns=2).run(task=TRAVEL_TASK)


async def run_room_team():
    """No reflection: the tool results are the answer; two rounds, one call fails."""
    clerk = AssistantAgent(
        "room_clerk",
        model_client=model(
            calls(("call_r1", "find_room", '{"city": "Köln"}')),
            calls(
                ("call_r2", "find_room", '{"city": "Porto"}'),
                ("call_r3", "find_train", '{"origin": "Lisboa", "destination": "Porto"}'),
            ),
        ),
        tools=[find_room, find_train],
        reflect_on_tool_use=False,
    )
    boss = AssistantAgent("boss", model_client=model("Then try Porto.", "Gut, gebucht."))
    team = RoundRobinGroupChat([clerk, boss], max_turns=4)
    return await team.run(task="A room in Köln for one night, or else in Porto.")


async def task_result_tools():
    return text_of(await run_travel_team())


async def task_result_no_content():
    """In 0.6, TaskResult.model_dump_json leaves out type and content."""
    return (await run_travel_team()).model_dump_json(indent=2)


async def task_result_summary():
    return text_of(await run_room_team())


async def messages_list():
    return dump((await run_room_team()).messages)


async def messages_lines():
    messages = dump((await run_room_team()).messages)
    return "".join(json.dumps(message) + "\n" for message in messages)


async def swarm_handoff():
    """A handoff next to another tool call, one back, and one to the user."""
    both = calls(
        ("call_s1", "find_train", '{"origin": "Wien", "destination": "Zürich"}'),
        ("call_s2", "transfer_to_refunds", "{}"),
        thought="I look up the train, the refunds agent does the rest.",
    )
    desk = AssistantAgent(
        "desk",
        model_client=model(both, calls(("call_s5", "transfer_to_user", "{}"))),
        tools=[find_train],
        handoffs=["refunds", "user"],
    )
    refunds = AssistantAgent(
        "refunds",
        model_client=model(
            calls(("call_s3", "refund", '{"booking": "ÖBB-5521"}')),
            calls(("call_s4", "transfer_to_desk", "{}")),
        ),
        tools=[refund],
        handoffs=["desk"],
    )
    team = Swarm([desk, refunds], termination_condition=HandoffTermination("user"))
    return text_of(await team.run(task="Cancel ÖBB-5521, then find me a train to Zürich."))


async def selector():
    planner = AssistantAgent("planner", model_client=model("1. dates\n2. cities", "Hotovo!"))
    cleaner = AssistantAgent("cleaner", model_client=model("38 dates rewritten as ISO dates."))
    checker = AssistantAgent("checker", model_client=model("'Brno' and 'Brünn' are one city."))
    events = {"emit_team_events": True, "model_client_streaming": True}
    team = SelectorGroupChat(
        [planner, cleaner, checker],
        model("planner", "cleaner", "the checker, please", "planner"),
        max_turns=4,
        **(events if VERSION == "07" else {}),
    )
    return text_of(await team.run(task="Clean up the address table of the Brno office."))


async def response():
    """The Response of one agent, as a user would write it."""
    task = TextMessage(content=TRAVEL_TASK, source="user")
    answer = await travel_clerk().on_messages([task], CancellationToken())
    return {
        "chat_message": answer.chat_message.model_dump(mode="json"),
        "inner_messages": dump(answer.inner_messages),
    }


async def model_context():
    """What the model of an agent was given: {"messages": [...]}."""
    clerk = travel_clerk()
    await clerk.run(task=TRAVEL_TASK)
    return dict(await clerk.model_context.save_state())


CASES = {
    "04": [task_result_tools, swarm_handoff, selector, messages_list],
    "06": [task_result_tools, task_result_no_content, messages_lines],
    "07": [
        task_result_tools, task_result_summary, swarm_handoff, selector, messages_list,
        messages_lines, response, model_context,
    ],
}


def write_truncated(out):
    """The bytes of task_result_tools, cut inside the arrow of "Lyon → Turin leaves"."""
    whole = (out / f"{VERSION}_task_result_tools" / "input.json").read_bytes()
    write(out, "truncated", whole[: whole.index("→ Turin leaves".encode()) + 1])


def main(out):
    write_cases(out, CASES[VERSION])
    if VERSION == "07":
        write_truncated(out)
    skipped = [case.__name__ for case in CASES["07"] if case not in CASES[VERSION]]
    print("skipped:", ", ".join(skipped) or "none")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
