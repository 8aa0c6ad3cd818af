"""A first mapping for a log, from the shapes in a sample of it: what to edit, not what to trust."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["propose"]

_DEEPEST = 6
_SAMPLE = 200
_KINDS = 12  # different words that a key may hold and still tell kinds of items apart
_SENDERS = ("sender", "source", "from", "speaker", "agent", "agent_name", "agent_id", "author", "name", "role", "from_agent")
_CONTENTS = ("content", "text", "message", "body", "utterance", "says", "said", "response", "output", "observation", "thought")
_RECEIVERS = ("receiver", "receivers", "recipient", "recipients", "to", "target", "to_agent", "addressed_to", "addressee")
_TIMES = ("timestamp", "time", "created_at", "ts", "date", "datetime", "start_time", "at")
_IDS = ("event_id", "message_id", "id", "uuid")
_TOOLS = ("tool", "tool_name", "function", "function_name", "action_name")
_ARGUMENTS = ("arguments", "args", "parameters", "params", "input", "tool_input", "action_input", "kwargs")
_RESULTS = ("result", "output", "observation", "tool_output", "response", "returned")
_STEPS = ("action", "observation")  # of an agent that acts by text: what it did, and what came back
_CALL_IDS = ("call_id", "tool_call_id", "id")
_CALLS_NAMED = ("source_call_id", "tool_call_id", "call_id", "tool_use_id")  # by a result
_ERRORS = ("error", "exception", "error_message")
_FAILED = ("is_error", "failed")
_WORKED = ("ok", "success", "succeeded")
_SOLVED = ("success", "succeeded", "solved", "correct", "is_correct", "passed")
_SCORES = ("score", "rating", "reward", "grade", "label")
_VERSIONS = ("schema", "version", "schema_version")
_OF_AGENTS = (
    ("name", ("name", "display_name")),
    ("role", ("role",)),
    ("description", ("description", "job", "profile", "persona", "bio", "goal")),
    ("system_prompt", ("system_prompt", "system_message", "instructions")),
    ("model", ("model", "llm", "model_name")),
    ("version", ("version",)),
)
_TASKS = ("task", "question", "problem", "prompt", "instruction", "goal", "query", "topic", "title", "subject")
_RUNS = ("run_id", "trace_id", "session_id", "conversation_id", "episode_id", "trajectory_id", "chat_id", "id")
_NUMBERS = (
    ("duration_s", ("latency_s", "duration_s", "duration_sec", "duration_seconds", "elapsed_s", "seconds")),
    ("duration_ms", ("latency_ms", "duration_ms", "elapsed_ms")),
    ("usage.prompt_tokens", ("prompt_tokens", "input_tokens", "tokens_in")),
    ("usage.completion_tokens", ("completion_tokens", "output_tokens", "tokens_out")),
    ("usage.total_tokens", ("total_tokens", "tokens", "num_tokens")),
    ("usage.cached_tokens", ("cached_tokens", "cache_read_input_tokens")),
    ("usage.cost_usd", ("cost_usd",)),
)
_REASONING = ("thought", "reasoning", "reasoning_content", "thinking", "rationale")
_PHASES = ("phase", "stage", "action")
_KIND_KEYS = ("type", "kind", "event", "event_type", "step_type", "category", "action")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class _Listed(NamedTuple):
    """Items of one shape: the path to them, and the keys that they have, with how many have a value there."""

    path: str
    items: list[dict[str, Any]]
    keys: Counter[str]


def propose(name: str, root: Any) -> str:
    """The text of a TOML mapping for a value of a log: a document, or the list of its records."""
    listed = sorted(_lists(root), key=_worth, reverse=True)
    lines = [
        "# Proposed from the shapes in a sample of the log. Read it, mend it, and see what it leaves aside:",
        "#   agenttrace mapping check LOG THIS_FILE",
        "# Values are JMESPath expressions on an item; 'text' in single quotes is the text itself.",
        "",
        f"name = {_quoted(name)}",
    ]
    best = listed[0] if listed else None
    outer, inner = _outer(best, root)
    if outer == "[]":
        lines.append('split = "record"')
    elif outer:
        lines.append(f"traces = {_quoted(outer)}")
    whole = _first(root, outer) if outer else root
    constant = _constant(best.items) if best is not None and best.path == "[]" else []
    lines += _time_unit(best.items if best is not None else [])
    if constant:
        lines.append(f"once = [{', '.join(_quoted(key) for key in constant)}]")
    lines += ["", "[meta]", *_meta(whole, constant)]
    if best is None:
        lines += [
            "",
            "# No list of objects was found: say where the items are.",
            "[[events]]",
            'each = ""',
            'type = "message"',
            'content = "@"',
        ]
        return "\n".join(lines) + "\n"
    rules_for_agents = _agents(whole)
    lines += _others(listed[1:], best, rules_for_agents)
    for rules in (rules_for_agents, _rules(inner, best.items), *_nested(inner, best.items), _scores(whole)):
        lines += rules
    return "\n".join(lines) + "\n"


# -- finding items -----------------------------------------------------------------------------


def _lists(root: Any) -> Iterator[_Listed]:
    """Every list of objects, those at one path as one."""
    found: dict[str, list[dict[str, Any]]] = {}
    waiting: list[tuple[str, Any, int]] = [("", root, 0)]
    while waiting:
        path, value, depth = waiting.pop(0)
        if depth > _DEEPEST:
            continue
        if isinstance(value, dict):
            waiting += [(f"{path}.{_key(key)}".lstrip("."), item, depth + 1) for key, item in value.items() if key and '"' not in key]
        elif isinstance(value, list):
            members = [item for item in value[:_SAMPLE] if isinstance(item, dict)]
            if members:
                found.setdefault(f"{path}[]", []).extend(members)
                waiting += [(f"{path}[]", item, depth + 1) for item in members]
    for path, items in found.items():
        yield _Listed(path, items, Counter(key for item in items for key, value in item.items() if value not in (None, "")))


def _outer(best: _Listed | None, root: Any) -> tuple[str, str]:
    """The path to the traces, empty where all is one, and the path to the items within a trace."""
    if best is None or best.path.count("[]") < 2:
        return "", best.path if best is not None else ""
    before, _, inner = best.path.rpartition("[].")
    outer = f"{before}[]"
    if outer.startswith("[]"):  # records: traces of their own, or events of one
        keys = [key for record in root if isinstance(record, dict) for key in record]
        one = outer != "[]" or _pick(keys, (*_TIMES, *_KIND_KEYS, *_SENDERS[:-2]))
        return ("", best.path) if one else (outer, inner)
    return outer, inner


def _worth(listed: _Listed) -> tuple[int, int]:
    """How much a list looks like one of events: what it has of a message or a call, then how long it is."""
    groups = (_SENDERS, _CONTENTS, _TIMES, _TOOLS, _ARGUMENTS, _RECEIVERS)
    named = sum(any(key in listed.keys for key in group) for group in groups)
    texts = any(isinstance(item.get(key), str) for item in listed.items[:_SAMPLE] for key in _CONTENTS)
    steps = all(key in listed.keys for key in _STEPS)
    return (2 * texts + 2 * steps + named - listed.path.count("[]"), len(listed.items))


def _first(root: Any, path: str) -> Any:
    value = root
    for step in path.split("."):
        key, _, _ = step.partition("[]")
        value = value.get(key.strip('"')) if isinstance(value, dict) and key else value
        if step.endswith("[]"):
            value = value[0] if isinstance(value, list) and value else None
    return value


def _constant(items: list[dict[str, Any]]) -> list[str]:
    """Keys that say the same in the records: what was asked in most of them, other words in all."""
    if len(items) < 2:
        return []
    found = []
    for key, value in items[0].items():
        same = sum(item.get(key) == value for item in items)
        asked = key.lower() in _TASKS and isinstance(value, str) and 2 * same > len(items)
        word = (isinstance(value, str) and value and key.lower() not in (*_SENDERS, *_CONTENTS)) or key.lower() in _VERSIONS
        if asked or (word and same == len(items)):
            found.append(key)
    return found


def _time_unit(items: list[dict[str, Any]]) -> list[str]:
    """The unit of times that are numbers, by their size."""
    times = [
        item[key] for item in items for key in _pick(item, _TIMES) if isinstance(item[key], int | float) and not isinstance(item[key], bool)
    ]
    if not times:
        return []
    unit = next((unit for unit, least in (("ns", 1e17), ("us", 1e14), ("ms", 1e11)) if times[0] > least), None)
    return [f"time_unit = {_quoted(unit)}"] if unit is not None else []


def _others(listed: list[_Listed], best: _Listed, rules: list[str]) -> list[str]:
    """Remarks that name the lists that no rule was proposed for, since somebody may know them better."""
    others = [other for other in listed if not other.path.startswith(best.path) and f"each = {_quoted(other.path)}" not in rules]
    named = [f"{other.path} ({', '.join(list(other.keys)[:6])})" for other in others]
    return ["", *(f"# Also a list of objects: {name}" for name in named[:5] if name.isprintable())] if named else []


# -- writing rules ------------------------------------------------------------------------------


def _meta(whole: Any, constant: list[str]) -> list[str]:
    facts, prefix = (whole[0], "[0].") if isinstance(whole, list) and whole and isinstance(whole[0], dict) else (whole, "")
    if not isinstance(facts, dict):
        return ["# task = …"]
    usable = [key for key, value in facts.items() if isinstance(value, str | int) and (not prefix or key in constant)]
    lines = [f"task = {_quoted(prefix + _key(key))}" for key in _pick(usable, _TASKS)]
    lines += [
        f"run_id = {_quoted(prefix + _key(key))}" for key in _pick([key for key in usable if key not in _pick(usable, _TASKS)], _RUNS)
    ]
    solved = [key for key in usable if isinstance(facts[key], bool)]
    lines += [f"success = {_quoted(prefix + _key(key))}" for key in _pick(solved, _SOLVED)]
    lines += [
        f"final_answer = {_quoted(prefix + _key(key))}" for key in ("final_answer", "answer") if facts.get(key) is not None and not prefix
    ][:1]
    return lines or ["# task = …"]


def _pick(keys: Any, names: tuple[str, ...]) -> list[str]:
    """The first of some names that is there, as a list of none or one."""
    lower = {key.lower(): key for key in keys}
    return [lower[name] for name in names if name in lower][:1]


def _rules(path: str, items: list[dict[str, Any]]) -> list[str]:
    """Rules for items: one, or one for each kind where some are calls of tools."""
    keys = Counter(key for item in items for key, value in item.items() if value not in (None, "", [], {}))
    if not _pick(keys, _TOOLS) and all(any(isinstance(item.get(key), str) for item in items) for key in _STEPS):
        return _call(path, None, items)
    kind_key = next((key for key in _KIND_KEYS if _tells_kinds(key, items)), None)
    if kind_key is None or not _pick(keys, _TOOLS):
        return _call(path, None, items) if _pick(keys, _TOOLS) and _pick(keys, _ARGUMENTS) else _message(path, None, items)
    lines: list[str] = []
    for value in dict.fromkeys(item[kind_key] for item in items if isinstance(item.get(kind_key), str)):
        own = [item for item in items if item.get(kind_key) == value]
        when = f"{_key(kind_key)} == '{value}'" if "'" not in value and "\\" not in value else None
        has = {key for item in own for key, held in item.items() if held not in (None, "", [], {})}
        if _pick(has, _TOOLS) and _pick(has, _ARGUMENTS):
            lines += _call(path, when, own)
        elif _pick(has, _CONTENTS):
            lines += _message(path, when, own)
    return lines


def _agents(whole: Any) -> list[str]:
    """A rule for the list in which the members of the team are described, or for the only one."""
    for key, members in whole.items() if isinstance(whole, dict) else ():
        around = members if isinstance(members, list) else [members]
        listed = [member for member in around if isinstance(member, dict)]
        if isinstance(members, dict) and key.lower() not in ("agent", "assistant"):
            continue
        keys = {name for member in listed for name, value in member.items() if isinstance(value, str)}
        names = _pick(keys, ("agent_id", "id", "name"))
        told = [(field, _pick(keys - set(names), words)) for field, words in _OF_AGENTS]
        if names and any(found for _, found in told) and not _pick(keys, (*_CONTENTS, *_TOOLS)) and '"' not in key:
            return [
                "",
                "[[agents]]",
                f"each = {_quoted(_key(key) + ('[]' if isinstance(members, list) else ''))}",
                *_fields([("agent_id", names), *told]),
            ]
    return []


def _scores(whole: Any) -> list[str]:
    """Rules for what was said of the whole run."""
    lines: list[str] = []
    for key in [key for key in whole if key.lower() in _SCORES] if isinstance(whole, dict) else []:
        lines += ["", "[[annotations]]", f"name = {_quoted(chr(39) + key + chr(39))}", f"value = {_quoted(_key(key))}", 'kind = "score"']
    return lines


def _tells_kinds(key: str, items: list[dict[str, Any]]) -> bool:
    values = {item[key] for item in items if isinstance(item.get(key), str)}
    return 1 < len(values) <= _KINDS and len(values) < len(items) and all(len(value) < 40 for value in values)


def _nested(path: str, items: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Rules for calls of tools in a list within items."""
    for key in dict.fromkeys(key for item in items for key in item):
        members = [member for item in items if isinstance(item.get(key), list) for member in item[key] if isinstance(member, dict)]
        keys = {name for member in members for name in member}
        if members and key and '"' not in key and _pick(keys, (*_TOOLS, "name")) and _pick(keys, _ARGUMENTS):
            yield _call(f"{path}.{_key(key)}[]", None, members, parents=items)
    for inner, members in _inner_lists(items):
        keys = {name for member in members for name in member}
        named, content = _pick(keys, _CALLS_NAMED), _pick(keys, (*_RESULTS, *_CONTENTS))
        if named and content and not _pick(keys, (*_TOOLS, *_ARGUMENTS)):
            fields = [("call_id", named), ("result", content), ("failed", _pick(keys, _FAILED)), ("error", _pick(keys, _ERRORS))]
            yield _rule(f"{path}.{inner}", None, "tool_result", [*fields, ("timestamp", _pick(keys, _TIMES))])


def _inner_lists(items: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Lists of objects in items, or in an object of theirs, with the path to their members."""
    found: dict[str, list[dict[str, Any]]] = {}
    for item in items:
        inner = [
            (f"{_key(key)}.{_key(name)}", held) for key, value in item.items() if isinstance(value, dict) for name, held in value.items()
        ]
        for path, value in [*((_key(key), value) for key, value in item.items()), *inner]:
            members = [member for member in value if isinstance(member, dict)] if isinstance(value, list) else []
            if members and '""' not in path and '\\"' not in path:
                found.setdefault(f"{path}[]", []).extend(members)
    yield from found.items()


def _message(path: str, when: str | None, items: list[dict[str, Any]]) -> list[str]:
    keys = Counter(key for item in items for key, value in item.items() if value not in (None, "", [], {}))
    content = _pick(keys, _CONTENTS)
    senders = [key for key in keys if all(isinstance(item.get(key), str | None) for item in items)]
    fields = [("sender", _pick(senders, _SENDERS)), ("receivers", _pick(keys, _RECEIVERS)), ("content", content)]
    fields += [
        ("reasoning", _pick(set(keys) - set(content), _REASONING)),
        ("timestamp", _pick(keys, _TIMES)),
        ("event_id", _pick(keys, _IDS)),
    ]
    if any(
        isinstance(member, dict) and _pick(member, _ARGUMENTS)
        for item in items
        for value in item.values()
        if isinstance(value, list)
        for member in value
    ):
        fields.append(("turn_id", ["_record"]))  # calls stand within it
    if not fields[0][1]:
        fields[0] = ("sender", ["'agent'"])
    fields += [("phase", [key for key in _pick(keys, _PHASES) if _tells_kinds(key, items)]), *_figures(keys, items)]
    return _rule(path, when, "message", fields)


def _figures(keys: Counter[str], items: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """Durations and tokens: keys that hold numbers, in items or in an object of theirs."""
    fields = []
    for field, names in _NUMBERS:
        found = [key for key in _pick(keys, names) if _numbers([item.get(key) for item in items])]
        for outer in keys if not found else ():
            inner = [value for item in items if isinstance(value := item.get(outer), dict)]
            for key in _pick({name for value in inner for name in value}, names):
                if not found and _numbers([value.get(key) for value in inner]):
                    found = [f"{_key(outer)}.{_key(key)}"]
        fields.append((field, found))
    return fields


def _numbers(values: list[Any]) -> bool:
    return all(isinstance(value, int | float | None) for value in values)


def _call(path: str, when: str | None, items: list[dict[str, Any]], parents: list[dict[str, Any]] | None = None) -> list[str]:
    keys = Counter(key for item in items for key, value in item.items() if value not in (None, "", [], {}))
    every = {key for item in items for key in item}
    callers = _pick(keys, _SENDERS[:-3])
    if not callers and parents is not None:
        found = _pick({key for item in parents for key, value in item.items() if isinstance(value, str) and value}, _SENDERS)
        callers = [f"_parent.{_key(found[0])}"] if found else []
    tools = _pick(keys, (*_TOOLS, "name"))
    fields = [("caller", callers or ["'agent'"]), ("tool", tools), ("arguments", _pick(keys, (*_ARGUMENTS, "action")))]
    worked = [f"{_key(key)} == `false`" for key in _pick(every, _WORKED) if any(isinstance(item.get(key), bool) for item in items)]
    fields += [("call_id", _pick(every, _CALL_IDS)), ("result", _pick(every, _RESULTS)), ("failed", _pick(every, _FAILED) or worked)]
    fields += [("error", _pick(every, _ERRORS)), ("reasoning", _pick(keys, _REASONING)), ("timestamp", _pick(keys, _TIMES))]
    fields += [*_figures(keys, items), ("turn_id", ["_record"] if parents is not None else [])]
    return _rule(path, when, "tool_call", fields)


def _rule(path: str, when: str | None, kind: str, fields: list[tuple[str, list[str]]]) -> list[str]:
    lines = ["", "[[events]]", f"each = {_quoted(path)}"]
    if when is not None:
        lines.append(f"when = {_quoted(when)}")
    return [*lines, f"type = {_quoted(kind)}", *_fields(fields)]


def _fields(fields: list[tuple[str, list[str]]]) -> list[str]:
    """A line for each field that was found, each key of the log used once."""
    lines: list[str] = []
    given: set[str] = set()
    for field, found in fields:
        for key in found:
            if key not in given:
                given.add(key)
                made = key.startswith(("'", "_parent.", "_record")) or "`" in key or field.startswith(("usage.", "duration_"))
                lines.append(f"{field} = {_quoted(key if made else _key(key))}")
    return lines


def _key(key: str) -> str:
    """A key as a path and an expression write it."""
    return key if _PLAIN_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _quoted(text: str) -> str:
    """A TOML text. JSON's escapes are TOML's, but for DEL and lone surrogates."""
    made = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return made.encode("utf-8", "replace").decode()
