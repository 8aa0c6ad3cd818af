"""What has been said in a conversation of AgentChat, so that records which repeat it are known."""

from __future__ import annotations

from typing import Any

from agenttrace.readers.autogen.records import Record

__all__ = ["Heard"]


class Heard:
    """The texts, and the calls and results by their ids."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: dict[str, Record] = {}
        self.results: dict[str, Record] = {}

    def repeats(self, context: Any) -> bool:
        """Whether the messages of a handed-over context hold nothing but known calls, results and texts."""
        if not isinstance(context, list):
            return False
        texts = set(self.texts)
        for message in context:
            content = message.get("content") if isinstance(message, dict) else None
            thought = message.get("thought") if isinstance(message, dict) else None
            if thought and thought not in texts:
                return False
            if isinstance(content, str) and content in texts:
                continue
            if not isinstance(content, list) or not self.knows(content):
                return False
        return True

    def knows(self, items: Any) -> bool:
        """Whether calls and results are those that their ids had before, word for word."""
        if not isinstance(items, list | tuple):
            return False
        for item in items:
            name = item.get("call_id", item.get("id")) if isinstance(item, dict) else None
            if not isinstance(name, str) or item not in (self.calls.get(name), self.results.get(name)):
                return False
        return True
