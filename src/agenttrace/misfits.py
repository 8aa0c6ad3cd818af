"""Values of a kind that their key should not hold: no reader maps them, so each keeps them aside by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["misfits"]


def misfits(record: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]], prefix: str = "") -> dict[str, Any]:
    """The values of a record that are not of the kind which is mapped under their key.

    Args:
        record: an object of a log.
        kinds: the keys that are mapped, with the Python type or types of a value that can be. A boolean is no number.
        prefix: put before the keys, so that those of a part of an event do not hide those of another.

    Returns:
        What is to be kept in ``extra``; null is never a misfit.
    """
    found = {}
    for key, kind in kinds.items():
        value = record.get(key)
        fits = isinstance(value, kind) and (not isinstance(value, bool) or kind is bool)
        if value is not None and not fits:
            found[f"{prefix}{key}"] = value
    return found
