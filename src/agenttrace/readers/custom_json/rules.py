"""A mapping applied to one trace of a log: items become events, what no rule took is kept aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import ContentPart, Usage
from agenttrace.notes import Notes
from agenttrace.readers.custom_json.items import Item, Path, items_at, left_over, record_of, value_at
from agenttrace.readers.custom_json.mapping_file import AgentRule, AnnotationRule, EventRule, Mapping, Rule, compiled
from agenttrace.times import from_epoch, from_epoch_ns

__all__ = ["fill_trace"]

_STATUS = ("success", "failure", "exception")
_SUBTASK_STATUS = ("created", "in_progress", "completed", "failed", "cancelled")
_ROLES = ("worker", "planner", "critic", "coordinator", "user", "environment", "tool")
_SUBSTANCE = {
    "message": ("content", "receivers", "reasoning"),
    "tool_call": ("tool", "arguments", "result", "error"),
    "tool_result": ("call_id",),
    "artifact": ("artifact_id", "content", "uri"),
    "subtask": ("subtask_id", "goal", "status", "result"),
}
_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_TEXT_META = frozenset(
    {"task_id", "task", "run_id", "session_id", "parent_trace_id", "continues_trace_id"}
    | {"framework_version", "environment_version", "dataset", "difficulty", "failure_reason"}
)


def fill_trace(builder: TraceBuilder, notes: Notes, mapping: Mapping, root: Any, place: Callable[[Path], str]) -> int:
    """Fill a builder from one trace, which is a value, or a list of records. ``place`` names a path in it as ``source_ref``.

    Returns the number of events.
    """
    run = _Run(builder, notes, mapping, root, place)
    run.meta()
    for agent_rule in mapping.agents:
        for item in run.items(agent_rule):
            run.agent(agent_rule, item)
    run.events()
    for annotation_rule in mapping.annotations:
        for item in run.items(annotation_rule):
            run.annotation(annotation_rule, item)
    run.leftovers()
    return run.count


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes, mapping: Mapping, root: Any, place: Callable[[Path], str]) -> None:
        self._builder = builder
        self._notes = notes
        self._mapping = mapping
        self._root = root
        self._place = place
        self._taken: set[Path] = set()
        self._events: dict[Path, str] = {}  # the first event of an item
        self._agents: dict[Path, str] = {}
        self._versions: Counter[str] = Counter()
        self._subtasks: set[str] = set()
        self.count = 0
        self._records: list[Any] = root if isinstance(root, list) else []

    # -- values ------------------------------------------------------------------------------------

    def items(self, rule: Rule) -> Iterable[Item]:
        """The items that a rule is about."""
        for item in items_at(self._root, rule.each):
            if rule.when is None or compiled(rule.when)(self._seen(item)) not in (None, False, "", [], {}):
                yield item

    def _seen(self, item: Item) -> Any:
        """What an expression sees: the item, and beside its keys ``_parent``, ``_root``, ``_index`` and ``_record``."""
        if not isinstance(item.value, dict):
            return item.value
        parents = [parent for parent in item.parents if isinstance(parent, dict)]
        index = item.order[-1] if item.order else 0
        return {
            **item.value,
            "_parent": parents[0] if parents else None,
            "_root": self._root,
            "_index": index,
            "_record": self._place(record_of(item.path)),
        }

    def _value(self, expression: str | None, item: Item, paths: set[Path]) -> Any:
        """The value of an expression on an item; what it reads is taken, where it stands in the value."""
        if expression is None:
            return None
        made = compiled(expression)
        value = made(self._seen(item))
        if value is not None:
            paths |= {(*item.path, *path) for path in made.exact}
            paths |= {(*item.path, *path) for path in made.loose if _stands_in(value_at(item.value, path), value)}
        return value

    def _text(self, expression: str | None, item: Item, paths: set[Path]) -> str | None:
        """The value of an expression as a name; numbers are written, other values are not taken."""
        own: set[Path] = set()
        value = self._value(expression, item, own)
        if isinstance(value, bool) or not isinstance(value, str | int | float) or value == "":
            return None
        paths |= own
        return value if isinstance(value, str) else str(value)

    def _time(self, expression: str | None, item: Item, paths: set[Path]) -> str | None:
        """The value of an expression as a time: a text as it is, a number in the unit of the mapping."""
        own: set[Path] = set()
        value = self._value(expression, item, own)
        time: str | None = None
        if isinstance(value, str) and value:
            time = value
        elif isinstance(value, int) and not isinstance(value, bool):
            time = from_epoch_ns(value * (1_000_000_000 // _UNITS[self._mapping.time_unit]))
            time = time.removesuffix(".000000000Z") + "Z" if time is not None and time.endswith(".000000000Z") else time
        elif isinstance(value, float):
            time = from_epoch(value / _UNITS[self._mapping.time_unit])
        if time is not None:
            paths |= own
        return time

    def _names(self, expression: str | None, item: Item, paths: set[Path]) -> list[str]:
        """The value of an expression as names: one text, or a list of texts."""
        own: set[Path] = set()
        value = self._value(expression, item, own)
        listed = [value] if isinstance(value, str) else value if isinstance(value, list) else []
        names = [name for name in listed if isinstance(name, str) and name]
        if names and len(names) == len(listed):
            paths |= own
            return names
        return []

    # -- the run -----------------------------------------------------------------------------------

    def meta(self) -> None:
        """What the mapping says of the run, and the keys that all records have alike."""
        whole = Item((), (), self._root, ())
        for key, expression in self._mapping.meta.items():
            own: set[Path] = set()
            value: Any = None
            if key in ("start_time", "end_time"):
                value = self._time(expression, whole, own)
            elif key in _TEXT_META:
                value = self._text(expression, whole, own)
            elif key == "success":
                value = self._of_kind(expression, whole, own, bool)
            elif key == "duration_ms":
                value = self._of_kind(expression, whole, own, (int, float))
            else:
                value = self._value(expression, whole, own)
            self._taken |= {path for path in own if path}
            self._builder.meta(**{key: value})
        self._once()

    def _once(self) -> None:
        """Keys that say the same in every record."""
        first = next((record for record in self._records if isinstance(record, dict)), {})
        named = {key: first[key] for key in self._mapping.once if first.get(key) not in (None, "")}
        told = [compiled(expression)(self._root) for expression in self._mapping.meta.values()]
        self._builder.meta(extra={key: value for key, value in named.items() if value not in told})
        self._taken |= {
            (index, key)
            for index, record in enumerate(self._records)
            if isinstance(record, dict)
            for key, value in named.items()
            if record.get(key) == value
        }
        if named and len(self._records) > 1:
            self._notes.add("copy", None, f"{', '.join(named)}: alike in the records, kept once")

    def _of_kind(self, expression: str, item: Item, paths: set[Path], kind: type | tuple[type, ...]) -> Any:
        own: set[Path] = set()
        value = self._value(expression, item, own)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            return None
        paths |= own
        return value

    def agent(self, rule: AgentRule, item: Item) -> None:
        """A member of the team."""
        paths: set[Path] = set()
        agent_id = self._text(rule.agent_id, item, paths)
        if agent_id is None:
            return
        names = ("name", "description", "system_prompt", "model", "version")
        fields: dict[str, Any] = {name: self._text(getattr(rule, name), item, paths) for name in names}
        own: set[Path] = set()
        role = self._text(rule.role, item, own)
        if role in _ROLES:
            fields["role"] = role
            paths |= own
        self._builder.agent(agent_id, **fields)
        self._taken |= paths
        self._agents.setdefault(item.path, agent_id)

    def annotation(self, rule: AnnotationRule, item: Item) -> None:
        """A label, a score or a right answer."""
        paths: set[Path] = set()
        name, value = self._text(rule.name, item, paths), self._value(rule.value, item, paths)
        if name is None or value is None:
            return
        agent_id = self._text(rule.agent_id, item, paths)
        self._builder.annotate(
            name,
            value,
            kind=rule.kind,
            author=rule.author,
            agent_id=self._builder.agent(agent_id) if agent_id is not None else None,
            comment=self._text(rule.comment, item, paths),
            event_id=self._events.get(item.path),
            source_ref=self._place(item.path) or None,
        )
        self._taken |= paths

    # -- events ------------------------------------------------------------------------------------

    def events(self) -> None:
        """All events, in the order of the log; those of one item in the order of the rules."""
        found = [
            (item.order, number, rule, item)
            for number, rule in enumerate(self._mapping.events)
            for item in self.items(rule)
            if item.value is not None and self._says_something(rule, item)
        ]
        self.count = len(found)
        found.sort(key=lambda entry: entry[:2])
        for _, number, rule, item in found:
            paths: set[Path] = set()
            ref = self._place(item.path)
            event_id = self._event(rule, item, paths, ref if item.path not in self._events else f"{ref}/rule:{number}")
            self._taken |= paths
            self._events.setdefault(item.path, event_id)

    def _says_something(self, rule: EventRule, item: Item) -> bool:
        """Whether an item has any of what makes an event of the rule's type; one without is of another kind."""
        stated = [expression for name in _SUBSTANCE[rule.type] if (expression := getattr(rule, name)) is not None]
        return not stated or any(compiled(expression)(self._seen(item)) is not None for expression in stated)

    def _event(self, rule: EventRule, item: Item, paths: set[Path], ref: str) -> str:
        event: dict[str, Any] = {
            "event_id": self._text(rule.event_id, item, paths),
            "timestamp": self._time(rule.timestamp, item, paths),
            "turn_id": self._text(rule.turn_id, item, paths),
            "subtask_id": self._text(rule.subtask_id, item, paths) if rule.type != "subtask" else None,
            "reasoning": self._text(rule.reasoning, item, paths),
            "phase": self._text(rule.phase, item, paths),
            "duration_ms": self._duration(rule, item, paths),
            "usage": self._usage(rule, item, paths),
            "source_ref": ref,
        }
        made = {
            "message": self._message,
            "tool_call": self._call,
            "tool_result": self._result,
            "artifact": self._artifact,
            "subtask": self._subtask,
        }
        return made[rule.type](rule, item, paths, event)

    def _duration(self, rule: EventRule, item: Item, paths: set[Path]) -> float | None:
        if rule.duration_ms is not None:
            stated: float | None = self._of_kind(rule.duration_ms, item, paths, (int, float))
            return stated
        seconds = self._of_kind(rule.duration_s, item, paths, (int, float)) if rule.duration_s is not None else None
        return round(seconds * 1000, 6) if seconds is not None else None

    def _usage(self, rule: EventRule, item: Item, paths: set[Path]) -> Usage | None:
        figures: dict[str, Any] = {}
        for name, expression in rule.usage.items():
            own: set[Path] = set()
            value = self._value(expression, item, own)
            whole = type(value) is int and 0 <= value < 1 << 63
            priced = name == "cost_usd" and isinstance(value, int | float) and not isinstance(value, bool)
            if whole or priced or (name == "model" and isinstance(value, str)):
                figures[name] = value
                paths |= own
        return Usage(**figures) if figures else None

    def _message(self, rule: EventRule, item: Item, paths: set[Path], event: dict[str, Any]) -> str:
        content = self._value(rule.content, item, paths)
        kind = self._text(rule.kind, item, paths)
        return self._builder.message(
            self._text(rule.sender, item, paths) or self._text(rule.agent, item, paths),
            content if content is None or isinstance(content, str) else (ContentPart(kind="data", value=content),),
            receivers=self._names(rule.receivers, item, paths),
            kind=kind or "chat",
            **event,
        )

    def _call(self, rule: EventRule, item: Item, paths: set[Path], event: dict[str, Any]) -> str:
        call_id = self._text(rule.call_id, item, paths)
        arguments = self._value(rule.arguments, item, paths)
        event_id = self._builder.call(
            self._text(rule.caller, item, paths) or self._text(rule.agent, item, paths),
            self._text(rule.tool, item, paths),
            arguments,
            call_id=call_id,
            parse=isinstance(arguments, str) and arguments.lstrip().startswith("{"),  # else the tool takes a text
            executor=self._text(rule.executor, item, paths),
            **event,
        )
        ended = (rule.result, rule.status, rule.failed, rule.error, rule.completed_at)
        if any(expression is not None for expression in ended):
            self._close(call_id if call_id is not None else f"call_{event_id}", rule, item, paths, None)
        return event_id

    def _result(self, rule: EventRule, item: Item, paths: set[Path], event: dict[str, Any]) -> str:
        call_id = self._text(rule.call_id, item, paths)
        if call_id is None:
            self._notes.add("aside", event["source_ref"] or None, "a result that names no call: a message of the log")
            return self._builder.message(None, None, kind="log", **event)
        return self._close(call_id, rule, item, paths, event["source_ref"])

    def _close(self, call_id: str, rule: EventRule, item: Item, paths: set[Path], ref: str | None) -> str:
        own: set[Path] = set()
        status = self._text(rule.status, item, own)
        if status not in _STATUS:
            status, own = None, set()
        if status is None and rule.failed is not None:
            failed = self._value(rule.failed, item, own)
            if isinstance(failed, bool):
                status = "failure" if failed else "success"
            else:
                own = set()
        paths |= own
        completed_at = self._time(rule.completed_at, item, paths)
        if ref is not None and completed_at is None:
            completed_at = self._time(rule.timestamp, item, paths)
        return self._builder.result(
            call_id,
            self._value(rule.result, item, paths),
            status=status,
            error=self._value(rule.error, item, paths),
            completed_at=completed_at,
            executor=self._text(rule.executor, item, paths) if rule.type == "tool_result" else None,
            tool=self._text(rule.tool, item, paths) if rule.type == "tool_result" else None,
            source_ref=ref,
        )

    def _artifact(self, rule: EventRule, item: Item, paths: set[Path], event: dict[str, Any]) -> str:
        artifact_id = self._text(rule.artifact_id, item, paths) or f"artifact:{event['source_ref']}"
        self._versions[artifact_id] += 1
        return self._builder.artifact(
            artifact_id,
            agent=self._text(rule.agent, item, paths),
            version=self._versions[artifact_id],
            name=self._text(rule.name, item, paths),
            media_type=self._text(rule.media_type, item, paths),
            uri=self._text(rule.uri, item, paths),
            content=self._value(rule.content, item, paths),
            event=event,
        )

    def _subtask(self, rule: EventRule, item: Item, paths: set[Path], event: dict[str, Any]) -> str:
        own: set[Path] = set()
        status = self._text(rule.status, item, own)
        paths |= own if status in _SUBTASK_STATUS else set()
        subtask_id = self._text(rule.subtask_id, item, paths) or f"subtask:{event['source_ref']}"
        above: set[Path] = set()
        parent = self._text(rule.parent_task_id, item, above)
        before: set[Path] = set()
        depends_on = self._names(rule.depends_on, item, before)
        known = self._subtasks - {subtask_id}  # only what stands before, so that there are no circles
        self._subtasks.add(subtask_id)
        paths |= (above if parent in known else set()) | (before if known.issuperset(depends_on) else set())
        return self._builder.subtask(
            subtask_id,
            agent=self._text(rule.agent, item, paths),
            assigned_to=tuple(self._names(rule.assigned_to, item, paths)),
            goal=self._text(rule.goal, item, paths),
            status=status if status in _SUBTASK_STATUS else None,
            result=self._value(rule.result, item, paths),
            parent_task_id=parent if parent in known else None,
            depends_on=tuple(depends_on) if known.issuperset(depends_on) else (),
            event=event,
        )

    # -- what is left ------------------------------------------------------------------------------

    def leftovers(self) -> None:
        """What no rule took: in the ``extra`` of the event or agent of an item, of a record, or of the run."""
        owners = {*self._events, *self._agents, *((index,) for index in range(len(self._records)))}
        left_over(self._root, self._taken, owners, self._keep)

    def _keep(self, path: Path, rest: Any) -> None:
        named = rest if isinstance(rest, dict) else {"value": rest}
        place = self._place(path) or None
        if path in self._events:
            self._builder.keep(self._events[path], named)
            self._notes.add("aside", place, f"{', '.join(map(str, named))}, in `extra`"[:200], self._events[path])
        elif path in self._agents:
            self._builder.agent(self._agents[path], extra=named)
            self._notes.add("aside", place, f"{', '.join(map(str, named))}, in the agent's `extra`"[:200])
        elif path or self._records:
            self._builder.extra.setdefault("records", []).append({"source_ref": place, "value": rest})
            self._notes.add("aside", place, "no rule is about it; kept in the trace's `extra`")
        else:
            self._builder.meta(extra=named)
            self._notes.add("aside", place, f"{', '.join(map(str, named))}, in `meta.extra`"[:200])


def _stands_in(part: Any, value: Any) -> bool:
    """Whether all that a part of the log says stands in the value that was made of it."""
    texts = set(_leaves(value))
    joined = "\n".join(text for text in texts if isinstance(text, str))
    return all(leaf in texts or (isinstance(leaf, str) and leaf in joined) or str(leaf) in texts for leaf in _leaves(part))


def _leaves(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
        elif item is not None:
            yield item
