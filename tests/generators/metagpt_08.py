"""Make the logs, the saved teams and the workspace of small MetaGPT teams.

No network, no key: a scripted model answers. MetaGPT 0.8.2 does not resolve as a whole (it asks for
lancedb 0.4.0, which is gone), so it is installed without its dependencies (Python 3.11):

    pip install --no-deps metagpt==0.8.2
    pip install "pydantic<2.10" loguru aiofiles tenacity pyyaml networkx tiktoken openai aiohttp requests pandas \
        fire typer rich nbformat nbclient gitpython setuptools jieba gitignore_parser beautifulsoup4 pillow anthropic \
        google-generativeai zhipuai tree_sitter tree_sitter_python gymnasium scikit-learn libcst imap_tools anytree
    python tests/generators/metagpt_08.py tests/formats/metagpt

What else it imports and no scenario uses is replaced by empty modules (STUBS). Paths of the machine are
replaced by ``/project``, the rest of a file stays as the framework wrote it.
"""

import asyncio
import importlib.abc
import importlib.machinery
import os
import shutil
import sys
import tempfile
import types
from pathlib import Path

STUBS = ("sparkai", "qianfan", "dashscope", "boto3", "botocore", "lancedb", "llama_index", "faiss", "chromadb", "playwright", "ollama", "volcenginesdkarkruntime")
ROOT = Path(tempfile.mkdtemp()).resolve()
CONFIG = """llm:
  api_type: "openai"
  model: "gpt-4o-mini"
  base_url: "http://127.0.0.1:9/v1"
  api_key: "none"
"""


class Anything(type):
    """A class that has every attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class EmptyModule(types.ModuleType):
    """A module that has every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for what no scenario uses."""

    def find_spec(self, name, path, target=None):
        """A module of STUBS, or None."""
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in STUBS else None

    def create_module(self, spec):
        """The empty module."""
        module = EmptyModule(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module):
        """Nothing to run."""


(ROOT / "config").mkdir()
(ROOT / "config" / "config2.yaml").write_text(CONFIG)
os.environ["METAGPT_PROJECT_ROOT"] = os.environ["HOME"] = str(ROOT)
sys.meta_path.insert(0, Stubs())

from metagpt.actions import Action  # noqa: E402
from metagpt.actions.add_requirement import UserRequirement  # noqa: E402
from metagpt.context import Context  # noqa: E402
from metagpt.provider.base_llm import BaseLLM  # noqa: E402
from metagpt.roles import Role  # noqa: E402
from metagpt.schema import Document, Documents, Message, Task, TaskResult  # noqa: E402
from metagpt.team import Team  # noqa: E402
from metagpt.utils.project_repo import ProjectRepo  # noqa: E402
from pydantic import Field  # noqa: E402


class ScriptedModel(BaseLLM):
    """Says the next answer of the script, and counts its tokens as OpenAI's client does."""

    script: list = []

    def __init__(self, config, cost_manager):
        self.config, self.cost_manager, self.model, self.use_system_prompt = config, cost_manager, "gpt-4o-mini", True

    async def _achat_completion(self, messages, timeout=0):
        raise NotImplementedError

    async def _achat_completion_stream(self, messages, timeout=0):
        raise NotImplementedError

    async def acompletion(self, messages, timeout=0):
        """Not used."""
        raise NotImplementedError

    async def acompletion_text(self, messages, stream=False, timeout=0):
        """The next answer."""
        answer = ScriptedModel.script.pop(0)
        self._update_costs({"prompt_tokens": len(str(messages)), "completion_tokens": len(answer)}, self.model)
        return answer


def scripted(context, config=None):
    """The model of every role, in place of the client of a provider."""
    return ScriptedModel(context.config.llm, context.cost_manager)


Context.llm = Context.llm_with_cost_manager_from_llm_config = scripted


class WritePlan(Action):
    """Writes the plan of a shop."""

    async def run(self, with_messages):
        return await self._aask(f"Write a plan for: {with_messages[-1].content}")


class WriteShop(Action):
    """Writes the shop after the plan."""

    async def run(self, with_messages):
        return await self._aask(f"Write code for: {with_messages[-1].content}")


class CheckShop(Action):
    """Checks the shop."""

    fails: bool = False

    async def run(self, with_messages):
        if self.fails:
            raise ValueError("the checker has no shop to check")
        return await self._aask(f"Check: {with_messages[-1].content}")


class Planner(Role):
    """Keeps the plan as a document, in two versions."""

    name: str = "Ada"
    profile: str = "Planner"
    goal: str = "plan shops"
    repo: object = Field(default=None, exclude=True)  # what cannot be written breaks the file off

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.set_actions([WritePlan])
        self._watch([UserRequirement])

    async def _act(self):
        text = await self.rc.todo.run(self.rc.memory.get())
        documents = Documents()
        if self.repo is not None:
            await self.repo.docs.prd.save("20240105.json", '{"plan": "a draft"}', [])
            await self.repo.docs.prd.save("20240105.json", f'{{"plan": "{text}"}}', ["docs/requirement.txt"])
            document = Document(root_path="docs/prd", filename="20240105.json", content=f'{{"plan": "{text}"}}')
            documents.docs[document.filename] = document
        message = Message(
            content=text, role=self.profile, cause_by=type(self.rc.todo), sent_from=self, instruct_content=documents if documents.docs else None
        )
        self.rc.memory.add(message)
        return message


class Coder(Role):
    """Writes the shop that was planned."""

    name: str = "Bo"
    profile: str = "Coder"
    repo: object = Field(default=None, exclude=True)  # what cannot be written breaks the file off

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.set_actions([WriteShop])
        self._watch([WritePlan])

    async def _act(self):
        message = await super()._act()
        if self.repo is not None:
            await self.repo.docs.task.save("20240105.json", '{"tasks": ["shop.py"]}', ["docs/prd/20240105.json"])
            await self.repo.with_src_path("shop").srcs.save("shop.py", message.content, ["docs/prd/20240105.json", "docs/task/20240105.json"])
        return message


class Checker(Role):
    """Checks the shop and tells the coder alone."""

    name: str = "Cleo"
    profile: str = "Checker"
    fails: bool = False

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.set_actions([CheckShop(fails=self.fails)])
        self._watch([WriteShop])

    async def _act(self):
        message = await super()._act()
        message.send_to = {"Bo"}
        return message


class Analyst(Role):
    """Works through a plan whose tasks depend on each other; the last one fails."""

    name: str = "Dan"
    profile: str = "Analyst"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._set_react_mode(react_mode="plan_and_act", auto_run=True)
        self.set_actions([WritePlan])
        plan = self.planner.plan
        plan.goal, plan.context = "Find out what sells best.", "numbers of May"
        plan.add_tasks(
            [
                Task(task_id="1", instruction="Load the numbers.", task_type="data preprocessing"),
                Task(task_id="2", dependent_task_ids=["1"], instruction="Sum them up by item."),
                Task(task_id="3", dependent_task_ids=["1", "2"], instruction="Draw the sums."),
            ]
        )

    async def _act_on_task(self, current_task):
        if current_task.task_id == "3":
            raise RuntimeError("no screen to draw on")
        return TaskResult(code=f"step({current_task.task_id})", result=await self.llm.aask(current_task.instruction), is_success=True)


async def run(idea, script, *roles, rounds=4):
    """One run of a team."""
    ScriptedModel.script = script
    team = Team(context=Context())
    team.hire(list(roles))
    team.invest(3.0)
    await team.run(n_round=rounds, idea=idea, auto_archive=False)


def shop_repo():
    """An empty workspace."""
    return ProjectRepo(ROOT / "workspace" / "shop")


async def shop():
    """A run that writes a workspace, and one that breaks, so that MetaGPT saves the team."""
    repo = shop_repo()
    await repo.docs.save("requirement.txt", "Sell pears — günstig.")
    script = ["Pears, one button.", "print('pears')", "It sells pears. Fertig."]
    await run("Sell pears — günstig.", script, Planner(repo=repo), Coder(repo=repo), Checker(), rounds=3)
    await run("Sell plums.", ["Plums, two buttons.", "print('plums')"], Planner(), Coder(), Checker(fails=True))


async def planned():
    """A role with a plan, which breaks in its third task."""
    await run("What sells best?", ["12 rows", "pears: 7, plums: 5"], Analyst(), rounds=3)


def write(target, name, made):
    """Copy what was made, without the paths of this machine."""
    if made.is_dir():
        shutil.copytree(made, target / name, ignore=shutil.ignore_patterns(".git", ".gitignore"), dirs_exist_ok=True)
        copies = [path for path in (target / name).rglob("*") if path.is_file()]
    else:
        target.mkdir(parents=True, exist_ok=True)
        copies = [Path(shutil.copy(made, target / name))]
    library = str(Path(sys.modules["metagpt"].__file__).parent.parent)
    for path in copies:
        text = path.read_text("utf-8")
        text = text.replace(str(ROOT), "/project").replace(library, "/site-packages").replace(str(Path(__file__).parent.resolve()), "/project")
        path.write_text(text.replace(sys.base_prefix, "/python"), "utf-8")


def main(formats):
    """Write every case."""
    asyncio.run(shop())
    (log,) = (ROOT / "logs").glob("*.txt")
    team = ROOT / "workspace" / "storage" / "team" / "team.json"
    whole = formats / "08_run_folder" / "input"
    write(formats / "08_log", "input.txt", log)
    write(formats / "08_team", "input.json", team)
    write(formats / "08_workspace", "input", ROOT / "workspace" / "shop")
    write(whole / "logs", "20240105.txt", log)
    write(whole / "workspace" / "storage" / "team", "team.json", team)
    write(whole / "workspace", "shop", ROOT / "workspace" / "shop")
    log.write_text("")
    asyncio.run(planned())
    write(formats / "08_plan", "input.json", team)
    write(formats / "08_plan_log", "input.txt", log)
    shutil.rmtree(ROOT)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
