"""A workflow of ChatDev 2.0 (DevAll): ``execution_logs.json``.

Facts from ``utils/logger.py`` and ``utils/log_manager.py`` of OpenBMB/ChatDev: the file is ``{workflow_id, start_time,
logs, summary}``; a log is ``{timestamp, level, node_id, event_type, message, details, execution_path, duration}``
with the duration in seconds. A node is an agent, a person or a program; ``EDGE_PROCESS`` says which node comes next.
``MODEL_CALL`` and ``TOOL_CALL`` stand once or twice, with ``stage`` before and after.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import ContentPart
from agenttrace.notes import Notes

__all__ = ["fill_workflow", "is_workflow"]

Item = dict[str, Any]

_HUMAN = "Human"
_FAILED = ("ERROR", "CRITICAL")
_MAPPED = frozenset({"timestamp", "node_id", "event_type", "message", "details"})


def is_workflow(value: Any) -> bool:
    """Whether a JSON value is the log of a workflow."""
    if not isinstance(value, dict) or "workflow_id" not in value or not isinstance(value.get("logs"), list):
        return False
    return all(isinstance(item, dict) and {"event_type", "details", "execution_path"} <= item.keys() for item in value["logs"][:20])


def fill_workflow(builder: TraceBuilder, notes: Notes, value: Item) -> None:
    """Fill a builder from the log of a workflow."""
    identity, start = value.get("workflow_id"), value.get("start_time")
    rest = {key: item for key, item in value.items() if key not in ("workflow_id", "start_time", "logs") and item is not None}
    if start is not None and not isinstance(start, str):
        rest["start_time"] = start
    builder.meta(run_id=str(identity) if identity is not None else None, start_time=start if isinstance(start, str) else None, extra=rest)
    for key in rest:
        notes.add("aside", f"/{key}", "kept in `meta.extra`")
    run = _Workflow(builder, notes)
    for place, item in enumerate(value["logs"]):
        if isinstance(item, dict):
            run.add(item, f"/logs/{place}")
        else:
            builder.extra.setdefault("records", []).append({"source_ref": f"/logs/{place}", "value": item})
            notes.add("aside", f"/logs/{place}", "no log entry; kept whole in the trace's `extra`")
    builder.count_types(run.kinds)


class _Workflow:
    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._runs: Counter[str] = Counter()  # how often a node began
        self._open_nodes: set[str] = set()
        self._ended: dict[str, str] = {}  # node -> event of its last end
        self._before: dict[str, list[str]] = {}  # node -> events that its next start follows
        self._open_calls: dict[tuple[str | None, str], list[str]] = {}
        self._asked: set[str] = set()
        self.kinds: Counter[str] = Counter()
        self._handlers: dict[str, Callable[[Item, str, str], bool]] = {
            "NODE_START": self._node_start,
            "NODE_END": self._node_end,
            "EDGE_PROCESS": self._edge,
            "MODEL_CALL": self._model,
            "TOOL_CALL": self._tool,
            "HUMAN_INTERACTION": self._human,
        }

    def add(self, item: Item, ref: str) -> None:
        """Add an entry."""
        kind, node = item.get("event_type"), item.get("node_id")
        kind = kind.rpartition(".")[2].upper() if isinstance(kind, str) else ""
        self.kinds[kind or "none"] += 1
        handler = self._handlers.get(kind)
        details = item.get("details")
        if handler is None or not isinstance(node, str) or not node or not isinstance(details, dict) or not handler(item, node, ref):
            self._log(item, node if isinstance(node, str) and node else None, ref)
        if kind == "WORKFLOW_END" and isinstance(details, dict) and isinstance(details.get("success"), bool):
            self._builder.meta(success=details["success"])

    # -- entries: True when the entry has been taken -----------------------------------------

    def _node_start(self, item: Item, node: str, ref: str) -> bool:
        """A node begins: a subtask that is assigned to it."""
        self._runs[node] += 1
        self._open_nodes.add(node)
        self._agent(node, item["details"])
        event_id = self._builder.subtask(
            self._subtask(node),
            agent=node,
            assigned_to=(node,),
            status="created",
            event=self._event(item, ref, {key: value for key, value in item["details"].items() if key != "node_type"}),
        )
        for source in dict.fromkeys(self._before.pop(node, ())):
            self._builder.link(source, event_id, "reads", evidence="an edge of the workflow")
        return True

    def _node_end(self, item: Item, node: str, ref: str) -> bool:
        """A node ends with its output."""
        self._agent(node, {})
        self._runs[node] = max(1, self._runs[node])
        rest = {key: value for key, value in item["details"].items() if key != "output"}
        self._open_nodes.discard(node)
        self._ended[node] = self._builder.subtask(
            self._subtask(node), agent=node, status="completed", result=item["details"].get("output"), event=self._event(item, ref, rest)
        )
        return True

    def _edge(self, item: Item, node: str, ref: str) -> bool:
        """What a node gave goes to the next one."""
        to_node = item["details"].get("to_node")
        if not isinstance(to_node, str) or not to_node:
            return False
        rest = {key: value for key, value in item["details"].items() if key != "to_node"}
        event_id = self._message(node, None, item, ref, rest, kind="handoff", receivers=[to_node])
        if node in self._ended:
            self._builder.link(self._ended[node], event_id, "reads", evidence="an edge of the workflow")
        self._before.setdefault(to_node, []).append(event_id)
        return True

    def _model(self, item: Item, node: str, ref: str) -> bool:
        """What a model was asked, or what it answered."""
        details = item["details"]
        model = details.get("model_name")
        self._builder.agent(node, model=model if isinstance(model, str) else None)
        named = ("model_name",) if model is None or isinstance(model, str) else ()
        rest = {key: value for key, value in details.items() if key not in (*named, "input_data", "output")}
        if details.get("output") is None:
            self._message(node, details.get("input_data"), item, ref, rest, kind="log")
            return True
        if details.get("input_data") is not None:
            self._message(node, details["input_data"], item, f"{ref}/details/input_data", {}, kind="log")
        self._message(node, details["output"], item, ref, rest)
        return True

    def _tool(self, item: Item, node: str, ref: str) -> bool:
        """A call, its result, or both in one entry."""
        details = item["details"]
        name, success = details.get("tool_name"), details.get("success")
        tool = name if isinstance(name, str) and name else None
        before = str(details.get("stage", "")).lower() == "before"
        waiting = self._open_calls.setdefault((node, tool or ""), [])
        odd = {key for key, kind in (("tool_name", str), ("success", bool)) if not isinstance(details.get(key), kind)}
        rest = {key: value for key, value in details.items() if key not in {"tool_name", "arguments", "tool_result", "success"} - odd}
        event = self._event(item, ref, rest)
        begins = before or not waiting
        if begins:
            call_id = f"call:{ref}"
            self._builder.call(node, tool, details.get("arguments"), call_id=call_id, executor=node, **event)
            self._notes.add("made_up", ref, f"tool_call_id {call_id}")
            waiting.append(call_id)
        if before:
            return True
        status = ("success" if success else "failure") if isinstance(success, bool) else None
        error = details.get("error") if success is False else None
        told = event["extra"] or {}
        after = {f"after.{key}": value for key, value in told.items() if value != error}
        self._builder.result(
            waiting.pop(0),
            details.get("tool_result"),
            status=status,
            error=error,
            completed_at=event["timestamp"],
            caller=node,
            source_ref=ref,
            extra=None if begins else after,
        )
        return True

    def _human(self, item: Item, node: str, ref: str) -> bool:
        """What a person was asked, and said."""
        details = item["details"]
        self._builder.agent(_HUMAN, role="user")
        rest = {key: value for key, value in details.items() if key not in ("input_data", "output")}
        if details.get("input_data") is not None:
            self._message(node, details["input_data"], item, f"{ref}/details/input_data", {}, receivers=[_HUMAN])
        self._message(_HUMAN, details.get("output"), item, ref, rest, receivers=[node])
        return True

    # -- events ------------------------------------------------------------------------------

    def _agent(self, node: str, details: Item) -> None:
        kind = details.get("node_type")
        self._builder.agent(node, config={"node_type": kind} if kind is not None else None)

    def _subtask(self, node: str) -> str:
        return node if self._runs[node] <= 1 else f"{node}#{self._runs[node]}"

    def _event(self, item: Item, ref: str, rest: Item) -> Item:
        """The fields of an event, with what no field has in ``extra``."""
        extra = {key: value for key, value in item.items() if key not in _MAPPED and value not in (None, [], "")}
        message = item.get("message")
        extra |= {"message": message} if message else {}
        for key in ("timestamp", "node_id", "event_type"):
            if item.get(key) is not None and not isinstance(item[key], str):
                extra[key] = item[key]
        extra |= {f"details.{key}": value for key, value in rest.items() if value not in (None, "")}
        time, node = item.get("timestamp"), item.get("node_id")
        self._builder.inside = self._subtask(node) if isinstance(node, str) and node in self._open_nodes else None
        return {"timestamp": time if isinstance(time, str) else None, "source_ref": ref, "extra": extra or None}

    def _message(self, sender: str | None, content: Any, item: Item, ref: str, rest: Item, **fields: Any) -> str:
        text = content if content is None or isinstance(content, str) else (ContentPart(kind="data", value=content),)
        return self._builder.message(sender, text, **fields, **self._event(item, ref, rest))

    def _log(self, item: Item, node: str | None, ref: str) -> None:
        level = str(item.get("level")).rpartition(".")[2]
        details = item.get("details")
        rest = details if isinstance(details, dict) else {"value": details}
        event = self._event({**item, "message": None}, ref, rest)
        kind = item.get("event_type")
        if isinstance(kind, str) and kind:
            event["extra"] = {**(event["extra"] or {}), "event_type": kind}
        message = item.get("message")
        text = message if message is None or isinstance(message, str) else str(message)
        self._builder.message(node, text, kind="error" if level in _FAILED else "log", **event)
