"""Who claims what: every fixture against every reader.

    python benchmarks/recognition.py

A row for each format of the fixtures, a column for each reader: how many of its cases the reader claims, ``!`` behind
it where some claim is as sure as the reader's own. Exit status 1 if there is one.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from agenttrace.formats import formats, verdicts
from agenttrace.sources import Source

CASES = Path(__file__).parent.parent / "tests" / "formats"
_RANK = {None: 0, "possible": 1, "likely": 2, "certain": 3}


def main() -> int:
    """Print the matrix."""
    names = list(formats())
    short = {name: name[:8] for name in names}
    sys.stdout.write(f"{'fixtures of':<20}{'cases':>6} " + " ".join(f"{short[name]:>8}" for name in names) + "\n")
    rivals = 0
    for own in sorted(path.name for path in CASES.iterdir() if path.is_dir()):
        claimed: Counter[str] = Counter()
        disputed: set[str] = set()
        inputs = sorted((CASES / own).glob("*/input*"))
        for path in inputs:
            levels = {said.format.name: _RANK[said.match.level if said.match else None] for said in verdicts(Source.open(path))}
            claimed.update(name for name, level in levels.items() if level)
            disputed |= {name for name, level in levels.items() if name != own and level >= max(2, levels[own])}
        rivals += len(disputed)
        cells = (f"{claimed[name]}{'!' if name in disputed else ''}" if claimed[name] else "." for name in names)
        sys.stdout.write(f"{own:<20}{len(inputs):>6} " + " ".join(f"{cell:>8}" for cell in cells) + "\n")
    return 1 if rivals else 0


if __name__ == "__main__":
    sys.exit(main())
