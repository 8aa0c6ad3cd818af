"""What it costs to read a 10 MB day of MetaGPT and a 5 MB run of ChatDev.

Both are made of a real log that is repeated with its times moved on (and the ids of messages changed), found
through AGENTTRACE_CORPUS. Figures are medians of process CPU seconds, the candidates interleaved in one process:
reading into traces, converting with all that ``agenttrace convert`` does, and reading and splitting the lines.

    python benchmarks/company_logs.py
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from convert import convert_file, medians

from agenttrace.collector import paused
from agenttrace.formats import recognise
from agenttrace.notes import Notes
from agenttrace.sources import Source

CORPUS = Path(os.environ.get("AGENTTRACE_CORPUS", "../shared/data"))
LOGS = [  # a log, the size to reach, how its times are written
    ("metagpt/HiHelloTW+meta_test/logs/20241210.txt", 10e6, "%Y-%m-%d %H:%M:%S"),
    ("metagpt/OptimusAI-EU+odin_core/logs/20250612.txt", 10e6, "%Y-%m-%d %H:%M:%S"),
    ("metagpt/Syx403+MetaGPT-Demo/logs/20260108.txt", 10e6, "%Y-%m-%d %H:%M:%S"),
    ("chatdev/OpenBMB+ChatDev/WareHouse/DesignDream_THUNLP_20230825072340/DesignDream_THUNLP_20230825072340.log", 5e6, "%Y-%d-%m %H:%M:%S"),
    ("chatdev/OpenBMB+ChatDev/WareHouse/2048_THUNLP_20230822144615/20230822144615.log", 5e6, "%Y-%d-%m %H:%M:%S"),
]
_TIME = re.compile(r"^(\[?)(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", re.MULTILINE)
_ID = re.compile(r'(publish_message: \{"id":")[0-9a-f]{8}')


def repeated(text: str, size: float, form: str) -> str:
    """A log repeated up to a size, each time a day later."""
    made: list[str] = []
    length = 0
    while length < size:
        moved = timedelta(days=len(made))

        def later(match: re.Match[str], moved: timedelta = moved) -> str:
            return match[1] + (datetime.strptime(match[2], form) + moved).strftime(form)  # noqa: DTZ007 - the logs name no zone

        once = _ID.sub(rf"\g<1>{len(made):08x}", _TIME.sub(later, text.rstrip("\n"))) + "\n"
        made.append(once)
        length += len(once.encode())
    return "".join(made)


def read(path: Path) -> None:
    """Read every trace of a log."""
    source = Source.open(path)
    with paused():
        for _ in recognise(source)[0].read(source, Notes(counting=False)):
            pass


def split(path: Path) -> None:
    """The floor: read, decode and split the lines."""
    path.read_bytes().decode().split("\n")


def main() -> None:
    """Print the table."""
    print(f"{'log':<28} {'MB':>5} {'read s':>7} {'MB/s':>6} {'convert s':>9} {'split s':>8} {'x split':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, size, form in LOGS:
            path, out = Path(folder, Path(name).name), Path(folder, "out.json")
            path.write_text(repeated((CORPUS / name).read_text("utf-8"), size, form), "utf-8")
            candidates: dict[str, Callable[[], object]] = {
                "read": partial(read, path),
                "convert": partial(convert_file, path, out, check=True),
                "split": partial(split, path),
            }
            found = medians(candidates, 5)
            megabytes = path.stat().st_size / 1e6
            print(
                f"{name.split('/')[0] + ' ' + path.name[:18]:<28} {megabytes:5.1f} {found['read']:7.2f} {megabytes / found['read']:6.1f} "
                f"{found['convert']:9.2f} {found['split']:8.3f} {found['read'] / found['split']:8.1f}"
            )


if __name__ == "__main__":
    main()
