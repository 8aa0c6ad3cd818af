"""MAS-SIM of the AgentRx replication: runs into which one fault was injected, as spans in the manner of OpenTelemetry.

``otel/RUN.otel.json`` is ``{schema: "otel-json-local-v0", run_id, task, task_metadata, status, spans}``; a span has the attributes
of an agent (``agent.input_message``, ``agent.output_message``) or of a tool (``tool.args_json``, ``tool.result_json``). Beside that
folder stand ``ground_truth/`` (where the fault was put), ``manifests/`` and two renderings of the run as a trajectory of AgentRx,
``{trajectory_id, instruction, steps: [{index, substeps: [{role, content}]}]}``. A folder that holds ``otel/`` and one of them is read
whole, a trace for each run.

What gives away the fault or the right answer (``fault.injected``, ``validation.*``, expected results, the category of the fault)
becomes an annotation and nothing else, so that diagnosis can leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.misfits import misfits
from agenttrace.model import Trace
from agenttrace.notes import Notes
from agenttrace.readers.mas_sim.rendered import delegated, parsed, step_fields
from agenttrace.readers.mas_sim.spans import fill_spans
from agenttrace.salvage import document, look
from agenttrace.sources import Source, children

__all__ = ["FORMAT"]

_SCHEMA = "otel-json-local-v0"
_OTEL = "otel"
_TRUTH = "ground_truth"
_MANIFESTS = "manifests"
_TRAJECTORIES = "trajectory_"

Item = dict[str, Any]


def sniff(source: Source) -> Match | None:
    """A run of spans, a trajectory of AgentRx, or the folder that holds them."""
    if source.is_folder:
        folders = {folder.name: folder for folder in children(source, [])[1]}
        beside = any(name in (_TRUTH, _MANIFESTS) or name.startswith(_TRAJECTORIES) for name in folders)
        runs = children(folders[_OTEL], [])[0] if beside and _OTEL in folders else []
        return Match("experiment", "certain", "runs in otel/ and what stands beside them") if runs and _is_run(_peek(runs[0])) else None
    value = _peek(source)
    if _is_run(value):
        return Match("otel", "certain", f"schema {_SCHEMA} with spans")
    if _is_trajectory(value):
        return Match("trajectory", "certain", "trajectory_id, and steps with substeps of role and content")
    return None


def _peek(source: Source) -> Any:
    try:
        seen = look(source)
    except ReadError:
        return None
    return seen.value if seen.kind == "json" else None


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and value.get("schema") == _SCHEMA and isinstance(value.get("spans"), list)


def _is_trajectory(value: Any) -> bool:
    if not isinstance(value, dict) or "trajectory_id" not in value or not isinstance(value.get("steps"), list):
        return False
    return all(isinstance(step, dict) and isinstance(step.get("substeps"), list) for step in value["steps"])


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace for each run."""
    match = sniff(source)
    if match is None:
        raise ReadError("unparsable", source.label, None, "no run of MAS-SIM", "`agenttrace doctor` says what is in it")
    if match.variant == "experiment":
        yield from _read_experiment(source, notes)
        return
    value = document(source, notes)
    builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, match.variant))
    if match.variant == "otel":
        fill_spans(builder, notes, "", value)
    else:
        _fill_trajectory(builder, notes, "", value)
    yield builder.build()


# -- an experiment -----------------------------------------------------------------------------


def _read_experiment(source: Source, notes: Notes) -> Iterator[Trace]:
    """The runs in ``otel/`` with what the other folders say of them; what belongs to no run is said in the notes."""
    truths: dict[str, tuple[str, Item]] = {}
    manifests: dict[str, tuple[str, Item]] = {}
    trajectories: dict[str, list[str]] = {}
    files = source.files
    for file in files:
        folder = file.name.partition("/")[0]
        if folder == _OTEL:
            continue
        value = _document(file, notes)
        if folder == _TRUTH and isinstance(value, dict):
            truths[str(value.get("run_task_id"))] = (f"{file.name}#", value)
        elif folder == _MANIFESTS and isinstance(value, dict):
            manifests[str(value.get("run_id"))] = (f"{file.name}#", value)
        elif _is_trajectory(value):
            trajectories.setdefault(str(value["trajectory_id"]), []).append(file.name)
        elif value is not None:
            notes.add("aside", f"{file.name}#", "no file of a known kind; not read")
    number = 0
    for file in files:
        value = _document(file, notes) if file.name.startswith(f"{_OTEL}/") else None
        if not isinstance(value, dict) or not _is_run(value):
            continue
        number += 1
        run_id = str(value.get("run_id"))
        builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, "experiment"), number=number)
        events = fill_spans(builder, notes, f"{file.name}#", value)
        if run_id in truths:
            _add_truth(builder, *truths.pop(run_id), events)
        if run_id in manifests:
            place, manifest = manifests.pop(run_id)
            builder.meta(extra={"manifest": manifest})
            notes.add("aside", place, "in `meta.extra.manifest`")
        for name in trajectories.pop(run_id, ()):
            notes.add("copy", f"{name}#", f"the run {run_id} again, as a trajectory of AgentRx")
        yield builder.build()
    left = [place for place, _ in (*truths.values(), *manifests.values())]
    for place in (*left, *(f"{name}#" for names in trajectories.values() for name in names)):
        notes.add("aside", place, "of a run that is not in otel/; not read")


def _document(file: Source, notes: Notes) -> Any:
    """The JSON of a file; what is damaged goes to the notes."""
    inner = Notes(counting=notes.counting)
    value = None
    try:
        if look(file).kind == "json":
            value = document(file, inner)
        else:
            notes.add("aside", f"{file.name}#", "no JSON document; not read")
    except ReadError as error:
        notes.add("unreadable", f"{file.name}#", error.reason)
    notes.absorb(inner, file.name)
    file.forget()
    return value


def _add_truth(builder: TraceBuilder, place: str, truth: Item, events: dict[int, str]) -> None:
    """Where the fault was put: the step is the ``experiment.step_index`` of a span."""
    step, component = truth.get("critical_failure_step"), truth.get("failed_component")
    for key, value in truth.items():
        if key != "run_task_id" and value is not None:
            builder.annotate(
                key,
                value,
                kind="ground_truth",
                author="program",
                event_id=events.get(step) if type(step) is int and key == "critical_failure_step" else None,
                agent_id=builder.agent(component) if key == "failed_component" and isinstance(component, str) else None,
                source_ref=f"{place}/{key}",
            )


# -- a trajectory ------------------------------------------------------------------------------


def _fill_trajectory(builder: TraceBuilder, notes: Notes, ref: str, value: Item) -> None:
    """A rendering of a run as texts, step by step."""
    task, run_id = value.get("instruction"), value.get("trajectory_id")
    extra = {key: item for key, item in value.items() if key not in ("instruction", "trajectory_id", "steps") and item is not None}
    extra |= misfits(value, {"instruction": str})
    builder.meta(task=task if isinstance(task, str) else None, run_id=str(run_id) if run_id is not None else None, extra=extra)
    for index, step in enumerate(value["steps"]):
        for inner, substep in enumerate(step["substeps"]):
            place = f"{ref}/steps/{index}/substeps/{inner}"
            if not isinstance(substep, dict):
                notes.drop("unreadable", place, "no substep", substep)
                continue
            role, content = substep.get("role"), substep.get("content")
            aside = {key: item for key, item in substep.items() if key not in ("role", "content") and item is not None}
            aside |= {key: item for key, item in step.items() if key != "substeps" and item is not None}
            if role is not None and not isinstance(role, str):
                aside["role"] = role
            if content is not None and not isinstance(content, str):
                aside["content"] = content
            actor = role if isinstance(role, str) and role else None
            fields = step_fields(content)
            called = fields.get("tool_result") is not None
            builder.message(
                actor,
                content if isinstance(content, str) else None,
                source_ref=place,
                extra=aside or None,
                **({"kind": "log"} if called else delegated(fields)),
            )
            if called:
                _add_call(builder, f"{place}/call", actor, fields)


def _add_call(builder: TraceBuilder, place: str, executor: str | None, fields: Item) -> None:
    """The call of a component, which its step is a rendering of; who called it is not said."""
    tool, status = fields.get("tool_name"), fields.get("status")
    if executor is not None:
        builder.agent(executor, role="tool")
    event_id = builder.call(
        None, tool if isinstance(tool, str) else None, parsed(fields.get("tool_args")), executor=executor, source_ref=place
    )
    outcome = {"OK": "success", "ERROR": "failure"}.get(status) if isinstance(status, str) else None
    builder.result(f"call_{event_id}", parsed(fields["tool_result"]), status=outcome, error=fields.get("error"), executor=executor)


FORMAT = Format(
    name="mas_sim",
    title="MAS-SIM (AgentRx replication): spans of runs with an injected fault",
    spec="https://github.com/Pedro-H-Gregorio/AgentRx-replication",
    variants={
        "otel": "spans of one run, `otel-json-local-v0`",
        "trajectory": "a run as a trajectory of AgentRx: steps of role and content",
        "experiment": "folder with otel/, ground_truth/, manifests/ and trajectories: a trace for each run",
    },
    versions="2026 (aaab538a)",
    mapping={
        "span agent.*": "Message of the agent at its end, with usage and turn; its input is an instruction at its start",
        "span tool.*": "ToolCall: the agent that planned it calls, the component executes; status of the span, error with traceback",
        "span run.experiment": "start_time, end_time, duration_ms; the other spans lie in it",
        "task_delegated": "receiver of the message, explicit, and a link to what that agent said",
        "tool_call_planned": "link from the message to the call",
        "artifact_created": "Artifact, without content: the span has none",
        "experiment.step_index": "extra; ground truth points at it",
        "status": "meta.success: SUCCESS, FAILED",
        "agent.role": "AgentInstance.description",
        "gen_ai.tool.parameters": "AgentInstance.tools",
        "fault.injected, validation.*, constraint.*": "Annotations on the event: ground_truth, label",
        "expected_*, target_fault_category, injection_node, the right call": "Annotations, ground_truth",
        "a substep of a trajectory": "Message, whole; whom it delegates to, where it says so; a call with a result is a ToolCall, too",
        "ground_truth/": "Annotations, ground_truth; critical_failure_step on the event of the span with that step_index",
    },
    not_mapped={
        "other attributes of spans": "extra of the event",
        "manifests": "meta.extra.manifest",
        "trajectories beside the spans": "noted as copies",
    },
    sniff=sniff,
    read=read,
)
