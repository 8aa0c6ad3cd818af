"""Make real AutoGen 0.2 logs with scripted models: no network, no key.

Install and run (Python 3.11):

    pip install pyautogen==0.2.35
    python tests/generators/autogen_02.py tests/formats/autogen

Every function in CASES runs one small chat and returns what a user would dump;
it is written to OUT_FOLDER/02_<function name>/input.json.
"""

import json
import sys
import tempfile
from pathlib import Path
from unittest import mock

from autogen import AssistantAgent, GroupChat, GroupChatManager, UserProxyAgent
from autogen.coding import LocalCommandLineCodeExecutor
from openai.types.chat import ChatCompletion

RED_PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="


class ScriptedClient:
    """A model client that answers with the next of a list of messages."""

    def __init__(self, config, replies):
        self.model = config["model"]
        self.replies = list(replies)

    def create(self, params):
        message = {"role": "assistant", "content": None, **self.replies.pop(0)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        usage = {"prompt_tokens": 61, "completion_tokens": 17, "total_tokens": 78}
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1700000000}
        return ChatCompletion(**answer, model=self.model, choices=[choice], usage=usage)

    def message_retrieval(self, response):
        message = response.choices[0].message
        return [message if message.tool_calls or message.function_call else message.content]

    def cost(self, response):
        response.cost = 0.0004
        return response.cost

    @staticmethod
    def get_usage(response):
        return {**dict(response.usage), "cost": response.cost, "model": response.model}


def assistant(name, *replies, **llm_config):
    """An assistant that says the replies (texts, or messages) one after the other."""
    replies = [{"content": reply} if isinstance(reply, str) else reply for reply in replies]
    model = {"model": "scripted", "model_client_cls": "ScriptedClient"}
    llm_config.update(config_list=[model], cache_seed=None)
    agent = AssistantAgent(name, llm_config=llm_config)
    agent.register_model_client(ScriptedClient, replies=replies)
    return agent


def is_end(message):
    return "TERMINATE" in str(message.get("content"))


def user(name, **settings):
    settings = {"human_input_mode": "NEVER", "code_execution_config": False, **settings}
    return UserProxyAgent(name, is_termination_msg=is_end, **settings)


def tool_calls(*calls):
    return {
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}
            for id, name, arguments in calls
        ]
    }


def by_peer(agent):
    return {peer.name: messages for peer, messages in agent.chat_messages.items()}


def as_json(data):
    return json.dumps(data, indent=2, ensure_ascii=False)


def count_stock(item: str) -> str:
    stock = {"Roggenbrot": 12, "Brezel": 0, "crème brûlée": 5}
    return f"{item}: {stock[item]} Stück"


def order_flour(kg: int) -> str:
    if kg > 50:
        raise ValueError("Mühle Schröder delivers at most 50 kg per day")
    return f"{kg} kg ordered ✓"


TOOLS = {"count_stock": count_stock, "order_flour": order_flour}


def bakery_pair():
    clerk = assistant(
        "stock_clerk",
        tool_calls(
            ("call_rye01", "count_stock", '{"item": "Roggenbrot"}'),
            ("call_flour1", "order_flour", '{"kg": 80}'),
            ("call_brezel", "count_stock", '{"item": "Brezel'),
            ("call_phone1", "phone_supplier", '{"name": "Schröder"}'),
        ),
        tool_calls(("call_flour2", "order_flour", '{"kg": 50}')),
        "12 rye loaves are left and 50 kg of flour are on the way. TERMINATE",
        "Anything else for the bakery? TERMINATE",
    )
    return clerk, user("till", function_map=TOOLS)


def chat_messages_tools():
    """{peer: messages} of the agent that runs the tools."""
    clerk, till = bakery_pair()
    till.initiate_chat(clerk, message="Do we have Roggenbrot, and enough flour?")
    return by_peer(till)


def chat_messages_all():
    """{agent: {peer: messages}} of both sides; the user sends the same text twice."""
    clerk, till = bakery_pair()
    till.initiate_chat(clerk, message="Wie viel Roggenbrot ist noch da?")
    till.send("continue", clerk, request_reply=False)
    till.send("continue", clerk, request_reply=True)
    return {agent.name: by_peer(agent) for agent in (clerk, till)}


def chat_result():
    """ChatResult.__dict__ of a chat with a person who types."""
    guide = assistant(
        "travel_desk",
        "Porto or São Miguel? Both have direct flights in May.",
        "São Miguel: 4 nights, 612 €. Shall I hold it?",
        "Held until Friday, reference AZ-2207.",
    )
    traveller = user("traveller", human_input_mode="ALWAYS")
    typed = ["São Miguel, please — we like volcanoes 🌋", "Yes, hold it", "exit"]
    with mock.patch("builtins.input", side_effect=typed):
        result = traveller.initiate_chat(guide, message="A short trip in May, two adults.")
    return result.__dict__


def truncated():
    """The text of chat_result, cut in the middle of a message."""
    whole = as_json(chat_result())
    return whole[: whole.index("4 nights")]


def stock_group():
    """Four agents in turn; the tool calls of one are run by another."""
    foreman = user("foreman", function_map=TOOLS, default_auto_reply="")
    planner = assistant(
        "planner", "1. count the crème brûlée\n2. order flour", "Try a smaller order.",
        "Baker, what do you say?", "All done, the shop can open. TERMINATE",
    )
    clerk = assistant(
        "clerk",
        tool_calls(
            ("call_cb", "count_stock", '{"item": "crème brûlée"}'),
            ("call_fl", "order_flour", '{"kg": 400}'),
        ),
        tool_calls(("call_fl2", "order_flour", '{"kg": 40}')),
        "Five portions, 40 kg of flour.",
    )
    baker = assistant("baker", "That is enough for today. ¡Vale!")
    agents = [foreman, planner, clerk, baker]
    group = GroupChat(agents, [], max_round=15, speaker_selection_method="round_robin")
    manager = GroupChatManager(group, llm_config=False, is_termination_msg=is_end)
    foreman.initiate_chat(manager, message="Get the shop ready for Saturday — 早上好!")
    return group, manager, clerk


def group_chat():
    return stock_group()[0].messages


def group_chat_manager():
    return by_peer(stock_group()[1])


def group_chat_member():
    return by_peer(stock_group()[2])


def function_call():
    """The old function_call and role "function": one good, one failing, one unknown."""
    clerk = assistant(
        "clerk",
        {"function_call": {"name": "count_stock", "arguments": '{"item": "Brezel"}'}},
        {"function_call": {"name": "order_flour", "arguments": '{"kg": 75}'}},
        {"function_call": {"name": "bake", "arguments": '{"item": "Brezel"}'}},
        "No Brezel left, and the mill cannot deliver 75 kg. TERMINATE",
        functions=[{"name": "count_stock", "parameters": {"type": "object", "properties": {}}}],
    )
    till = user("till", function_map=TOOLS)
    till.initiate_chat(clerk, message="Sind noch Brezeln da?")
    return by_peer(till)


def code_execution():
    """Code blocks run on the user's side: exit code 1, then 0."""
    coder = assistant(
        "coder",
        "I check the rows.\n```python\nimport sys\nprint('Brno: no price')\nsys.exit(1)\n```",
        "I count it as 0.\n```python\nprint('Łódź', 12, 'Brno', 0)\nprint(12 + 0)\n```",
        "The total is 12. TERMINATE",
    )
    with tempfile.TemporaryDirectory() as folder:
        executor = LocalCommandLineCodeExecutor(work_dir=folder)
        runner = user("runner", code_execution_config={"executor": executor})
        runner.initiate_chat(coder, message="Clean the prices of Łódź and Brno and add them up.")
    return by_peer(runner)


def multimodal():
    """Content that is a list of text and image parts."""
    taster = assistant("taster", "One red pixel: far too done.", "Try 190 °C. TERMINATE")
    baker = user("baker", default_auto_reply="And at 230 °C it burns?")
    picture = [
        {"type": "text", "text": "Is this tarte aux pommes done?"},
        {"type": "image_url", "image_url": {"url": RED_PIXEL}},
    ]
    baker.initiate_chat(taster, message={"content": picture})
    return by_peer(baker)


CASES = [
    chat_messages_tools, chat_messages_all, chat_result, truncated, group_chat,
    group_chat_manager, group_chat_member, function_call, code_execution, multimodal,
]


def main(out):
    for function in CASES:
        data = function()
        folder = out / ("02_" + function.__name__)
        folder.mkdir(parents=True, exist_ok=True)
        text = data if isinstance(data, str) else as_json(data)
        (folder / "input.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
