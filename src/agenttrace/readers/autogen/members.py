"""Who is in a team of AgentChat, and so receives what is published to it.

Facts from ``autogen_agentchat/teams/_group_chat``: messages are published to the
participants. A manager is one only when it speaks itself (MagenticOneOrchestrator). Who sets
the task (``user``, usually) is none, unless it is a UserProxyAgent, which speaks again
or asks for input.
"""

from __future__ import annotations

from collections.abc import Iterable

from agenttrace.readers.autogen.records import Record

__all__ = ["Members"]


class Members:
    """What a log shows of the members of a team."""

    def __init__(self) -> None:
        self._speakers: set[str] = set()
        self._managers: set[str] = set()
        self._known: set[str] = set()
        self._opener: str | None = None  # who spoke first, and not again once others had
        self._previous: str | None = None

    def add(self, names: Iterable[str]) -> None:
        """Names of agents that the log shows to be in the team; once any are known, nobody else is."""
        self._known.update(names)

    def manages(self, manager: str) -> None:
        """An agent that decides who speaks."""
        self._managers.add(manager)

    def addressed(self, name: str) -> None:
        """An agent that is handed over to, or chosen."""
        self._speakers.add(name)

    def answers(self, source: str) -> None:
        """A person in the team who is asked for input."""
        if source == self._opener:
            self._opener = None

    def speaks(self, source: str | None, record: Record) -> None:
        """An agent that says something to the team."""
        if source is None or source == self._previous:
            return
        self._speakers.add(source)
        if self._previous is None:
            self._opener = source if record.get("models_usage") is None else None  # no model sets a task
        elif source == self._opener:
            self._opener = None
        self._previous = source

    def outsiders(self) -> set[str]:
        """Agents to whom nothing is published."""
        silent = self._managers - self._speakers
        if self._known:
            return (self._speakers | self._managers) - (self._known - silent)
        return silent | ({self._opener} if self._opener is not None else set())
