"""Times in normal form: UTC with Z where a zone is given, naive where none is, never rounded."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenttrace.schema import load_schema
from agenttrace.times import from_epoch, from_epoch_ns, order_key, parse_time
from tests.strategies import as_time, moments

EXAMPLES = settings(max_examples=200, deadline=None)
NORMAL_FORM = re.compile(load_schema()["$defs"]["Event"]["properties"]["timestamp"]["pattern"], re.ASCII)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2025-08-10T13:52:18Z", "2025-08-10T13:52:18Z"),
        ("2025-08-10T13:52:18z", "2025-08-10T13:52:18Z"),
        ("2025-08-10 13:52:18Z", "2025-08-10T13:52:18Z"),
        ("2025-08-10 13:52:18 UTC", "2025-08-10T13:52:18Z"),
        ("2025-08-10T13:52:18UTC", "2025-08-10T13:52:18Z"),
        ("2025-08-10T13:52:18", "2025-08-10T13:52:18"),
        ("2025-08-10 13:52:18", "2025-08-10T13:52:18"),
        ("2025-08-10 13:52:18,357", "2025-08-10T13:52:18.357"),
        ("2025-08-10 13:52:18.357+02:00", "2025-08-10T11:52:18.357Z"),
        ("2025-08-10T13:52:18+0200", "2025-08-10T11:52:18Z"),
        ("2025-08-10T13:52:18-05:30", "2025-08-10T19:22:18Z"),
        ("2025-08-10T13:52:18+00:00", "2025-08-10T13:52:18Z"),
        ("2025-08-10T13:52:18-0000", "2025-08-10T13:52:18Z"),
        ("2025-12-31T23:59:59.9-01:00", "2026-01-01T00:59:59.9Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("2025-08-10T13:52:18.123456789Z", "2025-08-10T13:52:18.123456789Z"),
        ("2025-08-10T13:52:18.100000Z", "2025-08-10T13:52:18.100000Z"),
        ("2025-08-10T13:52:18.000+02:00", "2025-08-10T11:52:18.000Z"),
    ],
)
def test_times_are_put_into_normal_form(text: str, normal: str) -> None:
    assert parse_time(text) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2025-08-10",
        "13:52:18",
        "1754833938",
        "2025-02-30T00:00:00Z",
        "2025-13-01T00:00:00",
        "2023-02-29T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2025-08-10T24:00:00Z",
        "2025-08-10T13:60:00Z",
        "2025-08-10T13:52:60Z",
        "2025-08-10T13:52:18.Z",
        "2025-08-10T13:52Z",
        "2025-08-10T13:52:18+25:00",
        "2025-08-10T13:52:18 CET",
        " 2025-08-10T13:52:18Z",
        "2025-08-10T13:52:18Z\n",
        "2025-08-10T13:52:18Z and more",
        "２０２５-08-10T13:52:18Z",
        "2025-08-10T13:52:18.１２Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "20250810T135218Z",
        "2025-W32-7T13:52:18Z",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert parse_time(text) is None


@EXAMPLES
@given(
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),  # noqa: DTZ001 - zones come apart
    st.integers(-14 * 60, 14 * 60),
    st.sampled_from(["T", " "]),
)
def test_a_time_with_an_offset_becomes_the_same_moment_in_utc(moment: datetime, minutes: int, separator: str) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    found = parse_time(zoned.isoformat(separator))
    assert found is not None
    assert NORMAL_FORM.fullmatch(found)
    assert datetime.fromisoformat(found) == zoned
    assert found.endswith("Z")


@EXAMPLES
@given(st.datetimes())
def test_a_time_without_a_zone_stays_as_it_is(moment: datetime) -> None:
    assert parse_time(moment.isoformat()) == moment.isoformat()


@EXAMPLES
@given(st.datetimes().map(lambda moment: moment.replace(microsecond=0).isoformat()), st.from_regex("[0-9]{1,12}", fullmatch=True))
def test_the_fraction_is_kept_digit_for_digit(base: str, fraction: str) -> None:
    for zone in ("", "Z"):
        assert parse_time(f"{base}.{fraction}{zone}") == f"{base}.{fraction}{zone}"
    assert (parse_time(f"{base},{fraction}+00:00") or "").endswith(f".{fraction}Z")


def near_times() -> st.SearchStrategy[str]:
    """Texts that look like times, digits of other scripts included."""
    return st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d{0,13})?\s?(Z|z|UTC|[+-]\d\d:?\d\d)?", fullmatch=True) | st.from_regex(
        r"20[0-3][0-9]-[01][0-9]-[0-3][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-6][0-9]([.,][0-9]{0,13})?\s?(Z|z|UTC|[+-][0-2][0-9]:?[0-5][0-9])?",
        fullmatch=True,
    )


@EXAMPLES
@given(near_times() | st.text(max_size=30))
def test_whatever_is_taken_for_a_time_is_in_normal_form_and_stays_so(text: str) -> None:
    found = parse_time(text)
    if found is not None:
        assert NORMAL_FORM.fullmatch(found)
        assert parse_time(found) == found


@pytest.mark.parametrize(
    ("seconds", "time"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1754833938, "2025-08-10T13:52:18Z"),
        (1754833938.5, "2025-08-10T13:52:18.500000Z"),
        (-1, "1969-12-31T23:59:59Z"),
    ],
)
def test_seconds_since_1970_become_a_utc_time(seconds: float, time: str) -> None:
    assert from_epoch(seconds) == time


@pytest.mark.parametrize("seconds", [1e18, -1e18, float("inf"), float("-inf"), float("nan"), 253402300800])
def test_seconds_out_of_range_are_no_time(seconds: float) -> None:
    assert from_epoch(seconds) is None


@pytest.mark.parametrize(
    ("nanoseconds", "time"),
    [
        (1783394813733168728, "2026-07-07T03:26:53.733168728Z"),
        (0, "1970-01-01T00:00:00.000000000Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
    ],
)
def test_nanoseconds_keep_every_digit(nanoseconds: int, time: str) -> None:
    assert from_epoch_ns(nanoseconds) == time
    assert from_epoch_ns(nanoseconds * 10**20) in (None, time)


@EXAMPLES
@given(st.integers(-(10**10), 10**11))
def test_whole_seconds_survive(seconds: int) -> None:
    found = from_epoch(seconds)
    assert found is not None
    assert NORMAL_FORM.fullmatch(found)
    assert datetime.fromisoformat(found) == datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)


@EXAMPLES
@given(moments(), moments(), st.sampled_from(["Z", ""]))
def test_order_keys_sort_as_the_moments_do(first: int, second: int, zone: str) -> None:
    keys = [order_key(as_time(moment, zone)) for moment in (first, second)]
    assert (keys[0] < keys[1]) is (first < second)
    assert (keys[0] == keys[1]) is (first == second)


def test_order_keys_know_no_zone_and_no_trailing_zeros() -> None:
    assert order_key("2025-08-10T13:52:18Z") == order_key("2025-08-10T13:52:18") == order_key("2025-08-10T13:52:18.000")
