"""Files that are written whole or not at all.

The bytes go to a temporary file in the target's folder, which takes the target's
name only when everything is written: a full disk, a signal or an error in the
middle leaves the old file, or none, and never half of one.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from agenttrace.errors import WriteError

__all__ = ["make_folder", "open_atomic", "write_atomic"]


@contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Open ``path`` for writing bytes; it appears when the block ends without an error.

    Raises:
        WriteError: ``write_failed``, with the operating system's reason.
    """
    try:
        path, special = _target(path)
    except (OSError, RuntimeError, ValueError) as error:
        raise write_error(path, error) from error
    if special:
        try:
            with open(path, "wb") as stream:
                yield stream
        except OSError as error:
            raise write_error(path, error) from error
        return
    temporary = path.with_name(f".agenttrace-{secrets.token_hex(6)}.tmp")
    try:
        with open(temporary, "xb") as stream:
            yield stream
        with suppress(OSError):  # a file that is replaced keeps its permissions
            os.chmod(temporary, os.stat(path).st_mode & 0o777)
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            raise write_error(path, error) from error
        raise


def _target(path: Path) -> tuple[Path, bool]:
    """Where a path leads through links, and whether that is a device or a pipe, which is written to and never replaced."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return (path.resolve() if path.is_symlink() else path), False
    return path, True


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``, whole or not at all. Raises WriteError like :func:`open_atomic`."""
    with open_atomic(path) as stream:
        stream.write(data)


def make_folder(path: Path) -> None:
    """Make a folder and its parents. Raises WriteError when that fails or a file has the name."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def write_error(path: Path, error: OSError | RuntimeError | ValueError) -> WriteError:
    """A WriteError in words for what the operating system refuses."""
    reason = getattr(error, "strerror", None) or str(error)
    return WriteError("write_failed", str(path), None, f"cannot be written: {reason}", "choose another place with -o/--out")
