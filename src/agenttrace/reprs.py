"""Python reprs as data: a literal parser that never evaluates anything.

People print objects, and logs are full of ``TaskResult(messages=[TextMessage(source='user', …)])``.
Literals become what they are, tuples and sets lists, a call ``Name(key=value)`` an object of its
keywords, ``datetime.datetime(…)`` a time, anything opaque (``<object at 0x…>``) its text.
A text that is cut gives the values up to there.

Grammar: the "Literals" and "Calls" parts of the Python language reference, as ``repr`` writes them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, NamedTuple

__all__ = ["Repr", "parse_fields", "parse_repr"]

_DEEPEST = 100  # some five frames of the interpreter each
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\[[\w.\[\], ]*\])?")
_NUMBER = re.compile(r"[+-]?(?:inf|nan|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)")
_STRING = re.compile(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_OPAQUE = re.compile(r"<[^<>]*(?:<[^<>]*>[^<>]*)*>")
_TZ_INFO = re.compile(r"TzInfo\((?:UTC|([+-])?(\d\d):(\d\d)(?::\d\d)?|(\d+))\)")
_FIELD = re.compile(r" ?([A-Za-z_]\w*)=")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=\s*")
_PLAIN = re.compile(r"""([A-Za-z_]\w*)=(?:'([^'\\]*(?:\\.[^'\\]*)*)'|"([^"\\]*(?:\\.[^"\\]*)*)")(?=[,)])""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(\n)|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_CONSTANTS = {"None": None, "True": True, "False": False, "nan": None, "inf": None}
_PAIRS = {"(": ")", "[": "]", "{": "}"}


class Repr(NamedTuple):
    """What stood in a text.

    Attributes:
        value: the value, as JSON knows values.
        name: the class name when the whole is a call, else None.
        end: the index behind it.
        cut: where the text ended too early, or None.
    """

    value: Any
    name: str | None
    end: int
    cut: int | None


def parse_repr(text: str, start: int = 0) -> Repr | None:
    """The Python literal or call at ``start``; None when there is none."""
    parser = _Parser(text, start)
    try:
        parser.blank()
        name = parser.call_name()
        value = parser.value(0)
    except _NoValueError:
        return None
    return Repr(value, name, parser.at, parser.cut)


def parse_fields(text: str, start: int = 0) -> tuple[dict[str, Any], int]:
    """The fields ``key=value key=value`` at ``start``, as pydantic writes an object, and the index behind them."""
    fields: dict[str, Any] = {}
    at = start
    while match := _FIELD.match(text, at):
        value = parse_repr(text, match.end())
        if value is None or value.cut is not None:
            break
        fields[match[1]] = value.value
        at = value.end
    return fields, at


class _NoValueError(Exception):
    """Nothing that is a value stands here."""


class _Parser:
    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start
        self.cut: int | None = None

    def blank(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def call_name(self) -> str | None:
        match = _NAME.match(self.text, self.at)
        return match.group() if match and self.text[match.end() : match.end() + 1] == "(" else None

    def value(self, depth: int) -> Any:
        """The value at the cursor."""
        if depth > _DEEPEST:
            raise _NoValueError
        opening = self.peek()
        if opening in ("[", "(", "{") and opening:
            return self._collection(depth)
        if string := _STRING.match(self.text, self.at):
            return self._strings(string)
        if name := _NAME.match(self.text, self.at):
            return self._named(name, depth)
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return _number(number.group())
        if opaque := _OPAQUE.match(self.text, self.at):
            self.at = opaque.end()
            return opaque.group()
        if not opening:
            self.cut = self.at
        raise _NoValueError

    def _named(self, match: re.Match[str], depth: int) -> Any:
        name = match.group()
        if self.text[match.end() : match.end() + 1] != "(":
            self.at = match.end()
            return _CONSTANTS.get(name, name)
        if zone := _TZ_INFO.match(self.text, self.at):  # pydantic's, which is no literal
            self.at = zone.end()
            sign, hours, minutes, seconds = zone.groups()
            return {"seconds": (int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)) * (-1 if sign == "-" else 1)}
        self.at = match.end()
        arguments, keywords = self._call(depth)
        if name in ("datetime.datetime", "datetime", "datetime.timedelta", "datetime.timezone"):
            return _time_value(name, arguments, keywords)
        if not arguments:
            return keywords
        return {**keywords, "args": arguments}

    def _call(self, depth: int) -> tuple[list[Any], dict[str, Any]]:
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        for key, item in self._items(depth, keyed="="):
            if key is None:
                arguments.append(item)
            else:
                keywords[str(key)] = item
        return arguments, keywords

    def _collection(self, depth: int) -> Any:
        braces = self.peek() == "{"
        listed: list[Any] = []
        mapping: dict[str, Any] = {}
        for key, item in self._items(depth, keyed=":" if braces else ""):
            if key is None:
                listed.append(item)
            else:
                mapping[key if isinstance(key, str) else str(key)] = item
        return mapping if mapping or (braces and not listed) else listed

    def _items(self, depth: int, keyed: str) -> list[tuple[Any, Any]]:
        """What stands between brackets, as (key or None, value); up to where the text is cut or no longer a literal."""
        closing = _PAIRS[self.peek()]
        self.at += 1
        items: list[tuple[Any, Any]] = []
        while self.cut is None:
            self.blank()
            character = self.peek()
            if character == closing:
                self.at += 1
                break
            if not character:
                self.cut = self.at
                break
            self._item(items, depth, keyed)
            self.blank()
            character = self.peek()
            if character == ",":
                self.at += 1
            elif character != closing and self.cut is None:
                self.cut = self.at
        return items

    def _item(self, items: list[tuple[Any, Any]], depth: int, keyed: str) -> None:
        start = self.at
        if keyed == "=" and (plain := _PLAIN.match(self.text, start)) is not None:  # most of what is printed
            body = plain[2] if plain[2] is not None else plain[3]
            items.append((plain[1], body if "\\" not in body else _ESCAPE.sub(_unescape, body)))
            self.at = plain.end()
            return
        try:
            key = self._keyword() if keyed == "=" else None
            item = self.value(depth + 1)
            self.blank()
            if keyed == ":" and self.peek() == ":":
                self.at += 1
                self.blank()
                key, item = item, self.value(depth + 1)
            items.append((key, item))
        except _NoValueError:
            self.cut = start

    def _keyword(self) -> str | None:
        match = _KEYWORD.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[1]

    def _strings(self, match: re.Match[str] | None) -> str:
        """Adjacent string literals are one text."""
        parts = []
        while match is not None and self.cut is None:
            parts.append(self._string(match))
            behind = self.at
            self.blank()
            match = _STRING.match(self.text, self.at)
            if match is None:
                self.at = behind
        return "".join(parts)

    def _string(self, match: re.Match[str]) -> str:
        prefix, quote = match[1].lower(), match[2]
        begin = position = match.end()
        while True:
            end = self.text.find(quote, position)
            if end == -1:
                self.at = len(self.text)
                self.cut = begin
                raise _NoValueError
            if self.text[end - 1] != "\\":
                break
            backslashes = end - len(self.text[begin:end].rstrip("\\")) - begin
            if backslashes % 2 == 0:
                break
            position = end + 1
        self.at = end + len(quote)
        body = self.text[begin:end]
        return body if "\\" not in body or "r" in prefix else _ESCAPE.sub(_unescape, body)


def _unescape(match: re.Match[str]) -> str:
    for digits in match.group(1, 2, 3):
        if digits:
            code = int(digits, 16)
            return chr(code) if code <= 0x10FFFF else match.group()
    if match[4]:
        return chr(int(match[4], 8))
    if match[5]:
        return ""
    return _SIMPLE.get(match[6], match.group())


def _number(text: str) -> Any:
    plain = text.replace("_", "")
    try:
        return int(plain)
    except ValueError:
        pass
    try:
        number = float(plain)
    except ValueError:
        return text
    return number if number - number == 0 else None  # NaN and infinities are no JSON


def _time_value(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """A time or an offset from the parts that ``repr`` writes; as an object of its parts when they make no time."""
    parts = [part for part in arguments if type(part) is int]
    try:
        if name == "datetime.timedelta":
            return {"seconds": keywords.get("seconds", 0) + 86400 * keywords.get("days", 0) + sum(parts)}
        if name == "datetime.timezone":
            return arguments[0]
        zone = keywords.get("tzinfo")
        offset = UTC if zone in ("datetime.timezone.utc", "UTC") else None
        if isinstance(zone, dict):
            offset = timezone(timedelta(seconds=zone["seconds"]))
        year, month, day, hour, minute, second, microsecond, *_ = [*parts, 0, 0, 0, 0] if len(parts) >= 3 else parts
        return datetime(year, month, day, hour, minute, second, microsecond, offset).isoformat()
    except (ValueError, TypeError, KeyError, IndexError, OverflowError):
        return {**keywords, "args": arguments}
