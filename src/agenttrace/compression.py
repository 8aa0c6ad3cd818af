"""gzip and Zstandard, recognised by their first bytes; every expansion is bounded.

A few hundred bytes can expand to terabytes, so nothing is expanded beyond
:data:`MAX_BYTES`. Writing is deterministic: no times, no names.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import BinaryIO

import zstandard

from agenttrace.errors import ReadError

__all__ = ["DAMAGED", "MAX_BYTES", "compress", "decompress", "expanded_stream", "kind_of", "open_writer", "suffix_of"]

MAX_BYTES = 2 << 30
"""Most bytes of one document that are held in memory: 2 GiB."""

_MAGIC = {b"\x1f\x8b": "gz", b"\x28\xb5\x2f\xfd": "zst"}
_CHUNK = 1 << 20

DAMAGED = (OSError, EOFError, zlib.error, zstandard.ZstdError)
"""What reading a damaged stream raises."""


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
        for part in _expand_gzip(data) if kind == "gz" else _expand_zstd(data):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise too_large(path, limit)
    except DAMAGED as error:
        damage = f"the {kind} data is damaged: {str(error) or type(error).__name__}"
    if not size and damage:
        raise ReadError("compressed", path, None, damage, "expand it with another tool, or make it anew")
    return b"".join(parts), damage


def _expand_gzip(data: bytes) -> Iterator[bytes]:
    """Piece by piece; a cut stream gives all it holds before it raises."""
    rest = data
    while rest.startswith(b"\x1f\x8b"):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            part = member.decompress(rest, _CHUNK)
            rest = member.unconsumed_tail
            if not part and not rest and not member.eof:
                raise EOFError("it ends early")
            yield part
        rest = member.unused_data.lstrip(b"\0")
    if rest:
        raise EOFError("something else follows it")


def _expand_zstd(data: bytes) -> Iterator[bytes]:
    stream = expanded_stream(io.BytesIO(data), "zst")
    while part := stream.read(_CHUNK):
        yield part
    if not _zstd_complete(data):
        raise EOFError("it ends early")


def _zstd_complete(data: bytes) -> bool:
    """The stream reader of zstandard takes a cut stream without a word; the raw decompressor tells."""
    rest = data
    while rest:
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        try:
            decompressor.decompress(rest)
        except zstandard.ZstdError:
            return True  # trailing bytes that are no frame: reported by the reader of the stream
        if not decompressor.eof:
            return False
        rest = decompressor.unused_data
    return True


def expanded_stream(raw: BinaryIO, kind: str | None) -> BinaryIO:
    """A readable stream of the expanded bytes behind ``raw``."""
    if kind == "gz":
        return gzip.GzipFile(fileobj=raw, mode="rb")  # type: ignore[return-value]  # typeshed: no BinaryIO, but one
    if kind == "zst":
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)
        return io.BufferedReader(reader)  # for readline
    return raw


def open_writer(raw: BinaryIO, kind: str | None) -> BinaryIO:
    """A writable stream that compresses into ``raw``; closing it leaves ``raw`` open."""
    if kind == "gz":
        return gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0)  # type: ignore[return-value]
    if kind == "zst":
        return zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False)
    return raw


def too_large(path: str | None, limit: int = MAX_BYTES) -> ReadError:
    """The error for a document beyond ``limit`` bytes."""
    return ReadError(
        "too_large",
        path,
        None,
        f"more than {limit / (1 << 30):.3g} GiB in one document",
        "split it, or write one record a line (JSONL): lines are read one at a time",
    )
