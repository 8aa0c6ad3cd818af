"""Conversion notes: what a reader copied, kept aside, made up, salvaged or could not read.

They make fidelity checkable: a value of the source stands in a field, in
``extra``, or is named here with its place and the reason. See "Conversion notes"
in ``docs/reference/format.md``.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

__all__ = ["CODES", "DAMAGE", "Note", "Notes", "measure"]

CODES: dict[str, str] = {
    "copy": "A repeat of what stands elsewhere; it gave no event of its own.",
    "aside": "Kept in `extra`: the format has no field for it.",
    "made_up": "An id or a name that the source does not give and the format needs.",
    "naive_time": "A time without a zone.",
    "derived": "Follows from a documented rule of the framework; the source does not say it itself.",
    "salvaged": "A damaged part from which something could be read.",
    "unreadable": "A damaged part from which nothing could be read.",
    "backward_link": "A stated link that does not point forward; left out.",
    "wrapper": "A record that only wraps others; not mapped.",
    "replaced": "A value that JSON text cannot hold (NaN, a lone surrogate) was replaced.",
}

DAMAGE = frozenset({"salvaged", "unreadable"})
"""Codes that say the input was not whole: the exit status becomes 1."""


class Note(NamedTuple):
    """One note. ``source_ref`` is the place in the source, ``event_id`` the event it concerns, if any."""

    code: str
    source_ref: str | None
    event_id: str | None
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """The four fields as the sidecar file and ``--notes`` hold them."""
        return self._asdict()


class Notes:
    """Collects notes while an input is read, and counts leaf values for the mapped share.

    Attributes:
        items: the notes, in the order in which they were made.
        counting: whether leaves are counted, which costs about a tenth of a conversion.
        source_leaves: leaf values (not null) of the source, as far as it was parsed.
        unmapped_leaves: those of them that reached no standard field.
    """

    __slots__ = ("counting", "items", "source_leaves", "unmapped_leaves")

    def __init__(self, *, counting: bool = True) -> None:
        self.items: list[Note] = []
        self.counting = counting
        self.source_leaves = 0
        self.unmapped_leaves = 0

    def count_source(self, value: object) -> None:
        """Count the leaves of a value of the source."""
        if self.counting:
            self.source_leaves += measure(value).leaves

    def add(self, code: str, source_ref: str | None, detail: str, event_id: str | None = None) -> None:
        """Note something; ``code`` is one of :data:`CODES`."""
        self.items.append(Note(code, source_ref, event_id, detail))

    def drop(self, code: str, source_ref: str | None, detail: str, value: object) -> None:
        """Note a value that reaches no field at all (a wrapper, an unreadable record) and count its leaves as unmapped."""
        self.items.append(Note(code, source_ref, None, detail))
        self.unmapped_leaves += measure(value).leaves

    def counts(self) -> dict[str, int]:
        """Notes per code, in the order of :data:`CODES`."""
        found = Counter(note.code for note in self.items)
        return {code: found[code] for code in CODES if found[code]}

    @property
    def damage(self) -> list[Note]:
        """The notes that say that the input was damaged."""
        return [note for note in self.items if note.code in DAMAGE]

    @property
    def mapped_share(self) -> float | None:
        """Share of the source's leaf values that stand in standard fields (``extra`` and ``metadata`` apart).

        None when nothing was counted (the source is no tree of values, or is empty).
        """
        if not self.source_leaves:
            return None
        return round(max(0.0, 1.0 - self.unmapped_leaves / self.source_leaves), 4)

    def absorb(self, other: Notes, file: str | None = None) -> None:
        """Take over the notes and counts of another collection; ``file`` is the file of a folder in which its places are."""
        for note in other.items:
            place = f"{file}#{note.source_ref or ''}" if file is not None else note.source_ref
            self.items.append(note._replace(source_ref=place))
        self.source_leaves += other.source_leaves
        self.unmapped_leaves += other.unmapped_leaves


class Size(NamedTuple):
    """Leaf values (not null) and keys of a JSON tree, and whether a float in it may stand for a huge integer."""

    leaves: int
    keys: int
    huge: bool


def measure(value: Any) -> Size:
    """The size of a JSON tree. Iterative, since the tree may be deep."""
    leaves = keys = 0
    huge = False
    stack: list[Any] = [value if isinstance(value, dict | list) else [value]]
    pop, push = stack.pop, stack.append
    while stack:
        item = pop()
        if type(item) is dict:
            keys += len(item)
            item = item.values()
        for part in item:
            kind = type(part)
            if kind is str:
                leaves += 1
            elif kind is dict or kind is list:
                push(part)
            elif part is not None:
                leaves += 1
                if kind is float and not -9.2e18 < part < 9.2e18:
                    huge = True
    return Size(leaves, keys, huge)
