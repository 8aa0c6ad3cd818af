"""Who&When, hand-crafted: Magentic-One runs with a failure label, github.com/ag2ai/Agents_Failure_Attribution.

One JSON object a file. The history has no names: the routing stands in ``role``, as
``human``, ``Orchestrator (thought)``, ``Orchestrator (-> WebSurfer)``, ``WebSurfer``.
``mistake_step`` counts the history from 0. The algorithm-generated files of the same
dataset are AutoGen group chats with names; the ``autogen`` reader has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.model import ContentPart, Trace
from agenttrace.notes import Notes
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source

__all__ = ["FORMAT"]

_ROUTED = re.compile(r"(.+?) \((.+)\)", re.DOTALL)
_HUMAN = "human"
_LABELS = ("mistake_agent", "mistake_step", "mistake_reason", "mistake_type")
_KNOWN = frozenset({"history", "question", "question_ID", "level", "ground_truth", "is_corrected", "is_correct", *_LABELS})


def sniff(source: Source) -> Match | None:
    """A history without names whose roles carry the routing."""
    if source.is_folder:
        return None
    seen = look(source)
    values = [seen.value] if seen.is_document else seen.sample
    if values and all(_is_case(value) for value in values if isinstance(value, dict)) and any(map(_is_case, values)):
        return Match("hand_crafted", "certain", "a labelled history with the routing in role")
    return None


def _is_case(value: Any) -> bool:
    history = value.get("history") if isinstance(value, dict) else None
    if not isinstance(history, list) or not ("mistake_step" in value or "mistake_agent" in value or "question" in value):
        return False
    items = [item for item in history[:20] if isinstance(item, dict)]
    return any(_routed(item.get("role")) for item in items) and not any("name" in item for item in items)


def _routed(role: Any) -> bool:
    return isinstance(role, str) and (role == _HUMAN or _ROUTED.fullmatch(role) is not None)


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace per case."""
    found = [("", document(source, notes))] if look(source).is_document else records(source, notes)
    for number, (at, value) in enumerate(found, 1):
        if not _is_case(value):
            if look(source).is_document:
                raise ReadError("unparsable", source.label, None, "no labelled history", "`agenttrace doctor` says what is in it")
            notes.drop("unreadable", at, "no labelled history", value)
            continue
        yield _case(source, notes, number, at, value)


def _case(source: Source, notes: Notes, number: int, at: str, value: dict[str, Any]) -> Trace:
    builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, "hand_crafted"), number=number)
    events = _history(builder, notes, value["history"], f"{at}/history")
    solved = value.get("is_correct", value.get("is_corrected"))  # the dataset spells it both ways
    builder.meta(
        task=_text(value.get("question")),
        task_id=_text(value.get("question_ID")),
        difficulty=_text(value.get("level")),
        success=solved if isinstance(solved, bool) else None,
        dataset="Who&When",
    )
    if value.get("ground_truth") is not None:
        builder.annotate("ground_truth", value["ground_truth"], kind="ground_truth", source_ref=f"{at}/ground_truth")
    _labels(builder, value, at, events)
    rest = {key: item for key, item in value.items() if key not in _KNOWN and item is not None}
    builder.meta(extra=rest)
    for key in rest:
        notes.add("aside", f"{at}/{key}", "kept in `meta.extra`")
    return builder.build()


def _history(builder: TraceBuilder, notes: Notes, history: list[Any], at: str) -> dict[int, tuple[str, str | None]]:
    """Add the steps; which event and agent each step became."""
    steps: dict[int, tuple[str, str | None]] = {}
    for index, item in enumerate(history):
        ref = f"{at}/{index}"
        if not isinstance(item, dict) or not item:
            notes.drop("unreadable", ref, "no step", item)
            continue
        role = _text(item.get("role"))
        match = _ROUTED.fullmatch(role) if role else None
        agent, route = (match[1], match[2]) if match else (role, None)
        if agent == _HUMAN:
            builder.agent(_HUMAN, participant=False)
        receivers, kind = _delivery(agent, route)
        extra = {key: part for key, part in item.items() if key not in ("role", "content") and part is not None}
        if extra:
            notes.add("aside", ref, f"{', '.join(extra)}, in `extra`")
        event_id = builder.message(
            agent,
            _content(item.get("content")),
            receivers=receivers,
            origin="explicit" if kind == "instruction" else "derived",
            kind=kind,
            metadata={"role": role} if route is not None else None,
            source_ref=ref,
            extra=extra or None,
        )
        steps[index] = (event_id, agent)
    return steps


def _labels(builder: TraceBuilder, value: dict[str, Any], at: str, steps: dict[int, tuple[str, str | None]]) -> None:
    """What the annotators said. The step counts from 0; the agent is one of the run's, or none."""
    step = str(value.get("mistake_step")).strip()
    event_id = steps[int(step)][0] if step.isascii() and step.isdigit() and len(step) < 10 and int(step) in steps else None
    culprit = value.get("mistake_agent")
    agent_id = culprit if culprit in [agent for _, agent in steps.values()] else None
    for name in _LABELS:
        if value.get(name) is not None:
            where = None if name == "mistake_agent" else event_id
            builder.annotate(name, value[name], kind="label", event_id=where, agent_id=agent_id, author="human", source_ref=f"{at}/{name}")


def _delivery(agent: str | None, route: str | None) -> tuple[Any, str]:
    """Receivers and kind of message: the orchestrator instructs; the task and what agents reply is published to the whole team."""
    if route is not None and route.startswith("-> "):
        return [route[3:]], "instruction"
    if route is not None:
        return [], {"thought": "thought", "termination condition": "termination"}.get(route, "log")
    return (EVERYONE if agent not in (None, "Orchestrator") else []), "chat"


def _content(content: Any) -> str | tuple[ContentPart, ...] | None:
    if content is None or isinstance(content, str):
        return content
    return (ContentPart(kind="data", value=content),)


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


FORMAT = Format(
    name="who_and_when",
    title="Who&When, hand-crafted: Magentic-One runs with a failure label",
    spec="https://github.com/ag2ai/Agents_Failure_Attribution",
    variants={"hand_crafted": "a history with the routing in role, and who failed at which step"},
    versions="the published files",
    mapping={
        "role": "AgentInstance; `(-> Agent)`: Message instruction, explicit; `(thought)`: thought; `(termination condition)`: termination",
        "human, and agents without a route": "Message to the whole team, derived",
        "content": "Message.content",
        "question, question_ID, level": "meta.task, task_id, difficulty",
        "is_corrected, is_correct": "meta.success",
        "ground_truth": "annotation ground_truth",
        "mistake_agent, mistake_step, mistake_reason, mistake_type": "annotations of kind label; the step from 0 points at its event",
    },
    not_mapped={"times": "the files have none", "the route in a role": "decides kind and receivers; as written in metadata.role"},
    sniff=sniff,
    read=read,
)
