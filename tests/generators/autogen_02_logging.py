"""Make real AutoGen 0.2 runtime logs: sqlite and file, and a folder of one run.

No network, no key; the model is scripted_server.py, on a loopback port. Install
and run (Python 3.11):

    pip install pyautogen==0.2.35
    python tests/generators/autogen_02_logging.py tests/formats/autogen

SESSIONS are small chats. Each is run in a process of its own, in an empty
folder: two sessions logged to one file are two runs of a user's program.
"""

import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from autogen import ConversableAgent, GroupChat, GroupChatManager, register_function, runtime_logging
from scripted_server import serve, tool_calls


def is_end(message):
    return "TERMINATE" in str(message.get("content"))


def agent(name, system_message, address=None, **settings):
    """An agent that asks the model at ADDRESS/name, or one without a model."""
    model = {"model": "gpt-4o-mini", "api_key": "none", "base_url": f"{address}/{name}"}
    return ConversableAgent(
        name,
        system_message,
        llm_config={"config_list": [model], "cache_seed": None} if address else False,
        is_termination_msg=is_end,
        human_input_mode="NEVER",
        **settings,
    )


def count_stock(item: str) -> str:
    return f"{item}: {dict(Roggenbrot=12)[item]} Stück"


def order_flour(kg: int) -> str:
    if kg > 50:
        raise ValueError("the mill delivers at most 50 kg")
    return f"{kg} kg ordered ✓"


def tools():
    """Two agents and three tool calls: good, raising, arguments that are no JSON."""
    address = serve({
        "stock_clerk": [
            tool_calls(
                ("call_rye01", "count_stock", '{"item": "Roggenbrot"}'),
                ("call_flour1", "order_flour", '{"kg": 80}'),
            ),
            tool_calls(("call_brezel", "count_stock", '{"item": "Brezel')),
            "12 rye loaves are left. TERMINATE",
        ],
    })
    clerk = agent("stock_clerk", "You count.", address)
    till = agent("till", "You ask.")
    for tool in (count_stock, order_flour):
        register_function(tool, caller=clerk, executor=till, description="A tool.")
    till.initiate_chat(clerk, message="Do we have Roggenbrot, and enough flour?")


def group():
    """Three agents, the speakers chosen by a model, who once names nobody."""
    address = serve({
        "planner": ["1. the dough\n2. the oven"],
        "baker": ["Dough is ready, très bien."],
        "chat_manager": ["baker", "the oven?", "boss"],
    })
    boss = agent("boss", "You decide.", default_auto_reply="Good. TERMINATE")
    planner = agent("planner", "You plan.", address)
    baker = agent("baker", "You bake.", address)
    chat = GroupChat(
        [boss, planner, baker],
        [],
        max_round=6,
        speaker_transitions_type="allowed",
        allowed_or_disallowed_speaker_transitions={
            boss: [planner], planner: [baker, boss], baker: [boss, planner],
        },
        select_speaker_auto_none_template="Name one of {agentlist}.",
        select_speaker_auto_multiple_template="Name only one of {agentlist}.",
    )
    model = {"model": "gpt-4o-mini", "api_key": "none", "base_url": f"{address}/chat_manager"}
    manager = GroupChatManager(
        chat, is_termination_msg=is_end, llm_config={"config_list": [model], "cache_seed": None}
    )
    result = boss.initiate_chat(manager, message="Bread for Saturday, bitte.")
    return manager, result


SESSIONS = {"tools": tools, "group": group}


def run_session(name, logger, file):
    """One run of a user's program: a logger is started, then agents are made."""
    runtime_logging.start(logger_type=logger, config={"dbname": file, "filename": file})
    answer = SESSIONS[name]()
    runtime_logging.stop()
    if answer:
        save_run(*answer)


def save_run(manager, result):
    messages = {peer.name: messages for peer, messages in manager.chat_messages.items()}
    for file, data in ("chat_messages.json", messages), ("chat_result.json", result.__dict__):
        Path(file).write_text(json.dumps(data, indent=2, ensure_ascii=False), encoding="utf-8")


def start_session(folder, *arguments):
    """Run this file as a user would, in FOLDER; what it prints goes to console.txt."""
    program = [sys.executable, "-W", "ignore", str(Path(__file__).resolve())]
    with open(folder / "console.txt", "w", encoding="utf-8") as console:
        subprocess.run([*program, "session", *arguments], cwd=folder, stdout=console, check=True)


def small_pages(database):
    """An empty database with pages of 512 bytes, so that the fixture stays small."""
    with sqlite3.connect(database) as connection:
        connection.executescript("PRAGMA page_size = 512; VACUUM")


def logged(logger, file, *sessions):
    """The file after the sessions, one process each, and the other files of the last one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if logger == "sqlite":
            small_pages(folder / file)
        for session in sessions:
            start_session(folder, session, logger, file)
        file = file if logger == "sqlite" else "autogen_logs/" + file
        others = ("chat_messages.json", "chat_result.json", "console.txt")
        return {path: (folder / path).read_bytes() for path in (file, *others)}, file


def write(folder, file, data):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_bytes(data)


def main(out):
    files, name = logged("sqlite", "logs.db", "tools", "group")
    write(out / "02_runtime_sqlite", "input.db", files[name])
    write(out / "02_runtime_sqlite_cut", "input.db", files[name][: len(files[name]) * 6 // 10])
    files, name = logged("file", "runtime.log", "tools", "group")
    write(out / "02_runtime_file", "input.log", files[name])
    for name, data in logged("sqlite", "logs.db", "group")[0].items():
        write(out / "02_run_folder" / "input", name, data)


if __name__ == "__main__":
    if sys.argv[1] == "session":
        run_session(*sys.argv[2:])
    else:
        main(Path(sys.argv[1]))
