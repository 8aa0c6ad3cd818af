"""Transcripts that ``Console`` of AgentChat prints: ``---------- TextMessage (writer) ----------`` and the message.

Facts from ``autogen_agentchat/ui/_console.py`` 0.4.0 to 0.7.5:

* Older versions print the source alone in the header; a single agent's response is still printed so.
* Calls and results are printed as Python prints them.
* With ``output_stats`` token counts follow a message, and a summary ends a run.
* Chunks of a stream are printed behind one header; the message they lead to is not printed again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import Usage
from agenttrace.readers.autogen.console_lines import Frame, Line, joined
from agenttrace.readers.autogen.records import TEAM_TYPES, Record
from agenttrace.reprs import parse_repr

__all__ = ["TeamRun", "fill_summary", "is_team_console", "parse_team"]

_BAR = "-" * 10
_TYPED = re.compile(r"-{10} (?P<type>[A-Za-z_]\w*(?:\[\w+\])?) \((?P<source>.{1,200})\) -{10}")
_NAMED = re.compile(r"-{10} (?P<source>\S(?:.{0,200}?\S)?) -{10}")
_TOKENS = re.compile(r"\[Prompt tokens: (\d+), Completion tokens: (\d+)\]")
_FACT = re.compile(r"(Number of (?:inner )?messages|Finish reason|Total prompt tokens|Total completion tokens|Duration): (.*)")
_PRINTED = {"FunctionCall(": "ToolCallRequestEvent", "FunctionExecutionResult(": "ToolCallExecutionEvent"}
_CHUNK = "ModelClientStreamingChunkEvent"


@dataclass
class TeamRun:
    """One run: its records with their places, text between them, and the facts of its summary."""

    records: list[tuple[str, Record]] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    summary: dict[str, str] = field(default_factory=dict)
    frame: Frame = field(default_factory=Frame)
    damage: list[tuple[str, str]] = field(default_factory=list)


def is_team_console(lines: list[Line]) -> bool:
    """Whether the lines hold a header with a known type, or two headers with a source."""
    plain = 0
    for line in lines:
        if not line.plain.startswith(_BAR):
            continue
        typed = _TYPED.fullmatch(line.plain.rstrip())
        if typed and (typed["type"] in TEAM_TYPES or typed["type"].startswith("StructuredMessage")):
            return True
        plain += _NAMED.fullmatch(line.plain.rstrip()) is not None
    return plain > 1


def parse_team(lines: list[Line]) -> list[TeamRun]:
    """The runs of a transcript: a summary ends one."""
    runs = [TeamRun()]
    starts = _headers(lines)
    before = [line for line in lines[: starts[0] if starts else len(lines)] if line.plain.strip()]
    if before:
        runs[0].texts.append((before[0].ref, joined(before)))
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        if runs[-1].summary:
            runs.append(TeamRun())
        _block(runs[-1], lines[start], lines[start + 1 : end])
    return runs


def _headers(lines: list[Line]) -> list[int]:
    """Where headers stand. Where headers have types, one without is a header only for a source that has spoken, or a summary."""
    found = [(index, line.plain.rstrip()) for index, line in enumerate(lines) if line.plain.startswith(_BAR)]
    typed = {match["source"] for _, plain in found if (match := _TYPED.fullmatch(plain))}
    named = [(index, plain, match["source"]) for index, plain in found if (match := _NAMED.fullmatch(plain))]
    return [index for index, plain, source in named if not typed or _TYPED.fullmatch(plain) or source in typed or source == "Summary"]


def _block(run: TeamRun, header: Line, body: list[Line]) -> None:
    """One header and what stands below it."""
    plain = header.plain.rstrip()
    typed, named = _TYPED.fullmatch(plain), _NAMED.fullmatch(plain)
    run.frame.keep([header])
    source = typed["source"] if typed else named["source"] if named else ""
    if source == "Summary" and any(_FACT.fullmatch(line.plain) for line in body):
        _summary(run, body)
        return
    while body and not body[-1].plain:
        body = body[:-1]
    usage = _TOKENS.fullmatch(body[-1].plain.rstrip()) if body else None
    if usage is not None:
        run.frame.keep(body[-1:])
        body = body[:-1]
    record: Record = {"source": source, "content": joined(body)}
    if typed and typed["type"] != _CHUNK:
        record["type"] = typed["type"]
    if usage is not None:
        record["models_usage"] = {"prompt_tokens": int(usage[1]), "completion_tokens": int(usage[2])}
    _unprint(run, record, body, header.ref)
    run.records.append((header.ref, record))


def _unprint(run: TeamRun, record: Record, body: list[Line], ref: str) -> None:
    """Calls, results and choices of speakers as data again. Old headers have no type: what is printed shows it."""
    text = record["content"]
    if not text.startswith("["):
        return
    kind = record.get("type") or next((kind for name, kind in _PRINTED.items() if text.startswith(f"[{name}")), None)
    if kind not in ("ToolCallRequestEvent", "ToolCallExecutionEvent", "SelectSpeakerEvent", "SelectorEvent"):
        return
    printed = parse_repr(text)
    if printed is not None and printed.cut is None and isinstance(printed.value, list) and not text[printed.end :].strip():
        record["content"] = printed.value
        record["type"] = kind
        run.frame.keep(body)
    elif printed is not None and printed.cut is not None:
        run.damage.append((ref, f"{kind} is cut: kept as the text that it is"))


def _summary(run: TeamRun, body: list[Line]) -> None:
    rest = []
    for line in body:
        fact = _FACT.fullmatch(line.plain.rstrip())
        if fact is not None:
            run.summary[fact[1]] = fact[2]
            run.frame.keep([line])
        elif line.plain.strip():
            rest.append(line)
    if rest:
        run.texts.append((rest[0].ref, joined(rest)))


def fill_summary(builder: TraceBuilder, summary: dict[str, str]) -> None:
    """What a run's summary states, as facts of the run."""
    figures: dict[str, Any] = {}
    for name, key in (("Total prompt tokens", "prompt_tokens"), ("Total completion tokens", "completion_tokens")):
        if summary.get(name, "").isdigit():
            figures[key] = int(summary[name])
    seconds = re.fullmatch(r"(\d+)\.(\d\d) seconds", summary.get("Duration", ""))
    reason = summary.get("Finish reason")
    builder.meta(
        usage=Usage(**figures) if figures else None,
        duration_ms=int(seconds[1] + seconds[2]) * 10 if seconds else None,
        extra={"stop_reason": reason} if reason not in (None, "None") else None,
    )
