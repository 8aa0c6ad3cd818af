"""Make real AutoGen AgentChat 0.7 logs with scripted models: teams, agents and events.

No network, no key. Install and run (Python 3.11):

    pip install autogen-agentchat==0.7.5 autogen-ext==0.7.5 pillow
    python tests/generators/autogen_07.py tests/formats/autogen

Every case is a function that runs one small team and returns what a user would
dump. The cases that older versions make too are in autogen_04.py.
"""

import json
import sys
import tempfile
from pathlib import Path

from autogen_agentchat.agents import (
    AssistantAgent, CodeExecutorAgent, SocietyOfMindAgent, UserProxyAgent,
)
from autogen_agentchat.base import TaskResult
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.messages import MultiModalMessage, StructuredMessage
from autogen_agentchat.teams import (
    DiGraphBuilder, GraphFlow, MagenticOneGroupChat, RoundRobinGroupChat, Swarm,
)
from autogen_core import Image
from autogen_core.memory import ListMemory, MemoryContent
from autogen_ext.code_executors.local import LocalCommandLineCodeExecutor
from pydantic import BaseModel
from scripted_agentchat import calls, dump, find_room, find_train, model, text_of, write_cases

RED_PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)


def speaker(name, *replies, **settings):
    """An agent that says the replies one after the other."""
    return AssistantAgent(name, model_client=model(*replies), **settings)


async def graph_flow():
    """One agent hands on to two, and a fourth joins their results."""
    reader = speaker("reader", "3 columns: name, Stadt, amount.")
    dates = speaker("dates", "All dates are ISO dates now.")
    cities = speaker("cities", "Köln / Cologne / Koeln → Köln.")
    writer = speaker("writer", "Wrote the clean table, 412 rows.")
    graph = DiGraphBuilder()
    for agent in (reader, dates, cities, writer):
        graph.add_node(agent)
    for source, target in (reader, dates), (reader, cities), (dates, writer), (cities, writer):
        graph.add_edge(source, target)
    team = GraphFlow(graph.get_participants(), graph=graph.build())
    return text_of(await team.run(task="Clean up the customer table."))


def ledger(done, speaker, instruction):
    """The progress ledger that the Magentic-One orchestrator asks its model for."""
    answers = {
        "is_request_satisfied": done,
        "is_in_loop": False,
        "is_progress_being_made": True,
        "next_speaker": speaker,
        "instruction_or_question": instruction,
    }
    reasoned = {key: {"reason": "so far", "answer": answers[key]} for key in answers}
    return json.dumps(reasoned)


async def magentic_one():
    orchestrator = model(
        "GIVEN FACTS: a bakery, a Saturday, 80 guests.",
        "- baker: the dough\n- buyer: the crème fraîche",
        ledger(False, "baker", "How much dough do 80 guests need?"),
        ledger(False, "buyer", "Buy 3 l of crème fraîche."),
        ledger(True, "baker", "Nothing more."),
        "16 kg of dough and 3 l of crème fraîche are ready.",
    )
    baker = speaker("baker", "16 kg, at 200 g each.", description="Bakes.")
    buyer = speaker("buyer", "Bought for 21,50 €.", description="Buys.")
    team = MagenticOneGroupChat([baker, buyer], model_client=orchestrator, emit_team_events=True)
    return text_of(await team.run(task="Prepare the Flammkuchen evening for 80 guests."))


async def multimodal():
    """A picture in the task."""
    photo = ["Is this croissant burnt?", Image.from_base64(RED_PIXEL), "Be honest, s'il te plaît."]
    team = RoundRobinGroupChat(
        [speaker("taster", "It is one red pixel."), speaker("chef", "Then it is not burnt.")],
        max_turns=2,
    )
    return text_of(await team.run(task=MultiModalMessage(content=photo, source="user")))


class Offer(BaseModel):
    city: str
    nights: int
    price: float
    extras: list[str]


async def structured():
    """Answers that are objects; one with a format string, one without."""
    first = '{"city": "Málaga", "nights": 3, "price": 301.5, "extras": ["breakfast"]}'
    second = '{"city": "Málaga", "nights": 4, "price": 377.0, "extras": []}'
    seller = speaker(
        "seller", first, output_content_type=Offer, output_content_type_format="{city}: {price} €"
    )
    rival = speaker("rival", second, output_content_type=Offer)
    team = RoundRobinGroupChat(
        [seller, rival, speaker("buyer", "I take the first one.")],
        max_turns=3,
        custom_message_types=[StructuredMessage[Offer]],
    )
    return text_of(await team.run(task="Two offers for Málaga, please."))


async def code_executor():
    """Code that fails, a decision to try again, code that works, a summary."""
    bad = "I check the rows.\n```python\nimport sys\nprint('Łódź: no price')\nsys.exit(2)\n```"
    again = '{"reason": "A missing price can be counted as 0.", "retry": true}'
    good = "I count it as 0.\n```python\nprint('total', 12 + 0)\n```"
    with tempfile.TemporaryDirectory() as folder:
        coder = CodeExecutorAgent(
            "coder",
            code_executor=LocalCommandLineCodeExecutor(work_dir=folder),
            model_client=model(bad, again, good, "The total is 12."),
            max_retries_on_error=1,
        )
        team = RoundRobinGroupChat([coder, speaker("checker", "Zgadza się.")], max_turns=2)
        return text_of(await team.run(task="Add up the price list."))


async def user_proxy():
    """A person in the team, who is asked for input."""
    typed = ["Rather by train, ohne Umstieg.", "OK, book it 👍"]
    guest = UserProxyAgent("guest", input_func=lambda prompt: typed.pop(0))
    clerk = speaker("clerk", "Fly to Graz?", "The 07:25 to Graz needs no change.", "Booked.")
    team = RoundRobinGroupChat([clerk, guest], max_turns=5)
    return text_of(await team.run(task="I have to be in Graz on Tuesday."))


async def memory():
    """Memories that are put before the task, and a tool."""
    notes = ListMemory(name="guest_notes")
    allergy, city = "Guest 17 is allergic to nuts 🥜", {"guest": 17, "city": "Porto"}
    await notes.add(MemoryContent(content=allergy, mime_type="text/plain"))
    await notes.add(MemoryContent(content=city, mime_type="application/json"))
    clerk = speaker(
        "clerk",
        calls(("call_m1", "find_room", '{"city": "Porto"}')),
        "Pensão São Bento, and I tell them about the nuts.",
        tools=[find_room],
        reflect_on_tool_use=True,
        memory=[notes],
    )
    team = RoundRobinGroupChat([clerk, speaker("boss", "Boa ideia.")], max_turns=2)
    return text_of(await team.run(task="A room for guest 17."))


def streaming_team():
    clerk = speaker(
        "clerk",
        calls(("call_c1", "find_train", '{"origin": "Oslo", "destination": "Malmö"}')),
        "Oslo → Malmö leaves at 09:12.",
        tools=[find_train],
        reflect_on_tool_use=True,
        model_client_stream=True,
    )
    return RoundRobinGroupChat([clerk, speaker("boss", "Tack så mycket.")], max_turns=2)


async def streaming():
    """Every item of run_stream but the last, the TaskResult."""
    items = [item async for item in streaming_team().run_stream(task="A train to Malmö?")]
    return dump(items[:-1])


async def streaming_with_result():
    """Every item of run_stream, and then the messages of the TaskResult once more."""
    messages = []
    async for item in streaming_team().run_stream(task="A train to Malmö?"):
        messages += item.messages if isinstance(item, TaskResult) else [item]
    return dump(messages)


async def society_of_mind():
    """A team inside one agent of an outer team."""
    inner = RoundRobinGroupChat(
        [speaker("dough", "Knead 12 minutes."), speaker("oven", "Bake at 230 °C.")], max_turns=2
    )
    bakers = SocietyOfMindAgent("bakers", team=inner, model_client=model("Knead, then 230 °C."))
    team = RoundRobinGroupChat([bakers, speaker("editor", "Knapp und klar.")], max_turns=2)
    return text_of(await team.run(task="Write a recipe for Brötchen in one line."))


async def demo():
    """The run that `agenttrace demo` shows: parallel calls, one failing, two handoffs, an answer."""
    planner = speaker(
        "planner",
        calls(
            ("call_d1", "find_train", '{"origin": "Porto", "destination": "Lisboa"}'),
            ("call_d2", "find_train", '{"origin": "Lisboa", "destination": "Atlantis"}'),
            thought="Two legs, so two look-ups at once.",
        ),
        calls(("call_d3", "transfer_to_booking", "{}"), thought="One leg is left; the desk books it."),
        "Porto to Lisboa at 09:12 is booked, with a room. There is no train to Atlantis. TERMINATE",
        tools=[find_train],
        handoffs=["booking"],
        reflect_on_tool_use=False,
    )
    booking = speaker(
        "booking",
        calls(("call_d4", "find_room", '{"city": "Lisboa"}')),
        calls(("call_d5", "transfer_to_planner", "{}")),
        tools=[find_room],
        handoffs=["planner"],
        reflect_on_tool_use=False,
    )
    team = Swarm([planner, booking], termination_condition=TextMentionTermination("TERMINATE"))
    return text_of(await team.run(task="Porto to Lisboa, a room there, and on to Atlantis, por favor."))


async def team_state():
    """The saved state of a team after tool calls, one failing, with a message that one agent has not read."""
    clerk = speaker(
        "clerk",
        calls(
            ("call_s1", "find_room", '{"city": "Porto"}'),
            ("call_s2", "find_room", '{"city": "Köln"}'),
            thought="Both cities at once.",
        ),
        "Porto has a room, Köln has none.",
        tools=[find_room],
        reflect_on_tool_use=True,
    )
    team = RoundRobinGroupChat([clerk, speaker("boss", "Take Porto, obrigado.")], max_turns=2)
    await team.run(task="A room in Porto or Köln.")
    return await team.save_state()


async def agent_state():
    """The saved state of a single agent after two tasks, the same words twice."""
    clerk = speaker("clerk", "Guten Tag!", "Guten Tag again!")
    await clerk.run(task="Hello")
    await clerk.run(task="Hello")
    return await clerk.save_state()


async def nested_state():
    """The saved state of a team in which one member is a team itself."""
    inner = RoundRobinGroupChat(
        [speaker("dough", "Knead 12 minutes."), speaker("oven", "Bake at 230 °C.")],
        name="bakers", description="Bakes.", max_turns=2,
    )
    team = RoundRobinGroupChat([inner, speaker("editor", "Knapp und klar.")], max_turns=2)
    await team.run(task="Write a recipe for Brötchen in one line.")
    return await team.save_state()


async def magentic_state():
    """The saved state of a Magentic-One team, with its ledger."""
    orchestrator = model(
        "GIVEN FACTS: a bakery.", "- baker: the dough", ledger(False, "baker", "How much dough?"),
        ledger(True, "baker", "Nothing more."), "16 kg of dough.",
    )
    baker = speaker("baker", "16 kg, at 200 g each.", description="Bakes.")
    team = MagenticOneGroupChat([baker], model_client=orchestrator)
    await team.run(task="Dough for the Flammkuchen evening.")
    return await team.save_state()


CASES = [
    team_state, agent_state, nested_state, magentic_state, demo, graph_flow, magentic_one, multimodal, structured, code_executor, user_proxy, memory,
    streaming, streaming_with_result, society_of_mind,
]

if __name__ == "__main__":
    write_cases(Path(sys.argv[1]), CASES)
