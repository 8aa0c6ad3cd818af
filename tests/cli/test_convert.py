"""``agenttrace convert`` as its user meets it: outputs, exit statuses, bad input, bad places."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.conftest import FORMATS

GOOD = FORMATS / "autogen" / "07_swarm_handoff" / "input.json"
OTHER = FORMATS / "autogen" / "02_chat_result" / "input.json"
CUT = FORMATS / "autogen" / "07_truncated" / "input.json"


def run(*arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "agenttrace", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=cwd, timeout=120, check=False)


def told(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """What stderr says, checked for what it must never say."""
    text = done.stderr.decode()
    assert "Traceback" not in text
    return text.splitlines()


def traces(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# -- where traces go ------------------------------------------------------------------


def test_to_stdout_a_line_per_trace() -> None:
    done = run("convert", GOOD, OTHER)
    assert done.returncode == 0
    assert [json.loads(line)["meta"]["source"]["variant"] for line in done.stdout.splitlines()] == ["task_result", "chat_result"]
    assert told(done) == ["2 inputs: 2 traces with 17 events to stdout; notes: 3 copy, 7 aside, 1 made_up"]


def test_to_one_json_file(tmp_path: Path) -> None:
    assert run("convert", GOOD, "-o", tmp_path / "run.json").returncode == 0
    assert len(traces(tmp_path / "run.json")) == 1


def test_several_traces_for_one_json_file_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    done = run("convert", GOOD, OTHER, "-o", tmp_path / "run.json")
    assert done.returncode == 64
    assert "several traces for one .json file" in told(done)[0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "expand"), [("x.jsonl", bytes), ("x.jsonl.gz", gzip.decompress), ("x.jsonl.zst", None)])
def test_to_json_lines_also_compressed(tmp_path: Path, name: str, expand: Any) -> None:
    assert run("convert", GOOD, OTHER, "-o", tmp_path / name).returncode == 0
    data = (tmp_path / name).read_bytes()
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(data) if expand is None else expand(data)
    assert len(plain.splitlines()) == 2
    assert run("validate", tmp_path / name).returncode == 0


def test_to_a_folder_with_notes_beside(tmp_path: Path) -> None:
    done = run("convert", GOOD, OTHER, "-o", tmp_path / "out")
    assert done.returncode == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == sorted(
        f"{stem}{suffix}" for stem in ("8c63ba4e50f0a7f2-1", "62109d2920da4b64-1") for suffix in (".json", ".notes.jsonl")
    )
    notes = [json.loads(line) for line in (tmp_path / "out" / "8c63ba4e50f0a7f2-1.notes.jsonl").read_text("utf-8").splitlines()]
    assert {note["code"] for note in notes} == {"copy", "aside"}
    assert all(note.keys() == {"code", "source_ref", "event_id", "detail"} for note in notes)


def test_what_was_written_is_an_input_again(tmp_path: Path) -> None:
    run("convert", GOOD, OTHER, "-o", tmp_path / "out")
    done = run("convert", tmp_path / "out", "-o", tmp_path / "again")
    assert done.returncode == 0
    for path in (tmp_path / "out").glob("*-1.json"):
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_two_inputs_with_the_same_id_keep_both(tmp_path: Path) -> None:
    shutil.copy(GOOD, tmp_path / "copy.json")
    assert run("convert", GOOD, tmp_path / "copy.json", "-o", tmp_path / "out").returncode == 0
    assert len(list((tmp_path / "out").glob("*-1*.json"))) == 2


def test_workers_give_the_same_bytes(tmp_path: Path) -> None:
    folder = FORMATS / "autogen"
    one = run("convert", *sorted(folder.glob("*/input*")), "-o", tmp_path / "one.jsonl")
    two = run("convert", *sorted(folder.glob("*/input*")), "-o", tmp_path / "two.jsonl", "--jobs", "2")
    assert one.returncode == two.returncode == 1
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert one.stderr.replace(b"one.jsonl", b"two.jsonl") == two.stderr


def test_standard_input() -> None:
    done = run("convert", "-", stdin=GOOD.read_bytes())
    assert done.returncode == 0
    assert json.loads(done.stdout)["meta"]["source"]["name"] == "-"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_compressed_input_gives_the_same_events(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "log.json.z"
    path.write_bytes(pack(GOOD.read_bytes()))
    packed, plain = (json.loads(run("convert", source).stdout) for source in (path, GOOD))
    assert packed["events"] == plain["events"]


def test_the_name_of_a_source_is_relative(tmp_path: Path) -> None:
    (tmp_path / "runs" / "a").mkdir(parents=True)
    shutil.copy(GOOD, tmp_path / "runs" / "a" / "log.json")
    done = run("convert", tmp_path / "runs")
    assert json.loads(done.stdout)["meta"]["source"]["name"] == "a/log.json"
    assert str(tmp_path).encode() not in done.stdout


def test_an_input_is_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    shutil.copy(GOOD, path)
    done = run("convert", path, "-o", path)
    assert done.returncode == 64
    assert path.read_bytes() == GOOD.read_bytes()
    assert "would replace an input" in told(done)[0]


# -- notes, json, quiet ------------------------------------------------------------------


def test_notes_say_what_became_of_everything(tmp_path: Path) -> None:
    assert run("convert", GOOD, CUT, "-o", tmp_path / "out", "--notes", tmp_path / "n.jsonl").returncode == 1
    good, cut = traces(tmp_path / "n.jsonl")
    assert list(good) == ["path", "format", "variant", "trace_ids", "counts", "mapped_share", "notes"]
    assert good["counts"] == {"copy": 2, "aside": 5}
    assert 0.8 < good["mapped_share"] < 1
    assert cut["counts"]["salvaged"] == 2


def test_json_and_quiet(tmp_path: Path) -> None:
    done = run("convert", GOOD, "-o", tmp_path / "out", "--json")
    assert json.loads(done.stdout)[0]["trace_ids"] == ["8c63ba4e50f0a7f2-1"]
    assert done.stderr == b""
    assert run("convert", CUT, "-o", tmp_path / "out", "--quiet").stderr == b""


def test_errors_as_json() -> None:
    done = run("convert", "nowhere.json", "--json")
    assert done.returncode == 2
    assert json.loads(done.stderr.splitlines()[0]).keys() == {"code", "path", "place", "reason", "hint"}


# -- bad input -------------------------------------------------------------------------------


def deep(levels: int) -> bytes:
    return b'{"messages": [{"source": "a", "type": "TextMessage", "content": ' + b"[" * levels + b"]" * levels + b"}]}"


REFUSED = {
    "empty": b"",
    "blank": b" \n\t\n",
    "NUL bytes": b"\0" * 4096,
    "binary": bytes(range(256)) * 40,
    "JSON of another kind": b'{"name": "package", "version": "1.0", "dependencies": {}}',
    "a number": b"42",
    "a list of numbers": b"[1, 2, 3]",
    "prose": b"Das ist kein Protokoll.\n" * 20,
    "an OpenAI chat that nobody named": b'[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]',
    "brackets only": b"[" * 100_000,
    "cut before anything": b'{"mess',
    "damaged gzip": gzip.compress(GOOD.read_bytes(), mtime=0)[:12],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_log_gets_one_clear_line(tmp_path: Path, name: str) -> None:
    path = tmp_path / "input.json"
    path.write_bytes(REFUSED[name])
    done = run("convert", path, "-o", tmp_path / "out")
    assert done.returncode == 2
    errors = [line for line in told(done) if "error" in line]
    assert len(errors) == 1
    assert str(path) in errors[0]
    assert not (tmp_path / "out").exists()


SALVAGED = {
    "cut": GOOD.read_bytes()[:3000],
    "one bad byte": GOOD.read_bytes().replace(b"train", b"tra\xffn", 1),
    "GBK": json.dumps(
        {"messages": [{"source": "用户", "type": "TextMessage", "content": "请计算价格并检查表格", "models_usage": None}]},
        ensure_ascii=False,
    ).encode("gbk"),
    "NaN and Infinity": b'{"messages": [{"source": "a", "type": "TextMessage", "content": "x", "metadata": {"p": NaN, "q": -Infinity}}]}',
    "keys twice": b'{"messages": [{"source": "a", "source": "b", "type": "TextMessage", "content": "x"}]}',
    "lone surrogates": b'{"messages": [{"source": "a", "type": "TextMessage", "content": "\\ud800x"}]}',
    "garbage behind": GOOD.read_bytes() + b"\n--- end of log ---",
    "two documents": GOOD.read_bytes() + OTHER.read_bytes(),
    "gzip cut in the middle": gzip.compress(GOOD.read_bytes() * 3, mtime=0)[:-200],
}


@pytest.mark.parametrize("name", SALVAGED)
def test_damaged_logs_are_salvaged_and_the_damage_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / "input.json"
    path.write_bytes(SALVAGED[name])
    done = run("convert", path, "-o", tmp_path / "out.jsonl", "--notes", tmp_path / "notes.jsonl")
    whole = name in ("NaN and Infinity", "lone surrogates")  # replaced and noted, nothing is missing
    assert done.returncode == (0 if whole else 1)
    assert any(str(path) in line for line in told(done)) or whole
    assert traces(tmp_path / "notes.jsonl")[0]["counts"].keys() & {"salvaged", "unreadable", "replaced"}
    assert run("validate", tmp_path / "out.jsonl").returncode == 0
    assert run("convert", path, "-o", tmp_path / "strict.jsonl", "--strict").returncode == (0 if whole else 2)


@pytest.mark.parametrize(("levels", "status"), [(200, 0), (900, 0), (5000, 2)])
def test_deep_nesting(tmp_path: Path, levels: int, status: int) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(deep(levels))
    done = run("convert", path, "-o", tmp_path / "out.json")
    assert (done.returncode, told(done) != []) == (status, True)


def test_one_bad_input_stops_no_other(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(b"")
    done = run("convert", tmp_path / "bad.json", "nowhere", GOOD, "-o", tmp_path / "out")
    assert done.returncode == 1
    assert len([line for line in told(done) if "error" in line]) == 2
    assert (tmp_path / "out" / "8c63ba4e50f0a7f2-1.json").exists()


def test_a_folder_without_logs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run("convert", tmp_path / "empty").returncode == 2
    (tmp_path / "empty" / "readme.txt").write_text("nothing here")
    done = run("convert", tmp_path / "empty")
    assert done.returncode == 2
    assert "no reader recognises it" in told(done)[0]


def test_links_to_folders_and_odd_files_are_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    shutil.copy(GOOD, folder / "log.json")
    (folder / "loop").symlink_to(folder)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    done = run("convert", folder)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/l\xffg.json"
    with open(path, "wb") as stream:
        stream.write(GOOD.read_bytes())
    done = run("convert", tmp_path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["meta"]["source"]["name"] == "l\ufffdg.json"


def test_terminal_escapes_of_a_log_are_not_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "esc.json"
    path.write_bytes(b'{"messages": [{"source": "\\u001b[31mred", "type": "TextMessage", "content": "x"}]}')
    for command in ("info", "doctor", "convert"):
        done = run(command, path)
        assert b"\x1b" not in done.stdout + done.stderr


# -- bad places ---------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_must_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    done = run("convert", GOOD, "-o", tmp_path / "out.json")
    assert done.returncode == 2


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file" / "out.json", tmp_path / "file" / "sub" / "folder", Path("/proc/nowhere/out.jsonl")):
        done = run("convert", GOOD, "-o", target)
        assert done.returncode == 2
        assert "cannot be written" in told(done)[0]


@pytest.mark.parametrize("target", ["/dev/full"])
def test_a_device_that_is_full(target: str) -> None:
    with open(target, "wb") as full:
        done = subprocess.run([sys.executable, "-m", "agenttrace", "convert", str(GOOD)], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("no right to mount a small tmpfs")
    try:
        big = tmp_path / "big.json"
        record = {"source": "a", "type": "TextMessage", "content": "x" * 90_000, "models_usage": None}
        big.write_text(json.dumps({"messages": [record], "stop_reason": None}))
        for name in ("out.json", "out.jsonl", "folder"):
            done = run("convert", big, "-o", disk / name)
            assert done.returncode == 2
            assert "No space left" in told(done)[0]
            assert [path for path in disk.rglob("*") if path.is_file()] == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_reader_of_our_output_that_leaves_early() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "agenttrace", "convert", *[str(GOOD)] * 60], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert b"Traceback" not in errors


# -- usage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["convert"],
        ["convrt", "x"],
        ["convert", "--nope", "x"],
        ["convert", "x", "--from", "nothing"],
        ["convert", "x", "--jobs", "0"],
        ["schema", "nothing"],
        ["formats", "nothing"],
    ],
)
def test_wrong_usage_is_64(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 64
    assert b"Traceback" not in done.stderr


def test_choosing_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "chat.json"
    path.write_text('[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]')
    done = run("convert", path, "--from", "autogen")
    assert done.returncode == 0
    assert [agent["agent_id"] for agent in json.loads(done.stdout)["agent_instances"]] == ["assistant", "user"]
    assert run("convert", GOOD, "--from", "agenttrace").returncode == 2
