"""Code that agents of AgentChat propose and execute: the blocks of a generation become the arguments of the execution behind it."""

from __future__ import annotations

from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.notes import Notes
from agenttrace.readers.autogen.records import Record, metadata_of

__all__ = ["CodeRuns"]


class CodeRuns:
    """The code blocks of each source that wait for their execution, and the event they stand in."""

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._waiting: dict[str | None, tuple[str, Any]] = {}

    def propose(self, source: str | None, event_id: str, blocks: Any) -> None:
        """Code blocks that a message proposes."""
        self._keep(source)
        if blocks:
            self._waiting[source] = (event_id, blocks)

    def execute(self, source: str | None, record: Record, ref: str, event: dict[str, Any]) -> str:
        """The execution of the blocks that wait; ``event`` holds the fields of the event. Returns the event's id."""
        _, blocks = self._waiting.pop(source, ("", None))
        result, attempt = record.get("result"), record.get("retry_attempt")
        aside = {"metadata": metadata_of(record)} if record.get("metadata") else {}
        if record.get("content") is not None:
            aside["content"] = record["content"]
        if aside:
            event["extra"] = {**(event.get("extra") or {}), **aside}
            self._notes.add("aside", ref, f"{', '.join(aside)}, in `extra`")
        completed_at = event.pop("timestamp", None)
        event_id = self._builder.call(
            source,
            "code_execution",
            {"code_blocks": blocks} if blocks else None,
            executor=source,
            attempt=attempt if type(attempt) is int else None,
            **event,
        )
        code = result.get("exit_code") if isinstance(result, dict) else None
        status = None if not isinstance(code, int) else "success" if code == 0 else "failure"
        self._builder.result(f"call_{event_id}", result, status=status, completed_at=completed_at)
        return event_id

    def close(self) -> None:
        """Say which blocks were never executed."""
        for source in list(self._waiting):
            self._keep(source)

    def _keep(self, source: str | None) -> None:
        """Code blocks that were never executed stay with the message that proposed them."""
        event_id, blocks = self._waiting.pop(source, ("", None))
        if blocks:
            self._builder.keep(event_id, {"code_blocks": blocks})
            self._notes.add("aside", None, "code_blocks without an execution, in `extra`", event_id)
