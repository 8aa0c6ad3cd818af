"""The mapping file: where in a JSON log the traces, agents and events are. TOML or YAML, expressions in JMESPath.

The file is data: expressions pick and compare values, they run nothing. Every one is compiled when the file is
read, so that a slip is told with its place before any log is opened.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from agenttrace.errors import MissingExtra, UsageError
from agenttrace.model import TraceMeta

if TYPE_CHECKING:
    import jmespath.parser

__all__ = ["AgentRule", "AnnotationRule", "Compiled", "EventRule", "Mapping", "compiled", "load_mapping", "parse_mapping"]

_PATH = re.compile(r"(?:[A-Za-z_][\w-]*|\"[^\"]+\")?(?:\[\])*(?:\.(?:[A-Za-z_][\w-]*|\"[^\"]+\")(?:\[\])*)*")
_LARGEST = 1 << 20

Expression = str
"""A JMESPath expression, evaluated on an item. ``'text'`` is the text itself."""

Path_ = str
"""A path to items: keys with dots between them, ``[]`` for each member of a list; empty for the whole."""


class Rule(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What all rules share: the items they are about, and for which of them they hold."""

    each: Path_ = ""
    when: Expression | None = None


class AgentRule(Rule, frozen=True):
    """Where the members of the team are described."""

    agent_id: Expression
    name: Expression | None = None
    role: Expression | None = None
    description: Expression | None = None
    system_prompt: Expression | None = None
    model: Expression | None = None
    version: Expression | None = None


class AnnotationRule(Rule, frozen=True):
    """Where labels, scores and right answers are."""

    name: Expression
    value: Expression
    kind: Literal["label", "score", "metric", "ground_truth"] = "label"
    author: Literal["human", "model", "program"] | None = None
    agent_id: Expression | None = None
    comment: Expression | None = None


class EventRule(Rule, frozen=True):
    """What becomes an event: its type, and for each field where the value is."""

    type: Literal["message", "tool_call", "tool_result", "artifact", "subtask"]
    # of every event
    event_id: Expression | None = None
    timestamp: Expression | None = None
    turn_id: Expression | None = None
    subtask_id: Expression | None = None
    reasoning: Expression | None = None
    phase: Expression | None = None
    duration_ms: Expression | None = None
    duration_s: Expression | None = None
    usage: dict[str, Expression] = {}
    agent: Expression | None = None
    # of a message
    sender: Expression | None = None
    receivers: Expression | None = None
    content: Expression | None = None
    kind: Expression | None = None
    # of a call, of its result
    caller: Expression | None = None
    executor: Expression | None = None
    tool: Expression | None = None
    arguments: Expression | None = None
    call_id: Expression | None = None
    result: Expression | None = None
    status: Expression | None = None
    failed: Expression | None = None
    error: Expression | None = None
    completed_at: Expression | None = None
    # of an artifact
    artifact_id: Expression | None = None
    name: Expression | None = None
    media_type: Expression | None = None
    uri: Expression | None = None
    # of a subtask
    goal: Expression | None = None
    assigned_to: Expression | None = None
    parent_task_id: Expression | None = None
    depends_on: Expression | None = None


class Mapping(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A whole mapping.

    Attributes:
        name: what the logs are called; the variant in ``meta.source``.
        traces: in a document the path to the traces; empty where it is one trace.
        group_by: of records: what those of one trace have in common. None: all records of a file are one trace.
        split: ``file`` or ``record``: whether each record (a line, or a member of a list) is a trace of its own.
        time_unit: of times that are numbers.
        once: keys that say the same in every record; kept once, by the first.
        meta: field of TraceMeta -> expression on the trace (a list of records, where there are records).
    """

    name: str
    mapping_version: Literal[1] = 1
    traces: Path_ = ""
    group_by: Expression | None = None
    split: Literal["file", "record"] = "file"
    time_unit: Literal["s", "ms", "us", "ns"] = "s"
    once: list[str] = []
    meta: dict[str, Expression] = {}
    agents: list[AgentRule] = []
    events: list[EventRule]
    annotations: list[AnnotationRule] = []


_META = frozenset(TraceMeta.__struct_fields__) - {"framework", "usage", "source", "annotations", "extra"}
_USAGE = frozenset({"prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cache_write_tokens", "reasoning_tokens"})
_USAGE_FIELDS = _USAGE | {"cost_usd", "model"}
_PATHS = ("each", "traces")
_PLAIN = ("name", "type", "mapping_version", "split", "time_unit")


def load_mapping(path: Path | str) -> Mapping:
    """The mapping in a TOML or YAML file.

    Raises:
        UsageError: the file is not there or not readable, or says something that a mapping has no place for.
        MissingExtra: YAML without PyYAML, or no jmespath.
    """
    where = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError("usage", where, None, error.strerror or str(error), "name a mapping file") from None
    if len(data) > _LARGEST:
        raise UsageError("usage", where, None, "larger than 1 MiB, which no mapping is", "name a mapping file")
    return parse_mapping(data, where)


def parse_mapping(data: bytes, where: str) -> Mapping:
    """The mapping in the bytes of a file whose name is ``where``. Raises like :func:`load_mapping`."""
    try:
        mapping = msgspec.convert(_parsed(data, where), Mapping)
    except (ValueError, RecursionError) as error:  # no UTF-8, TOML or YAML; or msgspec's ValidationError
        raise _fault(where, None, str(error)) from None
    for place, problem in _problems(mapping):
        raise _fault(where, place, problem)
    return mapping


def _fault(where: str, place: str | None, reason: str) -> UsageError:
    return UsageError("usage", where, place, " ".join(reason.split())[:300], "see docs/howto/map-your-own-log.md")


def _parsed(data: bytes, where: str) -> Any:
    text = data.decode("utf-8-sig")
    if not where.lower().endswith((".yaml", ".yml")):
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueError(f"no TOML: {error}") from None
    try:
        import yaml  # noqa: PLC0415 - an extra
    except ImportError:
        hint = "pip install 'agenttrace-suite[mapping]', or use TOML"
        raise MissingExtra("missing_extra", where, None, "YAML needs PyYAML", hint) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"no YAML: {error}") from None


def _problems(mapping: Mapping) -> Iterator[tuple[str, str]]:
    """What is wrong in a mapping, with its place."""
    if not mapping.events:
        yield "events", "no rule says what an event is"
    for key in mapping.meta:
        if key not in _META:
            yield f"meta.{key}", f"TraceMeta has no such field; it has {', '.join(sorted(_META))}"
    for place, key, text in _stated(mapping):
        if key in _PATHS:
            if not _PATH.fullmatch(text):
                yield place, f"{text!r} is no path: keys with dots between them, [] for each member of a list"
            continue
        try:
            compiled(text)
        except ValueError as error:
            yield place, f"no JMESPath: {' '.join(str(error).split())}"[:300]
    for number, rule in enumerate(mapping.events):
        for field in rule.usage:
            if field not in _USAGE_FIELDS:
                yield f"events[{number}].usage.{field}", f"Usage has no such field; it has {', '.join(sorted(_USAGE_FIELDS))}"
        needed = {"artifact": "artifact_id", "subtask": "subtask_id", "tool_result": "call_id"}.get(rule.type)
        if needed is not None and getattr(rule, needed) is None:
            yield f"events[{number}]", f"a rule for {rule.type} says where {needed} is"


def _stated(mapping: Mapping) -> Iterator[tuple[str, str, str]]:
    """Every expression and path of a mapping: its place, its key, its text."""
    stack: list[tuple[str, Any]] = [("", msgspec.to_builtins(mapping))]
    while stack:
        place, value = stack.pop()
        for key, item in value.items():
            here = f"{place}.{key}" if place else key
            if key == "once" or item is None:
                continue
            if isinstance(item, dict):
                stack.append((here, item))
            elif isinstance(item, list):
                stack += [(f"{here}[{number}]", part) for number, part in enumerate(item)]
            elif isinstance(item, str) and not _is_plain(place, key):
                yield here, key, item


def _is_plain(place: str, key: str) -> bool:
    """Whether a text of a mapping is a word, no expression."""
    if not place or key == "type":
        return key in _PLAIN
    return place.startswith("annotations") and key in ("kind", "author")


class Compiled:
    """An expression, and which parts of an item it reads.

    Attributes:
        exact: paths of keys whose whole values it gives.
        loose: paths of keys of which it gives a part, or something made of it.
    """

    def __init__(self, text: str) -> None:
        try:
            import jmespath  # noqa: PLC0415 - an extra
        except ImportError:
            hint = "pip install 'agenttrace-suite[mapping]'"
            raise MissingExtra("missing_extra", None, None, "mappings need jmespath", hint) from None
        try:
            self._parsed: jmespath.parser.ParsedResult = jmespath.compile(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        self._error = jmespath.exceptions.JMESPathError
        self.exact: set[tuple[str, ...]] = set()
        self.loose: set[tuple[str, ...]] = set()
        self._read(self._parsed.parsed, plain=True)

    def __call__(self, item: Any) -> Any:
        """Its value on an item; None where it has none, or fails on what is there."""
        try:
            return self._parsed.search(item)
        except (self._error, RecursionError, TypeError, ValueError, AttributeError, OverflowError):
            return None

    def _read(self, node: Any, *, plain: bool) -> None:
        path = _keys(node)
        if path is not None:
            (self.exact if plain else self.loose).add(path)
            return
        kind = node["type"]
        either = kind in ("or_expression", "multi_select_list", "multi_select_dict", "key_val_pair")
        head = _head(node)
        if head is not None:
            self.loose.add(head)
        for child in node["children"] if head is None else ():
            self._read(child, plain=plain and either)


def _keys(node: Any) -> tuple[str, ...] | None:
    """The keys of a plain path ``a.b.c``; ``@`` is the empty one."""
    if node["type"] == "field":
        return (node["value"],)
    if node["type"] in ("current", "identity"):
        return ()
    if node["type"] == "subexpression":
        parts = [_keys(child) for child in node["children"]]
        return None if None in parts else tuple(key for part in parts if part for key in part)
    return None


def _head(node: Any) -> tuple[str, ...] | None:
    """The plain path with which a path of lists, indices and filters begins."""
    found: tuple[str, ...] | None = None
    while node["type"] in ("subexpression", "index_expression", "projection", "filter_projection", "value_projection", "flatten"):
        node = node["children"][0]
        found = _keys(node)
        if found is not None:
            return found
    return found


_COMPILED: dict[str, Compiled] = {}


def compiled(text: str) -> Compiled:
    """The compiled form of an expression. Raises ValueError for one that is none."""
    if text not in _COMPILED:
        _COMPILED[text] = Compiled(text)
    return _COMPILED[text]
