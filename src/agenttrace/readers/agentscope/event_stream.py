"""The stream of events of AgentScope 2.x: what an agent yields while it replies, a line each.

Facts from ``agentscope/event`` of 2.0.11: events share ``id, created_at, metadata, type`` and, but for a few, ``reply_id``.
Texts, thoughts, arguments and results come in pieces between a START and an END; ``tool_call_id`` and ``block_id`` say what
belongs together, ``MODEL_CALL_START`` and ``_END`` what one response of the model was. The question that is answered is not
in the stream.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.model import ContentPart, Usage
from agenttrace.notes import Notes
from agenttrace.readers.agentscope.blocks import Block, outcome_of, part_of
from agenttrace.readers.agentscope.messages import usage_of

__all__ = ["fill_stream", "is_stream_event"]

Item = dict[str, Any]

_COMMON = frozenset({"id", "created_at", "metadata", "type", "reply_id", "session_id"})
_TYPES = frozenset(
    {"REPLY_START", "REPLY_END", "MODEL_CALL_START", "MODEL_CALL_END", "TEXT_BLOCK_START", "THINKING_BLOCK_START", "DATA_BLOCK_START"}
    | {"TOOL_CALL_START", "TOOL_CALL_DELTA", "TOOL_RESULT_START", "TOOL_RESULT_END", "HINT_BLOCK", "TEXT_BLOCK_DELTA", "TOOL_CALL_END"}
)
_PIECES = {
    "TEXT_BLOCK_DELTA": ("block_id", "delta"),
    "THINKING_BLOCK_DELTA": ("block_id", "delta"),
    "TOOL_CALL_DELTA": ("tool_call_id", "delta"),
    "TOOL_RESULT_TEXT_DELTA": ("tool_call_id", "delta"),
}
_MADE_BY = {
    "TEXT_BLOCK_START": "TEXT_BLOCK",
    "THINKING_BLOCK_START": "THINKING_BLOCK",
    "TOOL_CALL_START": "TOOL_CALL",
    "TOOL_RESULT_END": "TOOL_RESULT",
}
_ENDS = frozenset({"TEXT_BLOCK_END", "THINKING_BLOCK_END", "DATA_BLOCK_END", "TOOL_CALL_END"})


def is_stream_event(value: Any) -> bool:
    """Whether a record is an event of the stream."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("type"), str)
        and value["type"] in _TYPES
        and "reply_id" in value
        and "created_at" in value
    )


def fill_stream(builder: TraceBuilder, notes: Notes, records: list[tuple[str, Any]]) -> None:
    """Fill a builder from the events of a stream."""
    stream = _Stream(builder, notes)
    events = [(ref, event) for ref, event in records if isinstance(event, dict)]
    for ref, event in events:
        stream.gather(ref, event)
    for ref, event in events:
        stream.add(ref, event)
    for ref, value in records:
        if not isinstance(value, dict):
            notes.drop("unreadable", ref, "no event", value)
    stream.close()


class _Stream:
    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._agents: dict[str, str] = {}  # reply -> who replies
        self._texts: dict[tuple[str, str], str] = {}  # what was put together of pieces, by kind and id
        self._pieces: dict[tuple[str, str], tuple[str, Item]] = {}  # where the first of them stands
        self._whole: set[tuple[str, str]] = set()  # those that have the event which makes something of them
        self._data: dict[str, list[Item]] = {}  # block or call -> pieces of pictures and sound
        self._calls: dict[str, Item] = {}  # MODEL_CALL_START -> its end
        self._open: dict[str, str] = {}  # reply -> MODEL_CALL_START at work
        self._model: dict[str, str | None] = {}
        self._turns: dict[str, str] = {}
        self._thoughts: dict[str, list[str]] = {}  # reply -> thoughts that wait for an event
        self._thought_at: dict[str, str] = {}
        self._usage_given: set[str] = set()
        self.kinds: Counter[str] = Counter()

    def gather(self, ref: str, event: Item) -> None:
        """Put pieces together, before any of them becomes an event."""
        kind, reply = str(event.get("type")), str(event.get("reply_id"))
        self.kinds[kind] += 1
        if kind in _PIECES:
            named, text = (event.get(key) for key in _PIECES[kind])
            key = (_of(kind), str(named))
            if isinstance(text, str):
                self._texts[key] = self._texts.get(key, "") + text
                self._pieces.setdefault(key, (ref, event))
            elif text is not None:
                self._notes.drop("unreadable", ref, "a piece that is no text", text)
        elif kind in _MADE_BY:
            self._whole.add((_MADE_BY[kind], str(event.get("block_id", event.get("tool_call_id")))))
        elif kind in ("DATA_BLOCK_DELTA", "TOOL_RESULT_DATA_DELTA"):
            self._data.setdefault(str(event.get("block_id" if kind[0] == "D" else "tool_call_id")), []).append(event)
        elif kind == "TEXT_BLOCK_END" and isinstance(event.get("text"), str):
            self._texts["TEXT_BLOCK", str(event.get("block_id"))] = event["text"]
        elif kind == "REPLY_START" and isinstance(event.get("name"), str):
            self._agents[reply] = self._builder.agent(event["name"])
        elif kind == "MODEL_CALL_START":
            self._open[reply] = str(event.get("id"))
        elif kind == "MODEL_CALL_END" and reply in self._open:
            self._calls[self._open.pop(reply)] = event

    def add(self, ref: str, event: Item) -> None:
        """Add what begins with an event, or is one."""
        kind, reply = str(event.get("type")), str(event.get("reply_id"))
        agent = self._agents.get(reply)
        if kind == "MODEL_CALL_START":
            self._turns[reply] = str(event.get("id"))
            name = event.get("model_name")
            self._model[str(event.get("id"))] = name if isinstance(name, str) else None
        elif kind == "TEXT_BLOCK_START":
            text = self._texts.get(("TEXT_BLOCK", str(event.get("block_id"))), "")
            self._builder.message(agent, text, **self._event(ref, event, "block_id", turn=True))
        elif kind == "THINKING_BLOCK_START":
            self._think(ref, reply, self._texts.get(("THINKING_BLOCK", str(event.get("block_id"))), ""))
        elif kind == "DATA_BLOCK_START":
            self._builder.message(agent, (self._part(event),), **self._event(ref, event, "block_id", "media_type", "name", turn=True))
        elif kind == "TOOL_CALL_START":
            self._call(ref, event, agent)
        elif kind == "TOOL_RESULT_END":
            self._result(ref, event)
        elif kind in _PIECES:
            self._piece(ref, event, agent)
        elif kind == "HINT_BLOCK":
            hint = event.get("hint")
            content = hint if isinstance(hint, str) else (ContentPart(kind="data", value=hint),)
            metadata = {"source": event["source"]} if event.get("source") is not None else None
            receivers = [agent] if agent is not None else []
            made = self._event(ref, event, "block_id", "hint", "source")
            self._builder.message(None, content, receivers=receivers, kind="system", metadata=metadata, **made)
        elif kind == "REQUIRE_USER_CONFIRM":
            listed = event.get("tool_calls")
            calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
            named = [call.get("id") for call in calls]
            rules = [call["suggested_rules"] for call in calls if call.get("suggested_rules")]
            made = self._event(ref, event, *(("tool_calls",) if named else ()))
            if rules:
                made["extra"] = {**(made["extra"] or {}), "suggested_rules": rules}
            self._builder.message(agent, None, kind="input_request", metadata={"tool_call_ids": named}, **made)
        elif kind == "USER_CONFIRM_RESULT":
            self._confirmed(ref, event, agent)
        elif kind == "REPLY_END":
            self._ended(ref, event, agent)
        elif kind not in _ENDS and kind not in _SILENT:
            rest = {key: item for key, item in event.items() if key not in _COMMON}
            told = (ContentPart(kind="data", value=rest),) if rest else None
            self._builder.message(agent, told, kind="error" if kind == "EXCEED_MAX_ITERS" else "log", **self._event(ref, event, *rest))

    def close(self) -> None:
        """Results that never ended, as in a stream that was cut, and what pieces there were."""
        for (kind, call), (ref, event) in self._pieces.items():
            if kind == "TOOL_RESULT" and (kind, call) not in self._whole:
                self._notes.add("salvaged", ref, f"the result of call {call} has no end")
                self._result(ref, {"tool_call_id": event.get("tool_call_id")})
        for reply, thoughts in self._thoughts.items():
            if any(thoughts):
                turn = f"turn:{self._turns[reply]}" if reply in self._turns else None
                self._builder.message(
                    self._agents.get(reply), None, reasoning="\n".join(thoughts), turn_id=turn, source_ref=self._thought_at.get(reply)
                )
        pieces = sum(count for kind, count in self.kinds.items() if kind in _PIECES or kind in _ENDS)
        if pieces:
            self._notes.add("copy", None, f"pieces of texts, arguments and results, and where they end ({pieces}): put together")
        self._builder.count_types(self.kinds)

    def _piece(self, ref: str, event: Item, agent: str | None) -> None:
        """The first piece of something whose beginning is missing stands for its beginning."""
        named, piece = _PIECES[event["type"]]
        key = (_of(event["type"]), str(event.get(named)))
        if key in self._whole or key[0] == "TOOL_RESULT" or self._pieces.get(key, ("", None))[0] != ref:
            return
        self._notes.add("salvaged", ref, f"{key[0].lower()} {key[1]} has no beginning")
        if key[0] == "TOOL_CALL":
            self._call(ref, {name: item for name, item in event.items() if name != piece}, agent)
        elif key[0] == "TEXT_BLOCK":
            self._builder.message(agent, self._texts[key], **self._event(ref, event, "block_id", piece, turn=True))
        else:
            self._think(ref, str(event.get("reply_id")), self._texts[key])

    def _think(self, ref: str, reply: str, thought: str) -> None:
        """A thought waits for what is said or done after it in the same reply."""
        if reply not in self._thoughts:
            self._thought_at[reply] = ref
        self._thoughts.setdefault(reply, []).append(thought)

    # -- parts ---------------------------------------------------------------------------------------

    def _event(self, ref: str, event: Item, *known: str, turn: bool = False) -> Item:
        """Fields of the event that a record begins."""
        reply, given, time = str(event.get("reply_id")), event.get("id"), event.get("created_at")
        extra = {key: item for key, item in event.items() if key not in _COMMON and key not in known and item not in (None, [], {})}
        if event.get("metadata"):
            extra["metadata"] = event["metadata"]
        if time is not None and not isinstance(time, str):
            extra["created_at"] = time
        fields: Item = {
            "event_id": given if isinstance(given, str) else None,
            "timestamp": time if isinstance(time, str) else None,
            "source_ref": ref,
            "extra": extra or None,
        }
        call = self._turns.get(reply)
        if turn and call is not None:
            fields["turn_id"] = f"turn:{call}"
            if call not in self._usage_given:
                self._usage_given.add(call)
                model = self._model.get(call)
                fields["usage"] = usage_of(self._calls.get(call), model) or (Usage(model=model) if model else None)
            if thoughts := self._thoughts.pop(reply, None):
                fields["reasoning"] = "\n".join(thoughts)
        return fields

    def _call(self, ref: str, event: Item, agent: str | None) -> None:
        given, name = event.get("tool_call_id"), event.get("tool_call_name")
        made = self._event(ref, event, "tool_call_id", "tool_call_name", turn=True)
        arguments = self._texts.get(("TOOL_CALL", str(given)))
        tool = name if isinstance(name, str) and name else None
        self._builder.call(agent, tool, arguments, call_id=given if isinstance(given, str) and given else None, **made)

    def _result(self, ref: str, event: Item) -> None:
        given, time = event.get("tool_call_id"), event.get("created_at")
        text = self._texts.get(("TOOL_RESULT", str(given)))
        pieces = self._data.get(str(given), [])
        output: Any = text
        if pieces:
            output = [
                *([{"type": "text", "text": text}] if text else []),
                *({k: v for k, v in piece.items() if k not in _COMMON} for piece in pieces),
            ]
        outcome = outcome_of({"output": output, "state": event.get("state")})
        extra = {"result.metadata": event["metadata"]} if event.get("metadata") else {}
        if outcome.status is None and event.get("state") is not None:
            extra["result.state"] = event["state"]
        self._builder.result(
            given if isinstance(given, str) and given else f"result:{ref}",
            outcome.result,
            status=outcome.status,
            error=outcome.error,
            completed_at=time if isinstance(time, str) else None,
            source_ref=ref,
            extra=extra or None,
        )

    def _part(self, event: Item) -> ContentPart:
        """A picture or a sound, put together."""
        pieces = self._data.get(str(event.get("block_id")), [])
        data = "".join(piece["data"] for piece in pieces if isinstance(piece.get("data"), str))
        url = next((piece["url"] for piece in pieces if isinstance(piece.get("url"), str)), None)
        source = {"media_type": event.get("media_type"), **({"data": data} if data else {}), **({"url": url} if url is not None else {})}
        return part_of(Block("", "data", {"type": "data", "source": source}))[0]

    def _confirmed(self, ref: str, event: Item, agent: str | None) -> None:
        """A person allows calls, or does not."""
        listed = event.get("confirm_results")
        said: Item = {}
        rules: list[Any] = []
        for item in listed if isinstance(listed, list) else ():
            call = item.get("tool_call") if isinstance(item, dict) else None
            if isinstance(call, dict):
                said[str(call.get("id"))] = item.get("confirmed")
                rules += item.get("rules") if isinstance(item.get("rules"), list) else []
        made = self._event(ref, event, *(("confirm_results",) if said else ()))
        if rules:
            made["extra"] = {**(made["extra"] or {}), "rules": rules}
        receivers = [agent] if agent is not None else []
        self._builder.message(None, None, receivers=receivers, kind="approval", metadata={"confirmed": said}, **made)

    def _ended(self, ref: str, event: Item, agent: str | None) -> None:
        """A reply has ended, with a reason, or with an error."""
        session, error = event.get("session_id"), event.get("error")
        self._builder.meta(session_id=session if isinstance(session, str) else None)
        reason = event.get("finished_reason")
        made = self._event(ref, event, "finished_reason", "error")
        content = None if error is None else (ContentPart(kind="data", value=error),)
        metadata = {"finished_reason": reason} if reason is not None else None
        self._builder.message(agent, content, kind="error" if error is not None else "termination", metadata=metadata, **made)


_SILENT = frozenset({"REPLY_START", "MODEL_CALL_END", "TOOL_RESULT_START", "DATA_BLOCK_DELTA", "TOOL_RESULT_DATA_DELTA"})


def _of(kind: str) -> str:
    return kind.removesuffix("_TEXT_DELTA").removesuffix("_DELTA")
