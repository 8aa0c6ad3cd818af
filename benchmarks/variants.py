"""What became of the real logs, a row for each variant, as a Markdown table.

    python benchmarks/variants.py READER …

Coverage is the share of a log's texts that its traces hold, standard the share of its message and tool texts that
stand outside ``extra``, alone what the coverage tool says of the bare file: the least of the files each. The logs are
those that ``tests/readers/corpus.tsv`` lists, in the folder that AGENTTRACE_CORPUS names.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.conftest import corpus_folder
from tests.readers import test_corpus as corpus

_EVENTS = {"message": "message", "tool_call": "call", "artifact": "artifact", "subtask": "subtask"}


def main(readers: list[str]) -> int:
    """Print the table."""
    tool = corpus.load_coverage_tool()
    variants: dict[tuple[str, str], list[corpus.Row]] = defaultdict(list)
    for row in corpus.READ:
        if row.format in readers:
            variants[row.format, row.variant].append(row)
    heads = [
        "reader, variant",
        "files",
        "traces",
        "damaged",
        " / ".join(_EVENTS.values()),
        "links",
        "coverage",
        "alone",
        "standard",
        "mapped",
    ]
    sys.stdout.write(f"| {' | '.join([*heads, 'notes'])} |\n|---|--:|--:|--:|---|--:|--:|--:|--:|--:|---|\n")
    for (reader, variant), rows in sorted(variants.items()):
        sys.stdout.write(f"| {reader}, {variant} | {' | '.join(cells(rows, tool))} |\n")
        sys.stdout.flush()
    return 0


def cells(rows: list[corpus.Row], tool: ModuleType) -> list[str]:
    """The figures of the logs of one variant."""
    events: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    traces = links = damaged = 0
    shares: list[tuple[float, float, float, float]] = []
    for row in rows:
        path = corpus_folder() / row.path
        _, _, documents, told = corpus.convert(path)
        traces += len(documents)
        damaged += bool(told.damage)
        notes.update(told.counts())
        for document in documents:
            events.update(event["data"]["type"] for event in document["events"])
            links += len(document["dependency_links"])
        bare = list(tool.source_leaves(corpus.twin(path))[1]) if path.is_file() else []
        said = corpus.printed(path, list(tool.leaves(corpus.texts_of(row))))
        mapped = 1 - told.unmapped_leaves / told.source_leaves if told.source_leaves else 1.0
        leaves = corpus.leaves_of(row, tool)
        shares.append((share(leaves, documents, tool), share(bare, documents, tool), share(said, documents, tool, extra=False), mapped))
    least = [f"{min(column):.3f}" for column in list(zip(*shares, strict=True))[:3]]
    kinds = " / ".join(str(events[kind]) for kind in _EVENTS)
    mean = sum(own[3] for own in shares) / len(shares)
    listed = ", ".join(f"{code} {count}" for code, count in notes.items())
    return [str(len(rows)), str(traces), str(damaged), kinds, str(links), *least, f"{mean:.2f}", listed]


def share(leaves: list[str], documents: list[Any], tool: ModuleType, *, extra: bool = True) -> float:
    """The share of texts that stand in the traces, without ``extra`` and metadata where it is not to count."""
    texts = [leaf for leaf in leaves if tool.kind(leaf) == "texts"]
    tool.SKIPPED.update(() if extra else ("extra", "metadata"))
    try:
        return 1 - len(tool.missing(texts, documents)) / len(texts) if texts else 1.0
    finally:
        tool.SKIPPED.clear()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
