"""The texts in what AutoGen prints (reprs, transcripts, event logs, sqlite), found without the reader.

Shares no code with ``agenttrace.readers``: reprs go through Python's own parser, transcripts
through a list of the lines that only frame what was said.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.message_texts import texts

_OPAQUE = re.compile(r"<[A-Za-z_][^<>']* at 0x[0-9a-f]+>|<\w+\.\w+: '[^']*'>")
_PYDANTIC = re.compile(r"^(?:[A-Z]\w+ )?(?=(?:id='[^']*' )?source=|messages=\[)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(
    r"-{80}|\*{20,}|.+ \(to [^()]+\):|-{10} .+ -{10}|>{8} .*|Next speaker: .*|\*{5} .* \*{5}|Arguments: ?|"
    r"\[Prompt tokens: \d+, Completion tokens: \d+\]|Number of (?:inner )?messages: .*|Finish reason: .*|"
    r"Total (?:prompt|completion) tokens: .*|Duration: .*|Started new session with Session ID: .*"
)


def unpacked(text: str) -> Any:
    """A Python repr as JSON: calls and dicts as objects, anything opaque as its text. None when it is no repr."""
    try:
        return _value(ast.parse(_OPAQUE.sub("'<o>'", text.strip()), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _value(node: ast.AST) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List | ast.Tuple):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {str(_value(key)): _value(item) for key, item in zip(node.keys, node.values, strict=True) if key is not None}
    if isinstance(node, ast.Call):
        return {keyword.arg or "": _value(keyword.value) for keyword in node.keywords} | (
            {"args": [_value(arg) for arg in node.args]} if node.args else {}
        )
    return None


def unprinted(text: str) -> Any:
    """A printed object, or a line that pydantic printed, as JSON; other text as it is."""
    if re.match(r"\s*(?:\w+\(|\[\w+\(|\{')", text) and (found := unpacked(text)) is not None:
        return found
    if _PYDANTIC.match(text):
        parts: list[str] = []
        for piece in re.split(r" (?=[a-z_]+=)", _PYDANTIC.sub("", text.strip(), count=1)):
            if parts and unpacked(f"f({parts[-1]})") is None:
                parts[-1] += f" {piece}"
            else:
                parts.append(piece)
        found = unpacked(f"f({', '.join(parts)})")
        return text if found is None else found
    return text


def unpacked_notebook(path: Path) -> Any:
    """A notebook whose printed objects are unpacked, so that a tool for JSON can look into them."""
    notebook = json.loads(path.read_text("utf-8"))
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = [unprinted(line) for line in _joined(output["text"]).split("\n")]
            if "text/plain" in output.get("data", {}):
                output["data"]["text/plain"] = unprinted(_joined(output["data"]["text/plain"]))
    return notebook


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else text


def transcript_texts(text: str) -> Iterator[str]:
    """The lines of a transcript that are no frame."""
    for line in _COLOUR.sub("", text).split("\n"):
        if len(line.strip()) < 12 or _FRAME.fullmatch(line.rstrip()):
            continue
        found = unprinted(line)
        if isinstance(found, str) and re.fullmatch(r'\s*"\w+": .*', found):  # one argument of a call, laid out over lines
            with suppress(ValueError):
                found = [value for value in json.loads("{" + found.strip().rstrip(",") + "}").values() if isinstance(value, str)]
        yield from (
            [found]
            if isinstance(found, str)
            else texts({"content": found} if isinstance(found, list) and not any(isinstance(item, dict) for item in found) else found)
        )


def said_in(path: Path, variant: str) -> list[str]:
    """The message and tool texts of a log that is no plain JSON."""
    if variant == "notebook":
        outputs = [output for cell in json.loads(path.read_text("utf-8"))["cells"] for output in cell.get("outputs", ())]
        streams = [_joined(output["text"]) for output in outputs if output.get("name") == "stdout"]
        results = [unpacked(_joined(output["data"]["text/plain"])) for output in outputs if "text/plain" in output.get("data", {})]
        said = [
            text for stream in streams if re.search(r"\(to \w|-{10} |source=|FunctionCall\(", stream) for text in transcript_texts(stream)
        ]
        return said + list(texts(results))
    if variant == "runtime_sqlite":
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as database:
            states = [json.loads(state) for (state,) in database.execute("SELECT json_state FROM events")]
            return [
                *texts([_message(state) for state in states]),
                *(text for row in database.execute("SELECT args, returns FROM function_calls") for text in row),
            ]
    if variant in ("console_chat", "console_team"):
        return list(transcript_texts(path.read_text("utf-8")))
    lines = [line[line.find("{") :] for line in path.read_text("utf-8").splitlines() if "{" in line]
    records = [json.loads(line) for line in lines if line.endswith("}")]
    if variant == "runtime_file":
        return list(texts([_message(json.loads(record["json_state"])) for record in records if "json_state" in record]))
    return [
        *texts([_payload(record) for record in records]),
        *(str(record["result"]) for record in records if record.get("type") == "ToolCall"),
    ]


def _message(state: Any) -> Any:
    message = state.get("message")
    return {"content": message} if isinstance(message, str) else message


def _payload(record: Any) -> Any:
    try:
        return json.loads(record.get("payload", "null"))
    except ValueError:
        return None


def times_in(path: Path) -> set[datetime]:
    """All times that stand in a file, whatever they are called, without their zones."""
    if path.read_bytes()[:15] == b"SQLite format 3":
        with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as database:
            text = "\n".join(database.iterdump())
    else:
        text = path.read_text("utf-8", "replace")
    days = re.findall(r"^\[(\d{4})-(\d\d)-(\d\d) (\d\d:\d\d:\d\d) [A-Z]+\] ", text, re.MULTILINE)  # ChatDev writes the day before the month
    if days:
        return {datetime.fromisoformat(f"{year}-{month}-{day}T{time}") for year, day, month, time in days}
    written = re.findall(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?", text)
    printed = re.findall(r"datetime\.datetime\((\d+, \d+, \d+, \d+, \d+, \d+(?:, \d+)?)", text)
    printed = [parts if parts.count(",") == 6 else f"{parts}, 0" for parts in printed]
    return {datetime.fromisoformat(time.replace(",", ".")) for time in written} | {
        datetime.strptime(parts.rpartition(" ")[0] + parts.rpartition(" ")[2].zfill(6), "%Y, %m, %d, %H, %M, %S,%f")  # noqa: DTZ007 - zones are left out
        for parts in printed
    }
