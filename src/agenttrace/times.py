"""Times as the format page wants them: ISO 8601, UTC with ``Z`` where the source gives a zone, naive where it gives none.

The fraction of a second is kept digit for digit; nothing is rounded.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

__all__ = ["from_epoch", "order_key", "parse_time"]

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,12}))?\s?(Z|z|UTC|[+-]\d\d:?\d\d)?")


def parse_time(text: str) -> str | None:
    """``2025-08-10 13:52:18.357+02:00`` -> ``2025-08-10T11:52:18.357Z``; None when it is no time."""
    # The usual case, a time in normal form: the calendar is checked by the C parser of the standard library,
    # which takes other notations too, so that the separators are looked at first.
    if len(text) >= 20 and text[-1] == "Z" and text[10] == "T" and text[7] == "-" and text[16] == ":" and text[19] in ".Z":
        try:
            datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
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


def order_key(text: str) -> str:
    """A string that sorts as the times do: the fraction filled to twelve digits, the zone dropped."""
    base, _, fraction = text.rstrip("Z").partition(".")
    return f"{base}.{fraction:0<12}"
