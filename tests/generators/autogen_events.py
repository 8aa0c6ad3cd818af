"""Make real event logs of AutoGen 0.6 and 0.7 (logger "autogen_core.events").

No network, no key: replayed models, or scripted_server.py on a loopback port.
Install one of the versions, then run (Python 3.11):

    pip install autogen-agentchat==0.7.5 "autogen-ext[openai]==0.7.5"   # or 0.6.1
    python tests/generators/autogen_events.py tests/formats/autogen

Every case is a function that runs while a handler writes the log. CASES says
which version makes which cases.
"""

import asyncio
import contextlib
import io
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent, SocietyOfMindAgent
from autogen_agentchat.conditions import TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_core import (
    EVENT_LOGGER_NAME, AgentId, DefaultInterventionHandler, DefaultTopicId, DropMessage,
    MessageContext, RoutedAgent, SingleThreadedAgentRuntime, default_subscription, event, rpc,
)
from pydantic import BaseModel
from scripted_agentchat import VERSION, calls, find_room, find_train, model, refund
from scripted_server import serve, tool_calls

logging.disable(logging.NOTSET)
sys.tracebacklimit = 0  # a failed agent puts its traceback into the log


class Lines(logging.StreamHandler):
    """The handler of the documentation: one line for every structured event."""

    def emit(self, record):
        self.stream.write(str(record.msg) + "\n")


@contextlib.contextmanager
def logged(handler, *loggers):
    for name, level in loggers:
        logging.getLogger(name).setLevel(level)
        logging.getLogger(name).addHandler(handler)
    yield
    for name, _ in loggers:
        logging.getLogger(name).removeHandler(handler)


def speaker(name, *replies, **settings):
    """An agent that says the replies one after the other."""
    return AssistantAgent(
        name, model_client=model(*replies), system_message=f"You are the {name}.", **settings
    )


async def core_events():
    """Two runs of one team; parallel calls: good, raising, bad JSON, unknown."""
    first = calls(
        ("call_t1", "find_train", '{"origin": "Lyon", "destination": "Turin"}'),
        ("call_t2", "find_train", '{"origin": "Lyon", "destination": "Atlantis"}'),
        ("call_t3", "find_train", '{"origin": "Lyon'),
        ("call_t4", "book_zeppelin", '{"seats": 2}'),
    )
    answer = "Lyon → Turin leaves at 09:12. Atlantis has no station."
    clerk = speaker(
        "clerk", first, answer, "The next one is tomorrow.", tools=[find_train],
        reflect_on_tool_use=True,
    )
    team = RoundRobinGroupChat([clerk, speaker("boss", "Merci.", "Gut.")], max_turns=2)
    await team.run(task="Next train from Lyon to Turin, and to Atlantis?")
    await team.run(task="And the one after?")


async def core_events_prefixed():
    """Lines with a prefix; the trace loggers write between the events. A Swarm."""
    both = calls(
        ("call_s1", "find_room", '{"city": "Köln"}'),
        ("call_s2", "transfer_to_refunds", "{}"),
    )
    desk = speaker("desk", both, "All done. TERMINATE", tools=[find_room], handoffs=["refunds"])
    refunds = speaker(
        "refunds",
        calls(("call_s3", "refund", '{"booking": "ÖBB-5521"}')),
        calls(("call_s4", "transfer_to_desk", "{}")),
        tools=[refund],
        handoffs=["desk"],
    )
    team = Swarm([desk, refunds], termination_condition=TextMentionTermination("TERMINATE"))
    await team.run(task="Cancel ÖBB-5521,\nand find a room in Köln.")


def served(address, name, **settings):
    """An agent with the OpenAI client, which asks the model at ADDRESS/name."""
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    client = OpenAIChatCompletionClient(
        model="gpt-4o-mini", api_key="none", base_url=f"{address}/{name}", max_retries=0
    )
    return AssistantAgent(
        name, model_client=client, system_message=f"You are the {name}.", **settings
    )


async def core_events_llm():
    """LLMCall and LLMStreamEnd records; a team inside an agent."""
    address = serve({
        "clerk": [
            tool_calls(
                ("call_t1", "find_train", '{"origin": "Lyon", "destination": "Turin"}'),
                ("call_t2", "find_train", '{"origin": "Lyon", "destination": "Atlantis"}'),
            ),
            "Lyon → Turin leaves at 09:12.",
        ],
        "checker": ["Checked, très bien."],
        "dough": ["Knead 12 minutes."],
        "oven": ["Bake at 230 °C."],
        "bakers": ["Bread for the train: knead, then 230 °C."],
    })
    clerk = served(address, "clerk", tools=[find_train], reflect_on_tool_use=True)
    checker = served(address, "checker", model_client_stream=True)
    inner = RoundRobinGroupChat([served(address, "dough"), served(address, "oven")], max_turns=2)
    outer = served(address, "bakers")._model_client
    bakers = SocietyOfMindAgent("bakers", team=inner, model_client=outer)
    team = RoundRobinGroupChat([clerk, checker, bakers], max_turns=3)
    await team.run(task="Next train from Lyon to Turin, and bread.")


class BrokenModel:
    """The model of an agent, which is gone when it is asked for the second time."""

    def __init__(self, reply):
        self.client = model(reply)

    def __getattr__(self, name):
        return getattr(self.client, name)

    async def create(self, *args, **kwargs):
        if self.client._current_index:
            raise ConnectionError("the model server at 127.0.0.1 is gone")
        return await self.client.create(*args, **kwargs)


async def core_events_error():
    """The model of the second agent fails in its second turn; the run raises."""
    broken = AssistantAgent("boss", model_client=BrokenModel("Which Tuesday?"))
    team = RoundRobinGroupChat([speaker("clerk", "Graz on Tuesday?", "The 7th."), broken])
    with contextlib.suppress(RuntimeError):
        await team.run(task="I have to be in Graz.")


class Order(BaseModel):
    item: str
    pieces: int


@dataclass
class Price:
    total: float
    currency: str = "EUR"


@dataclass
class News:
    text: str


class Till(RoutedAgent):
    """Asks the baker for a price, then tells everybody."""

    @rpc
    async def on_order(self, message: Order, ctx: MessageContext) -> Price:
        price = await self.send_message(message, AgentId("baker", "default"))
        news = News(f"{message.pieces} {message.item}: {price.total} €")
        await self.publish_message(news, DefaultTopicId())
        await self.publish_message(News("a secret"), DefaultTopicId())
        return price


@default_subscription
class Baker(RoutedAgent):
    @rpc
    async def on_order(self, message: Order, ctx: MessageContext) -> Price:
        if message.item == "Semla":
            raise ValueError("Semlor are sold out")
        return Price(message.pieces * 1.5)

    @event
    async def on_news(self, message: News, ctx: MessageContext) -> None:
        await asyncio.sleep(0)


@default_subscription
class Board(RoutedAgent):
    @event
    async def on_news(self, message: News, ctx: MessageContext) -> None:
        raise OSError(f"the board cannot show {message.text!r}")


class Censor(DefaultInterventionHandler):
    """Drops what is secret."""

    async def on_publish(self, message, *, message_context):
        return DropMessage if message == News("a secret") else message


async def core_app():
    """No AgentChat: answers, a topic with two subscribers, failing handlers, a dropped message."""
    runtime = SingleThreadedAgentRuntime(intervention_handlers=[Censor()])
    await Till.register(runtime, "till", lambda: Till("till"))
    await Baker.register(runtime, "baker", lambda: Baker("baker"))
    await Board.register(runtime, "board", lambda: Board("board"))
    runtime.start()
    await runtime.send_message(Order(item="crème brûlée", pieces=4), AgentId("till", "default"))
    with contextlib.suppress(ValueError):
        await runtime.send_message(Order(item="Semla", pieces=2), AgentId("till", "default"))
    await asyncio.sleep(0.2)  # the runtime waits for a dropped message for ever: it is never idle
    await runtime.stop()


def run(case):
    """What the log holds after the case."""
    log = io.StringIO()
    if case is core_events_prefixed:
        handler = logging.StreamHandler(log)
        handler.setFormatter(
            logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
        loggers = [("autogen_core", logging.INFO), ("autogen_agentchat", logging.DEBUG)]
    else:
        handler, loggers = Lines(log), [(EVENT_LOGGER_NAME, logging.INFO)]
    with logged(handler, *loggers):
        asyncio.run(case())
    return log.getvalue()


CASES = {
    "06": [core_events],
    "07": [core_events, core_events_prefixed, core_events_llm, core_events_error, core_app],
}


def main(out):
    for case in CASES[VERSION]:
        folder = out / f"{VERSION}_{case.__name__}"
        folder.mkdir(parents=True, exist_ok=True)
        file = "input.log" if case is core_events_prefixed else "input.jsonl"
        (folder / file).write_text(run(case), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
