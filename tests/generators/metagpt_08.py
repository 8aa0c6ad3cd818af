"""Make real MetaGPT 0.8 logs, saved teams and workspaces with a scripted model: no network, no key.

MetaGPT 0.8.2 asks for packages that are gone (lancedb 0.4.0), so it is installed without its
dependencies; those that the cases need are picked by hand, the others are empty modules (Python 3.11):

    pip install --no-deps metagpt==0.8.2
    pip install pydantic==2.9.2 aiofiles aiohttp chardet gitignore_parser gitpython gymnasium joblib loguru networkx \
        openai pyyaml requests rich tenacity tiktoken
    python tests/generators/metagpt_08.py tests/formats/metagpt

Every entry of CASES becomes ``08_<case>/input`` with the ``logs`` and the ``workspace`` of one
METAGPT_PROJECT_ROOT, every entry of PARTS a case with one file or folder of it. Each of its functions runs in a process of its own, as one start of a user's program.
Paths of the machine are replaced afterwards, everything else stays as the framework wrote it.
"""

import asyncio
import importlib.abc
import importlib.machinery
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

STUBS = {
    "anthropic",
    "boto3",
    "botocore",
    "bs4",
    "chromadb",
    "dashscope",
    "docx",
    "faiss",
    "fire",
    "google",
    "imap_tools",
    "lancedb",
    "llama_index",
    "nbclient",
    "nbformat",
    "ollama",
    "pandas",
    "PIL",
    "playwright",
    "qianfan",
    "sklearn",
    "sparkai",
    "tree_sitter",
    "tree_sitter_python",
    "volcenginesdkarkruntime",
    "zhipuai",
}
CONFIG = """llm:
  api_type: "openai"
  model: "gpt-4o"
  base_url: "http://127.0.0.1:9/v1"
  api_key: "none"
"""


class Anything(type):
    """A class whose attributes are such classes again."""

    def __getattr__(cls, name: str) -> "Anything":
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class EmptyModule(types.ModuleType):
    """A package from which every name can be imported."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for the packages that no case uses."""

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A module of STUBS, or None."""
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in STUBS else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> EmptyModule:
        """The empty module."""
        return EmptyModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


# The framework reads its root and its configuration when it is imported.
ROOT = Path(sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp()).resolve()
os.environ["METAGPT_PROJECT_ROOT"] = os.environ["HOME"] = str(ROOT)
(ROOT / "config").mkdir(exist_ok=True)
(ROOT / "config" / "config2.yaml").write_text(CONFIG, "utf-8")
sys.meta_path.insert(0, Stubs())

from metagpt.actions import Action, RunCode, UserRequirement  # noqa: E402
from metagpt.configs.llm_config import LLMConfig, LLMType  # noqa: E402
from metagpt.const import MESSAGE_ROUTE_TO_NONE  # noqa: E402
from metagpt.context import Context  # noqa: E402
from metagpt.logs import log_llm_stream  # noqa: E402
from metagpt.provider.base_llm import BaseLLM  # noqa: E402
from metagpt.provider.llm_provider_registry import register_provider  # noqa: E402
from metagpt.roles import Architect, Engineer, ProductManager, ProjectManager, QaEngineer, Role  # noqa: E402
from metagpt.schema import Message, Task, TaskResult  # noqa: E402
from metagpt.team import Team  # noqa: E402


@register_provider(LLMType.OPENAI)
class ScriptedLLM(BaseLLM):
    """Says the next of the answers, as a stream if asked to; a word is a token."""

    answers: ClassVar[list[str]] = []

    def __init__(self, config: LLMConfig) -> None:
        self.config, self.model = config, config.model

    async def acompletion(self, messages: list[dict], **_: Any) -> dict:
        """A whole answer."""
        await asyncio.sleep(0.02)  # so that a message is not read in the round in which it is sent
        if not ScriptedLLM.answers:
            sys.exit(f"no answer is left for {messages}")
        text = ScriptedLLM.answers.pop(0)
        words = sum(len(str(message["content"]).split()) for message in messages)
        self._update_costs({"prompt_tokens": words, "completion_tokens": len(text.split())})
        return {"choices": [{"message": {"role": "assistant", "content": text}}]}

    async def _achat_completion(self, messages: list[dict], **_: Any) -> dict:
        return await self.acompletion(messages)

    async def _achat_completion_stream(self, messages: list[dict], **_: Any) -> str:
        text = self.get_choice_text(await self.acompletion(messages))
        log_llm_stream(text)
        return text


def run_team(roles: list[Role], idea: str, answers: list[str], n_round: int, context: Context | None = None) -> Team:
    """Hire, invest, run, as the command of MetaGPT does."""
    ScriptedLLM.answers = answers
    team = Team(context=context or Context())
    team.hire(roles)
    team.invest(3.0)
    team.run_project(idea)
    asyncio.run(team.run(n_round=n_round))
    return team


def asking(prompt: str, history: list[Message]) -> str:
    """The prompt of an action, with what was said last."""
    return f"{prompt}\n\n## Context\n{history[-1].content}"


class WriteOutline(Action):
    """The first step."""

    async def run(self, history: list[Message]) -> str:
        """An outline, as text."""
        return await self._aask(asking("Write an outline of the program in at most three lines.", history))


class WriteScript(Action):
    """The second step."""

    async def run(self, history: list[Message]) -> str:
        """Python code, as text."""
        return await self._aask(asking("Write the program in Python, return a code block.", history))


class ReviewScript(Action):
    """The third step; its message is for the coder alone, or for nobody."""

    async def run(self, history: list[Message]) -> Message:
        """What the coder is told."""
        text = await self._aask(asking("Review the code. Say LGTM if nothing is to be changed.", history))
        receivers = {MESSAGE_ROUTE_TO_NONE} if "LGTM" in text else {"Emil"}
        return Message(content=text, role="Reviewer", cause_by=ReviewScript, sent_from="Ines", send_to=receivers)


class JsonReview(Action):
    """A review that must be JSON, and fails if it is not."""

    async def run(self, history: list[Message]) -> Message:
        """What the coder is told."""
        text = await self._aask(asking("Review the code, answer in JSON.", history))
        return Message(content=json.loads(text)["review"], role="Reviewer", cause_by=JsonReview, sent_from="Ines", send_to={"Emil"})


class Planner(Role):
    """Turns the idea into an outline."""

    name: str = "Nora"
    profile: str = "Planner"
    goal: str = "outline small programs"
    constraints: str = "keep the language of the requirement"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.set_actions([WriteOutline])
        self._watch([UserRequirement])


class Coder(Role):
    """Writes what was outlined, and again what was reviewed."""

    name: str = "Emil"
    profile: str = "Coder"
    goal: str = "write short programs"

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.set_actions([WriteScript])
        self._watch([WriteOutline, ReviewScript])


class Reviewer(Role):
    """Reads the code."""

    name: str = "Ines"
    profile: str = "Reviewer"
    goal: str = "find mistakes before users do"
    as_json: bool = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.set_actions([JsonReview if self.as_json else ReviewScript])
        self._watch([WriteScript])


KETTLE = """1. Ask how many cups are wanted.
2. One cup takes 45 seconds – “eine Tasse, 45 s”.
3. Print the time of the kettle | minutes and seconds."""
KETTLE_CODE = """```python
def boil(cups: int) -> str:
    seconds = cups * 45
    return f"{seconds // 60}:{seconds % 60:02d}"


print(boil(int(input("Cups? "))))
```"""
LENDING = """1. Keep {book: reader} in a dict.
2. lend() and give_back() change it."""
LENDING_CODE = """```python
lent = {}


def lend(book, reader):
    lent[book] = reader
```"""
LENDING_BETTER = """```python
lent: dict[str, str] = {}


def lend(book: str, reader: str) -> bool:
    return lent.setdefault(book, reader) == reader


def give_back(book: str) -> None:
    lent.pop(book, None)
```"""


def first_run() -> None:
    """Each role has one turn, then all are idle."""
    answers = [KETTLE, KETTLE_CODE, "LGTM. Zero cups boil in 0:00, das passt."]
    run_team([Planner(), Coder(), Reviewer()], "A timer for a kettle, größere Kannen auch.", answers, n_round=5)


def second_run() -> None:
    """The review is sent to the coder, who writes the program once more; the rounds are used up."""
    answers = [LENDING, LENDING_CODE, "give_back() is missing, and a book can be lent twice.", LENDING_BETTER, "LGTM 👍"]
    run_team([Planner(), Coder(), Reviewer()], "Write down who has borrowed which book: 図書館.", answers, n_round=5)


def broken_run() -> None:
    """The second review fails: the framework saves the team."""
    answers = ["1. Add the weights.\n2. Print kilograms.", "```python\nprint(0.4 + 1.1)\n```", '{"review": "Which unit? „kg“ is missing."}']
    answers += ["```python\nprint(0.4 + 1.1, 'kg')\n```", "All fine, I think."]
    run_team([Planner(), Coder(), Reviewer(as_json=True)], "Add up the weights of parcels.", answers, n_round=6)


def block(content: dict[str, Any]) -> str:
    """The answer that an ActionNode asks for."""
    return "[CONTENT]\n" + json.dumps(content, indent=4, ensure_ascii=False) + "\n[/CONTENT]"


PRD = block(
    {
        "Language": "en",
        "Programming Language": "Python",
        "Original Requirements": "Split the tips of an evening.",
        "Project Name": "tip_jar",
        "Product Goals": ["Fair to the cent"],
        "User Stories": ["I want my share in €"],
        "Competitive Analysis": [],
        "Competitive Quadrant Chart": "",
        "Requirement Analysis": "",
        "Requirement Pool": [["P0", "split a sum"]],
        "UI Design draft": "A page.",
        "Anything UNCLEAR": "",
    }
)
REFINED_PRD = block(
    {
        "Language": "en",
        "Programming Language": "Python",
        "Refined Requirements": "Split the tips by hours worked.",
        "Project Name": "tip_jar",
        "Refined Product Goals": ["Fair to the cent", "Fair to the hour"],
        "Refined User Stories": ["As a cook I want my share, too"],
        "Competitive Analysis": ["Paper: slow"],
        "Competitive Quadrant Chart": "quadrantChart\n    Paper: [0.2, 0.3]",
        "Refined Requirement Analysis": ["Hours are weights."],
        "Refined Requirement Pool": [["P0", "split a sum by weights"]],
        "UI Design draft": "A page.",
        "Anything UNCLEAR": "Half hours?",
    }
)
DESIGN = block(
    {
        "Implementation approach": "Count in cents.",
        "File list": ["tips.py", "page.html"],
        "Data structures and interfaces": "classDiagram\n    class Tips {\n        +split(cents, waiters) list\n    }",
        "Program call flow": "sequenceDiagram\n    page->>Tips: split(1000, 3)",
        "Anything UNCLEAR": "",
    }
)
REFINED_DESIGN = block(
    {
        "Refined Implementation Approach": "Count in cents, hours are weights.",
        "Refined File list": ["tips.py", "page.html", "hours.py"],
        "Refined Data structures and interfaces": "classDiagram\n    class Tips {\n        +split(cents, hours) list\n    }",
        "Refined Program call flow": "sequenceDiagram\n    page->>Tips: split(1000, [8, 4])",
        "Anything UNCLEAR": "",
    }
)
TASKS = block(
    {
        "Required packages": ["jinja2"],
        "Required Other language third-party packages": [],
        "Logic Analysis": [["tips.py", "split"], ["page.html", "shows the shares"]],
        "Task list": ["tips.py", "page.html"],
        "Full API spec": "",
        "Shared Knowledge": "",
        "Anything UNCLEAR": "",
    }
)
TIPS = """```python
def split(cents, waiters):
    share, rest = divmod(cents, waiters)
    return [share + (number < rest) for number in range(waiters)]
```"""
PAGE = """```html
<ol>{% for share in shares %}<li>{{ share }} ¢</li>{% endfor %}</ol>
```"""
TEST = """```python
import unittest

from tips import split


class SplitTest(unittest.TestCase):
    def test_rest(self):
        self.assertEqual(split(1000, 3), [SHARES])


unittest.main()
```"""


def company(**settings: Any) -> Context:
    """A context as the options of the command line make it."""
    options = {"project_path": "", "project_name": "", "inc": False, "reqa_file": "", "max_auto_summarize_code": 0}
    context = Context()
    context.config.update_via_cli(**{**options, **settings})
    return context


def project_run() -> None:
    """The roles of the framework write a project; the first test is wrong, it is run, written again and run again."""
    failed = "The test forgets the rest.\n## Status:\nFAIL\n## Send To:\nQaEngineer"
    answers = [PRD, DESIGN, TASKS, TIPS, PAGE, TEST.replace("SHARES", "333, 333, 333"), failed]
    answers += [TEST.replace("SHARES", "334, 333, 333"), "## Status:\nPASS\n## Send To:\nNoOne"]
    roles = [ProductManager(), Architect(), ProjectManager(), Engineer(), QaEngineer()]
    with mock.patch.object(RunCode, "_install_dependencies"):  # which calls pip
        run_team(roles, "Split the tips – fair geteilt.", answers, n_round=9, context=company())


def documents_run() -> None:
    """The first two roles of the framework write their documents."""
    run_team([ProductManager(), Architect()], "Split the tips of an evening.", [PRD, DESIGN], n_round=3, context=company())


def update_run() -> None:
    """A requirement that changes the project: both documents are written again, under the same names."""
    answers = [block({"is_relative": "YES", "reason": "It is about tips."}), REFINED_PRD, REFINED_DESIGN]
    context = company(project_path=str(ROOT / "workspace" / "tip_jar"), project_name="tip_jar", inc=True)
    run_team([ProductManager(), Architect()], "Split the tips by hours worked.", answers, n_round=3, context=context)


PLAN = """```json
[
    {"task_id": "1", "dependent_task_ids": [], "instruction": "Load the sales of May.", "task_type": "other"},
    {"task_id": "2", "dependent_task_ids": ["1"], "instruction": "Sum them up by item.", "task_type": "other"},
    {"task_id": "3", "dependent_task_ids": ["1", "2"], "instruction": "Draw the sums.", "task_type": "other"}
]
```"""


class WriteStep(Action):
    """The code of one task."""

    async def run(self, task: Task) -> str:
        """Python, as text."""
        return await self._aask(f"Write one line of Python for: {task.instruction}")


class Analyst(Role):
    """Makes a plan and works through it, asking a person each time."""

    name: str = "Otto"
    profile: str = "Analyst"
    auto_run: bool = False

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._set_react_mode(react_mode="plan_and_act", auto_run=self.auto_run)
        self.set_actions([WriteStep])

    async def _act_on_task(self, current_task: Task) -> TaskResult:
        code = await self.actions[0].run(current_task)
        if "screen" in code:
            raise RuntimeError("no screen to draw on")
        failed = "None" in code
        return TaskResult(code=code, result="TypeError: NoneType" if failed else "31 rows", is_success=not failed)


def planned_run() -> None:
    """One task works, one does not (which the person confirms), one breaks the run: the framework saves the team."""
    run_team([Analyst()], "Which item sells best?", [PLAN, "rows = load('may.csv')", "sums = sum(None)", "screen.draw(sums)"], n_round=3)


def replanned_run() -> None:
    """Without a person: the plan is changed when a task fails; at the end the program saves the team."""
    again = (
        '```json\n[{"task_id": "2", "dependent_task_ids": ["1"], "instruction": "Sum up what is not empty.", "task_type": "other"}]\n```'
    )
    answers = [PLAN, "rows = load('may.csv')", "sums = sum(None)", again, "sums = sum(rows)", "draw(sums)"]
    run_team([Analyst(auto_run=True)], "Which item sells best?", answers, n_round=3).serialize()


CASES: dict[str, list[Callable[[], None]]] = {
    "two_runs": [first_run, second_run],
    "interrupted": [broken_run],
    "project": [project_run],
    "project_update": [documents_run, update_run],
    "planned": [planned_run],
    "replanned": [replanned_run],
}


def start(case: str, number: int, root: Path) -> None:
    """Run one function of a case in its own process; a person who is asked confirms."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {
        "METAGPT_PROJECT_ROOT": str(root),
        "PATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8",
    }
    command = [sys.executable, __file__, case, str(number), str(root)]
    done = subprocess.run(
        command, cwd=root, env=env, input="confirm\n" * 9, encoding="utf-8", capture_output=True, timeout=120, check=False
    )
    if done.returncode:
        sys.exit(f"{case} {number}:\n{done.stdout}\n{done.stderr}")


def copy_clean(root: Path, target: Path) -> None:
    """Copy logs and workspace of a project root, without its Git repository and the paths of this machine."""
    hidden = shutil.ignore_patterns(".git", ".gitignore", "__pycache__")
    for name in ("logs", "workspace"):
        shutil.copytree(root / name, target / name, ignore=hidden, dirs_exist_ok=True)
    here = str(Path(__file__).parent.resolve())
    paths = {str(root): "/project", here: "/project", sysconfig.get_path("purelib"): "/site-packages", sys.base_prefix: "/python"}
    for file in (path for path in target.rglob("*") if path.is_file()):
        text = file.read_text("utf-8")
        for path, short in paths.items():
            text = text.replace(path, short)
        file.write_text(text, "utf-8")


PARTS = {  # case: what it is part of, and which part
    "log": ("two_runs", "logs/*.txt"),
    "team": ("interrupted", "workspace/storage/team/team.json"),
    "plan": ("planned", "workspace/storage/team/team.json"),
    "plan_log": ("planned", "logs/*.txt"),
    "workspace": ("project", "workspace/tip_jar"),
}


def main(out: Path) -> None:
    """Make every case."""
    for case, functions in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for number in range(len(functions)):
                start(case, number, root)
            whole = out / f"08_{case}" / "input"
            shutil.rmtree(whole, ignore_errors=True)
            copy_clean(root, whole)
    shutil.rmtree(ROOT)
    for case, (of, part) in PARTS.items():
        (made,) = (out / f"08_{of}" / "input").glob(part)
        target = out / f"08_{case}" / f"input{made.suffix}"
        target.parent.mkdir(parents=True, exist_ok=True)
        if made.is_dir():
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(made, target)
        else:
            shutil.copy(made, target)
    shutil.rmtree(out / "08_two_runs")  # a log alone is no folder to read as one


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        CASES[sys.argv[1]][int(sys.argv[2])]()
