"""Runs of MASFT / MAST (arXiv:2503.13657) whose systems have no reader of their own: HyperAgent, MA-ToT, peer review.

All come as ``{instance_id, problem_statement, other_data, trajectory, note}``, in which long texts are lists of lines:

* HyperAgent: the lines of its log, ``HyperAgent_ID - INFO - X's Response: text`` and ``X->Planner: text``; also as
  the bare log. A planner's ``Intern Name: Codebase Navigator`` says to whom its subgoal goes. What tools
  returned was never logged.
* MA-ToT: rounds of ``***** Reasoner n output: *****`` and ``Verifier response:``; what stands below is what these
  printed.
* Peer review: for each agent the messages of its own conversation; role ``user`` is the program that asks it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.lenient import pointer
from agenttrace.model import ContentPart, Trace, Usage
from agenttrace.notes import Notes
from agenttrace.salvage import document, look, note_damage
from agenttrace.sources import Source, decode_log

__all__ = ["FORMAT"]

_HYPER = re.compile(r"^HyperAgent_(?P<id>\S{1,200}) - (?P<level>[A-Z]{1,10}) - ", re.MULTILINE)
_RESPONSE = re.compile(r"(?P<who>[\w -]{1,80})'s Response: ?(?P<text>.*)", re.DOTALL)
_SENT = re.compile(r"(?P<who>[\w ]{1,60})->(?P<to>[\w ]{1,60}): ?(?P<text>.*)", re.DOTALL)
_INTERN = re.compile(r"^Intern Name: *([A-Z][\w ]{0,60}?) *$", re.MULTILINE)
_ROUND = re.compile(r"#{10} Round (\d{1,6}) #{10}")
_REASONER = re.compile(r"\*{5} (Reasoner \d{1,6}) output: \*{5}")
_VERIFIER = "Verifier response:"
_FINAL = re.compile(r"[A-Z][\w ]{1,80}\. Final Answer: (?P<answer>.*)")
_SECTION = re.compile(
    r" ?#{10} Round \d|\*{5} Reasoner \d{1,6} output: \*{5}|\*{20}|Verifier response:\s*$"
    r"|Reasoner \d{1,6}: Answer: |[A-Z][\w ]{1,80}\. Final Answer: "
)
_FRAME = re.compile(r"\*{5} Reasoner \d{1,6} output: \*{5}|\*{20,}|Verifier response:")
_WHY = {
    "hyperagent": "lines of HyperAgent's log",
    "hyperagent_log": "lines of HyperAgent's log",
    "ma_tot": "rounds of reasoners",
    "peer_review": "conversations of agents that review each other",
}

Item = dict[str, Any]


def sniff(source: Source) -> Match | None:
    """A document by its trajectory, a text by its first line."""
    if source.is_folder:
        return None
    seen = look(source)
    if seen.kind == "text":
        found = _HYPER.match(source.head[:4096].decode("utf-8", "replace"))
        return Match("hyperagent_log", "certain", _WHY["hyperagent"]) if found else None
    if not seen.is_document or not isinstance(seen.value, dict) or "instance_id" not in seen.value:
        return None
    kind = _kind(seen.value.get("trajectory"))
    return Match(kind, "certain", _WHY[kind]) if kind is not None else None


def _kind(trajectory: Any) -> str | None:
    if isinstance(trajectory, list) and trajectory and all(isinstance(line, str) for line in trajectory):
        if any(_HYPER.match(line) for line in trajectory[:20]):
            return "hyperagent"
        return "ma_tot" if any(_ROUND.fullmatch(line.strip()) for line in trajectory[:20]) else None
    if isinstance(trajectory, dict) and trajectory:
        lists = list(trajectory.values())
        whole = all(isinstance(items, list) and items and all(_is_item(item) for item in items[:20]) for items in lists)
        return "peer_review" if whole else None
    return None


def _is_item(value: Any) -> bool:
    return isinstance(value, dict) and "content" in value and value.get("role") in ("user", "assistant", "system")


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace for each file."""
    match = sniff(source)
    if match is None:
        raise ReadError("unparsable", source.label, None, "no run of MASFT of a known shape", "`agenttrace doctor` says what is in it")
    builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, match.variant))
    if match.variant == "hyperagent_log":
        text, _, guess = decode_log(source.data)
        if guess:
            notes.add("salvaged", None, guess)
        note_damage(source, notes)
        notes.count_source(text)
        _hyperagent(builder, notes, text.split("\n"), "line:{}", 1)
    else:
        value = document(source, notes)
        _facts(builder, notes, value)
        trajectory = value["trajectory"]
        if match.variant == "peer_review":
            _peer_review(builder, notes, trajectory)
        elif match.variant == "hyperagent":
            _hyperagent(builder, notes, trajectory, "/trajectory/{}", 0, identity=value.get("instance_id"))
        else:
            _ma_tot(builder, trajectory, "/trajectory/{}", 0)
    yield builder.build()


# -- what stands around a trajectory --------------------------------------------------------


def _facts(builder: TraceBuilder, notes: Notes, value: Item) -> None:
    """The task, and what people said of the run."""
    task, identity = _joined(value.get("problem_statement")), value.get("instance_id")
    rest = {key: item for key, item in value.items() if key not in ("trajectory", "instance_id", "other_data", "note", "problem_statement")}
    if not isinstance(task, str):
        rest["problem_statement"] = task
    builder.meta(task=task if isinstance(task, str) else None, task_id=str(identity) if identity is not None else None, dataset="MASFT")
    cost = rest.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
        builder.meta(usage=Usage(cost_usd=rest.pop("cost")))
    facts = value.get("other_data")
    for key, item in facts.items() if isinstance(facts, dict) else ():
        kind = "ground_truth" if key in ("answer", "patch") else "label"
        builder.annotate(key, _joined(item), kind=kind, source_ref=pointer("other_data", key))
    note = value.get("note")
    for key, item in note.items() if isinstance(note, dict) else ():
        if key == "options" and isinstance(item, dict):
            for option, choice in item.items():
                builder.annotate(option, choice, kind="label", source_ref=pointer("note", "options", option))
        elif item not in (None, "", [], [""]):
            builder.annotate("note" if key == "text" else key, _joined(item), kind="label", source_ref=pointer("note", key))
    rest |= {"other_data": facts} if facts is not None and not isinstance(facts, dict) else {}
    rest |= {"note": note} if note is not None and not isinstance(note, dict) else {}
    rest = {key: item for key, item in rest.items() if item is not None}
    builder.meta(extra=rest)
    for key in rest:
        notes.add("aside", pointer(key), "kept in `meta.extra`")


def _joined(value: Any) -> Any:
    return "\n".join(value) if isinstance(value, list) and value and all(isinstance(line, str) for line in value) else value


# -- HyperAgent -----------------------------------------------------------------------------


def _hyperagent(builder: TraceBuilder, notes: Notes, lines: list[str], place: str, first: int, identity: Any = None) -> None:
    """Entries of the log: what a role answered, and what it gave back to the planner."""
    begun = [number for number, line in enumerate(lines) if _HYPER.match(line)]
    entries = [(number, "\n".join(lines[number:end])) for number, end in zip(begun, [*begun[1:], len(lines)], strict=True)]
    if begun[:1] != [0] and any(line.strip() for line in lines[: begun[0] if begun else len(lines)]):
        entries.insert(0, (0, "\n".join(lines[: begun[0] if begun else len(lines)])))
    calls = _Interns({sent["who"] for _, text in entries if (sent := _SENT.fullmatch(_said(text)))})
    levels: dict[str, int] = {}
    tasks: dict[str, None] = {}
    for number, text in entries:
        ref, said = place.format(number + first), _said(text)
        header = _HYPER.match(text)
        if header is not None:
            levels[header["level"]] = levels.get(header["level"], 0) + 1
            tasks[header["id"]] = None
        extra = {"level": header["level"]} if header is not None and header["level"] != "INFO" else None
        response, sent = _RESPONSE.fullmatch(said), _SENT.fullmatch(said)
        if sent is not None:
            builder.message(sent["who"], sent["text"].rstrip("\n"), receivers=[sent["to"]], source_ref=ref, extra=extra)
        elif response is not None:
            receivers = calls.named_in(response["text"]) if response["who"] == "Planner" else []
            builder.message(response["who"], response["text"].rstrip("\n"), receivers=receivers, source_ref=ref, extra=extra)
        else:
            kind = "error" if header is not None and header["level"] in ("ERROR", "CRITICAL") else "log"
            builder.message(None, said.rstrip("\n"), kind=kind, source_ref=ref, extra=extra)
    builder.count_types(levels)
    if identity is None and len(tasks) == 1:
        builder.meta(task_id=next(iter(tasks)))
    elif others := [name for name in tasks if name != str(identity)]:
        builder.meta(extra={"tasks_in_log": others})
        notes.add("aside", None, "ids of tasks in the lines of the log, in `meta.extra.tasks_in_log`")
    if any(name.endswith("Assistant") for name in _speakers(entries)):
        notes.add("derived", None, "the tools that the inner assistants ask for ran, but the log does not hold what they returned")


def _said(text: str) -> str:
    """An entry without its header."""
    header = _HYPER.match(text)
    return text[header.end() :] if header is not None else text


def _speakers(entries: list[tuple[int, str]]) -> set[str]:
    return {match["who"] for _, text in entries if (match := _RESPONSE.fullmatch(_said(text)))}


class _Interns:
    """The interns of a run, under the names by which its log calls them."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._lengths = sorted({len(name) for name in names}, reverse=True)

    def named_in(self, text: str) -> list[str]:
        """To whom a planner's subgoal goes: the longest name with which what it says ends."""
        return [self._of(intern) for intern in dict.fromkeys(_INTERN.findall(text))]

    def _of(self, intern: str) -> str:
        ends = (intern[-length:] for length in self._lengths if length <= len(intern))
        return next((end for end in ends if end in self._names), intern)


# -- MA-ToT ---------------------------------------------------------------------------------


def _ma_tot(builder: TraceBuilder, lines: list[str], place: str, first: int) -> None:
    """Sections of the print-out: what stands below a headline is the message of whom it names."""
    starts = [number for number, line in enumerate(lines) if _SECTION.match(line)]
    cuts = [*(() if starts[:1] == [0] else (0,)), *starts]
    round_: int | None = None
    builder.count_types(Counter(line.strip() for line in lines if _FRAME.fullmatch(line.strip())))
    for start, end in zip(cuts, [*cuts[1:], len(lines)], strict=True):
        head = lines[start].strip()
        begins, reasoner, final = _ROUND.fullmatch(head), _REASONER.fullmatch(head), _FINAL.fullmatch(head)
        speaker = reasoner[1] if reasoner is not None else "Verifier" if head == _VERIFIER else None
        round_ = int(begins[1]) if begins is not None else round_
        if final is not None:
            builder.meta(final_answer=final["answer"].strip())
        text = "\n".join(lines[start + (speaker is not None) : end]).strip("\n")
        if set(text) <= set("*\n "):
            continue
        metadata = {"round": round_} if round_ is not None else None
        kind = "log" if speaker is None else "chat"
        builder.message(speaker, text, kind=kind, source_ref=place.format(start + first), metadata=metadata)


# -- peer review ----------------------------------------------------------------------------


def _peer_review(builder: TraceBuilder, notes: Notes, trajectory: Item) -> None:
    """The conversations of all agents, turn by turn, since all answer before anyone is asked again."""
    builder.agent("user", role="user", participant=False)
    for agent_id in trajectory:
        builder.agent(agent_id)
    for turn in range(max(len(items) for items in trajectory.values())):
        for agent_id, items in trajectory.items():
            if turn < len(items):
                _turn(builder, notes, agent_id, items[turn], f"{pointer('trajectory', agent_id)}/{turn}")
    builder.count_types(Counter(item["role"] for items in trajectory.values() for item in items if _is_item(item)))
    notes.add("derived", "/trajectory", "the order among agents: by turn, as the rounds of a peer review go")


def _turn(builder: TraceBuilder, notes: Notes, agent_id: str, item: Any, ref: str) -> None:
    if not _is_item(item):
        builder.extra.setdefault("records", []).append({"source_ref": ref, "value": item})
        notes.add("aside", ref, "no message of a known shape; kept whole in the trace's `extra`")
        return
    content = _joined(item["content"])
    text = content if content is None or isinstance(content, str) else (ContentPart(kind="data", value=content),)
    extra = {key: value for key, value in item.items() if key not in ("role", "content") and value is not None} or None
    if item["role"] == "assistant":
        builder.message(agent_id, text, source_ref=ref, extra=extra)
    else:
        builder.message("user", text, receivers=[agent_id], source_ref=ref, extra=extra)


FORMAT = Format(
    name="masft",
    title="MASFT/MAST: HyperAgent, MA-ToT and peer review",
    spec="https://github.com/multi-agent-systems-failure-taxonomy/MASFT",
    variants={
        "hyperagent": "a HyperAgent log in JSON, with failure modes",
        "hyperagent_log": "a HyperAgent log as text",
        "ma_tot": "the print-out of a multi-agent tree of thoughts in JSON",
        "peer_review": "conversations of agents that review each other",
    },
    versions="annotated traces of 2025",
    mapping={
        "problem_statement, instance_id": "meta.task, meta.task_id",
        "note.text, note.options, other_data": "meta.annotations; answer and patch: ground_truth",
        "X's Response": "Message of X; of Planner: to the intern that it names, explicit",
        "X->Planner": "Message, explicit receiver",
        "***** Reasoner n output: *****, Verifier response:": "Message of the reasoner, of Verifier; round: metadata",
        "Final Answer": "meta.final_answer",
        "trajectory by agent": "Message of the agent; role user: Message of user to the agent",
        "other lines": "Message log",
    },
    not_mapped={
        "code blocks of inner assistants": "text of their messages: what the tools returned was never logged",
        "times": "none of these logs has any",
        "success": "the annotations do not say whether the task was solved: null",
    },
    sniff=sniff,
    read=read,
)
