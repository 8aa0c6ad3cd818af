"""Fixtures of AgentScope 0.1.6: agentscope_0.py OUT. See README.md.

Two agents in a message hub with a scripted model, and messages with blocks as `logger.chat` writes them.
The `.config` of a run holds paths of the machine and is left out, as is a copy of this script.
"""

import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import agentscope
from agentscope import msghub
from agentscope.agents import DialogAgent
from agentscope.message import ImageBlock, Msg, TextBlock, ToolResultBlock, ToolUseBlock
from loguru import logger
from scripted_server import serve

PROMPTS = {"miller": "You mill.", "baker": "You bake."}
SCRIPT = {"miller": ["Two sacks of rye.", "Then rye it is."], "baker": ["I bake at six.", "Rye at six."]}


def config(address, name):
    client = {"base_url": f"{address}/{name}"}
    return {"config_name": name, "model_type": "openai_chat", "model_name": "small-1", "api_key": "none", "client_args": client}


def main(out):
    address = serve(SCRIPT)
    with TemporaryDirectory() as folder:
        configs = [config(address, name) for name in SCRIPT]
        saved = dict(save_dir=folder, save_code=False, save_api_invoke=True, use_monitor=True)
        agentscope.init(project="fair", name="bread", model_configs=configs, **saved)
        agents = [DialogAgent(name=name, sys_prompt=PROMPTS[name], model_config_name=name) for name in SCRIPT]
        with msghub(agents, announcement=Msg("host", "Agree on one bread.", "system")):
            for agent in agents * 2:
                agent()
                time.sleep(1)  # times are whole seconds
        logger.chat(Msg("host", "Weigh it, please.", "user"))
        call = ToolUseBlock(type="tool_use", id="w1", name="weigh", input={"flour": "rye"})
        bad = ToolUseBlock(type="tool_use", id="w2", name="weigh", input={"flour": "oat"})
        logger.chat(Msg("miller", [TextBlock(type="text", text="I weigh both."), call, bad], "assistant", metadata={"mood": "calm"}))
        results = [("w1", "12 kilos"), ("w2", "Error: there is no oat")]
        blocks = [ToolResultBlock(type="tool_result", id=name, name="weigh", output=text) for name, text in results]
        logger.chat(Msg("system", blocks, "system"))
        logger.chat(Msg("baker", [TextBlock(type="text", text="This is it."), ImageBlock(type="image", url="file/loaf.png")], "assistant"))
        time.sleep(1)
        (run,) = Path(folder).iterdir()
        case = Path(out, "0_run_folder", "input")
        shutil.rmtree(case, ignore_errors=True)
        case.mkdir(parents=True)
        for name in ("logging.chat", "logging.log", "invoke"):
            copy = shutil.copytree if (run / name).is_dir() else shutil.copy
            copy(run / name, case / name)
        if (run / "agentscope.db").is_file():
            shutil.copy(run / "agentscope.db", case / "agentscope.db")
        alone = Path(out, "0_chat")
        alone.mkdir(exist_ok=True)
        shutil.copy(run / "logging.chat", alone / "input.jsonl")


main(sys.argv[1])
