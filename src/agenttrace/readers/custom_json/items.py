"""Items of a log: found by a path, in the order of the document; and what of a log no rule took."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

__all__ = ["Item", "Path", "items_at", "left_over", "record_of", "value_at"]

_STEP = re.compile(r'"(?P<quoted>[^"]+)"|(?P<key>[A-Za-z_][\w-]*)|(?P<each>\[\])')

Path = tuple[str | int, ...]
"""Where a value is: keys and indices from the root of its trace."""


class Item(NamedTuple):
    """A value of the log.

    Attributes:
        path: where it is.
        order: sorts items as they stand in the log, one before those within it.
        value: the value.
        parents: the values around it, the nearest first.
    """

    path: Path
    order: tuple[int, ...]
    value: Any
    parents: tuple[Any, ...]


def items_at(root: Any, path: str) -> Iterator[Item]:
    """The items at a path (keys with dots, ``[]`` for each member of a list) below a root."""
    steps = [match["quoted"] or match["key"] for match in _STEP.finditer(path)]
    waiting = [(Item((), (), root, ()), 0)]
    while waiting:
        item, at = waiting.pop()
        if at == len(steps):
            yield item
            continue
        step, value = steps[at], item.value
        around = (value, *item.parents)
        if step is None and isinstance(value, list):
            inner = [Item((*item.path, index), (*item.order, index), member, around) for index, member in enumerate(value)]
            waiting += [(member, at + 1) for member in reversed(inner)]
        elif step is not None and isinstance(value, dict) and step in value:
            order = list(value).index(step)
            waiting.append((Item((*item.path, step), (*item.order, order), value[step], around), at + 1))


def value_at(value: Any, path: Iterable[str]) -> Any:
    """The value at a path of keys; None where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def record_of(path: Path) -> Path:
    """The path of the record in which an item is: the outermost member of a list, or else the whole trace."""
    return next((path[: number + 1] for number, step in enumerate(path) if isinstance(step, int)), ())


def left_over(root: Any, taken: set[Path], owners: set[Path], keep: Callable[[Path, Any], None]) -> None:
    """Hand to ``keep`` what is at none of the taken paths, with the path of the owner within which it is.

    The root owns what no other owner does. Values that hold no taken path and no owner are handed over whole.
    """
    reached: set[Path] = set()
    for path in (*taken, *owners):
        while path not in reached:
            reached.add(path)
            path = path[:-1]  # noqa: PLW2901 - up to the root
    rest = _rest(root, (), taken, owners, reached, keep)
    if rest is not None:
        keep((), rest)


def _rest(value: Any, path: Path, taken: set[Path], owners: set[Path], reached: set[Path], keep: Callable[[Path, Any], None]) -> Any:
    if path in taken:
        if path in reached:  # owners may stand within what was taken
            _descend(value, path, taken, owners, reached, keep)
        return None
    if path not in reached:
        return None if value in (None, "", [], {}) else value
    left = _descend(value, path, taken, owners, reached, keep)
    if left is not None and path in owners and path:
        keep(path, left)
        return None
    return left


def _descend(value: Any, path: Path, taken: set[Path], owners: set[Path], reached: set[Path], keep: Callable[[Path, Any], None]) -> Any:
    if isinstance(value, dict):
        parts = {key: _rest(item, (*path, key), taken, owners, reached, keep) for key, item in value.items()}
        return {key: part for key, part in parts.items() if part is not None} or None
    if isinstance(value, list):
        members = [_rest(item, (*path, index), taken, owners, reached, keep) for index, item in enumerate(value)]
        return [member for member in members if member is not None] or None
    return None if value in (None, "", [], {}) else value
