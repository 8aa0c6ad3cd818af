"""Source: what is read. A file, a folder, standard input or bytes, with its first bytes, bounds and encoding.

A source knows bytes and nothing of formats. Whole documents are bounded by
:data:`agenttrace.compression.MAX_BYTES`; lines are streamed. Paths inside logs
are never opened: only what the user named, and regular files below a named folder.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from agenttrace import compression
from agenttrace.errors import ReadError

__all__ = ["Source", "children", "decode_log", "decode_text", "shown_path", "walk"]

HEAD_BYTES = 1 << 16


class Source:
    """An input, read at most once.

    Attributes:
        name: relative to the argument given, with ``/`` separators, never absolute.
        path: where it lies, or None for bytes and standard input.
        damage: why the expanded bytes are not whole, once that is known, else None.
        memo: a place where parsers keep what they found, so that recognising and reading parse once.
    """

    def __init__(self, name: str, path: Path | None = None, data: bytes | None = None) -> None:
        # A name that is no UTF-8 reaches us with lone surrogates, which JSON cannot hold.
        self.name = shown_path(name)
        self.path = path
        self.memo: dict[str, Any] = {}
        self.damage: str | None = None
        self._raw = data

    @classmethod
    def open(cls, path: str | os.PathLike[str], name: str | None = None) -> Source:
        """The source behind a path; ``-`` is standard input.

        Raises:
            ReadError: ``not_found`` or ``not_readable``.
        """
        text = os.fspath(path)
        if not text:
            raise ReadError("not_found", "", None, "an empty path", "name a file or a folder")
        if text == "-":
            if sys.stdin is None:
                raise ReadError("not_readable", "-", None, "standard input is closed")
            return cls("-", data=compression.read_bounded(sys.stdin.buffer, "-"))
        where = Path(text)
        try:
            mode = where.stat().st_mode
        except FileNotFoundError:
            raise ReadError("not_found", text, None, "there is no such file or folder", "check the path") from None
        except (OSError, ValueError) as error:
            raise _not_readable(text, error) from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISFIFO(mode)):
            raise ReadError("not_readable", text, None, "neither a file nor a folder")
        source = cls(name if name is not None else (where.name or where.resolve().name), path=where)
        if stat.S_ISFIFO(mode):  # can be read only once
            source._raw = source._read_file()
        return source

    @property
    def label(self) -> str:
        """How messages call it: the path as the user wrote it."""
        return shown_path(self.path) if self.path is not None else self.name

    @cached_property
    def is_folder(self) -> bool:
        """Whether the source is a folder."""
        return self.path is not None and self._raw is None and self.path.is_dir()

    @property
    def has_write_ahead(self) -> bool:
        """Whether a sqlite file has changes in a write-ahead file beside it (``NAME-wal``), which are not read."""
        try:
            return self.path is not None and os.stat(f"{self.path}-wal").st_size > 0
        except (OSError, ValueError):
            return False

    @cached_property
    def files(self) -> list[Source]:
        """The regular files below a folder, in order; what cannot be listed is left out."""
        return list(walk(self, []))

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, expanded where compressed."""
        if self._raw is not None or "raw" in self.__dict__ or "data" in self.__dict__:
            return self.data[:HEAD_BYTES]
        with self.stream() as stream:
            head = stream.read(HEAD_BYTES) or b""
        if not head and self.damage:
            raise compression.nothing_expanded(self.label, self.damage)
        return head

    @cached_property
    def raw(self) -> bytes:
        """All bytes as they lie."""
        return self._raw if self._raw is not None else self._read_file()

    @cached_property
    def data(self) -> bytes:
        """All bytes, expanded. ``damage`` says whether the end is missing."""
        data, self.damage = compression.decompress(self.raw, self.label)
        return data

    @cached_property
    def sha256(self) -> str:
        """Of the bytes as they lie, in hex; of a folder, of its files' names and digests, in order."""
        if self.is_folder:
            listed = "".join(f"{_digest(file)}  {file.name}\n" for file in self.files)
            return hashlib.sha256(listed.encode()).hexdigest()
        if self._raw is not None or "raw" in self.__dict__:
            return hashlib.sha256(self.raw).hexdigest()
        try:
            with self._open() as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise _not_readable(self.label, error) from None

    def leads_out_of(self, folder: Source) -> bool:
        """Whether a file in a folder is a link to one that is not: a hostile log may name files of its reader so."""
        if self.path is None or folder.path is None:
            return False
        return not self.path.resolve().is_relative_to(folder.path.resolve())

    @cached_property
    def size(self) -> int:
        """Bytes as they lie; of a folder, of all its files."""
        if self.is_folder:
            return sum(file.size for file in self.files)
        if self._raw is not None or "raw" in self.__dict__ or self.path is None:
            return len(self.raw)
        return self.path.stat().st_size

    def stream(self) -> BinaryIO:
        """A stream of the expanded bytes, for reading line by line."""
        if self._raw is not None or "raw" in self.__dict__:
            return io.BytesIO(self.data)
        raw = self._open()
        return compression.expanded_stream(raw, compression.kind_of(raw.peek(4)[:4]), self._set_damage)

    def _set_damage(self, reason: str) -> None:
        self.damage = reason

    def forget(self) -> None:
        """Let go of bytes and parsed values, so that a batch holds one input at a time. Standard input stays."""
        self.memo.clear()
        for name in ("raw", "data", "head", "files"):
            self.__dict__.pop(name, None)

    def _open(self) -> io.BufferedReader:
        try:
            return open(self.path or self.name, "rb")
        except OSError as error:
            raise _not_readable(self.label, error) from None

    def _read_file(self) -> bytes:
        try:
            with self._open() as stream:
                return compression.read_bounded(stream, self.label)
        except OSError as error:
            raise _not_readable(self.label, error) from None


def shown_path(path: str | os.PathLike[str]) -> str:
    """A path as text that UTF-8 can hold: bytes of a name that are none become U+FFFD."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def children(folder: Source, errors: list[ReadError], within: str = "") -> tuple[list[Source], list[Source]]:
    """The regular files and the folders in a folder, in sorted order; links to folders and hidden names are passed over.

    Their names are relative to the folder whose name for this one is ``within``. One that cannot be listed goes to ``errors``.
    """
    try:
        with os.scandir(folder.path or ".") as listed:
            entries = sorted((entry for entry in listed if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        errors.append(_not_readable(str(error.filename), error))
        return [], []
    files = [Source(within + entry.name, path=Path(entry.path)) for entry in entries if entry.is_file()]
    return files, [Source(within + entry.name, path=Path(entry.path)) for entry in entries if entry.is_dir(follow_symlinks=False)]


def walk(folder: Source, errors: list[ReadError], within: str = "") -> Iterator[Source]:
    """The regular files below a folder: its own, then those of each folder in it. Names as in :func:`children`."""
    files, folders = children(folder, errors, within)
    yield from files
    for inner in folders:
        yield from walk(inner, errors, f"{inner.name}/")


def _digest(file: Source) -> str:
    try:
        return file.sha256
    except ReadError:
        return "unreadable"


def decode_log(data: bytes) -> tuple[str, str, str | None]:
    r"""The bytes of a text log as :func:`decode_text` gives them, with the line ends that the program wrote.

    On Windows a text file gets ``\r\n`` for each ``\n``, so that ``\r\r\n`` stands for ``\r\n``. In a file whose
    lines end otherwise, a ``\r`` is a part of what was logged.
    """
    text, encoding, guess = decode_text(data)
    windows = text.count("\r\n")
    return text.replace("\r\n", "\n") if windows and windows > text.count("\n") / 2 else text, encoding, guess


def decode_text(data: bytes) -> tuple[str, str, str | None]:
    """Bytes as text: the text, the encoding's name, and what had to be guessed or replaced (None: nothing).

    UTF-8 and UTF-16 with a byte-order mark are sure. Otherwise: UTF-8 with the odd
    bad byte stays UTF-8 and the byte becomes U+FFFD; what is Chinese text in GB18030
    is read as that (GBK and GB2312 included); the rest byte for byte as Latin-1.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return data.decode("utf-16"), "utf-16", None
        except UnicodeDecodeError:
            return data.decode("utf-16", "replace"), "utf-16", "bytes that are no UTF-16 became U+FFFD"
    try:
        return data.decode("utf-8-sig"), "utf-8", None
    except UnicodeDecodeError as error:
        place = error.start
        cut = error.reason == "unexpected end of data"
    text = data.decode("utf-8-sig", "replace")
    bad = text.count("\ufffd")
    good = sum(character > "\x7f" and character != "\ufffd" for character in text)
    if bad <= good or cut:
        return text, "utf-8", f"no UTF-8 at byte {place}; what is none became U+FFFD ({bad} in all)"
    try:
        chinese = data.decode("gb18030")
    except UnicodeDecodeError:
        pass
    else:
        wide = [character for character in chinese if character > "\x7f"]
        # Chinese text is in the Chinese blocks, and seldom has trail bytes that are Latin letters.
        expected = sum("\u3000" <= character <= "\u9fff" or character > "\uff00" for character in wide)
        high = sum(character.encode("gb18030")[1] > 0x7F for character in wide)
        if expected >= 0.9 * len(wide) and high >= 0.5 * len(wide):
            return chinese, "gb18030", "no UTF-8; read as GB18030"
    return data.decode("latin-1"), "latin-1", "no UTF-8; read byte for byte as Latin-1"


def _not_readable(label: str, error: Exception) -> ReadError:
    reason = getattr(error, "strerror", None) or str(error)
    return ReadError("not_readable", label, None, f"cannot be read: {reason}", "check the permissions")
