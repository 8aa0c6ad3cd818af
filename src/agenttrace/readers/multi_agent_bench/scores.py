"""What judges said of a run: scores of each iteration, milestones, the evaluation of the task. All become annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.model import Usage
from agenttrace.notes import Notes

__all__ = ["OF_SCORES", "TRUTH", "add_scores", "listed"]

_BY_ITERATION = ("planning_scores", "communication_scores")
_EVALUATIONS = ("task_evaluation", "code_quality")
OF_SCORES = frozenset({*_BY_ITERATION, *_EVALUATIONS, "token_usage", "agent_kpis", "total_milestones"})
"""Keys of a record that are read here."""

TRUTH = frozenset({"root_cause", "root_causes", "labels"})
"""Keys that say what the right answer is."""


def add_scores(builder: TraceBuilder, notes: Notes, ref: str, record: dict[str, Any]) -> None:
    """Add what a record says of the whole run; -1 stands for a score that was not, or could not be, given."""
    for key in _BY_ITERATION:
        for number, (place, value) in enumerate(listed(f"{ref}/{key}", record.get(key)), 1):
            given = value != -1
            comment = f"iteration {number}" if given else f"iteration {number}: not evaluated (-1)"
            name = key.removesuffix("s")
            builder.annotate(name, value if given else None, kind="score", author="model", comment=comment, source_ref=place)
    kpis = record.get("agent_kpis")
    if isinstance(kpis, dict):
        for agent, count in kpis.items():
            place = f"{ref}/agent_kpis{pointer(agent)}"
            builder.agent(agent)
            builder.annotate("milestones", count, kind="metric", author="model", agent_id=agent, source_ref=place)
    elif kpis is not None:
        builder.annotate("agent_kpis", kpis, kind="metric", source_ref=f"{ref}/agent_kpis")
    if record.get("total_milestones") is not None:
        place = f"{ref}/total_milestones"
        builder.annotate("total_milestones", record["total_milestones"], kind="metric", author="model", source_ref=place)
    for key in _EVALUATIONS:
        _add_evaluation(builder, key, record.get(key), f"{ref}/{key}")
    tokens = record.get("token_usage")
    if type(tokens) is int and 0 <= tokens < 1 << 63:
        builder.meta(usage=Usage(total_tokens=tokens))
    elif tokens is not None:
        builder.meta(extra={"token_usage": tokens})
    if not record.keys() & OF_SCORES:
        notes.add("derived", ref or None, "no scores: the run was not finished")


def _add_evaluation(builder: TraceBuilder, name: str, value: Any, place: str) -> None:
    """Each score of an evaluation, named by its path; what the right answer is, is no score."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _add_evaluation(builder, f"{name}.{key}", inner, f"{place}{pointer(key)}")
        return
    if value is None:
        return
    truth = name.rpartition(".")[2] in TRUTH
    given = value != -1
    builder.annotate(
        name,
        value if given else None,
        kind="ground_truth" if truth else "score",
        author=None if truth else "model",
        comment=None if given else "the judge's answer could not be read (-1)",
        source_ref=place,
    )


def listed(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The items of a list with their places; a single value stands for itself."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield f"{place}/{index}", item
    elif value is not None:
        yield place, value
