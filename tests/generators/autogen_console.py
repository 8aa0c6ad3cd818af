"""Make real console output and a notebook of AutoGen AgentChat with scripted models.

No network, no key. Install one of the versions, then run (Python 3.11):

    pip install autogen-agentchat==0.7.5 autogen-ext==0.7.5 pillow nbclient nbformat ipykernel
    pip install autogen-agentchat==0.4.0 autogen-ext==0.4.0 pillow   # or this, no notebook
    python tests/generators/autogen_console.py tests/formats/autogen

A console case is what `python team.py > input.txt` writes: the script runs
itself with the case as argument and the file as standard output.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_agentchat.ui import Console
from scripted_agentchat import VERSION, calls, find_room, find_train, model, refund

NOTE = """Two changes for the leaflet:

---------- Note ----------
Say that the oven is hot at 06:00.
  - Brötchen: 0,45 €"""

LIST = """Porto, then:

----------
- one night
- 64 €, paid here"""


def speaker(name, *replies, **settings):
    """An agent that says the replies one after the other."""
    return AssistantAgent(name, model_client=model(*replies), **settings)


def travel_team():
    """A tool call, a handoff, a tool call next to the handoff back, an answer."""
    desk = speaker(
        "desk",
        calls(("call_s1", "find_train", '{"origin": "Wien", "destination": "Zürich"}')),
        calls(("call_s2", "transfer_to_refunds", "{}"), thought="The rest is for refunds."),
        "Wien → Zürich is at 09:12, and ÖBB-5521 is paid back. TERMINATE",
        tools=[find_train],
        handoffs=["refunds"],
    )
    refunds = speaker(
        "refunds",
        calls(
            ("call_s3", "refund", '{"booking": "ÖBB-5521"}'),
            ("call_s4", "transfer_to_desk", "{}"),
        ),
        tools=[refund],
        handoffs=["desk"],
    )
    return Swarm([desk, refunds], termination_condition=TextMentionTermination("TERMINATE"))


def leaflet_team():
    """A writer that streams, and an editor with a line that looks like a header."""
    writer = speaker(
        "writer",
        "Fresh bread from 07:00. Every day, auch sonntags.",
        "Fresh bread from 06:00. Brötchen 0,45 €.",
        model_client_stream=True,
    )
    return RoundRobinGroupChat([writer, speaker("editor", NOTE)], max_turns=3)


async def console_07():
    """Two runs of two teams, one after the other."""
    task = "Find a train to Zürich,\nthen cancel ÖBB-5521."
    await Console(travel_team().run_stream(task=task), output_stats=True)
    await Console(leaflet_team().run_stream(task="A leaflet for a bakery."), output_stats=True)


async def console_04():
    """One run; a tool call that works, one that raises, an answer of several lines."""
    clerk = speaker(
        "clerk",
        calls(
            ("call_r1", "find_room", '{"city": "Porto"}'),
            ("call_r2", "find_room", '{"city": "Köln"}'),
        ),
        "Gut, gebucht.",
        tools=[find_room],
    )
    team = RoundRobinGroupChat([clerk, speaker("boss", LIST, "Obrigado.")], max_turns=4)
    await Console(team.run_stream(task="A room in Porto or Köln."), output_stats=False)


NOTEBOOK = [
    "# A travel desk\n\nA team of two agents with scripted models. The helper has the tools.",
    """
    from autogen_agentchat.agents import AssistantAgent
    from autogen_agentchat.teams import RoundRobinGroupChat
    from autogen_agentchat.ui import Console
    from scripted_agentchat import calls, find_room, find_train, model

    clerk_model = model(
        calls(
            ("call_t1", "find_train", '{"origin": "Lyon", "destination": "Turin"}'),
            ("call_t2", "find_train", '{"origin": "Lyon", "destination": "Atlantis"}'),
            thought="Two trains to look up.",
        ),
        "Lyon → Turin leaves at 09:12.\\nAtlantis has no station.",
        "The next one is tomorrow.",
    )
    clerk = AssistantAgent(
        "clerk", model_client=clerk_model, tools=[find_train], reflect_on_tool_use=True
    )
    boss = AssistantAgent("boss", model_client=model("Merci, it's fine.", "Gut."))
    team = RoundRobinGroupChat([clerk, boss], max_turns=2)
    """,
    'await Console(team.run_stream(task="Next train from Lyon to Turin, and to Atlantis?"))',
    'second = await Console(team.run_stream(task="And the one after?"), output_stats=True)',
    """
    room_model = model(
        calls(("call_r1", "find_room", '{"city": "Köln"}')),
        calls(("call_r2", "find_room", '{"city": "Porto"}')),
    )
    room_clerk = AssistantAgent("room_clerk", model_client=room_model, tools=[find_room])
    guest = AssistantAgent("guest", model_client=model("Then it's \\"Porto\\"."))
    rooms = RoundRobinGroupChat([room_clerk, guest], max_turns=3)
    async for message in rooms.run_stream(task="A room in Köln, or else in Porto."):
        print(message)
    """,
    """
    poet_model = model("Rain on the tram,\\n'late' says the \\"board\\".")
    poet = AssistantAgent("poet", model_client=poet_model)
    critic = AssistantAgent("critic", model_client=model("Schön, but short."))
    await RoundRobinGroupChat([poet, critic], max_turns=2).run(task="Two lines about a tram.")
    """,
    """
    prices = {"Lyon": 47, "Porto": 64}
    for city, price in prices.items():
        print(f"{city:>6}: {price} €")
    """,
]


def unindented(cell):
    lines = cell.strip().split("\n")
    return "\n".join(line.removeprefix("    ") for line in lines)


def write_notebook(file):
    """Execute the cells with the helper beside them, as `jupyter execute` does."""
    import nbformat
    from nbclient import NotebookClient

    text, *code = [unindented(cell) for cell in NOTEBOOK]
    cells = [nbformat.v4.new_markdown_cell(text), *map(nbformat.v4.new_code_cell, code)]
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(Path(__file__).with_name("scripted_agentchat.py"), folder)
        NotebookClient(notebook, resources={"metadata": {"path": folder}}).execute()
    nbformat.write(notebook, file)


CONSOLES = {"04": console_04, "07": console_07}


def case_folder(out, name):
    folder = out / f"{VERSION}_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main(out):
    with (case_folder(out, "console_team") / "input.txt").open("wb") as file:
        command = [sys.executable, __file__, "--print"]
        subprocess.run(command, stdout=file, check=True, env={**os.environ, "PYTHONUTF8": "1"})
    if VERSION == "07":
        write_notebook(case_folder(out, "notebook") / "input.ipynb")


if __name__ == "__main__":
    if sys.argv[1] == "--print":
        asyncio.run(CONSOLES[VERSION]())
    else:
        main(Path(sys.argv[1]))
