"""Big inputs: minutes, so only in ``make test-long``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.synthetic import agentchat_log

pytestmark = pytest.mark.long


def convert(path: Path, out: Path) -> tuple[int, float, str]:
    """Exit status, peak memory in MB and stderr of a conversion in a process of its own."""
    code = (
        "import sys; from agenttrace.cli import main\n"
        "try: main(['convert', sys.argv[1], '-o', sys.argv[2]])\n"
        "finally: print('peak', open('/proc/self/status').read().partition('VmHWM:')[2].split()[0], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path), str(out)], capture_output=True, text=True, check=False)
    errors, _, peak = done.stderr.rpartition("peak ")
    return done.returncode, int(peak) / 1e3, errors


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("big") / "log.json"
    path.write_bytes(agentchat_log(200_000))
    return path


def test_a_log_of_300_megabytes(log: Path, tmp_path: Path) -> None:
    status, peak, errors = convert(log, tmp_path / "out.json")
    assert status == 0, errors
    assert peak < 12 * log.stat().st_size / 1e6


def test_a_log_of_200_megabytes_that_is_cut(log: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.json"
    cut.write_bytes(log.read_bytes()[: log.stat().st_size * 2 // 3])
    status, _, errors = convert(cut, tmp_path / "out.json")
    assert status == 1, errors
    assert "salvaged" in errors


def test_300_megabytes_of_something_else(tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps({"rows": [{"id": number, "name": f"row {number} of a table"} for number in range(6_000_000)]}))
    text = tmp_path / "text.txt"
    text.write_text("".join(f"2026-01-01 INFO line {number} of a log\n" for number in range(7_000_000)))
    for path in (rows, text):
        status, _, errors = convert(path, tmp_path / "out.json")
        assert status == 2
        assert "no reader recognises it" in errors
        assert not (tmp_path / "out.json").exists()


def test_a_batch_holds_one_trace_in_memory(tmp_path: Path) -> None:
    """Ten times the traces, the same peak."""
    one = tmp_path / "one.jsonl"
    assert convert_many(one, 20) == 0
    peaks = []
    for copies in (1, 10):
        batch = tmp_path / f"batch-{copies}.jsonl"
        batch.write_bytes(one.read_bytes() * copies)
        status, peak, errors = convert(batch, tmp_path / "out.jsonl")
        assert status == 0, errors
        peaks.append(peak)
    assert peaks[1] < 1.5 * peaks[0]


def convert_many(out: Path, count: int) -> int:
    folder = out.parent / "logs"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.json").write_bytes(agentchat_log(2000, seed=number))
    return convert(folder, out)[0]
