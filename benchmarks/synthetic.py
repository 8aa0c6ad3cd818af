"""Synthetic AgentChat logs of any size: about 1.4 kB an event, the mix that real teams show. Seeded: same bytes each time."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

__all__ = ["agentchat_log"]

_WORDS = [
    "the",
    "report",
    "shows",
    "that",
    "stock",
    "orders",
    "from",
    "Lyon",
    "and",
    "Zürich",
    "were",
    "late",
    "because",
    "two",
    "suppliers",
    "changed",
    "their",
    "schedule",
    "while",
    "our",
    "agent",
    "waited",
    "for",
    "a",
    "confirmation",
    "of",
    "the",
    "invoice",
    "total",
    "which",
    "differs",
    "by",
    "a",
    "rounding",
    "step",
    "in",
    "column",
    "seven",
    "of",
    "the",
    "table",
    "please",
    "check",
    "whether",
    "the",
    "query",
    "returns",
    "every",
    "row",
    "and",
    "compare",
    "it",
    "with",
    "the",
    "archive",
    "before",
    "the",
    "summary",
    "goes",
    "out",
    "to",
    "the",
    "team",
]


class _Log:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._time = datetime(2026, 1, 5, 9, tzinfo=UTC)
        self.messages: list[dict[str, Any]] = []
        self._calls = 0

    def text(self, mean: int) -> str:
        count = max(8, int(self._random.expovariate(1 / mean)))
        words = self._random.choices(_WORDS, k=count)
        return " ".join(words) + (" — ✓\n" if count % 3 == 0 else ".\n")

    def add(self, kind: str, source: str, content: Any, *, model: bool = False, **rest: Any) -> None:
        self._time += timedelta(milliseconds=self._random.randrange(20, 4000))
        usage = {"prompt_tokens": self._random.randrange(200, 9000), "completion_tokens": self._random.randrange(5, 800)}
        self.messages.append(
            {
                "id": f"{self._random.getrandbits(128):032x}",
                "source": source,
                "models_usage": usage if model else None,
                "metadata": {},
                "created_at": self._time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
                "content": content,
                **rest,
                "type": kind,
            }
        )

    def tool_round(self, agent: str) -> None:
        """A request with one or two calls, and the execution: as many events as calls."""
        calls = []
        results = []
        for _ in range(self._random.choice((1, 1, 2))):
            self._calls += 1
            call_id = f"call_{self._calls:06d}"
            arguments = json.dumps({"query": self.text(12), "limit": self._random.randrange(500)})
            calls.append({"id": call_id, "arguments": arguments, "name": self._random.choice(("search", "run_sql", "read_file"))})
            failed = self._random.random() < 0.1
            results.append({"content": self.text(190), "name": calls[-1]["name"], "call_id": call_id, "is_error": failed})
        self.add("ToolCallRequestEvent", agent, calls, model=True)
        self.add("ToolCallExecutionEvent", agent, results)


def agentchat_log(events: int, seed: int = 7) -> bytes:
    """A ``TaskResult`` as JSON whose trace has about ``events`` events."""
    log = _Log(seed)
    agents = ("planner", "analyst", "coder", "reviewer")
    log.add("TextMessage", "user", log.text(60))
    made = 1
    while made < events:
        agent = agents[made % len(agents)]
        if made % 5 < 2:
            before = log._calls
            log.tool_round(agent)
            made += log._calls - before
        else:
            log.add("TextMessage", agent, log.text(190), model=True)
            made += 1
    return json.dumps({"messages": log.messages, "stop_reason": "Maximum number of messages reached"}, ensure_ascii=False).encode()
