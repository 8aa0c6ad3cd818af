"""Mutated logs: whatever is done to a log, a reader gives a ReadError or a valid trace, and in time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

CHILD = "import sys; from pathlib import Path; from tests.readers import fuzz\n"
RUN = "fuzz.main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))\n"
SUMMARY = ("cases", "read", "damaged", "refused", "failed")


def fuzz(first: int, count: int, place: Path, change: str = "") -> tuple[Counter[str], list[dict[str, Any]]]:
    """The counts of ``count`` cases, and those that failed or killed the child (``ended``); the rest go on in a new one."""
    counts: Counter[str] = Counter()
    bad: list[dict[str, Any]] = []
    end = first + count
    while first < end:
        command = [sys.executable, "-c", CHILD + change + RUN, str(first), str(end - first), str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        bad += [line for line in lines if "case" in line]
        if done.returncode == 0:
            counts.update({name: lines[-1].get(name, 0) for name in SUMMARY})
            counts["peak_mb"] = max(counts["peak_mb"], lines[-1]["peak_mb"])
            break
        assert place.exists(), done.stderr
        case = int(place.read_text())
        bad.append({"case": case, "ended": done.returncode, "why": done.stderr[-400:]})
        first = case + 1
    return counts, bad


def test_two_thousand_mutants(tmp_path: Path) -> None:
    counts, bad = fuzz(0, 2000, tmp_path / "place")
    assert bad == []
    assert counts["cases"] == 2000
    assert min(counts["read"], counts["damaged"], counts["refused"]) > 100, "mutations of every strength"


@pytest.mark.long
@pytest.mark.parametrize("part", range(10))
def test_a_hundred_thousand_mutants(part: int, tmp_path: Path) -> None:
    counts, bad = fuzz(1_000_000 + part * 10_000, 10_000, tmp_path / "place")
    assert bad == []
    assert counts["cases"] == 10_000


def test_the_same_number_is_the_same_case() -> None:
    code = CHILD + "import hashlib; print(hashlib.sha256(repr([fuzz.mutant(n) for n in range(50)]).encode()).hexdigest())"
    outputs = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout for _ in range(2)}
    assert len(outputs) == 1


# -- the harness itself: a hang, a crash and a broken reader are seen -------------------

WHEN = "was = fuzz.outcome\ndef outcome(*given):\n    if int(Path(sys.argv[3]).read_text()) == 7:\n        {}\n    return was(*given)\nfuzz.outcome = outcome\n"


@pytest.mark.parametrize(
    ("what", "status"),
    [("while True: pass", -27), ("import os; os.abort()", -6), ("fuzz.traces_of = None", 0), ("raise SystemError", 1)],
    ids=["hang", "abort", "broken", "escaped"],
)
def test_a_bad_case_is_found(what: str, status: int, tmp_path: Path) -> None:
    # What the first case would pay for everybody, loading readers and inputs, is paid before the clock runs.
    warm = "fuzz.inputs()\nfuzz.outcome(*fuzz.mutant(5)[1:])\nfuzz.CPU_SECONDS = 1\n"
    _, bad = fuzz(5, 4, tmp_path / "place", warm + WHEN.format(what))
    assert bad and bad[0]["case"] == 7
    assert bad[0].get("ended", 0) == status


def test_too_much_memory_is_found(tmp_path: Path) -> None:
    _, bad = fuzz(7, 1, tmp_path / "place", "fuzz.inputs()\nfuzz.traces_of = lambda *_, **__: bytes(2 << 30)\n")
    assert [(case["case"], case["why"]) for case in bad] == [(7, "MemoryError: ")]
