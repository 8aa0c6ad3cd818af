"""What may be mended in an AgentTrace document before it is refused.

The format page allows: absence or null for empty, unknown keys (moved to the
nearest ``extra``). JSON text cannot hold lone surrogates and NaN: replaced.
Each repair is reported, nothing happens silently.
"""

from __future__ import annotations

import math
import re
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec

from agenttrace import model
from agenttrace.errors import ModelError

__all__ = ["Repair", "check_version", "json_safe", "pointer", "repair_document"]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Repair(NamedTuple):
    """One thing that was mended: a note code (``aside`` or ``replaced``), the JSON pointer, a sentence."""

    code: str
    pointer: str
    detail: str


class _Slot(NamedTuple):
    """What may stand under a key: nested structs (one, or by their ``type``), a collection of them, a whole number, or anything."""

    one: type | None = None
    by_tag: dict[str, type] | None = None
    many: bool = False
    collection: bool = False
    whole: bool = False


def pointer(*parts: object) -> str:
    """A JSON pointer (RFC 6901) from keys and indices."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def check_version(version: object, path: str | None) -> None:
    """Raise ModelError ``version`` for a schema_version that is not 1.x (absent counts as 1.0)."""
    if version is None or (isinstance(version, str) and re.fullmatch(r"1(\.\d+)*", version)):
        return
    raise ModelError("version", path, "/schema_version", f"schema_version {version!r:.40} is not 1.x", "read it with a newer release")


def repair_document(document: Any, path: str | None) -> tuple[Any, list[Repair]]:
    """A copy of a decoded document that the typed decoder can take, and what was mended in it.

    Raises:
        ModelError: ``version`` for another major version; ``invalid`` when the document is no object.
    """
    if not isinstance(document, dict):
        raise ModelError("invalid", path, None, f"a trace is a JSON object, this is {type(document).__name__}")
    check_version(document.get("schema_version"), path)
    repairs: list[Repair] = []
    fixed = _repair(document, model.Trace, (), repairs)
    return fixed, repairs


def _repair(value: dict[str, Any], struct: type, at: tuple[object, ...], repairs: list[Repair]) -> dict[str, Any]:
    slots = _slots(struct)
    fixed: dict[str, Any] = {}
    strays: dict[str, Any] = {}
    for key, item in value.items():
        slot = slots.get(key)
        if slot is None:
            strays[_free(key, strays)] = item
        elif item is None and slot.collection:
            continue
        elif slot.whole and type(item) is float and item.is_integer():
            fixed[key] = int(item)  # JSON has one kind of number: 5.0 is 5
        else:
            fixed[key] = _repair_slot(item, slot, (*at, key), repairs, strays)
    if struct is not model.Trace or isinstance(fixed.get("extra"), dict):  # a trace must have `extra`: the decoder says that it has none
        _keep_strays(strays, fixed, "extra" in slots, at, repairs, value)
    return fixed


def _repair_slot(item: Any, slot: _Slot, at: tuple[object, ...], repairs: list[Repair], strays: dict[str, Any]) -> Any:
    if slot.many and isinstance(item, list) and (slot.one or slot.by_tag):
        return [_repair_slot(part, slot._replace(many=False), (*at, index), repairs, strays) for index, part in enumerate(item)]
    struct = slot.one
    if slot.by_tag and isinstance(item, dict):
        tag = item.get("type")
        struct = slot.by_tag.get(tag) if isinstance(tag, str) else None
    if struct is None or not isinstance(item, dict):
        return item
    fixed = _repair(item, struct, at, repairs)
    if slot.by_tag:
        fixed["type"] = item["type"]
    # A struct without `extra` of its own hands its unknown keys up, under their path.
    path = f"{at[-2]}.{at[-1]}" if isinstance(at[-1], int) else at[-1]
    for key, stray in fixed.pop(_UP, {}).items():
        strays[_free(f"{path}.{key}", strays)] = stray
    return fixed


_UP = "\0unknown"


def _keep_strays(
    strays: dict[str, Any], fixed: dict[str, Any], has_extra: bool, at: tuple[object, ...], repairs: list[Repair], value: dict[str, Any]
) -> None:
    if not strays or not isinstance(fixed.get("extra", {}), dict):  # what is wrong about `extra` is for the decoder to say
        return
    if not has_extra:
        fixed[_UP] = strays
    else:
        extra = dict(fixed.get("extra", {}))
        for key, item in strays.items():
            extra[_free(key, extra)] = item
        fixed["extra"] = extra
    own = [key for key in strays if key in value]  # the others were told where they stood
    repairs += [Repair("aside", pointer(*at, key), "unknown key, moved to the nearest `extra`") for key in own]


def _free(name: str, taken: dict[str, Any]) -> str:
    """``name``, or the first of ``name~``, ``name~~`` … that is not taken."""
    while name in taken:
        name += "~"
    return name


@cache
def _slots(struct: type[msgspec.Struct]) -> dict[str, _Slot]:
    slots = {field.encode_name: _slot(field.type) for field in msgspec.structs.fields(struct)}
    if struct.__struct_config__.tag is not None:
        slots["type"] = _Slot()
    return slots


def _slot(hint: Any) -> _Slot:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _slot(arguments[0])._replace(many=True, collection=True)
    if origin is dict:
        return _Slot(collection=True)
    if origin in (Union, UnionType):
        structs = [a for a in arguments if isinstance(a, type) and issubclass(a, msgspec.Struct)]
        if len(structs) > 1:
            return _Slot(by_tag={str(a.__struct_config__.tag): a for a in structs})
        if structs:
            return _Slot(one=structs[0])
        if int in arguments and float not in arguments:
            return _Slot(whole=True)
        lists = [a for a in arguments if get_origin(a) is tuple]
        return _slot(lists[0])._replace(collection=False) if lists else _Slot()
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return _Slot(one=hint)
    return _Slot()


def json_safe(value: Any, found: list[Repair]) -> Any:
    """A copy of ``value`` without lone surrogates (U+FFFD instead) and NaN or infinities (null instead).

    What was replaced goes to ``found``. Iterative, since the value may be nested deeply.
    """
    root: list[Any] = [value]
    stack: list[tuple[Any, Any, tuple[object, ...]]] = [(root, 0, ())]
    while stack:
        holder, key, at = stack.pop()
        item = holder[key]
        if isinstance(item, str):
            holder[key] = _safe_text(item, at, found)
        elif isinstance(item, float) and not math.isfinite(item):
            found.append(Repair("replaced", pointer(*at), f"the number {item} became null"))
            holder[key] = None
        elif isinstance(item, dict):
            safe: dict[str, Any] = {}
            holder[key] = safe
            for word, part in item.items():
                safe[_free(_safe_text(str(word), at, found), safe)] = part
            stack.extend((safe, word, (*at, word)) for word in reversed(safe))
        elif isinstance(item, list | tuple):
            holder[key] = listed = list(item)
            stack.extend((listed, index, (*at, index)) for index in reversed(range(len(listed))))
    return root[0]


def _safe_text(text: str, at: tuple[object, ...], found: list[Repair]) -> str:
    if not _SURROGATE.search(text):
        return text
    found.append(Repair("replaced", pointer(*at), "lone surrogates, which UTF-8 cannot hold, became U+FFFD"))
    return _SURROGATE.sub("\ufffd", text)
