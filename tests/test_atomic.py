"""Files are written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agenttrace.atomic import make_folder, open_atomic, write_atomic
from agenttrace.errors import WriteError

NOBODY = 65534


@contextmanager
def without_privileges() -> Iterator[None]:
    """As a user whom permissions bind, also when the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def write_half(path: Path, error: BaseException) -> None:
    with open_atomic(path) as stream:
        stream.write(b"half of the new")
        raise error


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with open_atomic(path) as stream:
        stream.write(b"one ")
        assert not path.exists()
        stream.write(b"two")
    assert path.read_bytes() == b"one two"
    assert names_in(tmp_path) == ["out.json"]


def test_a_file_that_is_replaced_is_the_old_one_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old")
    with open_atomic(path) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError("in the block"), KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_an_error_in_the_block_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old")
    with pytest.raises(type(error)):
        write_half(path, error)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["out.json"]


def test_an_error_in_the_block_leaves_no_file_where_none_was(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="in the block"):
        write_half(tmp_path / "out.json", ValueError("in the block"))
    assert names_in(tmp_path) == []


def test_an_error_of_the_operating_system_in_the_block_is_a_write_error(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    with pytest.raises(WriteError) as caught:
        write_half(path, OSError(28, "No space left on device"))
    assert (caught.value.code, caught.value.path) == ("write_failed", str(path))
    assert "No space left on device" in str(caught.value)
    assert names_in(tmp_path) == []


def test_a_full_disk_is_a_write_error_that_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk may be found full only when the file takes its name."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(WriteError, match="No space left on device"):
        write_atomic(tmp_path / "out.json", b"data")
    assert names_in(tmp_path) == []


def test_a_folder_without_permission_is_a_write_error(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o555)
    with without_privileges(), pytest.raises(WriteError) as caught:
        write_atomic(folder / "out.json", b"data")
    assert (caught.value.code, caught.value.path) == ("write_failed", str(folder / "out.json"))
    assert names_in(folder) == []


@pytest.mark.parametrize("name", ["none/out.json", "file/out.json"])
def test_a_place_that_is_no_folder_is_a_write_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"kept")
    with pytest.raises(WriteError) as caught:
        write_atomic(tmp_path / name, b"data")
    assert (caught.value.code, caught.value.path) == ("write_failed", str(tmp_path / name))
    assert names_in(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"kept"


def test_a_folder_where_the_file_belongs_is_a_write_error(tmp_path: Path) -> None:
    (tmp_path / "out.json").mkdir()
    with pytest.raises(WriteError):
        write_atomic(tmp_path / "out.json", b"data")
    assert names_in(tmp_path) == ["out.json"]


def test_a_name_that_is_too_long_is_a_write_error(tmp_path: Path) -> None:
    with pytest.raises(WriteError):
        write_atomic(tmp_path / ("x" * 300), b"data")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640, 0o755])
def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "out.json"
    path.write_bytes(b"old")
    path.chmod(mode)
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").write_bytes(b"")
    write_atomic(tmp_path / "out.json", b"")
    assert (tmp_path / "out.json").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_folders_are_made_with_their_parents_and_again(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_where_the_folder_belongs_is_a_write_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    for path in (tmp_path / "a", tmp_path / "a" / "b"):
        with pytest.raises(WriteError) as caught:
            make_folder(path)
        assert (caught.value.code, caught.value.path) == ("write_failed", str(path))
