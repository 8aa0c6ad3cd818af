"""Bytes <-> Trace: JSON, JSONL and folders, plain, ``.gz`` or ``.zst``; deterministic.

Writing keeps the key order of the format page and leaves out null and empty
fields below the top level. Reading is a typed decode; only what that refuses is
looked at key by key: unknown keys move to the nearest ``extra`` (or are an error
when ``strict``), null collections become empty ones.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec
import orjson

from agenttrace import compression
from agenttrace.atomic import make_folder, open_atomic, write_atomic
from agenttrace.errors import ModelError, ReadError, UsageError
from agenttrace.lenient import Repair, check_version, json_safe, repair_document
from agenttrace.model import Trace

__all__ = ["decode", "dumps", "file_names", "load", "loads", "save", "split_documents"]

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Trace)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_NAME_LENGTH = 120

NOTES_SUFFIX = ".notes.jsonl"
"""How the side file with a trace's conversion notes is called: ``<trace_id>.notes.jsonl``."""


def dumps(trace: Trace) -> bytes:
    """One trace as compact UTF-8 JSON. The same trace gives the same bytes.

    NaN and infinities become null, lone surrogates U+FFFD: JSON text cannot hold them.
    """
    try:
        return _ENCODER.encode(trace)
    except UnicodeEncodeError:
        return _ENCODER.encode(json_safe(msgspec.to_builtins(trace), []))
    except RecursionError:
        raise ModelError("invalid", None, None, "it holds values that are nested too deeply to be written") from None


def loads(data: bytes, *, strict: bool = False) -> Trace:
    """The one trace in ``data`` (JSON, or one JSONL line, plain or compressed).

    Unknown keys move to the nearest ``extra``, or are an error when ``strict``.

    Raises:
        ModelError: ``invalid`` with the first problem, ``version`` for another major version.
        ReadError: ``many_traces`` for several JSONL lines; ``compressed`` for a damaged stream.
    """
    plain, damage = compression.decompress(data, None)
    if damage:
        raise ReadError("compressed", None, None, damage)
    try:
        return decode(plain, strict=strict)[0]
    except ModelError:
        if holds_lines(plain):
            raise ReadError("many_traces", None, "line:2", "the data holds several JSON lines", "use agenttrace.iter_traces") from None
        raise


def decode(data: bytes, *, strict: bool = False, path: str | None = None, place: str | None = None) -> tuple[Trace, list[Repair]]:
    """One trace from plain JSON bytes, and what had to be mended for it.

    Raises ModelError like :func:`loads`; ``path`` and ``place`` go into its message.
    """
    try:
        try:
            trace = _DECODER.decode(data)
        except msgspec.ValidationError:  # unknown keys, null collections or real faults: looked at key by key
            document = msgspec.json.decode(data)
        else:
            check_version(trace.schema_version, path)
            return trace, []
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelError("invalid", path, place, f"no JSON: {error}", "`agenttrace doctor` says what is in it") from None
    fixed, repairs = repair_document(document, path)
    if strict and repairs:
        raise ModelError("invalid", path, repairs[0].pointer, "unknown key", "without strict reading it is kept in `extra`")
    try:
        return msgspec.convert(fixed, Trace), repairs
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at ")
        at = re.sub(r"\.|\[(\d+|\.\.\.)\]", lambda m: f"/{m[1] or ''}", where.strip("`$"))
        raise ModelError("invalid", path, place or at or None, reason, "`agenttrace validate` lists all problems") from None


def holds_lines(data: bytes) -> bool:
    """Whether ``data`` is not one JSON document but several lines, each one of its own."""
    first, _, rest = data.strip().partition(b"\n")
    return bool(rest.strip()) and _is_json(first)


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def load(path: str | os.PathLike[str]) -> Trace:
    """The one trace in a file, or in a folder that holds one.

    Raises:
        ReadError: not there, not readable, no trace or several.
        ModelError: not a valid trace.
    """
    where = Path(path)
    if _is_folder(where):
        files = trace_files(where)
        if len(files) != 1:
            code = "many_traces" if files else "no_trace"
            raise ReadError(code, str(where), None, f"the folder holds {len(files)} trace files, not one", "use agenttrace.iter_traces")
        where = files[0]
    try:
        with where.open("rb") as stream:
            data = compression.read_bounded(stream, str(where))
    except (OSError, ValueError) as error:
        code = "not_found" if isinstance(error, FileNotFoundError) else "not_readable"
        raise ReadError(code, str(where), None, getattr(error, "strerror", None) or str(error)) from None
    try:
        return loads(data)
    except (ModelError, ReadError) as error:
        raise type(error)(error.code, str(where), error.place, error.reason, error.hint) from None


def trace_files(folder: Path) -> list[Path]:
    """The files of a folder that are named like traces, sorted; side files with notes are left out."""
    names = re.compile(r"\.jsonl?(\.(gz|zst))?$", re.IGNORECASE)
    return sorted(p for p in folder.iterdir() if p.is_file() and names.search(p.name) and not p.name.endswith(NOTES_SUFFIX))


def save(traces: Trace | Iterable[Trace], path: str | os.PathLike[str]) -> None:
    """Write traces: to ``*.json`` one, to ``*.jsonl`` a line each, to any other path a folder of ``<trace_id>.json``.

    ``.gz`` and ``.zst`` after the suffix compress. Files appear whole or not at all.

    Raises:
        UsageError: several traces, or none, for one ``.json`` file.
        WriteError: the operating system refuses.
    """
    items = iter((traces,) if isinstance(traces, Trace) else traces)
    where = Path(path)
    form = output_form(path)
    if form == "folder":
        make_folder(where)
        name = file_names()
        for trace in items:
            write_atomic(where / name(trace.trace_id), dumps(trace) + b"\n")
    elif form == "jsonl":
        with open_atomic(where) as raw, jsonl_stream(raw, where.name) as stream:
            for trace in items:
                stream.write(dumps(trace) + b"\n")
    else:
        first, second = next(items, None), next(items, None)
        if first is None or second is not None:
            count = "no" if first is None else "several"
            raise UsageError("usage", str(where), None, f"{count} traces for one .json file", "use a .jsonl name or a folder")
        write_atomic(where, compression.compress(dumps(first) + b"\n", compression.suffix_of(where.name)))


def output_form(path: str | os.PathLike[str]) -> str:
    """``"json"``, ``"jsonl"`` or ``"folder"``: what a path given for output asks for."""
    text = os.fspath(path)
    if text.endswith(("/", os.sep)) or _is_folder(Path(text)):
        return "folder"
    match = re.search(r"\.(jsonl?)(\.(gz|zst))?$", text, re.IGNORECASE)
    return match[1].lower() if match else "folder"


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # a name that is too long, a loop of links, a NUL
        return False


@contextmanager
def jsonl_stream(raw: BinaryIO, name: str) -> Iterator[compression.Writer]:
    """The stream into which lines go: ``raw`` itself or a compressor around it, by the name's suffix.

    At the end the compressor is closed; the file itself is left to whoever opened it.
    """
    suffix = compression.suffix_of(name)
    stream = compression.open_writer(raw, suffix)
    try:
        yield stream
    finally:
        if suffix is not None:
            stream.close()


def file_names() -> Callable[[str], str]:
    """A function from trace ids to file names ``<trace_id>.json``, safe and never the same twice.

    Characters outside ``[A-Za-z0-9._-]`` become ``_``; long ids are cut; an id that
    would take a name again gets ``~2``, ``~3`` …
    """
    taken: dict[str, int] = {}

    def name(trace_id: str) -> str:
        safe = _UNSAFE.sub("_", trace_id)[:_NAME_LENGTH] or "_"
        if safe.startswith("."):
            safe = "_" + safe[1:]
        count = taken[safe.lower()] = taken.get(safe.lower(), 0) + 1
        return f"{safe}.json" if count == 1 else f"{safe}~{count}.json"

    return name


def encode_value(value: object) -> bytes:
    """Any JSON value as compact UTF-8 bytes."""
    return _ENCODER.encode(value)


def split_documents(stream: BinaryIO, label: str | None = None) -> Iterator[tuple[str | None, bytes]]:
    """The JSON documents of a stream, undecoded: the lines of JSONL with their places ``line:N``, or the whole, place None."""
    lines = enumerate(compression.bounded_lines(stream, label), 1)
    _, first = next(lines, (1, b""))
    place, second = next(((number, line) for number, line in lines if line.strip()), (0, b""))
    if not (second and _is_json(first)):
        rest = compression.read_bounded(stream, label)
        yield None, first + second + rest
        return
    yield "line:1", first
    yield f"line:{place}", second
    for number, line in lines:
        if line.strip():
            yield f"line:{number}", line
