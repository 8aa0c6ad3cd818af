"""What converting costs over the floor, what other kinds of log cost, and what validating costs. One run prints all tables.

The floor of a log is the least that any converter pays: read the bytes, decode them with
orjson, encode the output with orjson, write it. All figures are medians of process CPU time,
the candidates interleaved in one process.

    python benchmarks/convert.py            # 60 to 60,000 events
    python benchmarks/convert.py --quick    # 60 to 6,000
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path

import jsonschema
import orjson

sys.path.insert(0, str(Path(__file__).parent))

from synthetic import agentchat_log
from synthetic_logs import write_chat_transcript, write_database, write_event_log, write_runtime_lines, write_team_transcript

from agenttrace import codec, pipeline
from agenttrace.analysis.validation import validate_document
from agenttrace.atomic import write_atomic
from agenttrace.schema import load_schema
from agenttrace.sources import Source

SIZES = {60: 101, 600: 31, 6000: 9, 60000: 3}


def medians(candidates: dict[str, Callable[[], object]], rounds: int, fresh: tuple[Path, ...] = ()) -> dict[str, float]:
    """Median process CPU seconds of each candidate, run in turn; ``fresh`` files are removed before each run."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            for path in fresh:
                path.unlink(missing_ok=True)
            gc.collect()
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def convert_file(path: Path, out: Path, *, check: bool, count: bool = False) -> None:
    """What ``agenttrace convert`` does with one file, notes included."""
    for report, made in pipeline.convert([Source.open(path)], check=check, count=count):
        for item in made:
            write_atomic(out, item.data)
        assert report.sound, report


def convert_table(folder: Path, sizes: list[int]) -> None:
    print(f"{'events':>7} {'MB':>6} {'floor µs/ev':>12} {'convert µs/ev':>14} {'x floor':>8} {'+ validation':>13} {'goal':>5}")
    for size in sizes:
        path, out = folder / f"log-{size}.json", folder / f"out-{size}.json"
        path.write_bytes(agentchat_log(size))
        (trace,) = pipeline.read(path)
        document = orjson.loads(codec.dumps(trace))

        def floor(path: Path = path, out: Path = out, document: object = document) -> None:
            data = path.read_bytes()
            orjson.loads(data)
            out.write_bytes(orjson.dumps(document))

        found = medians(
            {
                "floor": floor,
                "convert": partial(convert_file, path, out, check=False),
                "checked": partial(convert_file, path, out, check=True),
            },
            SIZES[size],
            (out,),
        )
        count = len(trace.events)
        print(
            f"{count:>7} {path.stat().st_size / 1e6:>6.2f} {found['floor'] / count * 1e6:>12.1f} {found['convert'] / count * 1e6:>14.1f} "
            f"{found['convert'] / found['floor']:>8.2f} {found['checked'] / found['floor']:>13.2f} {3 if size == 60 else 2:>5}"
        )


LOGS: dict[str, tuple[str, Callable[[Path, int], None], int]] = {
    "runtime_logging, sqlite": ("log.db", write_database, 3000),
    "runtime_logging, lines": ("runtime.log", write_runtime_lines, 3000),
    "event log": ("events.jsonl", write_event_log, 2500),
    "event log with prefixes": (
        "events.log",
        partial(write_event_log, prefix="2026-01-05 09:00:00,117 - autogen_core.events - INFO - "),
        2500,
    ),
    "transcript of 0.2": ("chat.txt", write_chat_transcript, 12000),
    "transcript of AgentChat": ("team.txt", write_team_transcript, 12000),
}
"""Kinds of log that are no JSON of messages: a file, what writes it, and how many events make some 15 MB."""


def log_table(folder: Path) -> None:
    """Megabytes of log a second of CPU: with validation, as the command line converts, and without."""
    print(f"\n{'log':<25} {'MB':>6} {'events':>7} {'MB/s':>7} {'+ validation':>13} {'goal':>5}")
    for title, (name, write, size) in LOGS.items():
        path, out = folder / name, folder / f"{name}.json"
        write(path, size)
        (trace,) = pipeline.read(path)
        run: dict[str, Callable[[], object]] = {
            checked: partial(convert_file, path, out, check=checked == "checked") for checked in ("plain", "checked")
        }
        found = medians(run, 5, (out,))
        megabytes = path.stat().st_size / 1e6
        print(
            f"{title:<25} {megabytes:>6.1f} {len(trace.events):>7} {megabytes / found['plain']:>7.1f} "
            f"{megabytes / found['checked']:>13.1f} {20:>5}"
        )


def memory_table(folder: Path, sizes: list[int]) -> None:
    """Peak memory of a process that converts one log, less that of one that only imports."""
    print(f"\n{'events':>7} {'log MB':>7} {'peak MB':>8} {'x log':>6}")
    base = _peak(None, folder)
    for size in sizes:
        path = folder / f"log-{size}.json"
        megabytes = path.stat().st_size / 1e6
        peak = _peak(path, folder) - base
        print(f"{size:>7} {megabytes:>7.1f} {peak:>8.1f} {peak / megabytes:>6.1f}")


def _peak(path: Path | None, folder: Path) -> float:
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import convert; convert.peak({str(path) if path else ''!r}, {str(folder)!r})"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def peak(path: str, folder: str) -> None:
    """Convert once and print the peak memory in MB (run in a process of its own)."""
    if path:
        convert_file(Path(path), Path(folder) / "peak.json", check=True)
    status = Path("/proc/self/status").read_text()  # ru_maxrss of a child begins at its parent's
    print(int(status.partition("VmHWM:")[2].split()[0]) / 1e3)


def all_errors(oracle: jsonschema.Draft202012Validator, document: object) -> list[object]:
    return list(oracle.iter_errors(document))


def validation_table(folder: Path, sizes: list[int]) -> None:
    print(f"\n{'events':>7} {'faults':>7} {'loads µs/ev':>12} {'validate µs/ev':>15} {'x loads':>8} {'jsonschema / ours':>18}")
    oracle = jsonschema.Draft202012Validator(load_schema())
    for size in sizes:
        (trace,) = pipeline.read(folder / f"log-{size}.json")
        for faults in (0, 5):
            data = codec.dumps(trace)
            document = orjson.loads(data)
            for index in range(faults):
                document["events"][(index + 1) * size // 7].pop("data" if index % 2 else "event_id")
            found = medians(
                {
                    "loads": partial(orjson.loads, data),
                    "ours": partial(validate_document, document),
                },
                SIZES[size],
            )
            slow = medians({"oracle": partial(all_errors, oracle, document)}, 1)["oracle"] if size <= 6000 else 0.0
            print(
                f"{size:>7} {len(validate_document(document)):>7} {found['loads'] / size * 1e6:>12.2f} {found['ours'] / size * 1e6:>15.2f} "
                f"{found['ours'] / found['loads']:>8.2f} {slow / found['ours'] if slow else float('nan'):>18.0f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out 60,000 events")
    sizes = [size for size in SIZES if not (parser.parse_args().quick and size > 6000)]
    print(f"Python {sys.version.split()[0]}, orjson {orjson.__version__}, jsonschema-rs {version('jsonschema-rs')}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        convert_table(folder, sizes)
        log_table(folder)
        memory_table(folder, sizes)
        validation_table(folder, sizes)


if __name__ == "__main__":
    main()
