"""The spans of a run of MAS-SIM as events."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, NamedTuple

from agenttrace.builder import TraceBuilder
from agenttrace.misfits import misfits
from agenttrace.model import Span, ToolDescription, Usage
from agenttrace.notes import Notes
from agenttrace.readers.mas_sim.rendered import parsed
from agenttrace.times import from_epoch_ns

__all__ = ["fill_spans"]

_TRUTH = (
    *("expected_result", "expected_answer", "target_fault_category", "injection_node"),
    *("tool_name", "tool_operation", "default_tool_args"),  # the call that would have been right
)
_TOLD = {  # moments that stand elsewhere in the trace
    "task_delegated": "the receiver of the message",
    "tool_call_planned": "the link to the call",
    "artifact_created": "an event of its own",
    "dependency_call_failed": "the error of the call",
    "exception": "the error of the call",
}
_JUDGED = ("fault.injected", "validation_failed", "validation_passed")
_SUCCESS = {"SUCCESS": True, "FAILED": False}
_ID_OF_SPAN = ("trace_id", "span_id", "parent_span_id")
_OF_RUN = frozenset({"run_id", "task_id", "task", "task_metadata", "spans"})
_USAGE = {
    "gen_ai.usage.input_tokens": "prompt_tokens",
    "gen_ai.usage.output_tokens": "completion_tokens",
    "gen_ai.usage.total_tokens": "total_tokens",
}
_MAPPED = frozenset({"gen_ai.agent.name", "gen_ai.operation.name", "gen_ai.request.model", "agent.role", "agent.output_message", *_USAGE})
_KINDS = {
    **dict.fromkeys(("gen_ai.agent.name", "gen_ai.operation.name", "gen_ai.request.model", "agent.role"), str),
    **dict.fromkeys(_USAGE, int),
}
_TRUTH_OF_SPAN = "task.expected_result"
_REPEATED = frozenset(
    {"task.id", "task.input", "task.expected_result", "validation.criteria_json", "task.domain", "experiment.run_id", "run.status"}
)

Item = dict[str, Any]


def fill_spans(builder: TraceBuilder, notes: Notes, ref: str, value: Item) -> dict[int, str]:
    """Fill a builder from a run. Returns the event of each ``experiment.step_index``."""
    run = _Run(builder, notes)
    run.facts(ref, value)
    for index, span in enumerate(value["spans"]):
        place = f"{ref}/spans/{index}"
        if isinstance(span, dict):
            run.add(place, span)
        else:
            notes.drop("unreadable", place, "no span", span)
    run.close()
    return run.steps


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._planned: dict[str, tuple[str, str | None]] = {}  # tool -> event and agent that planned to call it
        self._delegated: dict[str, list[str]] = {}  # agent -> messages that it was told to act on
        self._kinds: Counter[str] = Counter()
        self._made: Counter[str] = Counter()  # versions of artifacts
        self._stated: set[str] = set()  # values of the run, which its spans repeat
        self.steps: dict[int, str] = {}

    def facts(self, ref: str, value: Item) -> None:
        """What the run says of itself and of its task."""
        about = value.get("task_metadata")
        about = dict(about) if isinstance(about, dict) else {}
        named = (value.get("run_id"), value.get("task_id"), value.get("task"), value.get("status"))
        self._stated = {repr(parsed(item)) for item in (*named, *about.values())}
        task = value.get("task")
        for key in _TRUTH:
            if (truth := about.pop(key, None)) is not None:
                self._builder.annotate(key, truth, kind="ground_truth", author="program", source_ref=f"{ref}/task_metadata/{key}")
        for key, same in (("task_id", value.get("task_id")), ("user_request", task)):
            if about.get(key) == same:
                about.pop(key, None)
        extra: Item = {key: item for key, item in value.items() if key not in _OF_RUN and item is not None}
        status = value.get("status")
        success = _SUCCESS.get(status) if isinstance(status, str) else None
        if about:
            extra["task_metadata"] = about
        extra |= misfits(value, {"task": str, "task_id": str, "run_id": str, "task_metadata": dict})
        self._builder.meta(
            task_id=_text(value.get("task_id")),
            run_id=_text(value.get("run_id")),
            task=task if isinstance(task, str) else None,
            success=success,
            dataset="MAS-SIM",
            extra=extra,
        )
        if extra:
            self._notes.add("aside", ref or None, f"{', '.join(extra)}, in `meta.extra`")

    def add(self, place: str, span: Item) -> None:
        """Add a span."""
        attributes = span.get("attributes")
        attributes = attributes if isinstance(attributes, dict) else {}
        truth = attributes.get(_TRUTH_OF_SPAN)
        if truth is not None and not self._repeats(_TRUTH_OF_SPAN, truth):
            where = f"{place}/attributes/{_TRUTH_OF_SPAN}"
            self._builder.annotate(_TRUTH_OF_SPAN, truth, kind="ground_truth", author="program", source_ref=where)
        kind = attributes.get("experiment.operation_type")
        self._kinds[str(kind)] += 1
        if kind == "workflow":
            self._root(place, span, attributes)
        elif kind == "tool_call":
            self._call(place, span, attributes)
        else:
            self._said(place, span, attributes)

    def close(self) -> None:
        """Say in the trace which kinds of spans there were."""
        self._builder.count_types(self._kinds)

    # -- kinds of spans ----------------------------------------------------------------------------

    def _root(self, place: str, span: Item, attributes: Item) -> None:
        duration = span.get("duration_ms")
        self._builder.meta(
            start_time=_time(span.get("start_time_unix_ns")),
            end_time=_time(span.get("end_time_unix_ns")),
            duration_ms=duration if isinstance(duration, int | float) and not isinstance(duration, bool) else None,
        )
        ids = {key: span[key] for key in ("name", "kind") if span.get(key) is not None}  # its ids stand in the other spans
        rest = {key: item for key, item in attributes.items() if self._spans_own(key, item)}
        if (events := span.get("events")) not in (None, []):
            rest["events"] = events
        self._builder.extra["root_span"] = {**ids, **rest}
        self._notes.add("wrapper", place, "the span around the run; its attributes in the trace's `extra`")

    def _said(self, place: str, span: Item, attributes: Item) -> None:
        """An agent was given something and said something."""
        agent = self._agent(attributes)
        span_id = _text(span.get("span_id"))
        given = attributes.get("agent.input_message")
        moments = _moments(place, span)
        if given is not None:
            self._builder.message(
                None,
                _content(given),
                receivers=(agent,) if agent is not None else (),
                kind="instruction",
                timestamp=_time(span.get("start_time_unix_ns")),
                source_ref=f"{place}/attributes/agent.input_message",
            )
        told = [moment.facts["target_agent"] for moment in moments if isinstance(moment.facts.get("target_agent"), str)]
        event_id = self._builder.message(
            agent,
            _content(attributes.get("agent.output_message")),
            receivers=told,
            kind="handoff" if told else "chat",
            timestamp=_time(span.get("end_time_unix_ns")),
            turn_id=f"turn:{span_id}" if span_id is not None else None,
            usage=_usage(attributes),
            source_ref=place,
            **self._event(place, span, attributes, moments),
        )
        for earlier in self._delegated.pop(agent, ()) if agent is not None else ():
            self._builder.link(earlier, event_id, "receives_msg", evidence="task_delegated names the agent")
        for receiver in told:
            self._delegated.setdefault(receiver, []).append(event_id)
        self._marks(place, event_id, agent, attributes, moments)

    def _call(self, place: str, span: Item, attributes: Item) -> None:
        """A component was called."""
        executor = self._agent(attributes, role="tool")
        tool = _text(attributes.get("tool.name"))
        planner, caller = self._planned.pop(tool, (None, None)) if tool is not None else (None, None)
        span_id = _text(span.get("span_id"))
        status = span.get("status")
        status = status if isinstance(status, dict) else {}
        moments = _moments(place, span)
        raised = next((moment.facts for moment in moments if moment.name == "exception"), None)
        event_id = self._builder.call(
            caller,
            tool,
            parsed(attributes.get("tool.args_json")),
            call_id=span_id,
            executor=executor,
            timestamp=_time(span.get("start_time_unix_ns")),
            usage=_usage(attributes),
            source_ref=place,
            **self._event(place, span, attributes, moments),
        )
        error: Any = {"type": attributes.get("error.type"), "message": attributes.get("error.message")}
        error = {key: item for key, item in {**error, **(raised or {})}.items() if item is not None}
        if not error and status.get("status_code") == "ERROR":
            error = status.get("description")
        self._builder.result(
            span_id if span_id is not None else f"call_{event_id}",
            parsed(attributes.get("tool.result_json")),
            status=_outcome(status.get("status_code"), raised=raised is not None or "error.type" in attributes),
            error=error or None,
            completed_at=_time(span.get("end_time_unix_ns")),
        )
        if planner is not None:
            self._builder.link(planner, event_id, "trigger_toolcall", evidence="tool_call_planned names the tool")
        self._marks(place, event_id, executor, attributes, moments)

    # -- parts of a span ------------------------------------------------------------------------------

    def _agent(self, attributes: Item, role: str | None = None) -> str | None:
        name = attributes.get("gen_ai.agent.name")
        if not isinstance(name, str) or not name:
            return None
        tool = _text(attributes.get("tool.name"))
        parameters = parsed(attributes.get("gen_ai.tool.parameters"))
        tools = (ToolDescription(name=tool, parameters=parameters),) if tool is not None and isinstance(parameters, dict) else None
        description, model = _text(attributes.get("agent.role")), _text(attributes.get("gen_ai.request.model"))
        return self._builder.agent(name, role=role, description=description, model=model, tools=tools)

    def _repeats(self, key: str, value: Any) -> bool:
        """Whether an attribute says again what the run says."""
        return key in _REPEATED and repr(parsed(value)) in self._stated

    def _spans_own(self, key: str, value: Any) -> bool:
        """Whether an attribute is to be kept with its span: not what the run says, and not the truth, which is only annotated."""
        return value is not None and key != _TRUTH_OF_SPAN and not self._repeats(key, value)

    def _event(self, place: str, span: Item, attributes: Item, moments: list[_Moment]) -> Item:
        """Fields of the event of a span; what has no field is kept in ``extra``."""
        held = _MAPPED | {"agent.input_message", "tool.name"}
        if isinstance(parsed(attributes.get("gen_ai.tool.parameters")), dict):
            held |= {"gen_ai.tool.parameters"}  # of the tool that the agent has
        if attributes.get("experiment.operation_type") == "tool_call":
            held |= {"tool.args_json", "tool.result_json", "error.type", "error.message"}
            held -= {"agent.input_message", "agent.output_message"}
        extra = {
            key: item
            for key, item in attributes.items()
            if key not in held and self._spans_own(key, item) and not key.startswith(("validation.", "constraint."))
        }
        shown = [
            {"name": name, "timestamp": time, **facts}
            for _, name, time, facts in moments
            if name not in _JUDGED and (name not in _TOLD or misfits(facts, {"target_agent": str, "timestamp_unix_ns": int}))
        ]
        if shown:
            extra["span_events"] = shown
        self._kinds.update(moment.name for moment in moments if moment.name not in _JUDGED)
        for ref, name, time, _ in moments:
            if name in _TOLD:
                self._notes.add("copy", ref, f"{name} at {time}: {_TOLD[name]}")
        for key in ("name", "kind"):
            if span.get(key) is not None:
                extra[f"span.{key}"] = span[key]
        status = span.get("status")
        if isinstance(status, dict) and (code := status.get("status_code")) is not None:
            extra["span.status"] = code if isinstance(code, str) else status
            said = status.get("description")
            if said is not None and code == "OK":
                extra["span.status"] = status
        elif status is not None:
            extra["span.status"] = status
        phase = attributes.get("gen_ai.operation.name")
        duration = span.get("duration_ms")
        if not isinstance(duration, int | float) or isinstance(duration, bool):
            duration = None
        extra |= misfits(attributes, _KINDS)
        if attributes.get("experiment.operation_type") == "tool_call":
            extra |= misfits(attributes, {"tool.name": str})
        told = span.get("attributes")
        if told is not None and not isinstance(told, dict):
            extra["span.attributes"] = told
        ids = {key: _text(span.get(key)) for key in _ID_OF_SPAN}
        taken = {**ids, "duration_ms": duration, **{key: _time(span.get(key)) for key in ("start_time_unix_ns", "end_time_unix_ns")}}
        extra |= {f"span.{key}": span[key] for key, field in taken.items() if field is None and span.get(key) not in (None, "")}
        self._notes.add("aside", place, "attributes that have no field, in `extra`")
        return {
            "phase": phase if isinstance(phase, str) else None,
            "duration_ms": duration,
            "span": Span(**ids) if any(ids.values()) else None,
            "extra": extra or None,
        }

    def _marks(self, place: str, event_id: str, agent: str | None, attributes: Item, moments: list[_Moment]) -> None:
        """Steps, plans, and what is only annotated: the fault and how the run was judged."""
        step = attributes.get("experiment.step_index")
        if type(step) is int:
            self.steps[step] = event_id
        output = attributes.get("agent.output_message")
        for key, item in attributes.items():
            if key.startswith(("validation.", "constraint.")) and not self._repeats(key, item) and item is not None and item != output:
                where = f"{place}/attributes/{key}"
                self._builder.annotate(key, parsed(item), kind="label", author="program", event_id=event_id, source_ref=where)
        for ref, name, time, facts in moments:
            if name == "tool_call_planned" and isinstance(facts.get("tool.name"), str):
                self._planned[facts["tool.name"]] = (event_id, agent)
            elif name == "artifact_created":
                kind = str(facts.get("artifact.type"))
                self._made[kind] += 1
                made = {"timestamp": time, "source_ref": ref}
                self._builder.artifact(kind, agent=agent, version=self._made[kind], name=kind, event=made)
            elif name in _JUDGED:
                self._builder.annotate(
                    name,
                    facts or None,
                    kind="ground_truth" if name == "fault.injected" else "label",
                    author="program",
                    event_id=event_id,
                    comment=f"at {time}" if time is not None else None,
                    source_ref=ref,
                )


# -- values -------------------------------------------------------------------------------------------


class _Moment(NamedTuple):
    """An event of a span: something that happened within it."""

    ref: str
    name: str
    time: str | None
    facts: Item


def _moments(place: str, span: Item) -> list[_Moment]:
    events = span.get("events")
    return [
        _Moment(
            f"{place}/events/{index}",
            str(event.get("name")),
            _time(event.get("timestamp_unix_ns")),
            facts | misfits(event, {"timestamp_unix_ns": int}),
        )
        for index, event in enumerate(events if isinstance(events, list) else ())
        if isinstance(event, dict) and isinstance(facts := event.get("attributes") or {}, dict)
    ]


def _outcome(code: Any, *, raised: bool) -> str | None:
    if code == "ERROR":
        return "exception" if raised else "failure"
    return "success" if code == "OK" else None


def _time(value: Any) -> str | None:
    return from_epoch_ns(value) if type(value) is int else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _content(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _usage(attributes: Item) -> Usage | None:
    counts: Item = {field: attributes.get(key) for key, field in _USAGE.items()}
    given: Item = {field: count for field, count in counts.items() if type(count) is int and 0 <= count < 1 << 63}
    return Usage(**given) if given else None
