"""What was checked by hand is what the recorded seed draws, and the places are still places of events."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.audit.draw import EVENTS, events_of

pytestmark = pytest.mark.corpus
AUDITS = sorted(Path(__file__).parent.glob("*.csv"))


@pytest.mark.parametrize("audit", AUDITS, ids=lambda path: path.stem)
def test_an_audit_is_whole_and_its_events_are_still_there(audit: Path) -> None:
    with audit.open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == EVENTS
    assert {row["first_look"] for row in rows} <= {"right", "wrong"}
    assert all(row["after_mending"] == "right" or row["what"] for row in rows)
    for row in rows:
        path, _, ref = row["place"].partition("#")
        assert any(number == int(row["trace"]) and place == ref for number, _, place in events_of(path)), row["place"]
