"""The tolerant parsing that readers share: JSON that is cut, mixed, mis-encoded or not quite JSON.

``look`` tells a sniffer what shape an input has, parsing as little as it can;
``document`` and ``records`` give a reader the values and put into the notes what
was damaged. The usual case, sound UTF-8 JSON, costs one decode and one walk.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

import orjson

from agenttrace.compression import bounded_lines
from agenttrace.errors import ReadError
from agenttrace.lenient import Repair, json_safe
from agenttrace.notes import Notes, measure
from agenttrace.reprs import parse_repr
from agenttrace.sources import Source, decode_text

__all__ = ["Look", "Parsed", "document", "excerpt", "look", "note_damage", "parse", "records"]

LOOKED_THROUGH = 256 << 10
"""Documents, or lines, up to this many bytes are looked through for keys given twice and integers beyond 64 bits.

The look costs a third of a conversion, and what has such things was written by hand or to deceive, not by a long run.
"""

_SAMPLE = 20
_PRINTED = re.compile(rb"\s*[A-Za-z_][\w.]{0,80}\(")
_STAMPED = re.compile(rb"\s*\[?\d{1,4}[-:/]\d\d[-:/ ]")  # a time, which a parser of JSON would take for a broken list or number
_BLANK = b" \t\r\n\0"
_CONTROL = bytes(byte for byte in range(27) if byte < 9 or byte > 13)
_SMALL = 64 << 20


@dataclass
class Look:
    """The shape of an input.

    Attributes:
        kind: ``json`` (one document), ``repr`` (one printed Python object), ``jsonl`` (several values, in lines or
            run together), ``text`` or ``binary`` (neither).
        value: the document of kind ``json`` or ``repr``.
        sample: the first values of kind ``jsonl``.
        values: all values of kind ``jsonl``, where they stand in no lines of their own.
        repairs: what was damaged.
        name: the class of kind ``repr``.
    """

    kind: Literal["json", "repr", "jsonl", "text", "binary"]
    value: Any = None
    sample: list[Any] = field(default_factory=list)
    values: list[Any] | None = None
    repairs: list[Repair] = field(default_factory=list)
    name: str | None = None

    @property
    def is_document(self) -> bool:
        """Whether ``value`` holds one whole document."""
        return self.kind in ("json", "repr")


def look(source: Source) -> Look:
    """The shape of an input, found once and kept.

    Raises:
        ReadError: ``empty``, ``too_large``, or what reading itself raises.
    """
    found = source.memo.get("look")
    if found is None:
        found = source.memo["look"] = _look(source)
    return found


def document(source: Source, notes: Notes) -> Any:
    """The one value of a source that is a document; damage goes to the notes."""
    seen = look(source)
    _note(seen.repairs, notes, None)
    notes.count_source(seen.value)
    return seen.value


def records(source: Source, notes: Notes) -> Iterator[tuple[str, Any]]:
    """The values of a source of kind ``jsonl`` with their places, one line in memory at a time.

    A line that is no JSON is noted ``unreadable``, a cut one ``salvaged`` as far as it goes.
    """
    seen = look(source)
    _note(seen.repairs, notes, None)
    if seen.values is not None:
        for number, value in enumerate(seen.values, 1):
            notes.count_source(value)
            yield f"document:{number}", value
        return
    with source.stream() as stream:
        for number, line in enumerate(bounded_lines(stream, source.label), 1):
            if line.strip():
                yield from _line(line, f"line:{number}", notes)
    note_damage(source, notes)


def note_damage(source: Source, notes: Notes) -> None:
    """After streaming: note that the compressed stream was not whole."""
    if source.damage:
        notes.add("salvaged", None, source.damage)


def _line(line: bytes, place: str, notes: Notes) -> Iterator[tuple[str, Any]]:
    parsed = parse(line)
    _note(parsed.repairs, notes, place)
    if not parsed.values:
        notes.add("unreadable", place, f"no JSON: {excerpt(line.decode('utf-8', 'replace'))}")
    for value in parsed.values:
        notes.count_source(value)
        yield place, value


def _note(repairs: list[Repair], notes: Notes, place: str | None) -> None:
    for repair in repairs:
        notes.add(repair.code, place or repair.pointer or None, repair.detail)


def _look(source: Source) -> Look:
    if source.size <= _SMALL:
        source.raw  # noqa: B018 - one read serves recognising, parsing and the hash
    head = source.head
    if not head.strip(b"\xef\xbb\xbf \t\r\n\0"):
        reason = "the file holds only blanks or NUL bytes" if source.size else "the file is empty"
        raise ReadError("empty", source.label, None, reason, "leave it out")
    if _is_binary(head):
        return Look("binary")
    if rows := _first_rows(source):
        return Look("jsonl", sample=rows)
    return _look_whole(source)


def _is_binary(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    text = head[:4096].replace(b"\0", b"")  # NUL bytes stand in logs that a crash left half-written
    return head.startswith(b"SQLite format 3\0") or len(text.translate(None, _CONTROL)) < 0.9 * len(text)


def _first_rows(source: Source) -> list[Any]:
    """The first values of a file whose first line is a JSON object with more lines behind it."""
    start = source.head.lstrip(b"\xef\xbb\xbf \t\r\n")
    line, newline, _ = start.partition(b"\n")
    if not start.startswith(b"{") or (newline and not line.rstrip().endswith(b"}")):
        return []
    rows: list[Any] = []
    with source.stream() as stream:
        lines = (line.removeprefix(b"\xef\xbb\xbf") for line in bounded_lines(stream, source.label) if line.strip(_BLANK))
        sample = list(islice(lines, _SAMPLE))
    if len(sample) < 2:
        return []
    for number, line in enumerate(sample):
        try:
            rows.append(orjson.loads(line))
        except orjson.JSONDecodeError:
            if number == 0:
                return []
    return rows


def _look_whole(source: Source) -> Look:
    parsed = parse(source.data) if not _STAMPED.match(source.head) else Parsed([], [])
    repairs = parsed.repairs
    if source.damage:
        repairs.insert(0, Repair("salvaged", "", source.damage))
    lines = _sample_lines(source.data) if repairs or len(parsed.values) != 1 else []
    if lines:
        return Look("jsonl", sample=lines)
    if not parsed.values:
        return _look_printed(source.data) or Look("text", repairs=repairs)
    if len(parsed.values) > 1:
        return Look("jsonl", sample=parsed.values[:_SAMPLE], values=parsed.values, repairs=repairs)
    return Look("json", value=parsed.values[0], repairs=repairs)


def _look_printed(data: bytes) -> Look | None:
    """A printed Python object, ``Name(key=value, …)``, if that is what the text begins with."""
    if not _PRINTED.match(data):
        return None
    text, _, guess = decode_text(data)
    printed = parse_repr(text)
    if printed is None or printed.name is None or not isinstance(printed.value, dict):
        return None
    repairs = [Repair("salvaged", "", guess)] if guess else []
    if printed.cut is not None:
        rest = text[printed.cut :]
        repairs.append(Repair("salvaged", "", f"cut or no literal at character {printed.cut}: {excerpt(rest)}"))
    elif rest := text[printed.end :].strip():
        repairs.append(Repair("unreadable", "", f"behind the end of the object ({len(rest)} characters): {excerpt(rest)}"))
    return Look("repr", value=json_safe(printed.value, repairs), repairs=repairs, name=printed.name)


def _sample_lines(data: bytes) -> list[Any]:
    """The JSON objects among the first lines, when they are at least half of them: lines with a broken first one."""
    lines = [line for line in data[: 1 << 20].split(b"\n", 4 * _SAMPLE)[: 4 * _SAMPLE] if line.strip()][:_SAMPLE]
    rows = []
    for line in lines:
        try:
            value = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict) and value:
            rows.append(value)
    return rows if len(rows) >= max(2, len(lines) / 2) else []


class Parsed(NamedTuple):
    """The JSON values found in some bytes (usually one), and what had to be mended."""

    values: list[Any]
    repairs: list[Repair]


def parse(data: bytes) -> Parsed:
    """The JSON in ``data``, mended where it is not quite JSON; no values when there is none."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return Parsed(*parse_text(data))
    repairs: list[Repair] = []
    if len(data) <= LOOKED_THROUGH:
        size = measure(value)
        if _may_repeat_keys(data, size.keys) and (names := repeated_keys(data)):
            repairs.append(_repeated(names))
        if size.huge:  # orjson makes floats of integers beyond 64 bits
            with suppress(ValueError, RecursionError):
                value = _Decoder([]).decode(data.decode())
    return Parsed([value], repairs)


def _may_repeat_keys(data: bytes, keys: int) -> bool:
    """Whether more keys are written in JSON bytes than were decoded.

    Written keys are closing quotes before a colon, less those inside strings, which are
    escaped. Counting fixed bytes is fast; only where that cannot be right is looked closely.
    """
    written = data.count(b'":') + data.count(b'" :')
    if written > keys:
        written -= data.count(b'\\":') + data.count(b'\\" :')
    if written < keys:
        written = len(_KEY_END.findall(data))
    return written > keys


def _repeated(names: list[str]) -> Repair:
    return Repair("unreadable", "", f"keys given twice in one object, the last one counts: {', '.join(names)}")


def repeated_keys(data: bytes) -> list[str]:
    """The first few keys that stand twice in one object."""
    names: list[str] = []
    with suppress(ValueError, RecursionError):
        _Decoder(names).decode(data.decode("utf-8", "replace"))
    return names


class _Decoder(json.JSONDecoder):
    """The decoder of the standard library, lenient about control characters and endless numbers; repeated keys go to ``names``."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(strict=False, parse_int=_integer, object_pairs_hook=self._pairs)
        self._names = names

    def _pairs(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            counts = Counter(key for key, _ in items)
            self._names += [excerpt(key, 60) for key, count in counts.items() if count > 1][: 5 - len(self._names)]
        return made


def _integer(digits: str) -> int | str:
    """An integer; Python refuses thousands of digits, they stay a text."""
    return int(digits) if len(digits) <= _LONGEST_INTEGER else digits


def parse_text(data: bytes) -> tuple[list[Any], list[Repair]]:
    """The JSON values in bytes that a strict parser refuses, and what was wrong.

    Tried in turn: another encoding; NaN and lone surrogates; further documents or
    garbage behind the first; a text that is cut, closed at its last whole value.
    """
    text, _, guess = decode_text(data)
    repairs = [Repair("salvaged", "", guess)] if guess else []
    text = text.strip("\ufeff \t\r\n\0")
    if text[:1] not in ("{", "["):
        return [], []
    values: list[Any] = []
    names: list[str] = []
    together = False
    decoder = _Decoder(names)
    position = 0
    while position < len(text):
        try:
            value, end = decoder.raw_decode(text, position)
        except RecursionError:
            repairs.append(Repair("unreadable", "", "nested too deeply"))
            break
        except json.JSONDecodeError:
            rest = text[position:]
            value, cut = close_truncated(rest, decoder) if rest[0] in "{[" else (None, None)
            if cut is not None and not value and not values and _BRACKETED.match(rest):
                break
            if cut is not None:
                values.append(value)
                repairs.append(cut)
            elif values:
                repairs.append(Repair("unreadable", "", f"behind the end of the JSON ({len(rest)} characters): {excerpt(rest)}"))
            break
        values.append(value)
        position = end
        while position < len(text) and text[position] in " \t\r\n\0,":
            position += 1
        together = together or (position < len(text) and not {"\n", "\r"} & set(text[end:position]))
    if names:
        repairs.append(_repeated(names))
    if together and len(values) > 1:
        repairs.append(Repair("salvaged", "", f"{len(values)} JSON documents run together in one text"))
    return [json_safe(value, repairs) for value in values], repairs


_BRACKETED = re.compile(r'[\[{]\s*[^\s"{}\[\],]+[\s,\]}:]')  # text in brackets, as log lines begin: no value that JSON knows stands there
_KEY_END = re.compile(rb'(?<!\\)(?:\\\\)*"\s*:')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_DEEPEST = 900
_LONGEST_INTEGER = 4000
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|NaN|-?Infinity")


def close_truncated(text: str, decoder: json.JSONDecoder) -> tuple[Any, Repair | None]:
    """A JSON text that is cut or broken, closed at its last whole value.

    Returns the value and a repair that says where; or (None, None) when nothing stands before the break.
    """
    scan = _Scan(text)
    position = 0
    for match in _TOKEN.finditer(text):
        if text[position : match.start()].strip() or not scan.take(match.group(), match.end()):
            break
        position = match.end()
    if not scan.safe:
        return None, None
    try:
        value = decoder.decode(text[: scan.safe] + scan.closers)
    except (json.JSONDecodeError, RecursionError):
        return None, None
    lost = text[scan.safe :].strip(" \t\r\n,")
    line = text.count("\n", 0, scan.safe) + 1
    where = f"cut or broken at line {line}, character {scan.safe}; closed at the last whole value"
    return value, Repair("salvaged", "", f"{where}; left out ({len(lost)} characters): {excerpt(lost)}")


class _Scan:
    """Follows the tokens of a JSON text up to the first that cannot stand where it stands.

    Attributes:
        safe: the index behind the last whole value.
        closers: the brackets that close the text there.
    """

    def __init__(self, text: str) -> None:
        self.safe = 0
        self.closers = ""
        self._length = len(text)
        self._stack: list[str] = []
        self._before = ""  # the token before, ``key`` for a key, ``value`` for a whole value

    def take(self, token: str, end: int) -> bool:
        """Whether the token may follow; if so it is taken."""
        in_object = bool(self._stack) and self._stack[-1] == "}"
        wants_value = self._before in ("", "[") or (self._before == ":") or (self._before == "," and not in_object)
        if token in "{[" and wants_value and len(self._stack) < _DEEPEST:
            self._stack.append("}" if token == "{" else "]")
            self._safe(end, token)
        elif token in "}]" and self._stack and self._stack[-1] == token and self._before in ("value", "{", "["):
            self._stack.pop()
            self._safe(end, "value")
        elif (token == "," and self._before == "value" and self._stack) or (token == ":" and self._before == "key"):
            self._before = token
        elif token[0] == '"' and in_object and self._before in ("{", ","):
            self._before = "key"
        elif wants_value and self._stack and self._whole(token, end):
            self._safe(end, "value")
        else:
            return False
        return True

    def _whole(self, token: str, end: int) -> bool:
        """Whether a string or scalar is whole: a number at the very end may itself be cut."""
        if token[0] == '"' or token in ("true", "false", "null"):
            return True
        return end < self._length and _NUMBER.fullmatch(token) is not None

    def _safe(self, end: int, before: str) -> None:
        self.safe, self.closers, self._before = end, "".join(reversed(self._stack)), before


def excerpt(text: str, length: int = 80) -> str:
    """The beginning of a text, quoted, on one line, with what is not printable escaped: safe to show."""
    folded = " ".join(text[: length * 4].split())
    quoted = json.dumps(folded if len(folded) <= length else folded[: length - 1] + "…", ensure_ascii=False)
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in quoted)
