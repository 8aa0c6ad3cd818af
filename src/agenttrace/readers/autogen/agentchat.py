"""AutoGen 0.4+ (AgentChat and core): lists of messages and agent events, and dumps of a model context.

Every record has ``type`` and ``source``. Facts that the code rests on, from
``autogen_agentchat`` (messages.py, teams/_group_chat/_chat_agent_container.py):

* A chat message is published to the members of the team; agent events (tool events,
  thoughts, selections, chunks) are not delivered to other agents.
* One model response is a ThoughtEvent (if any) and then either a
  ToolCallRequestEvent or a chat message with ``models_usage``.
* A ToolCallSummaryMessage and a HandoffMessage repeat calls and results.
* Ids and times exist since 0.6; ``is_error`` since 0.4.1: before, an exception is
  the text ``Error: …``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from agenttrace.builder import EVERYONE, TraceBuilder
from agenttrace.model import ContentPart, Usage
from agenttrace.notes import Notes
from agenttrace.readers.autogen.code_runs import CodeRuns
from agenttrace.readers.autogen.heard import Heard
from agenttrace.readers.autogen.members import Members
from agenttrace.readers.autogen.records import (
    BASE,
    CALL,
    NOTHING_BESIDE,
    RESULT,
    Beside,
    Fields,
    Record,
    content_of,
    metadata_of,
    outcome_of,
    rest_of,
    text_of,
    usage_of,
)
from agenttrace.readers.autogen.streams import Stream, Streams
from agenttrace.times import from_epoch

__all__ = ["Conversation"]

_KINDS = {"StopMessage": "termination", "ToolCallSummaryMessage": "summary", "system": "system", "error": "error"}


class Conversation:
    """Feeds records, in the order of the log, to a TraceBuilder."""

    def __init__(self, builder: TraceBuilder, notes: Notes) -> None:
        self._builder = builder
        self._notes = notes
        self._types: list[str] = []
        self._seen_ids: dict[str, Record] = {}
        self._heard = Heard()
        self.team = Members()
        self._thought_turn: dict[str | None, str] = {}
        self._streams = Streams(notes)
        self._beside = NOTHING_BESIDE  # what the log tells of the record at hand
        self._code = CodeRuns(builder, notes)
        self._handlers: dict[str, Callable[[Record, str, str | None], str | None]] = {
            "TextMessage": self._text_message,
            "HandoffMessage": self._handoff,
            "ToolCallSummaryMessage": self._summary,
            "ToolCallRequestEvent": self._request,
            "ToolCallExecutionEvent": self._execution,
            "CodeGenerationEvent": self._code_generation,
            "CodeExecutionEvent": self._code_execution,
            "UserInputRequestedEvent": self._input_request,
            "ThoughtEvent": self._thought,
            "SelectSpeakerEvent": self._selection,
            "SelectorEvent": self._selection,
            "FunctionExecutionResultMessage": self._execution,
        }

    def add_all(self, items: Iterable[tuple[str, Any]]) -> None:
        """Add every record, then settle what only the end can tell."""
        for ref, record in items:
            self.add(ref, record)
        self.close()

    def close(self) -> None:
        """Settle what only the end can tell."""
        for stream in self._streams.unfinished():
            self._lost_stream(stream)
        for outsider in self.team.outsiders():
            self._builder.agent(outsider, participant=False)
        self._code.close()
        self._builder.count_types(Counter(self._types))

    def has_result(self, call_id: str) -> bool:
        """Whether a result of that call came."""
        return call_id in self._heard.results

    def count(self, copies: Iterable[Any]) -> None:
        """Count the types of records that are copies of others and give no events."""
        self._types += [kind for record in copies if isinstance(record, dict) and isinstance(kind := record.get("type"), str)]

    def add(self, ref: str, record: Any, beside: Beside = NOTHING_BESIDE) -> str | None:
        """Add one record; what is no record is kept aside whole. Returns the event's id, if it gave one."""
        self._beside = beside
        if type(record) is not dict or not record:
            self._keep_whole(ref, record)
            return None
        kind = record.get("type")
        if type(kind) is str:
            self._types.append(kind)
        else:
            kind = ""
        identity = record.get("id")
        if isinstance(identity, str) and kind != "ModelClientStreamingChunkEvent":
            known = self._seen_ids.setdefault(identity, record)
            if known is not record and known == record:
                self._notes.add("copy", ref, f"record {identity} again")
                if beside.holders:
                    self._builder.receive(identity, beside.holders)
                return None
        source = record.get("source")
        if source is not None and not isinstance(source, str):
            source = str(source)
        if kind == "ModelClientStreamingChunkEvent":
            self._streams.add(ref, source, record)
            return None
        if self._streams:
            for stream in self._streams.settle(source, record):
                self._lost_stream(stream)
        try:
            return self._handlers.get(kind, self._chat)(record, ref, source)
        except (TypeError, AttributeError, ValueError, KeyError):  # values of types that no version writes
            self._keep_whole(ref, record)
            return None

    # -- chat messages: delivered to the whole team ------------------------------

    def _text_message(self, record: Record, ref: str, source: str | None) -> str:
        """The bulk of every log, so without detours; what is unusual goes the long way."""
        get = record.get
        content, created, identity = get("content"), get("created_at"), get("id")
        if type(content) is not str or source is None or get("metadata") or not record.keys() <= BASE:
            return self._chat(record, ref, source)
        beside = self._beside
        if beside.timestamp or beside.team or beside.extra or beside.raw_response is not None:
            return self._chat(record, ref, source)
        if not (created is None or type(created) is str) or not (identity is None or type(identity) is str):
            return self._chat(record, ref, source)
        usage: Usage | None = None
        turn = self._thought_turn.pop(source, None) if self._thought_turn else None
        if (stated := get("models_usage")) is not None:
            usage, rest = usage_of(stated)
            if rest is not None:
                return self._chat(record, ref, source)
            turn = turn or identity or f"turn:{ref}"
        self._heard.texts.append(content)
        self.team.speaks(source, record)
        holders = beside.holders
        return self._builder.message(
            source,
            content,
            receivers=holders or EVERYONE,
            broadcast=bool(holders),
            event_id=identity,
            timestamp=created,
            turn_id=turn,
            usage=usage,
            source_ref=ref,
        )

    def _chat(self, record: Record, ref: str, source: str | None) -> str:
        kind = record.get("type")
        # AgentChat 0.6 could write records without type and content, and cut ones lack them, too: nothing says what they were.
        event = kind.endswith("Event") if isinstance(kind, str) else "content" not in record and not self._beside.spoken
        receivers = {"receivers": ()} if event else self._hearers(source)
        content, metadata = self._content(record.get("content")), metadata_of(record)
        if not event:
            self.team.speaks(source, record)
        if record.get("format_string"):
            metadata["format_string"] = record["format_string"]
        return self._builder.message(
            source,
            content,
            kind=_KINDS.get(kind if isinstance(kind, str) else "", "log" if event else "chat"),
            metadata=metadata,
            **receivers,
            **self._event(record, ref, self._turn(record, source, ref), ("format_string",)),
        )

    def _hearers(self, source: str | None) -> dict[str, Any]:
        """To whom a chat message goes: who is known to have it, the team that the log shows, or all participants."""
        beside = self._beside
        if beside.holders:
            return {"receivers": beside.holders, "broadcast": True}
        if beside.team:
            return {"receivers": [member for member in beside.team if member != source], "origin": "derived", "broadcast": True}
        return {"receivers": EVERYONE}

    def _handoff(self, record: Record, ref: str, source: str | None) -> str:
        target = record.get("target")
        metadata = metadata_of(record)
        if context := record.get("context"):
            if self._heard.repeats(context):
                self._notes.add("copy", f"{ref}/context", "the calls and results that the handed-over context repeats")
            else:
                metadata["context"] = context
        self.team.speaks(source, record)
        if isinstance(target, str):
            self.team.addressed(target)
        return self._builder.message(
            source,
            self._content(record.get("content")),
            receivers=(target,) if isinstance(target, str) else EVERYONE,
            kind="handoff",
            metadata=metadata,
            **self._event(record, ref, self._turn(record, source, ref), ("target", "context") if isinstance(target, str) else ("context",)),
        )

    def _summary(self, record: Record, ref: str, source: str | None) -> str:
        calls, results = record.get("tool_calls") or (), record.get("results") or ()
        if calls or results:
            if self._heard.knows(calls) and self._heard.knows(results):
                self._notes.add("copy", ref, f"calls ({len(calls)}) and results ({len(results)}) that the summary repeats")
            else:
                self._request({"content": list(calls)}, f"{ref}/tool_calls", source)
                self._execution({"content": list(results)}, f"{ref}/results", source)
        return self._chat({key: value for key, value in record.items() if key not in ("tool_calls", "results")}, ref, source)

    # -- agent events: not delivered to others -------------------------------------

    def _thought(self, record: Record, ref: str, source: str | None) -> str:
        self._thought_turn.pop(source, None)
        turn = self._turn_id(record, ref)
        event_id = self._builder.message(
            source, self._content(record.get("content")), kind="thought", metadata=metadata_of(record), **self._event(record, ref, turn)
        )
        self._thought_turn[source] = turn
        return event_id

    def _selection(self, record: Record, ref: str, source: str | None) -> str:
        content = record.get("content")
        chosen = [name for name in content if isinstance(name, str)] if isinstance(content, list) else []
        if source is not None:
            self.team.manages(source)
        for name in chosen:
            self.team.addressed(name)
        return self._builder.message(
            source,
            None if chosen and len(chosen) == len(content or ()) else self._content(content),
            receivers=chosen,
            kind="selection",
            metadata=metadata_of(record),
            **self._event(record, ref, self._turn(record, source, ref)),
        )

    def _input_request(self, record: Record, ref: str, source: str | None) -> str:
        metadata = metadata_of(record)
        if source is not None:
            self._builder.agent(source, role="user")
            self.team.answers(source)
        if record.get("request_id") is not None:
            metadata["request_id"] = record["request_id"]
        return self._builder.message(
            source,
            self._content(record.get("content")),
            kind="input_request",
            metadata=metadata,
            **self._event(record, ref, None, ("request_id",)),
        )

    def _request(self, record: Record, ref: str, source: str | None) -> str | None:
        calls = record.get("content")
        if type(calls) is not list or not calls:
            return self._chat(record, ref, source)
        where = f"{ref}/content" if "type" in record else ref
        turn = self._turn(record, source, ref, response=True)
        fields = self._fields(record, ref)
        extra = fields.extra
        if metadata := metadata_of(record):
            extra = {**(extra or {}), "metadata": metadata}
        first: str | None = None
        for index, call in enumerate(calls):
            if type(call) is not dict:
                self._keep_whole(f"{where}/{index}", call)
                continue
            call_id = text_of(call.get("id"))
            if call_id is not None:
                self._heard.calls[call_id] = call
            if not call.keys() <= CALL:
                extra = {**(extra or {}), "call": {key: value for key, value in call.items() if key not in CALL}}
            made = self._builder.call(
                source,
                text_of(call.get("name")),
                call.get("arguments"),
                call_id=call_id,
                event_id=fields.event_id if first is None or fields.event_id is None else f"{fields.event_id}#{index + 1}",
                timestamp=fields.timestamp,
                turn_id=turn,
                usage=fields.usage if first is None else None,
                raw_response=fields.raw_response if first is None else None,
                source_ref=f"{where}/{index}",
                extra=extra,
            )
            first = first or made
            extra = None
        return first

    def _execution(self, record: Record, ref: str, source: str | None) -> str | None:
        results = record.get("content")
        if type(results) is not list or not results:
            return self._chat(record, ref, source)
        where = f"{ref}/content" if "type" in record else ref
        extra = {} if record.keys() <= BASE else rest_of(record, ())
        if type(identity := record.get("id")) is str:
            extra["result_id"] = identity
        if metadata := metadata_of(record):
            extra["result_metadata"] = metadata
        if record.get("models_usage") is not None:
            extra["result_usage"] = record["models_usage"]
        completed_at = self._time(record, extra)
        done: str | None = None
        for index, item in enumerate(results):
            if type(item) is not dict:
                self._keep_whole(f"{where}/{index}", item)
                continue
            status, failed = outcome_of(item)
            content = item.get("content")
            call_id = text_of(item.get("call_id"))
            if call_id is None:
                call_id = f"unnamed:{where}/{index}"
                self._notes.add("made_up", f"{where}/{index}", f"tool_call_id {call_id}: the result names no call")
            self._heard.results[call_id] = item
            if not item.keys() <= RESULT or not (item.get("is_error") is None or type(item["is_error"]) is bool):
                extra["result"] = {key: value for key, value in item.items() if key not in ("content", "name", "call_id")}
            if (name := item.get("name")) is not None and self._heard.calls.get(call_id, item).get("name") != name:
                extra["result_name"] = name
            event_id = self._builder.result(
                call_id,
                None if failed else content,
                error=content if failed else None,
                status=status,
                completed_at=completed_at,
                caller=source,
                executor=source,
                tool=text_of(item.get("name")),
                source_ref=f"{where}/{index}",
                extra=extra,
            )
            if extra:
                self._notes.add("aside", ref, f"{', '.join(extra)} of the execution record, in `extra` of its first call", event_id)
                extra = {}
            done = done or event_id
        return done

    def _code_generation(self, record: Record, ref: str, source: str | None) -> str:
        attempt = {"retry_attempt": record["retry_attempt"]} if record.get("retry_attempt") else {}
        event_id = self._builder.message(
            source,
            self._content(record.get("content")),
            kind="code",
            metadata=metadata_of(record) | attempt,
            **self._event(record, ref, self._turn(record, source, ref, response=True), ("code_blocks", "retry_attempt")),
        )
        self._code.propose(source, event_id, record.get("code_blocks"))
        return event_id

    def _code_execution(self, record: Record, ref: str, source: str | None) -> str:
        attempt = record.get("retry_attempt")
        taken = ("result", "retry_attempt") if type(attempt) is int or attempt is None else ("result",)
        return self._code.execute(source, record, ref, self._event(record, ref, None, taken))

    def _lost_stream(self, stream: Stream) -> None:
        """A stream that led to no message becomes one of its own."""
        self._notes.add("derived", stream.ref, f"joined from {stream.count} stream chunks that no message follows")
        event = self._event(stream.first, stream.ref, None, ("full_message_id",))
        self._builder.message(text_of(stream.first.get("source")), stream.text, kind="log", **event)

    # -- what all records share -------------------------------------------------------

    def _event(self, record: Record, ref: str, turn: str | None, taken: tuple[str, ...] = ()) -> dict[str, Any]:
        """The event fields of a record as keyword arguments; ``taken`` are the keys that its handler maps itself."""
        return {"source_ref": ref, "turn_id": turn, **self._fields(record, ref, taken)._asdict()}

    def _fields(self, record: Record, ref: str, taken: tuple[str, ...] = ()) -> Fields:
        """What every record may state; keys that nothing takes go to ``extra``, noted."""
        identity = record.get("id")
        extra: dict[str, Any] = {}
        if identity is not None and type(identity) is not str:
            extra["id"] = identity
            identity = None
        if not record.keys() <= BASE:
            extra.update(rest_of(record, taken))
        usage: Usage | None = None
        if (stated := record.get("models_usage")) is not None:
            usage, rest = usage_of(stated)
            if rest is not None:
                extra["models_usage"] = rest
        timestamp = self._time(record, extra) or self._beside.timestamp
        if extra:
            self._notes.add("aside", ref, f"{', '.join(extra)}, in `extra`")
        if self._beside.extra:
            extra.update(self._beside.extra)
        return Fields(identity, timestamp, usage, extra or None, self._beside.raw_response)

    def _time(self, record: Record, extra: dict[str, Any]) -> str | None:
        moment = record.get("created_at")
        if moment is None or isinstance(moment, str):
            return moment
        if isinstance(moment, int | float) and not isinstance(moment, bool) and (text := from_epoch(moment)):
            return text
        extra["created_at"] = moment
        return None

    def _turn(self, record: Record, source: str | None, ref: str, *, response: bool = False) -> str | None:
        """The model response that a record belongs to: that of the thought before it, or its own if a model made it."""
        thought = self._thought_turn.pop(source, None) if self._thought_turn else None
        if thought is not None:
            return thought
        return self._turn_id(record, ref) if response or record.get("models_usage") is not None else None

    def _turn_id(self, record: Record, ref: str) -> str:
        identity = record.get("id")
        return identity if isinstance(identity, str) else f"turn:{ref}"

    def _content(self, content: Any) -> str | tuple[ContentPart, ...] | None:
        if isinstance(content, str):
            self._heard.texts.append(content)
        return content_of(content)

    def _keep_whole(self, ref: str, value: Any) -> None:
        if value == {} or value is None:
            self._notes.drop("wrapper", ref, "an empty record", value)
            return
        self._builder.extra.setdefault("records", []).append({"source_ref": ref, "value": value})
        self._notes.add("aside", ref, "no record of a known shape; kept whole in the trace's `extra`")
