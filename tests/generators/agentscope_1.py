"""Fixtures of AgentScope 1.0.21: agentscope_1.py OUT. See README.md.

A hub of two agents with a scripted model, one with a plan, tools in parallel of which one raises and one is
unknown, and a tool that runs an agent of its own. Saved: the session, messages, the spans of the run.
"""

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import mcp.client.streamable_http as streamable
import mcp.shared.exceptions as exceptions

# The packages of mcp of today have other names than those that 1.0.21 imports.
if not hasattr(exceptions, "McpError"):
    exceptions.McpError = exceptions.MCPError
if not hasattr(streamable, "streamablehttp_client"):
    streamable.streamablehttp_client = None

import agentscope
from agentscope import _config
from agentscope.agent import ReActAgent
from agentscope.formatter import OpenAIChatFormatter
from agentscope.memory import InMemoryMemory
from agentscope.message import Base64Source, ImageBlock, Msg, TextBlock
from agentscope.model import OpenAIChatModel
from agentscope.pipeline import MsgHub
from agentscope.plan import PlanNotebook
from agentscope.session import JSONSession
from agentscope.tool import Toolkit, ToolResponse
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from scripted_server import serve, tool_calls

PLAN = {
    "name": "bread for the fair",
    "description": "from flour to sign",
    "expected_outcome": "a loaf with a price",
    "subtasks": [
        {"name": "weigh", "description": "weigh the flour", "expected_outcome": "kilos"},
        {"name": "price", "description": "ask for a price", "expected_outcome": "a number"},
    ],
}
CALLS = [("w1", "weigh", '{"flour": "rye"}'), ("w2", "weigh", '{"flour": "oat"}'), ("w3", "sift", "{}")]
SCRIPT = {
    "miller": [
        tool_calls(("p1", "create_plan", json.dumps(PLAN))),
        tool_calls(*CALLS),
        tool_calls(("p2", "finish_subtask", '{"subtask_idx": 0, "subtask_outcome": "12 kilos"}'), ("a1", "ask_seller", '{"question": "How much?"}')),
        "Twelve kilos, three a loaf.",
    ],
    "baker": ["Then I bake."],
    "seller": ["Three a loaf."],
}


def text(said):
    return ToolResponse(content=[TextBlock(type="text", text=said)])


async def weigh(flour: str) -> ToolResponse:
    """Weigh a flour.

    Args:
        flour (str): which one
    """
    if flour == "oat":
        raise ValueError("there is no oat ✗")
    return text("12 kilos")


class Bakery:
    def __init__(self, address):
        self.address = address

    def agent(self, name, prompt, **more):
        client = {"base_url": f"{self.address}/{name}"}
        model = OpenAIChatModel("small-1", api_key="none", stream=False, client_kwargs=client)
        return ReActAgent(
            name=name, sys_prompt=prompt, model=model, formatter=OpenAIChatFormatter(), memory=InMemoryMemory(), **more
        )

    async def ask_seller(self, question: str) -> ToolResponse:
        """Ask the seller.

        Args:
            question (str): what to ask
        """
        answer = await self.agent("seller", "You sell.")(Msg("miller", question, "user"))
        return text(answer.get_text_content())


async def run(out, folder):
    bakery = Bakery(serve(SCRIPT))
    toolkit = Toolkit()
    toolkit.register_tool_function(weigh)
    toolkit.register_tool_function(bakery.ask_seller)
    miller = bakery.agent("miller", "You mill.", toolkit=toolkit, plan_notebook=PlanNotebook(), parallel_tool_calls=True)
    baker = bakery.agent("baker", "You bake.")
    picture = ImageBlock(type="image", source=Base64Source(type="base64", media_type="image/png", data="iVBORw0KGgo="))
    asked = Msg("host", [TextBlock(type="text", text="Bread for the fair? 面包"), picture], "user")
    said = [asked.to_dict()]
    async with MsgHub([miller, baker], announcement=asked):
        for agent in (miller, baker):
            said.append((await agent()).to_dict())
    await JSONSession(save_dir=folder).save_session_state("session_fair", miller=miller, baker=baker)
    write(out, "1_session", "input.json", Path(folder, "session_fair.json").read_text("utf-8"))
    write(out, "1_messages", "input.json", json.dumps(said, ensure_ascii=False, indent=1))
    write(out, "1_memory", "input.json", json.dumps(baker.memory.state_dict(), ensure_ascii=False))


def write(out, case, name, text):
    Path(out, case).mkdir(parents=True, exist_ok=True)
    Path(out, case, name).write_text(text, "utf-8")


def main(out):
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        spans = Path(folder, "spans.jsonl")
        with spans.open("w") as stream:
            provider = TracerProvider()
            exporter = ConsoleSpanExporter(out=stream, formatter=lambda span: span.to_json(indent=None) + "\n")
            provider.add_span_processor(SimpleSpanProcessor(exporter))
            trace.set_tracer_provider(provider)
            agentscope.init(project="fair", name="bread")
            _config.trace_enabled = True
            asyncio.run(run(out, folder))
        Path(out, "1_spans").mkdir(exist_ok=True)
        shutil.copy(spans, Path(out, "1_spans", "input.jsonl"))


main(os.path.abspath(sys.argv[1]))
