"""From a decoded dump of any variant to a Trace: what surrounds the messages, and what benchmarks wrote about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.model import Usage
from agenttrace.notes import Notes
from agenttrace.readers.autogen.agentchat import Conversation
from agenttrace.readers.autogen.chat import Dialogue
from agenttrace.readers.autogen.chat_lists import ChatList, merge_lists, owner_of
from agenttrace.readers.autogen.context import ModelContext
from agenttrace.readers.autogen.shapes import is_item
from agenttrace.readers.autogen.state import fill_state

__all__ = ["fill", "fill_chat_result_facts", "fill_from_lines", "keep_rest"]


def fill(builder: TraceBuilder, notes: Notes, variant: str, value: Any, at: str = "") -> None:
    """Fill a builder from one document of a variant; ``at`` is the place of the document in the source."""
    _FILLERS[variant](builder, notes, value, at)


def fill_from_lines(builder: TraceBuilder, notes: Notes, variant: str, lines: Iterable[tuple[str, Any]]) -> None:
    """Fill a builder from a file with one message a line."""
    if variant in ("messages", "model_context"):
        (Conversation if variant == "messages" else ModelContext)(builder, notes).add_all(lines)
        return
    pairs = list(lines)
    _converse(builder, notes, [ChatList([value for _, value in pairs], "", places=[ref for ref, _ in pairs])])


def _converse(builder: TraceBuilder, notes: Notes, chats: list[ChatList]) -> Dialogue:
    dialogue = Dialogue(builder, notes)
    for chat in chats:
        dialogue.add(chat)
    dialogue.close()
    return dialogue


def _refs(items: list[Any], at: str) -> Iterable[tuple[str, Any]]:
    return ((f"{at}/{index}", item) for index, item in enumerate(items))


def keep_rest(builder: TraceBuilder, notes: Notes, value: dict[str, Any], known: Iterable[str], at: str) -> None:
    """Keys that no field takes: kept in the run's `extra`, noted."""
    rest = {key: item for key, item in value.items() if key not in known and item is not None}
    if rest:
        builder.meta(extra=rest)
        for key in rest:
            notes.add("aside", f"{at}/{key}", "kept in `meta.extra`")


# -- 0.4 and later --------------------------------------------------------------------


def _task_result(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    Conversation(builder, notes).add_all(_refs(value["messages"], f"{at}/messages"))
    keep_rest(builder, notes, value, ("messages",), at)


def _messages(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    items = [(at, value)] if isinstance(value, dict) else _refs(value, at)
    Conversation(builder, notes).add_all(items)


def _response(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    inner = value.get("inner_messages")
    items = [*_refs(inner if isinstance(inner, list) else [], f"{at}/inner_messages"), (f"{at}/chat_message", value["chat_message"])]
    Conversation(builder, notes).add_all(items)
    keep_rest(builder, notes, value, ("chat_message", *(["inner_messages"] if isinstance(inner, list) or inner is None else [])), at)


def _model_context(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    messages = value["messages"] if isinstance(value, dict) else value
    answers = [item for item in messages if isinstance(item, dict) and item.get("type") == "AssistantMessage"]
    authors = {author for item in answers if isinstance(author := item.get("source"), str)}
    ModelContext(builder, notes, authors.pop() if len(authors) == 1 else None).add_all(
        _refs(messages, f"{at}/messages" if isinstance(value, dict) else at)
    )
    if isinstance(value, dict):
        keep_rest(builder, notes, value, ("messages",), at)


# -- 0.2 --------------------------------------------------------------------------------


def _chat_messages(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    """``{peer: [message]}`` of one agent, ``{agent: {peer: [message]}}`` of several, or a bare list of unnamed messages."""
    if isinstance(value, list):
        _converse(builder, notes, [ChatList(value, at, owner="assistant", peer="user")])
        notes.add("made_up", at or None, "agents assistant and user: the messages name nobody, only roles")
        return
    lists: list[ChatList] = []
    by_owner = value if any(isinstance(item, dict) for item in value.values()) else {None: value}
    for owner, by_peer in by_owner.items():
        prefix = at if owner is None else f"{at}{pointer(owner)}"
        if not isinstance(by_peer, dict):
            by_peer, prefix, owner = {owner: by_peer}, at, None  # noqa: PLW2901 - a list beside nested ones
        lists += _lists_of(notes, owner, by_peer, prefix)
    _converse(builder, notes, merge_lists(lists, notes))


def _lists_of(notes: Notes, owner: str | None, by_peer: dict[str, Any], at: str) -> list[ChatList]:
    known = owner if owner is not None else owner_of(by_peer)
    lists = []
    for peer, items in by_peer.items():
        chat = ChatList(items, f"{at}{pointer(peer)}", known, peer)
        others = [name for name in chat.named() if name != known]
        # Who never speaks in a list of several speakers relays: a group chat manager, on one side or the other.
        chat.group = len(others) > 1 or (bool(others) and peer not in others)
        if known is None and not chat.group:
            chat.owner = "assistant" if not others else None
            if not chat.named():
                notes.add("made_up", chat.ref, "agent assistant: the list does not name its owner")
        lists.append(chat)
    if any(chat.group for chat in lists) and known is not None and all(known not in chat.named() for chat in lists):
        for chat in lists:  # the owner itself only relays
            chat.owner = None
    return lists


def _group_chat(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    whole = isinstance(value, dict) and isinstance(value.get("messages"), list)
    items, ref = (value["messages"], f"{at}/messages") if whole else (value if isinstance(value, list) else [value], at)
    _converse(builder, notes, [ChatList(items, ref)])
    if whole:
        keep_rest(builder, notes, value, ("messages",), at)


def _chat_result(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    items = value["chat_history"]
    owner = owner_of({"": items})
    peers = [name for name in ChatList(items, "").named() if name != owner]
    pair = len(peers) == 1 and owner is not None
    _converse(builder, notes, [ChatList(items, f"{at}/chat_history", owner if pair else None, peers[0] if pair else None)])
    fill_chat_result_facts(builder, notes, value, at)


def fill_chat_result_facts(builder: TraceBuilder, notes: Notes, value: dict[str, Any], at: str) -> None:
    """What a ChatResult states beside its messages: summary, cost, what a person typed."""
    items = value["chat_history"]
    texts = {item.get("content") for item in items if isinstance(item, dict) and isinstance(item.get("content"), str)}
    typed = value.get("human_input")
    spoken = [text for text in typed if isinstance(text, str) and text in texts] if isinstance(typed, list) else []
    if spoken:
        notes.add("copy", f"{at}/human_input", f"{len(spoken)} inputs that stand in the chat as messages")
    usage, cost = _total_usage(value.get("cost"))
    rest = {
        **value,
        "cost": cost,
        "human_input": [text for text in typed if text not in spoken] or None if isinstance(typed, list) else typed,
    }
    builder.meta(final_answer=value.get("summary"), usage=usage)
    keep_rest(builder, notes, rest, ("chat_history", "summary"), at)


def _total_usage(cost: Any) -> tuple[Usage | None, Any]:
    """The total that ChatResult states, and what of ``cost`` it does not hold.

    Tokens only where one model was used, since no sum of ours is wanted.
    """
    total = cost.get("usage_including_cached_inference") if isinstance(cost, dict) else None
    if not isinstance(total, dict):
        return None, cost
    fields: dict[str, Any] = {}
    rest = dict(total)
    amount = rest.get("total_cost")
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        fields["cost_usd"] = rest.pop("total_cost")
    models = [(name, figures) for name, figures in total.items() if isinstance(figures, dict)]
    if len(models) == 1:
        name, figures = models[0]
        tokens = [key for key in ("prompt_tokens", "completion_tokens", "total_tokens") if type(figures.get(key)) is int]
        fields |= {"model": name, **{key: figures[key] for key in tokens}}
        rest[name] = {key: figure for key, figure in figures.items() if key not in tokens}
    return (Usage(**fields) if fields else None), {**cost, "usage_including_cached_inference": rest}


# -- benchmark files around 0.2 conversations --------------------------------------------


def _who_and_when(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    """Who&When, algorithm-generated: github.com/ag2ai/Agents_Failure_Attribution. All that judges wrote becomes annotations."""
    prompts = value.get("system_prompt")
    if isinstance(prompts, dict):
        for name, prompt in prompts.items():
            builder.agent(name, name=name, system_prompt=prompt if isinstance(prompt, str) else None)
    dialogue = _converse(builder, notes, [ChatList(value["history"], f"{at}/history", group=True)])
    solved = value.get("is_correct")
    builder.meta(
        task=_string(value.get("question")),
        task_id=_string(value.get("question_ID")),
        difficulty=_string(value.get("level")),
        success=solved if isinstance(solved, bool) else None,
        dataset="Who&When",
    )
    builder.annotate("ground_truth", value.get("ground_truth"), kind="ground_truth", source_ref=f"{at}/ground_truth")
    step = str(value.get("mistake_step")).strip()
    event_id = dialogue.events.get(f"{at}/history/{step}")
    names = [item.get("name") for item in value["history"] if isinstance(item, dict)] + list(prompts if isinstance(prompts, dict) else ())
    culprit = value.get("mistake_agent")
    agent_id = culprit if isinstance(culprit, str) and culprit in names else None
    for name in ("mistake_agent", "mistake_step", "mistake_reason", "labels"):
        if value.get(name) is not None:
            where = event_id if name != "mistake_agent" else None
            builder.annotate(name, value[name], kind="label", event_id=where, agent_id=agent_id, source_ref=f"{at}/{name}")
    known = {"history", "question", "question_ID", "level", "ground_truth", "mistake_agent", "mistake_step", "mistake_reason", "labels"}
    known |= {"is_correct"} if isinstance(solved, bool) else set()
    known |= {"system_prompt"} if isinstance(prompts, dict) and all(isinstance(prompt, str) for prompt in prompts.values()) else set()
    keep_rest(builder, notes, value, known, at)


def _masft(builder: TraceBuilder, notes: Notes, value: Any, at: str) -> None:
    """MASFT / MAST, the AG2 part: arXiv:2503.13657. Contents are lists of lines."""
    items = [_joined(item) for item in value["trajectory"]]
    _converse(builder, notes, [ChatList(items, f"{at}/trajectory")])
    facts = value.get("other_data")
    facts = facts if isinstance(facts, dict) else {}
    solved = facts.get("correct")
    task = _lines(value.get("problem_statement"))
    builder.meta(
        task=task if isinstance(task, str) else None,
        task_id=_string(value.get("instance_id")),
        success=solved if isinstance(solved, bool) else None,
        final_answer=facts.get("given"),
        dataset="MASFT",
    )
    if "answer" in facts:
        builder.annotate("answer", facts["answer"], kind="ground_truth", source_ref=f"{at}/other_data/answer")
    for key in [key for key in facts if key not in ("correct", "given", "answer")]:
        builder.annotate(key, facts[key], kind="ground_truth" if key.startswith("seed_") else "label", source_ref=f"{at}/other_data/{key}")
    note = value.get("note")
    if isinstance(note, dict):
        if note.get("text"):
            builder.annotate("note", _lines(note["text"]), kind="label", source_ref=f"{at}/note/text")
        options = note.get("options")
        for key, choice in (options if isinstance(options, dict) else {}).items():
            builder.annotate(key, choice, kind="label", source_ref=f"{at}/note/options{pointer(key)}")
        rest = {key: item for key, item in note.items() if key != "text" and (key != "options" or not isinstance(item, dict))}
    else:
        rest = note
    known = {"trajectory", "instance_id", *(() if rest else ("note",))}
    known |= {"problem_statement"} if isinstance(task, str) else set()
    known |= {"other_data"} if facts is value.get("other_data") and (solved is None or isinstance(solved, bool)) else set()
    keep_rest(builder, notes, {**value, "note": rest or None}, known, at)


def _joined(item: Any) -> Any:
    return {**item, "content": _lines(item.get("content"))} if is_item(item) else item


def _lines(value: Any) -> Any:
    """A list of lines as one text; anything else as it is."""
    return "\n".join(value) if isinstance(value, list) and all(isinstance(line, str) for line in value) else value


def _string(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


_FILLERS = {
    "team_state": fill_state,
    "agent_state": fill_state,
    "task_result": _task_result,
    "messages": _messages,
    "response": _response,
    "model_context": _model_context,
    "chat_messages": _chat_messages,
    "group_chat": _group_chat,
    "chat_result": _chat_result,
    "who_and_when": _who_and_when,
    "masft": _masft,
}
