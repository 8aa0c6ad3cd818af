"""What autogen_04.py and autogen_07.py share: scripted models, tools, dumping."""

import asyncio
import json
import logging
import warnings

import autogen_agentchat
from autogen_core import FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)  # the replay client warns about every tool call

# "0.7.5" -> "07", the prefix of the case names.
VERSION = "".join(autogen_agentchat.__version__.split(".")[:2])


def model(*replies):
    """A model that gives the replies (texts, or tool calls) one after the other."""
    client = ReplayChatCompletionClient(list(replies))
    abilities = ("vision", "function_calling", "json_output", "structured_output")
    client._model_info = {**dict.fromkeys(abilities, True), "family": "unknown"}
    return client


def calls(*tool_calls, thought=None):
    """A model reply with tool calls, given as (id, name, arguments)."""
    return CreateResult(
        finish_reason="function_calls",
        content=[FunctionCall(id=id, name=name, arguments=text) for id, name, text in tool_calls],
        usage=RequestUsage(prompt_tokens=88, completion_tokens=21),
        cached=False,
        **({} if VERSION == "04" else {"thought": thought}),
    )


async def find_train(origin: str, destination: str) -> str:
    """Find the next train."""
    if destination == "Atlantis":
        raise ValueError("no station called Atlantis ✗")
    return f"{origin} → {destination}: 09:12, 47 €"


async def find_room(city: str) -> str:
    """Find a room."""
    if city == "Köln":
        raise RuntimeError("Köln: everything is booked (Messe)")
    return f"{city}: Pensão São Bento, 64 €"


async def refund(booking: str) -> str:
    """Pay a booking back."""
    return f"{booking}: 129,90 € zurückgezahlt"


def dump(messages):
    return [message.model_dump(mode="json") for message in messages]


def as_json(data):
    return json.dumps(data, indent=2, ensure_ascii=False)


def text_of(result):
    """A TaskResult as JSON.

    In 0.4 it is a dataclass, and in 0.6 its model_dump_json leaves out the
    contents, so that there the messages are dumped one by one, as users do.
    """
    if VERSION == "07":
        return result.model_dump_json(indent=2)
    return as_json({"messages": dump(result.messages), "stop_reason": result.stop_reason})


def write(out, name, text):
    """Write OUT/<version>_<name>/input.json, or input.jsonl for lines."""
    folder = out / f"{VERSION}_{name}"
    folder.mkdir(parents=True, exist_ok=True)
    data = text if isinstance(text, bytes) else text.encode()
    file = folder / ("input.jsonl" if name.endswith("_lines") else "input.json")
    file.write_bytes(data)


def write_cases(out, functions):
    for function in functions:
        data = asyncio.run(function())
        write(out, function.__name__, data if isinstance(data, str) else as_json(data))
