"""Times as the format page wants them: ISO 8601, UTC with ``Z`` where the source gives a zone, naive where it gives none.

The fraction of a second is kept digit for digit; nothing is rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["from_epoch", "from_epoch_ns", "order_key", "parse_time"]

_NORMAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z?", re.ASCII)
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?\s?(Z|z|UTC|[+-]\d\d:?\d\d)?", re.ASCII)


def parse_time(text: str) -> str | None:
    """``2025-08-10 13:52:18.357+02:00`` -> ``2025-08-10T11:52:18.357Z``; None when it is no time."""
    if _NORMAL.fullmatch(text):  # the usual case; the C parser of the standard library knows the calendar
        try:
            datetime.fromisoformat(text)
        except ValueError:
            return None
        return text
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    date, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}")
        if zone and zone[0] in "+-" and zone[1:].strip("0:"):
            moment = datetime.fromisoformat(f"{date}T{clock}{zone}").astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
    return f"{moment.isoformat()}{'.' + fraction if fraction else ''}{'Z' if zone else ''}"


def from_epoch(seconds: float) -> str | None:
    """Seconds since 1970 as a UTC time; None when out of range."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=None).isoformat() + "Z"


def from_epoch_ns(nanoseconds: int) -> str | None:
    """Nanoseconds since 1970 as a UTC time with nine digits of a second; None when out of range."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    time = from_epoch(seconds)
    return f"{time[:-1]}.{fraction:09d}Z" if time is not None else None


def order_key(text: str) -> str:
    """A string that sorts as the times do, whatever the length of their fractions."""
    base, _, fraction = text.rstrip("Z").partition(".")
    return f"{base}.{fraction.rstrip('0')}"
