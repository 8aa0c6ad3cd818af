"""gzip and Zstandard, recognised by their first bytes; every expansion is bounded.

A few hundred bytes can expand to terabytes, so nothing is expanded beyond
:data:`MAX_BYTES`. Writing is deterministic: no times, no names.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Generator, Iterator
from typing import IO, Any, BinaryIO, Protocol

import zstandard

from agenttrace.errors import ReadError

__all__ = [
    "MAX_BYTES",
    "Writer",
    "bounded_lines",
    "compress",
    "decompress",
    "expanded_stream",
    "kind_of",
    "nothing_expanded",
    "open_writer",
    "read_bounded",
    "suffix_of",
]

MAX_BYTES = 2 << 30
"""Most bytes of one document that are held in memory: 2 GiB."""

_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}
_CHUNK = 1 << 20
_PIECE = 16 << 20

_FEED = 1 << 12  # a zst block of four bytes may stand for 128 KiB
_DAMAGED = (OSError, EOFError, zlib.error, zstandard.ZstdError)


class Writer(Protocol):
    """What bytes are written to: a file, or a compressor around one."""

    def write(self, data: bytes, /) -> object:
        """Take more bytes."""

    def close(self) -> None:
        """Write what is held back."""


def kind_of(head: bytes) -> str | None:
    """``"gz"``, ``"zst"`` or None, from the first bytes."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def suffix_of(name: str) -> str | None:
    """``"gz"``, ``"zst"`` or None, from a file name."""
    lower = name.lower()
    return next((kind for kind in ("gz", "zst") if lower.endswith("." + kind)), None)


def compress(data: bytes, kind: str | None) -> bytes:
    """``data`` in the given compression (None: as it is); the same input gives the same bytes."""
    if kind == "gz":
        return gzip.compress(data, mtime=0)
    if kind == "zst":
        return zstandard.ZstdCompressor(level=3).compress(data)
    return data


def decompress(data: bytes, path: str | None, limit: int = MAX_BYTES) -> tuple[bytes, str | None]:
    """Expand ``data`` if it is compressed.

    Returns the bytes and, when the compressed stream is damaged after something
    could be expanded, the reason in words (else None).

    Raises:
        ReadError: ``too_large`` beyond ``limit``; ``compressed`` when nothing at all could be expanded.
    """
    kind = kind_of(data)
    if kind is None:
        return data, None
    parts: list[bytes] = []
    size = 0
    damage = None
    try:
        for part in _expand(io.BytesIO(data), kind):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(path, limit)
    except _DAMAGED as error:
        damage = f"the {kind} data is damaged: {str(error) or type(error).__name__}"
    if not size and damage:
        raise nothing_expanded(path, damage)
    return b"".join(parts), damage


def nothing_expanded(path: str | None, damage: str) -> ReadError:
    """The error for compressed data of which nothing could be read."""
    return ReadError("compressed", path, None, damage, "expand it with another tool, or make it anew")


def expanded_stream(raw: BinaryIO, kind: str | None, on_damage: Callable[[str], None]) -> BinaryIO:
    """A readable stream of the expanded bytes behind ``raw``; closing it closes ``raw``.

    A damaged stream ends where nothing more can be expanded, after ``on_damage`` was told why.
    """
    if kind is None:
        return raw
    return io.BufferedReader(_Pieces(raw, kind, on_damage), _CHUNK)


def _expand(raw: BinaryIO, kind: str) -> Iterator[bytes]:
    """The expanded bytes, piece by piece and bounded; a cut stream gives all it holds before it raises."""
    member: Any = None
    while chunk := raw.read(_FEED):
        while chunk:
            if member is None:
                chunk = chunk.lstrip(b"\0") if kind == "gz" else chunk
                if not chunk:
                    break
                member = zlib.decompressobj(wbits=31) if kind == "gz" else zstandard.ZstdDecompressor().decompressobj()
            if kind == "gz":
                part = yield from _inflate(member, chunk)
            else:
                part = member.decompress(chunk)
            if part:
                yield part
            chunk = member.unused_data if member.eof else member.unconsumed_tail if kind == "gz" else b""
            if member.eof:
                member = None
    if member is not None:
        raise EOFError("it ends early")


def _inflate(member: Any, chunk: bytes) -> Generator[bytes, None, bytes]:
    """A piece of a gzip stream; where it is damaged, what stands before the damage is given first, byte by byte."""
    before = member.copy()
    try:
        whole: bytes = member.decompress(chunk, _CHUNK)
    except zlib.error:
        for byte in chunk:
            if part := before.decompress(bytes([byte])):
                yield part
        raise
    return whole


class _Pieces(io.RawIOBase):
    """Expanded pieces as a raw stream."""

    def __init__(self, raw: BinaryIO, kind: str, on_damage: Callable[[str], None]) -> None:
        self._raw, self._kind, self._on_damage = raw, kind, on_damage
        self._pieces = _expand(raw, kind)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            try:
                self._rest = next(self._pieces, b"")
            except _DAMAGED as error:
                self._on_damage(f"the {self._kind} data is damaged: {str(error) or type(error).__name__}")
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


def open_writer(raw: BinaryIO, kind: str | None) -> Writer:
    """A writable stream that compresses into ``raw``; closing it leaves ``raw`` open."""
    if kind == "gz":
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)
    if kind == "zst":
        return zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False)
    return raw


def read_bounded(stream: BinaryIO, label: str | None) -> bytes:
    """All bytes of a stream, in pieces: a pipe has no size, and a file may grow while it is read.

    Raises ReadError ``too_large`` beyond :data:`MAX_BYTES`.
    """
    parts: list[bytes] = []
    size = 0
    while piece := stream.read(_PIECE):
        parts.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise too_large(label)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def bounded_lines(stream: IO[bytes], label: str | None) -> Iterator[bytes]:
    """The lines of a stream. Raises ReadError ``too_large`` for one beyond :data:`MAX_BYTES`."""
    while line := stream.readline(MAX_BYTES + 1):
        if len(line) > MAX_BYTES:
            raise too_large(label)
        yield line


def too_large(path: str | None, limit: int = MAX_BYTES) -> ReadError:
    """The error for a document beyond ``limit`` bytes."""
    return ReadError(
        "too_large",
        path,
        None,
        f"more than {limit / (1 << 30):.3g} GiB in one document",
        "split it, or write one record a line (JSONL): lines are read one at a time",
    )
