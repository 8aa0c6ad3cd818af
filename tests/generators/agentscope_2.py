"""Fixtures of AgentScope 2.0.11: agentscope_2.py OUT. See README.md.

An agent with a scripted model: tools in parallel of which one raises and one is unknown, a tool that runs an
agent of its own. Saved: the stream of events, the state of the agent, its messages.
"""

import asyncio
import json
import sys
from pathlib import Path

from agentscope.agent import Agent
from agentscope.credential import OpenAICredential
from agentscope.event import ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentscope.message import UserMsg
from agentscope.model import OpenAIChatModel
from agentscope.tool import FunctionTool, Toolkit
from scripted_server import serve, tool_calls

CALLS = [("w1", "weigh", '{"flour": "rye"}'), ("w2", "weigh", '{"flour": "oat"}'), ("w3", "sift", "{}"), ("w4", "sieve", "{}")]
SCRIPT = {
    "miller": [tool_calls(*CALLS), tool_calls(("a1", "ask_seller", '{"question": "How much?"}')), "Twelve kilos, three a loaf."],
    "seller": ["Three a loaf."],
}


def weigh(flour: str) -> str:
    """Weigh a flour.

    Args:
        flour: which one
    """
    if flour == "oat":
        raise ValueError("there is no oat ✗")
    return "12 kilos"


def sieve() -> str:
    """Sieve all flour."""
    return "sieved"


class Bakery:
    def __init__(self, address):
        self.address = address

    def agent(self, name, prompt, **more):
        credential = OpenAICredential(api_key="none", base_url=f"{self.address}/{name}")
        model = OpenAIChatModel(credential, "small-1", stream=False)
        return Agent(name=name, system_prompt=prompt, model=model, **more)

    async def ask_seller(self, question: str) -> str:
        """Ask the seller.

        Args:
            question: what to ask
        """
        answer = await self.agent("seller", "You sell.").reply(UserMsg(name="miller", content=question))
        return answer.get_text_content()


def confirm(wanted):
    """The host allows every call but that of a sieve."""
    calls = [call for event in wanted for call in event.tool_calls]
    results = [ConfirmResult(confirmed=call.name != "sieve", tool_call=call) for call in calls]
    return UserConfirmResultEvent(reply_id=wanted[0].reply_id, confirm_results=results)


async def main(out):
    bakery = Bakery(serve(SCRIPT))
    toolkit = Toolkit(tools=[FunctionTool(weigh), FunctionTool(sieve), FunctionTool(bakery.ask_seller)])
    miller = bakery.agent("miller", "You mill.", toolkit=toolkit)
    given = UserMsg(name="host", content="Bread for the fair? 面包")
    events = []
    while given is not None:
        new = [event async for event in miller.reply_stream(given)]
        wanted = [event for event in new if isinstance(event, RequireUserConfirmEvent)]
        given = confirm(wanted) if wanted else None
        events += [*new, given] if given is not None else new
    lines = [json.dumps(event.model_dump(mode="json"), ensure_ascii=False) for event in events]
    write(out, "2_events", "input.jsonl", "\n".join(lines) + "\n")
    write(out, "2_state", "input.json", miller.state.model_dump_json())
    messages = [message.model_dump(mode="json") for message in miller.state.context]
    write(out, "2_messages", "input.json", json.dumps(messages, ensure_ascii=False, indent=1))


def write(out, case, name, text):
    Path(out, case).mkdir(parents=True, exist_ok=True)
    Path(out, case, name).write_text(text, "utf-8")


asyncio.run(main(sys.argv[1]))
