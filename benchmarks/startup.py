"""What starting costs: process CPU of a bare interpreter, of importing the package, of ``--help``, of one small conversion.

python benchmarks/startup.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 15
LOG = Path(__file__).parent.parent / "src" / "agenttrace" / "cli" / "demo_run.json"
SCRIPT = str(Path(sys.executable).with_name("agenttrace"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import agenttrace": [sys.executable, "-c", "import agenttrace"],
    "agenttrace --help": [SCRIPT, "--help"],
    "agenttrace convert (13 events)": [SCRIPT, "convert", str(LOG), "--quiet"],
}


def cpu(command: list[str]) -> float:
    """User and system seconds of one run."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(cpu(command))
    bare = statistics.mean(times["python -c pass"])
    for name, values in times.items():  # the clock ticks in hundredths, so means of many runs
        print(f"{name:<32} {statistics.mean(values) * 1e3:>6.0f} ms  {statistics.mean(values) / bare:>5.1f}x")


if __name__ == "__main__":
    main()
