"""What all tests share: ``--accept``, the corpus of real logs, and skipping with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FORMATS = Path(__file__).parent / "formats"

collect_ignore = ["formats"]  # inputs of readers: workspaces among them hold the tests of the code that a team wrote


def corpus_folder() -> Path:
    """Where real logs lie: ``AGENTTRACE_CORPUS``, else ``../shared/data`` beside the checkout."""
    return Path(os.environ.get("AGENTTRACE_CORPUS") or ROOT.parent / "shared" / "data")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="Rewrite golden expectations; read the diff before you commit it.")
    parser.addoption("--long", action="store_true", help="Run the tests marked long, too.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "long" in item.keywords and not config.getoption("--long"):
            item.add_marker(pytest.mark.skip(reason="takes minutes; make test-long runs it"))
        if "corpus" in item.keywords and not corpus_folder().is_dir():
            item.add_marker(pytest.mark.skip(reason=f"no real logs at {corpus_folder()}; set AGENTTRACE_CORPUS"))


@pytest.fixture
def accept(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--accept"))


@pytest.fixture
def corpus() -> Path:
    return corpus_folder()
