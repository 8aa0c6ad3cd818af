"""What starting costs: process CPU of a bare interpreter, of importing the package, of ``--help``, of one small conversion.

python benchmarks/startup.py
"""

from __future__ import annotations

import resource
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
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            times[name].append(cpu(command))
    bare = statistics.median(times["python -c pass"])
    for name, values in times.items():
        print(f"{name:<32} {statistics.median(values) * 1e3:>6.0f} ms  {statistics.median(values) / bare:>5.1f}x")


if __name__ == "__main__":
    main()
