"""The message and tool texts of an AutoGen log, found without the reader: what must stand in standard fields.

Walks the JSON and takes what lies under the keys that hold texts of messages, arguments and
results. Shares no code with ``agenttrace.readers``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TEXT_KEYS = ("content", "arguments", "output", "code", "thought", "text")
# Benchmarks and a run's ending are no messages.
AROUND = ("note", "other_data", "stop_reason", "metadata", "cost", "system_prompt", "problem_statement", "question", "mistake_reason")


def texts(value: Any, holds: bool = False) -> Iterator[str]:
    """Every text under a key that holds texts."""
    if isinstance(value, dict):
        answers = value.get("tool_responses") or ()
        joined = "\n\n".join(str(part.get("content")) for part in answers)
        for key, item in value.items():
            if key in AROUND or (key == "content" and item == joined and len(answers) > 1):
                continue  # AutoGen's own join repeats the responses
            yield from texts(item, holds or key in TEXT_KEYS)
    elif isinstance(value, list):
        if holds and value and all(isinstance(line, str) for line in value):
            yield "\n".join(value)
            return
        for item in value:
            yield from texts(item, holds)
    elif isinstance(value, str) and holds and value.strip():
        yield value


def excerpt(path: Path) -> list[str]:
    """The texts of a file of JSON or JSON lines."""
    content = path.read_text("utf-8")
    try:
        documents = [json.loads(content)]
    except ValueError:
        documents = [json.loads(line) for line in content.splitlines() if line.strip()]
    return [text for document in documents for text in texts(document)]
