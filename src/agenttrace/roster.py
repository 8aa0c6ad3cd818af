"""Who takes part in a run, for messages that go to everyone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec.structs import force_setattr

from agenttrace.model import Message

__all__ = ["EVERYONE", "Everyone", "address"]

_PASSIVE_ROLES = frozenset({"environment", "tool"})


class Everyone:
    """The type of :data:`EVERYONE`."""

    def __repr__(self) -> str:
        return "EVERYONE"


EVERYONE: Final = Everyone()
"""As ``receivers``: all participants of the run but the sender, by the framework's delivery rule (``derived``).

Who takes part is decided when the trace is built: for frameworks whose teams do not
change during a run. Where agents come and go, name the receivers."""


def address(messages: Iterable[Message], agents: Mapping[str, Mapping[str, Any]], outsiders: set[str]) -> None:
    """Give messages to everyone their receivers: the agents that are no outsiders, tools or environments, without the sender.

    Args:
        messages: the messages; they are changed.
        agents: the fields of each agent of the run, by its id, in the order of the run.
        outsiders: agents that take no part.
    """
    roster = [agent_id for agent_id, fields in agents.items() if agent_id not in outsiders and fields.get("role") not in _PASSIVE_ROLES]
    receivers: dict[str | None, tuple[str, ...]] = {}
    for message in messages:
        sender = message.sender_id
        ids = receivers.get(sender)
        if ids is None:
            ids = receivers[sender] = tuple(agent_id for agent_id in roster if agent_id != sender)
        if ids:
            force_setattr(message, "receiver_ids", ids)
            force_setattr(message, "receivers_origin", "derived")
