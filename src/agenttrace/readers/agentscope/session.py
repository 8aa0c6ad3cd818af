"""What agents remember: memories of 1.x, sessions of several agents, the state of an agent of 2.x; plans and tasks in them.

Facts from ``agentscope/session``, ``memory``, ``plan`` of 1.0.21 and ``state`` of 2.0.11:

* A session is ``{agent: {memory: {content: [[message, marks], …]}, toolkit, plan_notebook, name, _sys_prompt}}``; earlier
  1.0 has messages without marks.
* A plan has subtasks without ids: their place in the plan is all there is. The plan's own state may lag behind.
* The state of 2.x is ``{session_id, summary, context: [message], tasks_context: {tasks}, …}``; a task has an id, an owner,
  and ``blocked_by``.
"""

from __future__ import annotations

from typing import Any

from agenttrace.builder import TraceBuilder
from agenttrace.lenient import pointer
from agenttrace.misfits import misfits
from agenttrace.notes import Notes
from agenttrace.readers.agentscope.messages import Conversation, is_message

__all__ = ["fill_memory", "fill_session", "fill_state", "is_memory", "is_session", "is_state"]

Item = dict[str, Any]

_PLAN = {"todo": "created", "in_progress": "in_progress", "done": "completed", "abandoned": "cancelled"}
_TASK = {"pending": "created", "in_progress": "in_progress", "completed": "completed"}


def is_memory(value: Any) -> bool:
    """Whether a value is a memory of 1.x."""
    if not isinstance(value, dict) or not isinstance(value.get("content"), list) or "role" in value:
        return False
    return "_compressed_summary" in value or (bool(value["content"]) and all(is_message(_message(item)) for item in value["content"][:20]))


def is_session(value: Any) -> bool:
    """Whether a value is a session: agents with memories."""
    if not isinstance(value, dict) or not value:
        return False
    states = [state for state in value.values() if isinstance(state, dict) and is_memory(state.get("memory"))]
    return bool(states) and any("_sys_prompt" in state or "toolkit" in state or state["memory"].get("content") for state in states)


def is_state(value: Any) -> bool:
    """Whether a value is the state of an agent of 2.x."""
    return isinstance(value, dict) and "session_id" in value and isinstance(value.get("context"), list) and "reply_context" in value


def _message(item: Any) -> Any:
    return item[0] if isinstance(item, list) and item else item


def fill_session(builder: TraceBuilder, notes: Notes, value: Item, ref: str = "") -> None:
    """Fill a builder from a session."""
    talk = Conversation(builder, notes)
    for key, state in value.items():
        place = ref + pointer(key)
        if not isinstance(state, dict) or not is_memory(state.get("memory")):
            builder.extra.setdefault("states", {})[key] = state
            notes.add("aside", place, "no agent with a memory; kept in the trace's `extra`")
            continue
        stated = state.get("name")
        name = stated if isinstance(stated, str) and stated else key
        prompt = state.get("_sys_prompt")
        config = {
            item: held
            for item, held in state.items()
            if item not in ("memory", "name", "_sys_prompt", "plan_notebook") and held not in (None, [], {})
        }
        if prompt is not None and not isinstance(prompt, str):
            config["_sys_prompt"] = prompt
        if name != key:
            config["key"] = key
        talk.called(key, name)
        builder.agent(name, system_prompt=prompt if isinstance(prompt, str) else None, config=config or None)
        _remember(builder, notes, talk, state["memory"], f"{place}/memory", name)
        _notebook(builder, notes, talk, state.get("plan_notebook"), f"{place}/plan_notebook", name)
    talk.close()


def fill_memory(builder: TraceBuilder, notes: Notes, value: Item) -> None:
    """Fill a builder from a memory; whose it is, is not said."""
    talk = Conversation(builder, notes)
    _remember(builder, notes, talk, value, "", None)
    talk.close()


def _remember(builder: TraceBuilder, notes: Notes, talk: Conversation, memory: Item, place: str, holder: str | None) -> None:
    for index, item in enumerate(memory["content"]):
        pair = isinstance(item, list)
        ref = f"{place}/content/{index}" + ("/0" if pair else "")
        message = _message(item)
        if not is_message(message):
            builder.extra.setdefault("records", []).append({"source_ref": ref, "value": item})
            notes.add("aside", ref, "no message; kept in the trace's `extra`")
            continue
        marks = item[1] if pair and len(item) > 1 else None
        talk.add(message, ref, holder, extra={"marks": marks} if marks else None)
    rest = {key: held for key, held in memory.items() if key != "content" and held not in (None, "", [], {})}
    if rest:
        builder.extra.setdefault("memories", []).append({"agent_id": holder, **rest})
        notes.add("aside", place or None, f"{', '.join(rest)}, in the trace's `extra`")


# -- plans of 1.x -------------------------------------------------------------------------------


def _notebook(builder: TraceBuilder, notes: Notes, talk: Conversation, notebook: Any, place: str, agent: str) -> None:
    """The plan at work, and those before it."""
    if not isinstance(notebook, dict):
        if notebook is not None:
            builder.extra.setdefault("records", []).append({"source_ref": place, "value": notebook})
            notes.add("aside", place, "no plan notebook; kept in the trace's `extra`")
        return
    storage = notebook.get("storage")
    plans = storage.get("plans") if isinstance(storage, dict) else None
    known = {f"{place}/storage/plans{pointer(key)}": plan for key, plan in plans.items()} if isinstance(plans, dict) else {}
    current = notebook.get("current_plan")
    if current is not None and current not in known.values():
        known[f"{place}/current_plan"] = current
    for ref, plan in known.items():
        if isinstance(plan, dict) and isinstance(plan.get("subtasks"), list):
            _plan(builder, notes, talk, plan, ref, agent)
        elif plan is not None:
            builder.extra.setdefault("records", []).append({"source_ref": ref, "value": plan})
            notes.add("aside", ref, "no plan; kept in the trace's `extra`")
    rest = {key: held for key, held in notebook.items() if key not in ("storage", "current_plan") and held not in (None, [], {})}
    rest |= misfits(notebook, {"storage": dict})
    if isinstance(storage, dict):
        rest |= {f"storage.{key}": held for key, held in storage.items() if held and (key != "plans" or not isinstance(held, dict))}
    if rest:
        builder.extra.setdefault("plan_notebooks", []).append({"agent_id": agent, **rest})


def _plan(builder: TraceBuilder, notes: Notes, talk: Conversation, plan: Item, ref: str, agent: str) -> None:
    named = plan.get("id")
    plan_id = named if isinstance(named, str) and named else f"plan:{ref}"
    _planned(builder, talk, plan, plan_id, ref, agent, None)
    if isinstance(plan.get("name"), str) and plan["name"] in talk.asked:
        notes.add("copy", ref, "names and expected outcomes: the arguments of create_plan")
    for index, subtask in enumerate(plan["subtasks"]):
        if isinstance(subtask, dict):
            _planned(builder, talk, subtask, f"{plan_id}/{index}", f"{ref}/subtasks/{index}", agent, plan_id)
        else:
            builder.extra.setdefault("records", []).append({"source_ref": f"{ref}/subtasks/{index}", "value": subtask})


def _planned(builder: TraceBuilder, talk: Conversation, item: Item, subtask_id: str, ref: str, agent: str, parent: str | None) -> None:
    """A plan or one of its subtasks: made at one time, in some state by now, ended at another."""
    state = item.get("state")
    status = _PLAN.get(state) if isinstance(state, str) else None
    goal = item.get("description")
    extra = {
        key: held
        for key, held in item.items()
        if key not in _TOLD and held is not None and not (isinstance(held, str) and held in talk.asked)
    }
    if state is not None:
        extra["state"] = state
    extra |= misfits(item, dict.fromkeys(("id", "description", "created_at", "finished_at"), str))
    times = [item[key] if isinstance(item.get(key), str) else None for key in ("created_at", "finished_at")]
    builder.subtask(
        subtask_id,
        agent=agent,
        parent_task_id=parent,
        assigned_to=(agent,),
        goal=goal if isinstance(goal, str) else None,
        status="created",
        event={"timestamp": times[0], "source_ref": ref, "extra": extra or None},
    )
    if status not in (None, "created") or item.get("outcome") is not None:
        event = {"timestamp": times[1], "source_ref": f"{ref}/state"}
        builder.subtask(subtask_id, agent=agent, status=status or "created", result=item.get("outcome"), event=event)


_TOLD = frozenset({"id", "description", "subtasks", "state", "created_at", "finished_at", "outcome"})


# -- the state of 2.x ------------------------------------------------------------------------------


def fill_state(builder: TraceBuilder, notes: Notes, value: Item) -> None:
    """Fill a builder from the state of an agent of 2.x; the one who replies in it is its owner."""
    session = value.get("session_id")
    builder.meta(session_id=session if isinstance(session, str) else None)
    talk = Conversation(builder, notes)
    own = next(
        (item["name"] for item in value["context"] if is_message(item) and item["role"] == "assistant" and isinstance(item["name"], str)),
        None,
    )
    for index, message in enumerate(value["context"]):
        ref = f"/context/{index}"
        if is_message(message):
            talk.add(message, ref, own)
        else:
            builder.extra.setdefault("records", []).append({"source_ref": ref, "value": message})
            notes.add("aside", ref, "no message; kept in the trace's `extra`")
    talk.close()
    tasks = value.get("tasks_context")
    listed = tasks.get("tasks") if isinstance(tasks, dict) else None
    _tasks(builder, listed if isinstance(listed, list) else [], own)
    rest = {
        key: held for key, held in value.items() if key not in ("session_id", "context", "tasks_context") and held not in (None, "", [], {})
    }
    rest |= misfits(value, {"session_id": str, "tasks_context": dict})
    if isinstance(tasks, dict):
        rest |= misfits(tasks, {"tasks": list}) | {f"tasks_context.{key}": held for key, held in tasks.items() if key != "tasks" and held}
    if rest:
        builder.extra["state"] = rest
        notes.add("aside", None, f"{', '.join(rest)}, in the trace's `extra`")


def _tasks(builder: TraceBuilder, tasks: list[Any], agent: str | None) -> None:
    known: set[str] = set()
    for index, task in enumerate(tasks):
        ref = f"/tasks_context/tasks/{index}"
        if not isinstance(task, dict) or not isinstance(task.get("id"), str):
            builder.extra.setdefault("records", []).append({"source_ref": ref, "value": task})
            continue
        before = task.get("blocked_by")
        depends = [name for name in before if isinstance(name, str) and name in known] if isinstance(before, list) else []
        state, owner, made = task.get("state"), task.get("owner"), task.get("created_at")
        extra = {
            key: held
            for key, held in task.items()
            if key not in ("id", "description", "state", "owner", "created_at") and held not in (None, [], {})
        }
        if depends == before:
            extra.pop("blocked_by", None)
        extra |= misfits(task, dict.fromkeys(("description", "state", "owner", "created_at"), str))
        builder.subtask(
            task["id"],
            agent=agent,
            goal=task["description"] if isinstance(task.get("description"), str) else None,
            status=_TASK.get(state) if isinstance(state, str) else None,
            assigned_to=(owner,) if isinstance(owner, str) and owner else (),
            depends_on=tuple(depends),
            event={"timestamp": made if isinstance(made, str) else None, "source_ref": ref, "extra": extra or None},
        )
        known.add(task["id"])
