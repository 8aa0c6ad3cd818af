"""The texts in the logs of teams that write software (MetaGPT, ChatDev) and of MASFT, found without the readers.

Shares no code with ``agenttrace.readers``: a line's header is cut off, JSON behind it is parsed, and of a
document that is cut the whole strings are taken.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.printed_texts import unpacked

FORMATS = frozenset({"chatdev", "masft", "metagpt"})
"""The formats whose texts are found here."""

_LOGURU = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \| [A-Z]+ *\| \S+:\d+ - ")
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')
_CONTENT = re.compile(r'"content": ("(?:[^"\\]|\\.)*")')
_LABEL = re.compile(r"^(?:\w+(?:\([^()]*\))?): ")


_BRACKETED = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z]+\] ", re.MULTILINE)
_SPOKEN = re.compile(r"[^\n:*]{1,100}: \*\*(?:\[Start Chat\]|[^*\n]+<->[^*\n]+ on : \w+, turn \d+)\*\*\s*\[.*?\]\n\n(.*)", re.DOTALL)
_EARLY = re.compile(r"(?:\x1b\[\d+m)?(?:\[\d+\] )?AI (?:User|Assistant) \([^)]*\):(.*)", re.DOTALL)
_REPORT = re.compile(r"\*\*\[Test Reports\]\*\*:?(.*)", re.DOTALL)
_FRAMES = (  # what only frames a text: cut off, or the whole line
    re.compile(r"^\| (?:Parameter \| Value|--- \| ---) \|$"),
    re.compile(r"^\| \*\*\w+\*\* \| | \|$"),
    re.compile(r"^(?:[A-Z][\w ]*: )?\*\*\[[^\]]*\]\*\*:?"),
    re.compile(r"^[A-Z][\w ]*: \*\*.+<->.+ on : \w+, turn \d+\*\*$"),
    re.compile(r"^ ?\w+_tokens: \d+$"),
    re.compile(r"^.*\.?\w* updated\.$"),
    re.compile(r"^\[(?=[A-Z])|\]$"),
    re.compile(r"^(?:\x1b\[\d+m)?(?:\[\d+\] )?AI (?:User|Assistant) \([^)]*\)(?: sys message)?:"),
    re.compile(r"\x1b\[\d+m"),
    re.compile(r"^PhaseType: (?:PhaseType\.)?|^Task prompt:"),
)


_HYPER = re.compile(r"^HyperAgent_\S+ - [A-Z]+ - (?:[\w -]+'s Response: ?|[\w ]+->[\w ]+: ?)?")


def read(path: Path) -> str:
    """The text of a log; Windows wrote some in GBK."""
    data = path.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("gb18030", "replace")


def whole(path: Path, variant: str) -> Any:
    """A log as JSON whose strings a tool can count: headers are cut off, what is printed JSON is parsed."""
    text = read(path)
    if path.suffix == ".log" and _BRACKETED.search(text):
        return [_unframed(_BRACKETED.sub("", line)) for line in text.split("\n")]
    if variant == "log":
        return list(_lines(text))
    if variant == "hyperagent_log":
        return [_HYPER.sub("", line) for line in text.split("\n")]
    try:
        value = json.loads(text)
    except ValueError:
        return [json.loads(found) for found, is_key in _STRING.findall(text) if not is_key]
    if variant == "hyperagent":
        value["trajectory"] = [_HYPER.sub("", line) for line in value["trajectory"]]
    if variant == "masft":
        value["content"] = list(_lines(value["content"]))
    elif isinstance(value, dict) and isinstance(value.get("env", {}).get("history"), str):
        value["env"]["history"] = list(_history(value["env"]["history"]))
    return value


def said(path: Path, variant: str) -> list[str]:
    """The texts of the messages alone."""
    text = read(path)
    if path.suffix == ".log" and _BRACKETED.search(text):
        found = (match for entry in _BRACKETED.split(text) for kind in (_SPOKEN, _EARLY, _REPORT) if (match := kind.match(entry)))
        return [_unframed(line) for match in found for line in match[1].split("\n")]
    if variant == "path":
        results = [(item["result"], item["action"].get("parameter")) for item in json.loads(text)]
        return [said for result, parameter in results for said in (result["step_data"], result["answer"], parameter) if said]
    if variant == "hyperagent_log":
        return [_HYPER.sub("", line) for line in text.split("\n")]
    if variant in ("hyperagent", "ma_tot"):
        lines = [_HYPER.sub("", line) for line in json.loads(text)["trajectory"]]
        return [line for line in lines if not re.match(r" ?[*#]{5}|Verifier response:", line)]
    if variant == "masft":
        below = json.loads(text)["content"].split("\n")
        return [line for line in below if line.strip() and not _LOGURU.match(line)]
    if variant == "log":
        messages = [item for item in _lines(text) if isinstance(item, dict)]
        return [item["content"] for item in messages if item.get("content")]
    return [content for found in _CONTENT.findall(text) if (content := json.loads(found)).strip()]


def _unframed(line: str) -> Any:
    """A line without what frames it; a printed object as an object."""
    for frame in _FRAMES:
        line = frame.sub("", line.rstrip("\r"))
    if line.startswith(("SystemMessage(", "args: Namespace(")):
        found = unpacked(re.sub(r"<RoleType[^>]*>", "''", line.removeprefix("args: ")))
        return line if found is None else found
    return line


def _lines(text: str) -> Iterator[Any]:
    for line in text.split("\n"):
        rest = _LOGURU.sub("", line)
        if rest.startswith("publish_message: {"):
            with suppress(ValueError):
                yield json.loads(rest.removeprefix("publish_message: "))
                continue
        if rest.startswith("ready to take on task "):
            yield from re.findall(r"='([^']*)'", rest)
            continue
        yield rest.removeprefix("save to: ")


def _history(text: str) -> Iterator[Any]:
    """Each line without its role; a printed dict as a dict."""
    for line in text.split("\n"):
        rest = _LABEL.sub("", line, count=1)
        if rest.startswith("{"):
            with suppress(ValueError, SyntaxError):
                yield ast.literal_eval(rest)
                continue
        yield rest
