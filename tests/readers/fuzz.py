"""Mutated logs, made from the golden inputs of every reader and read in a child with limits.

    python -m tests.readers.fuzz FIRST COUNT PLACE

reads the cases FIRST … FIRST+COUNT-1. A case is its number: the same number gives the same bytes. What
went wrong is printed, a JSON line each, then a summary. PLACE always holds the number of the case at
work, so that whoever started the child knows which case killed it.

Only a ReadError or a valid trace may come out. A case that uses more than 10 s of CPU, or a child of
more than 1 GiB, is killed by the system, also inside C code.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from agenttrace.analysis.validation import validate
from agenttrace.errors import ReadError
from agenttrace.notes import Notes
from agenttrace.pipeline import traces_of
from agenttrace.sources import Source
from tests.conftest import FORMATS

CPU_SECONDS = 10
ADDRESS_SPACE = 1 << 30
JUNK: list[Any] = [None, True, -1, 1e308, 10**30, "", "\ud800", "x" * 5000, [], {}, [[]], {"": {}}, ["a", 1], "2026-13-45T99:00:00Z"]


@cache
def inputs() -> list[tuple[str, bytes]]:
    """The reader and the bytes of every golden input, those in folders one by one."""
    paths = sorted([*FORMATS.glob("*/*/input.*"), *FORMATS.glob("*/*/input/**/*")])
    return [(path.relative_to(FORMATS).parts[0], path.read_bytes()) for path in paths if path.is_file()]


@cache
def folders() -> list[tuple[str, dict[str, bytes]]]:
    """The reader and the files of every golden input that is a folder."""
    found = sorted(path for path in FORMATS.glob("*/*/input") if path.is_dir())
    return [(path.parent.parent.name, {name: file.read_bytes() for name, file in files_below(path)}) for path in found]


def files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder with their names in it."""
    return ((file.relative_to(folder).as_posix(), file) for file in sorted(folder.rglob("*")) if file.is_file())


# -- mutations of bytes -----------------------------------------------------------------


def cut(data: bytes, rng: random.Random) -> bytes:
    return data[: len(data) * rng.randrange(1, 16) // 16 + rng.randrange(16)]


def swap_encoding(data: bytes, rng: random.Random) -> bytes:
    encoding = rng.choice(["utf-16", "utf-16-le", "utf-32", "gb18030", "latin-1", "utf-8-sig", "cp037"])
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def splice(data: bytes, rng: random.Random) -> bytes:
    other = rng.choice(inputs())[1]
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 8)):
        if changed:
            changed[rng.randrange(len(changed))] = rng.choice(b"\0\xff\"'{}[](),:\\\n9")
    return bytes(changed)


def repeat_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    at = rng.randrange(len(lines) or 1)
    return b"".join([*lines[:at], *lines[at : at + 1] * rng.choice([2, 3, 50]), *lines[at + 1 :]])


def drop_line(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    del lines[rng.randrange(len(lines) or 1) :][: rng.choice([1, 1, 3])]
    return b"".join(lines)


def swap_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.splitlines(keepends=True)
    for _ in range(rng.choice([1, 4])):
        if lines:
            one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[two] = lines[two], lines[one]
    return b"".join(lines)


def change_cell(data: bytes, rng: random.Random) -> bytes:
    """One value of a sqlite file: junk, bytes, or its own JSON with one value changed."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(data)
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = rng.choice(names)
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        column = rng.choice(columns)
        found = database.execute(f"SELECT rowid, {column} FROM {table} ORDER BY rowid").fetchall()
        if not found:
            return data
        rowid, value = found[rng.randrange(len(found))]
        changed = rng.choice([None, 10**15, -1.5, b"\xff\x00", "", "{", "[1]", '{"message": {"a": 1}}', mutated_text(value, rng)])
        with suppress(sqlite3.IntegrityError):
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (changed, rowid))
        database.commit()
        return database.serialize()


# -- mutations of values ----------------------------------------------------------------


def delete(holder: Any, key: Any, rng: random.Random) -> None:
    del holder[key]


def change_type(holder: Any, key: Any, rng: random.Random) -> None:
    holder[key] = deepcopy(rng.choice(JUNK))


def repeat(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, list):
        holder[key:key] = [holder[key]] * rng.choice([1, 2, 40])
    else:
        holder[f"{key}_again"] = holder[key]


def nest(holder: Any, key: Any, rng: random.Random) -> None:
    for _ in range(rng.choice([1, 3, 150])):
        holder[key] = [holder[key]] if rng.random() < 0.5 else {rng.choice(["content", "messages", "x"]): holder[key]}


def swap(holder: Any, key: Any, rng: random.Random) -> None:
    other = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    holder[key], holder[other] = holder[other], holder[key]


def rename(holder: Any, key: Any, rng: random.Random) -> None:
    if isinstance(holder, dict):
        holder[rng.choice(["type", "content", "role", "name", "source", "id", "tool_calls", "messages", ""])] = holder.pop(key)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every holder and key of a document."""
    stack = [value]
    while stack:
        holder = stack.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield holder, key
            stack.append(holder[key])


def mutated_text(text: Any, rng: random.Random) -> Any:
    """A text that holds JSON, with a value in it changed."""
    with suppress(ValueError, TypeError):
        value = [json.loads(text)]
        found = list(places(value))
        holder, key = rng.choice(found)
        rng.choice(IN_VALUES)(holder, key, rng)
        return json.dumps(value[0] if value else None)
    return text


def change_inside(holder: Any, key: Any, rng: random.Random) -> None:
    """A value inside JSON that is a text, as in the payload of an event."""
    holder[key] = mutated_text(holder[key], rng) if isinstance(holder[key], str) else deepcopy(rng.choice(JUNK))


IN_BYTES: list[Callable[[bytes, random.Random], bytes]] = [cut, swap_encoding, splice, flip, repeat_line, drop_line, swap_lines]
IN_VALUES: list[Callable[[Any, Any, random.Random], None]] = [delete, change_type, repeat, nest, swap, rename, change_inside]


def documents(data: bytes) -> list[Any] | None:
    """The JSON document of a log, or its documents a line each; None where it is something else."""
    try:
        return [json.loads(data)]
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in data.splitlines()]
    except ValueError:
        return None


def mutant(number: int) -> tuple[str, str, bytes | dict[str, bytes]]:
    """What was done, the reader asked (or ``auto``) and the bytes of one case, or the files of one that is a folder."""
    rng = random.Random(number)
    if folders() and rng.random() < 0.02:
        name, files = rng.choice(folders())
        changed = rng.choice(list(files))
        done, data = mutated(files[changed], rng)
        return f"{name} folder {changed} {' '.join(done)}", rng.choice(["auto", name]), {**files, changed: data}
    name, data = rng.choice(inputs())
    done, data = mutated(data, rng)
    return f"{name} {' '.join(done)}", rng.choice(["auto", name]), data


def mutated(data: bytes, rng: random.Random) -> tuple[list[str], bytes]:
    """What was done to the bytes of a log, and what they are now."""
    done: list[str] = []
    if data.startswith(b"SQLite format 3") and rng.random() < 0.7:
        with suppress(sqlite3.DatabaseError):  # a fixture that is cut already
            return ["change_cell"], change_cell(data, rng)
    parts = documents(data)
    if parts is not None and rng.random() < 0.7:
        for _ in range(rng.choice([1, 1, 1, 2, 5])):
            found = list(places(parts))
            if not found:
                break
            holder, key = rng.choice(found)
            change = rng.choice(IN_VALUES)
            change(holder, key, rng)
            done.append(change.__name__)
        data = b"\n".join(json.dumps(part).encode() for part in parts)
    if not done or rng.random() < 0.1:
        change_bytes = rng.choice(IN_BYTES)
        data = change_bytes(data, rng)
        done.append(change_bytes.__name__)
    return done, data


# -- the child --------------------------------------------------------------------------


def outcome(reader: str, data: bytes | dict[str, bytes]) -> tuple[str, str]:
    """``refused``, ``damaged``, ``read`` or ``failed``, and why it failed."""
    if isinstance(data, bytes):
        return outcome_of(reader, Source("input", data=data))
    with tempfile.TemporaryDirectory() as folder:
        for name, content in data.items():
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, name).write_bytes(content)
        return outcome_of(reader, Source.open(folder, "input"))


def outcome_of(reader: str, source: Source) -> tuple[str, str]:
    """The outcome of reading a file or a folder."""
    notes = Notes()
    try:
        used, _, found = traces_of(source, reader, notes)
        traces = list(found)
    except ReadError as error:
        broken = error.code == "reader_failed" or "\n" in str(error)
        return ("failed" if broken else "refused"), str(error)
    except BaseException as error:
        return "failed", f"{type(error).__name__}: {error}"
    errors = [f"{issue.code} {issue.pointer}" for trace in traces for issue in validate(trace) if issue.severity == "error"]
    if errors and used.name != "agenttrace":  # which gives what a file states, for `validate` to judge
        return "failed", f"not valid: {errors[0]}"
    return ("damaged" if notes.damage else "read"), ""


def tell(**facts: Any) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()  # the next case may end the child


def main(first: int, count: int, place: Path) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    ends: Counter[str] = Counter()
    with place.open("wb", buffering=0) as at:
        for number in range(first, first + count):
            os.pwrite(at.fileno(), b"%012d" % number, 0)
            what, reader, data = mutant(number)
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # nobody handles SIGPROF: it ends the child
            end, why = outcome(reader, data)
            signal.setitimer(signal.ITIMER_PROF, 0)
            ends[end] += 1
            if end == "failed":
                tell(case=number, what=what, why=why[:400], **{"from": reader})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    tell(cases=count, **ends, peak_mb=peak)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
