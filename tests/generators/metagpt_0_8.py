"""Make real MetaGPT 0.8 logs, saved teams and workspaces with a scripted model: no network, no key.

MetaGPT 0.8.2 asks for packages that are gone (lancedb 0.4.0), so it is installed without its
dependencies; those that its imports need are picked by hand (Python 3.11):

    pip install --no-deps metagpt==0.8.2
    pip install "pydantic==2.9.2" "numpy<2" aiofiles aiohttp anthropic anytree beautifulsoup4 fire gitignore_parser gitpython \
        google-generativeai gymnasium imap_tools jieba libcst loguru nbclient nbformat networkx openai pandas pillow pyyaml \
        requests rich scikit-learn setuptools tenacity tiktoken tree_sitter tree_sitter_python typer zhipuai
    python tests/generators/metagpt_0_8.py OUT_FOLDER

Every list in CASES is one folder ``OUT_FOLDER/<case>`` with the ``logs`` and the ``workspace`` of one
METAGPT_PROJECT_ROOT; each of its functions runs in a process of its own, as one start of a user's program.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

STUBS = {"boto3", "botocore", "chromadb", "dashscope", "faiss", "lancedb", "llama_index", "ollama", "playwright", "qianfan", "sparkai"}
CONFIG = """llm:
  api_type: "openai"
  model: "gpt-4o-mini"
  base_url: "http://127.0.0.1:9/v1"
  api_key: "sk-none"
"""


class Anything(type):
    """A class whose attributes are such classes again."""

    def __getattr__(cls, name: str) -> "Anything":
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class EmptyModule(types.ModuleType):
    """A package in which every name can be imported."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Anything:
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {})


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds an empty module for the packages that no case uses."""

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """A module of STUBS, or None."""
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if name.split(".")[0] in STUBS else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> EmptyModule:
        """The empty module."""
        return EmptyModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing to run."""


def copy_clean(root: Path, target: Path) -> None:
    """Copy logs and workspace of a project root, without the paths of this machine and without the Git repositories."""
    here = str(Path(__file__).parent.resolve())
    paths = {str(root): "/project", here: "/project", sysconfig.get_path("purelib"): "/site-packages", sys.base_prefix: "/python"}
    hidden = shutil.ignore_patterns(".git", ".gitignore", "__pycache__")
    for name in ("logs", "workspace"):
        shutil.copytree(root / name, target / name, ignore=hidden, dirs_exist_ok=True)
    for file in (path for path in target.rglob("*") if path.is_file()):
        text = file.read_text("utf-8")
        for path, short in paths.items():
            text = text.replace(path, short)
        file.write_text(text, "utf-8")


def make_case(case: str, starts: int, typed: str, target: Path) -> None:
    """Start the functions of a case one after the other in a new project root, and keep what they leave."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "config").mkdir()
        (root / "config" / "config2.yaml").write_text(CONFIG, "utf-8")
        keep = {key: os.environ[key] for key in ("LANG", "PATH") if key in os.environ}
        env = {**keep, "METAGPT_PROJECT_ROOT": str(root), "HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        for number in range(starts):
            command = [sys.executable, __file__, case, str(number)]
            done = subprocess.run(
                command, cwd=root, env=env, input=typed, text=True, encoding="utf-8", capture_output=True, timeout=120, check=False
            )
            if done.returncode:
                sys.exit(f"{case} {number}:\n{done.stdout}\n{done.stderr}")
        copy_clean(root, target / case)


if "METAGPT_PROJECT_ROOT" not in os.environ:  # the process that the user starts; the framework reads the variable when it is imported
    for folder, (count, answers) in {"two_runs": (2, ""), "interrupted": (1, ""), "project": (2, ""), "planned": (1, "confirm\n" * 4)}.items():
        make_case(folder, count, answers, Path(sys.argv[1]))
    sys.exit()

sys.meta_path.insert(0, Stubs())
