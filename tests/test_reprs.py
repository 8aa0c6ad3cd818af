"""The literal parser: everything that ``repr`` writes of plain data comes back, and nothing is ever run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agenttrace.reprs import parse_repr

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None, max_examples=300)
@given(plain)
def test_plain_data_comes_back(value: Any) -> None:
    found = parse_repr(repr(value))
    assert found is not None
    assert (found.value, found.cut, found.end) == (value, None, len(repr(value)))


@settings(deadline=None, max_examples=300)
@given(st.text())
def test_any_text_is_a_value_or_none(text: str) -> None:
    found = parse_repr(text)
    assert found is None or 0 <= found.end <= len(text)


@settings(deadline=None)
@given(plain, st.data())
def test_a_cut_text_gives_a_prefix_and_says_so(value: Any, data: st.DataObject) -> None:
    text = repr([value, "end"])
    found = parse_repr(text[: data.draw(st.integers(1, len(text) - 1))])
    assert found is not None
    assert found.cut is not None


CALLS = {
    "TextMessage(source='user', models_usage=None, content='hi')": {"source": "user", "models_usage": None, "content": "hi"},
    "ChatResult(chat_id=None, chat_history=[{'role': 'user'}], cost={'a': 0.5}, human_input=[])": {
        "chat_id": None,
        "chat_history": [{"role": "user"}],
        "cost": {"a": 0.5},
        "human_input": [],
    },
    "StructuredMessage[Offer](content=Offer(city='Łódź', nights=3))": {"content": {"city": "Łódź", "nights": 3}},
    "datetime.datetime(2025, 8, 10, 13, 52, 18, 357010, tzinfo=datetime.timezone.utc)": "2025-08-10T13:52:18.357010+00:00",
    "datetime.datetime(2025, 8, 10, 13, 52, tzinfo=TzInfo(UTC))": "2025-08-10T13:52:00+00:00",
    "datetime.datetime(2025, 8, 10, 13, 52, tzinfo=TzInfo(-02:30))": "2025-08-10T13:52:00-02:30",
    "datetime.datetime(2025, 8, 10, tzinfo=datetime.timezone(datetime.timedelta(seconds=7200)))": "2025-08-10T00:00:00+02:00",
    "datetime.datetime(2025, 13, 40)": {"args": [2025, 13, 40]},
    "[<autogen.Agent object at 0x7f>, <Role.USER: 'user'>, Role.USER]": [
        "<autogen.Agent object at 0x7f>",
        "<Role.USER: 'user'>",
        "Role.USER",
    ],
    "('a' 'b', \"c\", {1, 2}, (), set())": ["ab", "c", [1, 2], [], {}],
    "b'bytes\\x41'": "bytesA",
    "'a line\nbreak'": "a line\nbreak",
    "'\\u00e9\\U0001f600\\t\\'\\101'": "é😀\t'A",
    "[1e3, -2.5, .5, nan, inf, 1_000]": [1000.0, -2.5, 0.5, None, None, 1000],
}


@pytest.mark.parametrize("text", CALLS)
def test_what_logs_hold(text: str) -> None:
    found = parse_repr(text)
    assert found is not None
    assert (found.value, found.cut) == (CALLS[text], None)


@pytest.mark.parametrize(
    "text", ["__import__('os').system('touch ran')", "print(open('x').read())", "[x for x in ().__class__]", "(lambda: 1)()"]
)
def test_nothing_is_run(text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parse_repr(text)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["(" * 100_000, "[" * 5000 + "]" * 5000, "'" * 100_001, "f(" * 10_000])
def test_deep_and_endless_texts_end(text: str) -> None:
    parse_repr(text)


def test_the_name_of_a_call() -> None:
    found = parse_repr("  TaskResult(messages=[], stop_reason='done') trailing")
    assert found is not None
    assert (found.name, found.value, found.cut) == ("TaskResult", {"messages": [], "stop_reason": "done"}, None)
