"""The documentation is true: its blocks run, its lists are complete, its links lead somewhere, its generated parts are fresh.

How a page is written:

* A ``console`` block shows commands, each on a line that begins with ``$ ``, and what they print on
  standard output and standard error. Every command runs in a shell of its own, in one folder per
  page, and must succeed; where a failure is shown the line ends with ``; echo "exit status $?"``.
  A line that is only ``…`` stands for any lines.
* A ``python`` block runs, all of a page in one namespace. A ``text`` block right behind it is what it prints.
* ``<!-- needs: PATH … -->`` names what of the checkout is copied into the folder of the page.
* Blocks in other languages, ``sh`` among them, are not run.

``pytest --accept tests/test_docs.py`` writes what really comes out into the pages; the diff is read.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import agenttrace
from agenttrace import errors, notes
from agenttrace.analysis.validation import RULES
from agenttrace.cli import COMMANDS, group
from agenttrace.formats import formats
from tests.conftest import ROOT

DOCS = ROOT / "docs"
RUN_PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
ALL_PAGES = [*RUN_PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = re.compile(r"<!-- needs: (.+?) -->")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


class Block(NamedTuple):
    """A fenced block and where its text stands in the page."""

    language: str
    text: str
    start: int
    end: int


def blocks(page: str) -> list[Block]:
    return [Block(found["language"].strip(), found["text"], found.start("text"), found.end("text")) for found in FENCE.finditer(page)]


def fits(shown: str, printed: str) -> bool:
    """Whether a block shows what was printed, ``…`` standing for any lines."""
    lines = [r"(?:.*\n)*" if line == "…\n" else re.escape(line) for line in shown.splitlines(keepends=True)]
    return re.fullmatch("".join(lines), printed) is not None


def commands_of(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block and what is shown behind each."""
    before, *parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert not before, "a console block begins with a command"
    for part in parts:
        command, _, shown = part.partition("\n")
        yield command, shown


def run_command(command: str, folder: Path) -> str:
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "80",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    text = done.stdout.decode()
    assert done.returncode == 0, f"$ {command}\n{text}exit status {done.returncode}"
    return text if text.endswith("\n") or not text else text + "\n"


def run_console(text: str, folder: Path) -> str:
    """A console block as it should read: what is shown where it fits, else what was printed."""
    lines = []
    for command, shown in commands_of(text):
        printed = run_command(command, folder)
        lines.append(f"$ {command}\n{shown if fits(shown, printed) else printed}")
    return "".join(lines)


def run_python(block: Block, page: Path, line: int, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * line + block.text, str(page), "exec", dont_inherit=True), namespace)
    return printed.getvalue()


def run_page(page: Path, text: str, folder: Path) -> str:
    """The page with every block as it should read."""
    for needed in NEEDS.findall(text):
        for path in needed.split():
            if (ROOT / path).is_dir():
                shutil.copytree(ROOT / path, folder / path)
            else:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, folder / path)
    namespace: dict[str, Any] = {"__name__": f"docs of {page.name}"}
    found = blocks(text)
    fresh = {}
    for number, block in enumerate(found):
        if block.language == "console":
            fresh[block] = run_console(block.text, folder)
        elif block.language == "python":
            printed = run_python(block, page, text.count("\n", 0, block.start), namespace)
            following = found[number + 1] if number + 1 < len(found) else None
            if following and following.language == "text" and not text[block.end + 3 : following.start].partition("```")[0].strip():
                fresh[following] = following.text if fits(following.text, printed) else printed
            else:
                assert not printed, f"the block at line {text.count(chr(10), 0, block.start)} prints and no text block shows it: {printed}"
    for block, new in reversed(fresh.items()):
        text = text[: block.start] + new + text[block.end :]
    return text


@pytest.mark.parametrize("page", RUN_PAGES, ids=name_of)
def test_blocks_do_what_they_show(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accept: bool) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text("utf-8")
    true = run_page(page, text, tmp_path)
    if accept:
        page.write_text(true, "utf-8")
        text = true
    assert true == text, f"{name_of(page)} shows something else; pytest --accept rewrites it"


def test_the_pages_hold_blocks_that_run() -> None:
    languages = {name_of(page): {block.language for block in blocks(page.read_text("utf-8"))} for page in RUN_PAGES}
    assert {"console", "python"} <= languages["README.md"]
    assert {"console", "python"} <= languages["docs/tutorial.md"]
    assert {"python"} <= languages["docs/howto/adding-a-format.md"]
    known = {"console", "python", "sh", "text", "json", "toml", "py"}
    assert {language for found in languages.values() for language in found} <= known, "a misspelt language would not be run"


def test_what_does_not_fit_is_seen(tmp_path: Path) -> None:
    assert fits("one\n…\nfour\n", "one\ntwo\nthree\nfour\n")
    assert fits("one\n…\n", "one\n")
    assert not fits("one\n…\nfour\n", "one\ntwo\n")
    assert not fits("one\n", "one\ntwo\n")
    assert not fits("a.c\n", "abc\n")
    assert run_console("$ echo one\ntwo\n$ true\n", tmp_path) == "$ echo one\none\n$ true\n"
    with pytest.raises(AssertionError, match="exit status 3"):
        run_console("$ exit 3\n", tmp_path)
    with pytest.raises(AssertionError, match="begins with a command"):
        run_console("one\n", tmp_path)


# -- lists ------------------------------------------------------------------------------------


def page_text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def part(page: str, name: str) -> str:
    found = re.search(rf"<!-- {name}: begin -->(.*?)<!-- {name}: end -->", page_text(page), re.DOTALL)
    assert found is not None, f"{page} has no part {name}"
    return found[1]


def first_cells(table: str) -> list[str]:
    """The code in the first cells of a table."""
    return re.findall(r"^\| \[?`([^`]+)`", table, re.MULTILINE)


def headings(text: str, level: int = 2) -> list[str]:
    return re.findall(rf"^{'#' * level} (.+)$", FENCE.sub("", text), re.MULTILINE)


def test_every_command_and_option_is_documented() -> None:
    text = part("docs/reference/cli.md", "commands")
    assert headings(text) == [f"agenttrace {name}" for name in COMMANDS]
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for name, section in zip(COMMANDS, sections, strict=True):
        command = group.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        options = {option for parameter in command.params for option in parameter.opts if option.startswith("-")}
        assert options <= set(re.findall(r"-{1,2}[a-z]+(?:-[a-z]+)*", section)), name


def test_every_format_and_variant_is_documented() -> None:
    text = part("docs/reference/formats.md", "format details")
    sections = dict(zip(headings(text), re.split(r"^## ", text, flags=re.MULTILINE)[1:], strict=True))
    assert list(sections) == list(formats()) == first_cells(part("README.md", "formats"))
    for name, section in sections.items():
        shown = set(first_cells(section))
        assert set(formats()[name].variants) <= shown
        assert all(value.replace("|", "\\|") in section for value in formats()[name].mapping.values())


def test_every_code_is_documented() -> None:
    assert first_cells(part("docs/reference/errors-and-notes.md", "error codes")) == list(errors.CODES)
    assert first_cells(part("docs/reference/errors-and-notes.md", "note codes")) == list(notes.CODES)
    assert first_cells(part("docs/reference/validation.md", "rules")) == list(RULES)


def test_every_public_name_is_documented() -> None:
    classes = first_cells(part("docs/reference/errors-and-notes.md", "error classes"))
    assert sorted({*headings(part("docs/reference/python.md", "python")), *classes}) == sorted(agenttrace.__all__)


# -- generated parts ------------------------------------------------------------------------------


def generate(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "docs" / "generate.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_generated_parts_are_fresh() -> None:
    done = generate(ROOT, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_stale_parts_are_named_and_written_anew(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    for name in ("README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    page = tmp_path / "docs" / "reference" / "validation.md"
    fresh = page.read_text("utf-8")
    page.write_text(fresh.replace("| `no_json` |", "| `no_jason` |"), "utf-8")
    done = generate(tmp_path, "--check")
    assert (done.returncode, done.stdout) == (1, "stale: docs/reference/validation.md\n")
    assert generate(tmp_path).returncode == 0
    assert page.read_text("utf-8") == fresh
    page.write_text(fresh.replace("<!-- rules:", "<!-- roles:"), "utf-8")
    assert "no generated part called 'roles'" in generate(tmp_path, "--check").stderr
    page.write_text(re.sub(r"<!-- rules: \w+ -->", "", fresh), "utf-8")
    assert "no page shows: rules" in generate(tmp_path, "--check").stderr


# -- links -------------------------------------------------------------------------------------------


def anchor(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)}


def links(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`(?!\])", "", FENCE.sub("", page.read_text("utf-8")))
    return re.findall(r"\]\(([^)\s]+)\)", text)


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in links(page):
        if re.match(r"https?://|mailto:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        targets = ((page.parent / link.partition("#")[0]).resolve() for link in links(page) if not link.startswith(("http", "#")))
        waiting += [target for target in targets if target.suffix == ".md" and target not in reached and target not in waiting]
    assert set(RUN_PAGES) <= reached


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[here](#a-page) [there](other.md) [nowhere](#b) [out](https://example.org)\n", "utf-8")
    assert broken_links(page) == ["other.md", "#b"]


# -- what must not stand there ------------------------------------------------------------------------


@pytest.mark.parametrize("page", ALL_PAGES, ids=name_of)
def test_no_paths_of_a_machine(page: Path) -> None:
    assert re.findall(r"(?<![\w.])/(?:home|root|work|tmp|Users|mnt|var)/\S*", page.read_text("utf-8")) == []


def test_fragments_have_a_known_kind() -> None:
    kinds = ("breaking", "added", "changed", "fixed")
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if not path.name.startswith(".")]
    assert [name for name in names if not re.fullmatch(rf"[\w-]+\.({'|'.join(kinds)})\.md", name)] == []


def test_commands_are_quoted_so_that_a_shell_takes_them() -> None:
    for page in RUN_PAGES:
        for block in blocks(page.read_text("utf-8")):
            for command, _ in commands_of(block.text) if block.language == "console" else ():
                assert shlex.split(command), command
