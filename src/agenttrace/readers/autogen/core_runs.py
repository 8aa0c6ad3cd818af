"""The runs in an event log of AutoGen 0.4+, who takes part in them, and the records that their messages carry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from agenttrace.readers.autogen.core_lines import CoreLine
from agenttrace.readers.autogen.records import Record

__all__ = ["Address", "Roster", "address_of", "key_of", "records_in", "records_of", "runs"]

_ADDRESS = re.compile(r"(?P<type>.*?)(?:_(?P<team>[0-9a-f]{8}-[0-9a-f-]{27}))?/(?P<key>.*)", re.DOTALL)


class Address(NamedTuple):
    """An agent or a topic: ``writer_<team>/<team>`` in a team, ``Writer/default`` in a plain application."""

    name: str
    team: str | None


def address_of(text: Any) -> Address | None:
    """The agent or topic that an id of the log names."""
    return _parsed(text) if isinstance(text, str) else None


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Address:
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return Address(text, None)
    name, team, key = match.group("type", "team", "key")
    return Address(text if team is None and key != "default" else name, team)


@dataclass
class _Team:
    """A team: the agents that its messages name, who leads it, and in whose turn it began."""

    parent: str | None = None
    names: list[str] = field(default_factory=list)
    managers: set[str] = field(default_factory=set)
    speakers: set[str] = field(default_factory=set)


class Roster:
    """The teams of a run and their members.

    Names are names inside a team: where two teams have the same, the inner one's gets the outer agent's name before it.
    """

    def __init__(self, lines: list[CoreLine]) -> None:
        self._teams: dict[str, _Team] = {}
        self._ids: dict[tuple[str | None, str], str] = {}
        self._owners: dict[str, str | None] = {}
        asked: str | None = None
        for line in lines:
            record = line.record or {}
            sender, receiver = address_of(record.get("sender")), address_of(record.get("receiver"))
            for address in (sender, receiver, address_of(record.get("agent_id")), address_of(record.get("handling_agent"))):
                self._see(address, asked)
            if receiver is not None and receiver.team is not None and _started(line) is not None:
                self._team(receiver.team).managers.add(receiver.name)
            if line.payload == {} and sender is not None and receiver is not None and receiver.team is not None:
                self._team(receiver.team).managers.add(sender.name)
                asked = self.id_of(receiver)
            team = next((address.team for address in (sender, receiver) if address is not None and address.team is not None), None)
            for item in records_of(line):
                if team is not None and ("type" not in item or not str(item["type"]).endswith("Event")):
                    self._team(team).speakers.add(str(item.get("source")))

    def _see(self, address: Address | None, asked: str | None) -> None:
        if address is None or address.name.endswith("_topic"):
            return
        if address.team is not None:
            team = self._team(address.team, asked)
            if address.name not in team.names:
                team.names.append(address.name)
        self.id_of(address)

    def _team(self, identity: str, asked: str | None = None) -> _Team:
        return self._teams.setdefault(identity, _Team(asked if self._teams else None))

    def id_of(self, address: Address | None) -> str | None:
        """The agent's id in the trace."""
        if address is None:
            return None
        key = (address.team, address.name)
        if key not in self._ids:
            owner = self._owners.setdefault(address.name, address.team)
            parent = self._teams[address.team].parent if address.team in self._teams else None
            self._ids[key] = address.name if owner == address.team else f"{parent or address.team or 'application'}/{address.name}"
        return self._ids[key]

    def source_of(self, team: str | None, source: Any) -> Any:
        """The id of the agent that a record of a team calls its source."""
        known = self._teams.get(team or "")
        return self.id_of(Address(source, team)) if known is not None and source in known.names else source

    def members(self, team: str | None) -> tuple[str, ...]:
        """The agents to which a team's messages are published: all but a manager that never speaks."""
        known = self._teams.get(team or "")
        if known is None:
            return ()
        names = [name for name in known.names if name not in known.managers or name in known.speakers]
        return tuple(str(self.id_of(Address(name, team))) for name in names)

    def parents(self) -> Iterator[tuple[str, str]]:
        """Agents of inner teams, each with the agent in whose turn its team ran."""
        for identity, team in self._teams.items():
            if team.parent is not None:
                yield from ((str(self.id_of(Address(name, identity))), team.parent) for name in team.names)

    @property
    def first_team(self) -> str | None:
        """The id of the team that ran first."""
        return next(iter(self._teams), None)


# -- runs ----------------------------------------------------------------------------------


def runs(lines: Iterator[CoreLine]) -> Iterator[list[CoreLine]]:
    """The lines of each run. A start within a run is that of a team inside it, unless it is the same team again."""
    run: list[CoreLine] = []
    team: str | None = None
    open_ = False
    for line in lines:
        started = _started(line)
        if started is not None and (not open_ or started == team):
            if team is not None:
                yield run
                run = []
            team, open_ = started, True
        elif team is not None and _ended(line, team):
            open_ = False
        run.append(line)
    if run:
        yield run


def _started(line: CoreLine) -> str | None:
    """The team, if a record is the task that begins its run."""
    record = line.record
    if record is None or record.get("sender") is not None or not str(record.get("delivery_stage")).endswith("SEND"):
        return None
    receiver = address_of(record.get("receiver"))
    if receiver is None or not isinstance(line.payload, dict) or not isinstance(line.payload.get("messages"), list):
        return None
    return receiver.team or receiver.name


def _ended(line: CoreLine, team: str) -> bool:
    if line.record is None or not str(line.record.get("delivery_stage")).endswith("SEND"):
        return False
    receiver = address_of(line.record.get("receiver"))
    return receiver is not None and receiver.team == team and receiver.name == "output_topic" and not isinstance(line.payload, dict)


def records_in(payload: Record) -> Iterator[tuple[str, Record, bool]]:
    """The records of AgentChat in a payload, with their places and whether they are said to the team."""
    messages = payload.get("messages")
    for index, item in enumerate(messages if isinstance(messages, list) else ()):
        if isinstance(item, dict) and "source" in item:
            yield f"/messages/{index}", item, True
    message = payload.get("message")
    if isinstance(message, dict) and "source" in message:
        yield "/message", message, False
    for name in ("response", "agent_response"):
        response = payload.get(name)
        if not isinstance(response, dict):
            continue
        for index, item in enumerate(response.get("inner_messages") or ()):
            if isinstance(item, dict):
                yield f"/{name}/inner_messages/{index}", item, False
        if isinstance(response.get("chat_message"), dict):
            yield f"/{name}/chat_message", response["chat_message"], True


def records_of(line: CoreLine) -> Iterator[Record]:
    """The records of AgentChat in a line of the event log."""
    if isinstance(line.payload, dict) and line.record is not None and line.record.get("type") == "Message":
        yield from (item for _, item, _ in records_in(line.payload))


def key_of(value: Any) -> bytes:
    """What is equal in all copies of a message."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=repr)
    except TypeError:  # an integer of more than 64 bits
        return repr(value).encode("utf-8", "replace")
