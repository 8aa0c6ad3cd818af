"""MAMU (MAMUBench, "Worse Together", arXiv:2610.00583): runs of teams in which each agent serves a user of its own.

The benchmark's own format on disk is not public. This reader takes a documented profile, ``docs/formats/mamu.md``: one JSON
document a run, or a line each, ``{"profile": "mamu/1", scenario_id, environment, formation, users, agents, turns, resource,
outcome}``. It is tolerant: what the profile does not know is kept, what is missing is null. It is experimental, and each
conversion says so in its notes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.errors import ReadError
from agenttrace.formats import Format, Match
from agenttrace.lenient import pointer
from agenttrace.misfits import misfits
from agenttrace.model import ContentPart, Trace
from agenttrace.notes import Notes
from agenttrace.salvage import document, look, records
from agenttrace.sources import Source

__all__ = ["FORMAT"]

_PROFILE = "mamu/"
_NEEDED = frozenset({"scenario_id", "formation", "turns"})
_FORMATIONS = frozenset({"solo", "coordinator", "silent_team", "peer_to_peer"})
_OF_RUN = frozenset(
    {"profile", "run_id", "scenario_id", "environment", "formation", "task", "users", "agents", "turns", "resource", "outcome"}
)
_OF_TURN = frozenset({"turn", "agent", "user", "channel", "to", "content", "thought", "timestamp", "tool_calls", "resource"})
_OF_CALL = frozenset({"id", "name", "arguments", "result", "status", "error", "completed_at"})
_STATUS = ("success", "failure", "exception")

Item = dict[str, Any]


def sniff(source: Source) -> Match | None:
    """Documents or lines that say they are of the profile, or have all that only it has."""
    if source.is_folder:
        return None
    seen = look(source)
    sample = seen.sample if seen.kind == "jsonl" else [seen.value] if seen.kind == "json" else []
    first = sample[0] if sample else None
    if not isinstance(first, dict) or not first.keys() >= _NEEDED or not isinstance(first["turns"], list):
        return None
    profile = first.get("profile")
    if isinstance(profile, str) and profile.startswith(_PROFILE):
        return Match("profile", "certain", f"profile {profile[:20]}")
    known = first["formation"] in _FORMATIONS if isinstance(first["formation"], str) else False
    return Match("profile", "likely", "scenario, formation and turns, as in the profile of MAMU") if known and "users" in first else None


def read(source: Source, notes: Notes) -> Iterator[Trace]:
    """One trace for each run."""
    number = 0
    for ref, value in _runs(source, notes):
        if not isinstance(value, dict) or not isinstance(value.get("turns"), list):
            notes.drop("unreadable", ref, "no run of the profile", value)
            continue
        number += 1
        builder = TraceBuilder(FORMAT.name, notes=notes, source=FORMAT.source_info(source, "profile"), number=number)
        notes.add("derived", ref or None, "experimental: read by the profile of docs/formats/mamu.md, not by the benchmark's own format")
        _Run(builder, notes, ref).fill(value)
        yield builder.build()
    if not number:
        raise ReadError("unparsable", source.label, None, "no run of the profile of MAMU", "see docs/formats/mamu.md")


def _runs(source: Source, notes: Notes) -> Iterator[tuple[str, Any]]:
    if look(source).kind == "jsonl":
        yield from records(source, notes)
    else:
        yield "", document(source, notes)


class _Run:
    def __init__(self, builder: TraceBuilder, notes: Notes, ref: str) -> None:
        self._builder = builder
        self._notes = notes
        self._ref = ref
        self._members: dict[str, list[str]] = {}  # channel -> who reads it
        self._versions: dict[str, int] = {}

    def fill(self, value: Item) -> None:
        """Everything of a run."""
        self._facts(value)
        for index, user in _objects(value.get("users")):
            self._user(f"{self._ref}/users/{index}", user)
        for index, agent in _objects(value.get("agents")):
            self._agent(f"{self._ref}/agents/{index}", agent)
        resource = value.get("resource")
        if resource is not None:
            self._resource(f"{self._ref}/resource", resource, None, None)
        for index, turn in enumerate(value["turns"]):
            place = f"{self._ref}/turns/{index}"
            if isinstance(turn, dict):
                self._turn(place, turn)
            else:
                self._aside(place, turn)
        self._outcome(value.get("outcome"))

    def _facts(self, value: Item) -> None:
        extra = {key: value[key] for key in ("profile", "environment", "formation") if value.get(key) is not None}
        extra |= {key: item for key, item in value.items() if key not in _OF_RUN and item is not None}
        extra |= misfits(value, {"users": list, "agents": list, "scenario_id": str, "run_id": str, "task": str})
        for key in ("users", "agents"):
            odd = [item for item in value[key] if not isinstance(item, dict)] if isinstance(value.get(key), list) else []
            if odd:
                extra[key] = odd
        names = {field: _name(value.get(key)) for field, key in (("task_id", "scenario_id"), ("run_id", "run_id"), ("task", "task"))}
        self._builder.meta(dataset="MAMUBench", extra=extra, **names)

    def _user(self, place: str, user: Item) -> None:
        user_id = _name(user.get("id"))
        if user_id is None:
            self._aside(place, user)
            return
        goal = _name(user.get("goal"))
        rest = {
            key: item
            for key, item in user.items()
            if key not in ("id", "name", *(("goal",) if goal is not None else ())) and item is not None
        }
        rest |= misfits(user, {"name": str})
        name = _name(user.get("name"))
        self._builder.agent(user_id, role="user", participant=False, name=name, description=goal, extra=rest or None)

    def _agent(self, place: str, agent: Item) -> None:
        agent_id = _name(agent.get("id"))
        if agent_id is None:
            self._aside(place, agent)
            return
        serves = _name(agent.get("user"))
        channels = (
            [name for name in agent.get("channels") or () if isinstance(name, str)] if isinstance(agent.get("channels"), list) else []
        )
        for channel in channels:
            self._members.setdefault(channel, []).append(agent_id)
        mapped = {"id", "name", "model", "system_prompt", "user"}
        rest = {key: item for key, item in agent.items() if key not in mapped and item is not None}
        rest |= misfits(agent, dict.fromkeys(mapped, str))
        if serves is not None:
            rest["principal"] = self._builder.agent(serves, role="user", participant=False)
        self._builder.agent(
            agent_id,
            name=_name(agent.get("name")),
            model=_name(agent.get("model")),
            system_prompt=_name(agent.get("system_prompt")),
            extra=rest or None,
        )

    # -- turns ---------------------------------------------------------------------------------

    def _turn(self, place: str, turn: Item) -> None:
        """What somebody said and called: one turn, of an agent, or of a user."""
        sender = _name(turn.get("agent")) or _name(turn.get("user"))
        rest = {key: item for key, item in turn.items() if key not in _OF_TURN and item is not None}
        for key in ("agent", "user", "thought"):
            if turn.get(key) is not None and _name(turn[key]) is None:
                rest[key] = turn[key]
        receivers, origin, metadata = self._receivers(turn, sender, rest)
        event: Item = {"timestamp": _time(turn, rest), "turn_id": f"turn:{place}", "reasoning": _name(turn.get("thought"))}
        content = turn.get("content")
        calls = list(_objects(turn.get("tool_calls")))
        if turn.get("tool_calls") is not None and len(calls) != (len(turn["tool_calls"]) if isinstance(turn["tool_calls"], list) else -1):
            rest["tool_calls"] = turn["tool_calls"]
        if turn.get("turn") is not None:
            metadata["turn"] = turn["turn"]
        if content is not None or not calls:
            said = content if content is None or isinstance(content, str) else (ContentPart(kind="data", value=content),)
            self._builder.message(
                sender, said, receivers=receivers, origin=origin, metadata=metadata or None, source_ref=place, extra=rest or None, **event
            )
        elif rest or metadata:
            event["extra"] = {**rest, **metadata}
        for index, call in calls:
            self._call(f"{place}/tool_calls/{index}", sender, call, event)
            event.pop("extra", None)
        if turn.get("resource") is not None:
            self._resource(f"{place}/resource", turn["resource"], sender, event["timestamp"])

    def _receivers(self, turn: Item, sender: str | None, rest: Item) -> tuple[list[str], str, Item]:
        """Who is named, or who reads the channel; without either it is not said."""
        stated, channel = turn.get("to"), turn.get("channel")
        metadata: Item = {"channel": channel} if isinstance(channel, str) else {}
        if channel is not None and not isinstance(channel, str):
            rest["channel"] = channel
        if isinstance(stated, str):
            return [stated], "explicit", metadata
        names = [name for name in stated if isinstance(name, str)] if isinstance(stated, list) else []
        if stated is not None and (not names or len(names) != len(stated)):
            rest["to"] = stated
        if names:
            return names, "explicit", metadata
        readers = self._members.get(channel, ()) if isinstance(channel, str) else ()
        return [name for name in readers if name != sender], "derived", metadata

    def _call(self, place: str, caller: str | None, call: Item, event: Item) -> None:
        extra = {**(event.get("extra") or {}), **{key: item for key, item in call.items() if key not in _OF_CALL and item is not None}}
        status = call.get("status")
        if status is not None and status not in _STATUS:
            extra["status"], status = status, None
        extra |= misfits(call, {"id": str, "name": str, "completed_at": str})
        given, done = _name(call.get("id")), call.get("completed_at")
        event_id = self._builder.call(
            caller, _name(call.get("name")), call.get("arguments"), call_id=given, source_ref=place, **{**event, "extra": extra or None}
        )
        self._builder.result(
            given if given is not None else f"call_{event_id}",
            call.get("result"),
            status=status,
            error=call.get("error"),
            completed_at=done if isinstance(done, str) else None,
            caller=caller,
        )

    def _resource(self, place: str, value: Any, agent: str | None, time: str | None) -> None:
        """The shared resource: how it was at first, and after each turn that says so."""
        named = value.get("name") if isinstance(value, dict) else None
        name = named if isinstance(named, str) and named else "resource"
        self._versions[name] = self._versions.get(name, 0) + 1
        content = {key: item for key, item in value.items() if key != "name"} if isinstance(named, str) and named else value
        event = {"source_ref": place, "timestamp": time}
        self._builder.artifact(name, agent=agent, name=name, version=self._versions[name], content=content, event=event)

    def _outcome(self, outcome: Any) -> None:
        """What was reached, for each user and for the run."""
        place = f"{self._ref}/outcome"
        if not isinstance(outcome, dict):
            if outcome is not None:
                self._builder.annotate("outcome", outcome, kind="score", source_ref=place)
            return
        if isinstance(outcome.get("success"), bool):
            self._builder.meta(success=outcome["success"])
        per_user = outcome.get("per_user")
        for user, value in per_user.items() if isinstance(per_user, dict) else ():
            agent_id = self._builder.agent(user, role="user", participant=False)
            self._builder.annotate("outcome", value, kind="score", agent_id=agent_id, source_ref=f"{place}/per_user{pointer(user)}")
        for key, value in outcome.items():
            mapped = (key == "success" and isinstance(value, bool)) or (key == "per_user" and isinstance(value, dict))
            if value is not None and not mapped:
                self._builder.annotate(key, value, kind="score", source_ref=f"{place}{pointer(key)}")

    def _aside(self, place: str, value: Any) -> None:
        self._builder.extra.setdefault("records", []).append({"source_ref": place, "value": value})
        self._notes.add("aside", place, "not of the profile; kept in the trace's `extra`")


def _objects(value: Any) -> Iterator[tuple[int, Item]]:
    return ((index, item) for index, item in enumerate(value) if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _time(turn: Item, rest: Item) -> str | None:
    time = turn.get("timestamp")
    if time is not None and not isinstance(time, str):
        rest["timestamp"] = time
        return None
    return time


FORMAT = Format(
    name="mamu",
    title="MAMU: teams whose agents serve different users (a profile of ours)",
    spec="https://arxiv.org/abs/2610.00583",
    variants={"profile": "a run by the profile `mamu/1`: a document, or a line each"},
    versions="profile mamu/1; the benchmark's own format is not public",
    mapping={
        "scenario_id, run_id, task": "meta.task_id, meta.run_id, meta.task",
        "environment, formation": "meta.extra",
        "users": "AgentInstance of role user; goal: description",
        "agents": "AgentInstance; the user that it serves: extra.principal",
        "turns": "a Message and ToolCalls of one turn; `to`: receivers, explicit; `channel`: its readers, derived",
        "resource": "Artifact, a version for each state that is told",
        "outcome.success": "meta.success",
        "outcome.per_user": "Annotation `outcome` of each user",
        "other keys of outcome": "Annotations",
    },
    not_mapped={"what the profile does not know": "extra of the event, agent, run or trace"},
    experimental=True,
    sniff=sniff,
    read=read,
)
