"""Damaged input: what can be read is read, what cannot is noted, and nothing but ReadError is ever raised."""

from __future__ import annotations

import gzip
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from agenttrace import salvage
from agenttrace.errors import ReadError
from agenttrace.notes import DAMAGE, Note, Notes, measure
from agenttrace.salvage import document, excerpt, look, parse, records
from agenttrace.sources import Source, decode_text
from tests.full_trace import full_document
from tests.strategies import json_values

EXAMPLES = settings(max_examples=200, deadline=None)


class Outcome(NamedTuple):
    """What was read, where it stood, and what was noted."""

    values: list[Any]
    places: list[str]
    notes: list[Note]

    @property
    def damage(self) -> list[tuple[str, str | None]]:
        return [(note.code, note.source_ref) for note in self.notes if note.code in DAMAGE]


def outcome_of(source: Source) -> Outcome:
    notes = Notes()
    seen = look(source)
    if seen.kind == "jsonl":
        rows = list(records(source, notes))
        return Outcome([value for _, value in rows], [place for place, _ in rows], notes.items)
    values = [document(source, notes)] if seen.kind == "json" else []
    return Outcome(values, [""] * len(values), notes.items)


def outcome(data: bytes) -> Outcome:
    return outcome_of(Source("log.json", data=data))


def is_json_safe(value: Any) -> bool:
    """Whether JSON text in UTF-8 can hold the value: no NaN, no lone surrogates."""
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    return True


def is_prefix(part: Any, whole: Any) -> bool:
    """Whether ``part`` is ``whole`` cut somewhere: all before the cut equal, nothing that was not there."""
    if type(part) is not type(whole):
        return False
    if isinstance(part, dict):
        pairs = list(zip(part.items(), whole.items(), strict=False))
        if len(part) > len(whole) or any(mine != its for (mine, _), (its, _) in pairs):
            return False
        return _items_are_prefix([mine for (_, mine), _ in pairs], [its for _, (_, its) in pairs])
    if isinstance(part, list):
        return len(part) <= len(whole) and _items_are_prefix(part, whole)
    return bool(part == whole)


def _items_are_prefix(part: list[Any], whole: list[Any]) -> bool:
    *before, last = part or [None]
    return not part or (before == whole[: len(before)] and is_prefix(last, whole[len(before)]))


def damage_codes(data: bytes) -> list[str]:
    return [repair.code for repair in parse(data).repairs if repair.code in DAMAGE]


# -- sound input ----------------------------------------------------------------------------


@EXAMPLES
@given(json_values(), st.sampled_from([None, 2]), st.booleans())
def test_sound_json_is_read_as_it_is(value: Any, indent: int | None, ascii_only: bool) -> None:
    data = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    parsed = parse(data)
    assert json.dumps(parsed.values) == json.dumps([value])
    assert parsed.repairs == []


@pytest.mark.parametrize("separator", [b"\n", b"\r\n", b"\n\n"])
def test_sound_lines_are_read_one_by_one(separator: bytes) -> None:
    found = outcome(separator.join(b'{"n": %d}' % n for n in range(3)) + separator)
    assert found.values == [{"n": 0}, {"n": 1}, {"n": 2}]
    assert found.notes == []


# -- cut documents ----------------------------------------------------------------------------

WHOLE = {
    "text": 'a "quoted" \\ 你好 👩‍💻 \n',
    "numbers": [0, -12, 3.25, 1e300, 123456789012345678901234567890],
    "words": [True, False, None],
    "empty": [{}, [], ""],
    "deep": {"a": [{"b": {"c": ["d", {"e": "f"}]}}]},
    "键": {"last": "x"},
}
LAYOUTS = {
    "compact": json.dumps(WHOLE, separators=(",", ":"), ensure_ascii=False).encode(),
    "indented": json.dumps(WHOLE, indent=2, ensure_ascii=False).encode(),
    "escaped": json.dumps(WHOLE).encode(),
    "in an array": json.dumps([WHOLE, WHOLE]).encode(),
}
every_layout = pytest.mark.parametrize("data", LAYOUTS.values(), ids=LAYOUTS.keys())


@every_layout
def test_a_document_cut_at_any_byte_gives_a_prefix_of_its_values(data: bytes) -> None:
    whole = json.loads(data)
    for end in range(1, len(data)):
        values, repairs = parse(data[:end])
        assert len(values) == 1
        assert is_prefix(values[0], whole), data[:end]
        assert is_json_safe(values)
        assert [repair.code for repair in repairs if repair.code in DAMAGE], data[:end]


@every_layout
def test_the_later_the_cut_the_more_is_read(data: bytes) -> None:
    leaves = [measure(parse(data[:end]).values).leaves for end in range(1, len(data) + 1)]
    assert leaves == sorted(leaves)


@every_layout
def test_only_the_last_bracket_missing_loses_nothing(data: bytes) -> None:
    assert parse(data[:-1]).values == [json.loads(data)]


@pytest.mark.parametrize(
    ("cut", "value"),
    [
        ('{"a": [1, 2, {"b": "c', {"a": [1, 2, {}]}),
        ('{"a": true, "b": fal', {"a": True}),
        ('{"a": true, "b": false', {"a": True, "b": False}),
        ("[1, 23", [1]),
        ("[1, -", [1]),
        ('{"a": "x", "b', {"a": "x"}),
        ('{"a": "x", "b"', {"a": "x"}),
        ('{"a": "x", "b":', {"a": "x"}),
        ('{"a": "x", "b": "y\\', {"a": "x"}),
        ('{"a": "x", "b": "y\\u00', {"a": "x"}),
        ('{"a": "x",', {"a": "x"}),
        ("{", {}),
        ("[", []),
        ('{"a": {"b": [', {"a": {"b": []}}),
    ],
)
def test_a_cut_document_is_closed_at_its_last_whole_value(cut: str, value: Any) -> None:
    parsed = parse(cut.encode())
    assert parsed.values == [value]
    assert [repair.code for repair in parsed.repairs] == ["salvaged"]


def test_the_note_on_a_cut_document_says_where_and_what_was_left_out() -> None:
    (repair,) = parse(b'{\n"a": 1,\n"b": "half').repairs
    assert "line 2" in repair.detail
    assert '\\"b\\": \\"half' in repair.detail


@pytest.mark.parametrize("broken", ['{"a": 1 "b": 2}', '{"a": 1, b: 2}', "{\"a\": 1, 'b': 2}", '{"a": 1, "b": }', '{"a": 1]'])
def test_a_broken_document_is_read_up_to_the_break(broken: str) -> None:
    parsed = parse(broken.encode())
    assert parsed.values == [{"a": 1}]
    assert [repair.code for repair in parsed.repairs] == ["salvaged"]


def test_cut_trace_files_are_read_as_one_document() -> None:
    data = json.dumps(full_document()).encode()
    for end in range(1, len(data), 97):
        found = outcome(data[:end])
        assert len(found.values) == 1
        assert is_prefix(found.values[0], full_document())
        assert found.damage


# -- more than one document -----------------------------------------------------------------------


@pytest.mark.parametrize("garbage", ["trailing", "]", "}}", "\x1b[31m\n\n!", "<html>"])
def test_garbage_behind_a_document_is_noted(garbage: str) -> None:
    parsed = parse(f'{{"a": 1}} {garbage}'.encode())
    assert parsed.values == [{"a": 1}]
    assert [repair.code for repair in parsed.repairs] == ["unreadable"]
    assert "\n" not in parsed.repairs[0].detail


@pytest.mark.parametrize("separator", ["", " ", "\n", ",", ",\n", "\r\n\r\n", "\0"])
def test_documents_run_together_are_all_read(separator: str) -> None:
    found = outcome(separator.join(['{"a":\n1}', "[2]", '{"c": 3}']).encode())
    assert found.values == [{"a": 1}, [2], {"c": 3}]
    assert [code for code, _ in found.damage] == ([] if "\n" in separator else ["salvaged"])  # on lines of their own they are whole


def test_the_last_of_documents_run_together_may_be_cut() -> None:
    found = outcome(b'{"a":\n1}{"b": 2, "c": "ha')
    assert found.values == [{"a": 1}, {"b": 2}]
    assert found.damage


# -- what JSON text cannot hold ---------------------------------------------------------------------


def test_nan_and_infinities_become_null_each_noted_with_its_place() -> None:
    parsed = parse(b'{"a": [NaN, 1.5, Infinity], "b": {"c": -Infinity}, "d": "NaN"}')
    assert parsed.values == [{"a": [None, 1.5, None], "b": {"c": None}, "d": "NaN"}]
    assert [(repair.code, repair.pointer) for repair in parsed.repairs] == [
        ("replaced", "/a/0"),
        ("replaced", "/a/2"),
        ("replaced", "/b/c"),
    ]


def test_lone_surrogates_become_the_replacement_character_and_are_noted() -> None:
    parsed = parse(rb'{"a": ["x\ud800y", "\ud83d\ude00"], "k\udfff": 1}')
    assert parsed.values == [{"a": ["x\ufffdy", "\U0001f600"], "k\ufffd": 1}]
    assert [repair.code for repair in parsed.repairs] == ["replaced", "replaced"]


def test_keys_that_differ_only_in_lone_surrogates_keep_their_values() -> None:
    (value,) = parse(rb'{"\ud800": 1, "\ud801": 2}').values
    assert sorted(value.values()) == [1, 2]


@pytest.mark.parametrize("digits", ["18446744073709551616", "-9223372036854775809", "123456789012345678901234567890"])
def test_integers_beyond_64_bits_keep_all_digits(digits: str) -> None:
    parsed = parse(f'{{"n": [{digits}, 1e30, 0.5]}}'.encode())
    assert parsed.values == [{"n": [int(digits), 1e30, 0.5]}]
    assert parsed.repairs == []


@pytest.mark.parametrize(
    "data", [b"[" + b"7" * 5000 + b"]", b'{"a": 1, "n": ' + b"7" * 5000 + b"}", b'{"n": ' + b"7" * 5000, b"[-" + b"7" * 5000]
)
def test_integers_of_thousands_of_digits_do_no_harm(data: bytes) -> None:
    assert is_json_safe(outcome(data).values)


@pytest.mark.parametrize("number", ["1e999", "-1e999"])
def test_numbers_beyond_all_bounds_do_no_harm(number: str) -> None:
    assert is_json_safe(outcome(f'{{"n": {number}}}'.encode()).values)


# -- keys given twice ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":1,"a":2}',
        b'{"a": 1, "a": 2}',
        b'{"a" : 1, "a" : 2}',
        b'{"a" : 1, "a": 2}',
        b'{"a"\t:1,"a"\n:2}',
        b'{"b":{"a":1,"a":2}}',
        b'[{"a":1},{"a":1,"a":2}]',
        b'{"text":"\\":","a":1,"a":2}',
        b'{"a\\\\":1,"a\\\\":2}',
        b'\xef\xbb\xbf{"a":1,"a":2}',
        b'{"a":1,"a":2,"n":NaN}',
        b'{"a":1,"a":2,"cut":"ha',
    ],
)
def test_keys_given_twice_are_noted(data: bytes) -> None:
    assert [repair for repair in parse(data).repairs if repair.code == "unreadable" and "twice" in repair.detail]


@pytest.mark.parametrize(
    "data", [b'{"a":1,"b":{"a":1}}', b'{"text":"{\\"a\\":1,\\"a\\":2}"}', b'[{"a":1},{"a":2}]', b'{"a":"x\\":","b":"\\" : "}']
)
def test_keys_given_once_each_are_not_noted(data: bytes) -> None:
    assert parse(data).repairs == []


# -- encodings ------------------------------------------------------------------------------------------

CHINESE = {"task": "编写一个贪吃蛇游戏，要求有计分板", "role": "程序员"}
FRENCH = {"task": "Le général a été élevé à l'étranger, près de la forêt; où est le café?"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le-bom", "utf-16-be-bom"])
def test_utf_16_with_a_byte_order_mark_is_sure(encoding: str) -> None:
    text = json.dumps(CHINESE, ensure_ascii=False)
    marks = {"utf-16": text.encode("utf-16"), "utf-16-le-bom": b"\xff\xfe" + text.encode("utf-16-le")}
    found = outcome(marks.get(encoding, b"\xfe\xff" + text.encode("utf-16-be")))
    assert found == Outcome([CHINESE], [""], [])


def test_utf_16_lines_are_all_read() -> None:
    found = outcome("".join(json.dumps({"n": n}) + "\n" for n in range(3)).encode("utf-16"))
    assert found.values == [{"n": 0}, {"n": 1}, {"n": 2}]


def test_cut_utf_16_is_read_up_to_the_cut() -> None:
    data = json.dumps({"a": 1, "b": "half of it"}).encode("utf-16")
    found = outcome(data[:-7])
    assert found.values == [{"a": 1}]
    assert found.damage


@pytest.mark.parametrize("data", [b'\xef\xbb\xbf{"a": "\xc3\xa9"}', b'\xef\xbb\xbf\n {"a": "\xc3\xa9"}\n'])
def test_a_byte_order_mark_in_utf_8_is_passed_over(data: bytes) -> None:
    assert outcome(data) == Outcome([{"a": "é"}], [""], [])


def test_a_byte_order_mark_before_lines_is_passed_over() -> None:
    found = outcome(b'\xef\xbb\xbf{"n": 0}\n{"n": 1}\n{"n": 2}\n')
    assert found == Outcome([{"n": 0}, {"n": 1}, {"n": 2}], ["line:1", "line:2", "line:3"], [])


@pytest.mark.parametrize("encoding", ["gbk", "gb2312", "gb18030"])
def test_chinese_encodings_are_recognised_and_noted(encoding: str) -> None:
    found = outcome(json.dumps(CHINESE, ensure_ascii=False).encode(encoding))
    assert found.values == [CHINESE]
    assert [code for code, _ in found.damage] == ["salvaged"]


def test_chinese_lines_are_all_read() -> None:
    line = json.dumps(CHINESE, ensure_ascii=False).encode("gbk")
    found = outcome(line + b"\n" + line + b"\n")
    assert found.values == [CHINESE, CHINESE]
    assert found.damage


@pytest.mark.parametrize("value", [FRENCH, {"name": "Andréa Müller"}, {"place": "Besançon"}], ids=str)
def test_western_texts_are_read_byte_for_byte_and_noted(value: Any) -> None:
    found = outcome(json.dumps(value, ensure_ascii=False).encode("latin-1"))
    assert found.values == [value]
    assert [code for code, _ in found.damage] == ["salvaged"]


def test_one_bad_byte_in_utf_8_is_replaced_and_its_place_noted() -> None:
    before = '{"task": "naïve, élan, 你好 '.encode()
    found = outcome(before + b"\xff" + b' end"}')
    assert found.values == [{"task": "naïve, élan, 你好 \ufffd end"}]
    assert [code for code, _ in found.damage] == ["salvaged"]
    assert f"byte {len(before)}" in found.notes[0].detail


def test_utf_8_cut_inside_a_character_stays_utf_8() -> None:
    data = '{"a": "é", "b": "你'.encode()[:-1]
    assert parse(data).values == [{"a": "é"}]


@EXAMPLES
@given(st.binary(max_size=40))
def test_any_bytes_are_text_in_some_encoding(data: bytes) -> None:
    text, encoding, guess = decode_text(data)
    assert encoding in ("utf-8", "utf-16", "gb18030", "latin-1")
    text.encode()  # no lone surrogates
    if (encoding, guess) == ("utf-8", None):
        assert text.encode() == data.removeprefix(b"\xef\xbb\xbf")


# -- lines ------------------------------------------------------------------------------------------------

LINES = [b'{"n": %d, "text": "some words"}\n' % n for n in range(6)]
BROKEN = {
    "cut in a text": b'{"n": 9, "text": "some wo\n',
    "cut behind a colon": b'{"n": 9, "text":\n',
    "no JSON": b"Traceback (most recent call last):\n",
    "half of another line": b'words"}\n',
    "NUL bytes": b"\0" * 40 + b"\n",
    "binary": b"\x80\xff\x00\x01\n",
}


@pytest.mark.parametrize("place", [0, 3, 6], ids=["first", "middle", "last"])
@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_line_costs_no_other_line(broken: bytes, place: int) -> None:
    found = outcome(b"".join([*LINES[:place], broken, *LINES[place:]]))
    whole = [value for value in found.values if value != {"n": 9}]
    assert whole == [{"n": n, "text": "some words"} for n in range(6)]
    assert {ref for _, ref in found.damage} == {f"line:{place + 1}"}
    assert [ref for ref, value in zip(found.places, found.values, strict=True) if value["n"] == 0] == ["line:2" if place == 0 else "line:1"]


def test_the_last_line_without_its_end_is_read_as_far_as_it_goes() -> None:
    found = outcome(b"".join(LINES)[:-4])
    assert found.values == [*({"n": n, "text": "some words"} for n in range(5)), {"n": 5}]
    assert found.damage == [("salvaged", "line:6")]


def test_several_broken_lines_are_each_noted() -> None:
    found = outcome(b"".join([LINES[0], b"oops\n", LINES[1], b'{"n": 7, "text\n', LINES[2], LINES[3], b"[[[\n", LINES[4]]))
    assert [value["n"] for value in found.values if isinstance(value, dict)] == [0, 1, 7, 2, 3, 4]
    assert [ref for _, ref in found.damage] == ["line:2", "line:4", "line:7"]


# -- NUL bytes, depth, nothing ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 16, 5000])
def test_nul_bytes_behind_a_document_are_passed_over(count: int) -> None:
    """A file system that lost its power leaves a file filled with NUL bytes."""
    assert outcome(b'{"a": 1}' + b"\0" * count).values == [{"a": 1}]


@pytest.mark.parametrize("count", [1, 16, 5000])
def test_nul_bytes_behind_lines_cost_no_line(count: int) -> None:
    found = outcome(b"".join(LINES) + b"\0" * count)
    assert [value["n"] for value in found.values] == [0, 1, 2, 3, 4, 5]


def test_nul_bytes_inside_a_text_are_kept() -> None:
    assert outcome(b'{"a": "x\0y", "b": [1, 2, 3], "c": "enough of other bytes"}').values[0]["a"] == "x\0y"


@pytest.mark.parametrize("data", [b"", b" \r\n\t ", b"\0" * 100, b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_an_input_of_nothing_is_an_error_that_says_so(data: bytes) -> None:
    with pytest.raises(ReadError) as caught:
        look(Source("log.json", data=data))
    assert (caught.value.code, caught.value.path) == ("empty", "log.json")


def test_an_empty_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(b"")
    with pytest.raises(ReadError) as caught:
        look(Source.open(path))
    assert (caught.value.code, caught.value.path) == ("empty", str(path))


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'], ids=["arrays", "objects", "both"])
@pytest.mark.parametrize("closed", [True, False])
def test_nesting_of_2000_levels_does_no_harm(opening: bytes, closed: bool) -> None:
    closing = b"".join({b"[": b"]", b"{": b"}"}.get(opening[i : i + 1], b"") for i in reversed(range(len(opening))))
    data = opening * 2000 + b"1" + (closing * 2000 if closed else b"")
    found = outcome(data)
    assert is_json_safe(found.values)
    assert parse(data).repairs


def test_deep_nesting_and_a_huge_integer_together_do_no_harm() -> None:
    for levels in (900, 950, 1000):
        assert len(parse(b"[" * levels + b"7" * 30 + b"]" * levels).values) <= 1


def test_a_deep_line_costs_no_other_line() -> None:
    found = outcome(b"".join([*LINES[:3], b'{"a":' * 2000 + b"1" + b"}" * 2000 + b"\n", *LINES[3:]]))
    assert [value["n"] for value in found.values if "n" in value] == [0, 1, 2, 3, 4, 5]
    assert {ref for _, ref in found.damage} == {"line:4"}


# -- compressed and cut ----------------------------------------------------------------------------------------

ROWS = [{"n": n, "text": f"{n * 7919 % 10007:x} {n * 104729 % 1000003:x}"} for n in range(30_000)]
COMPRESSED_DOCUMENT = gzip.compress(json.dumps(ROWS).encode(), mtime=0)
COMPRESSED_LINES = gzip.compress("".join(json.dumps(row) + "\n" for row in ROWS).encode(), mtime=0)


def as_bytes(data: bytes, _: Path, __: pytest.MonkeyPatch) -> Source:
    return Source("log.gz", data=data)


def as_file(data: bytes, folder: Path, _: pytest.MonkeyPatch) -> Source:
    path = folder / "log.gz"
    path.write_bytes(data)
    return Source.open(path)


def as_large_file(data: bytes, folder: Path, patch: pytest.MonkeyPatch) -> Source:
    """A file that is too large to be held: it is streamed."""
    patch.setattr(salvage, "_SMALL", 0)
    return as_file(data, folder, patch)


Opener = Callable[[bytes, Path, pytest.MonkeyPatch], Source]
every_opener = pytest.mark.parametrize("open_source", [as_bytes, as_file, as_large_file])


@every_opener
def test_a_gz_document_cut_in_the_middle_gives_its_first_half(open_source: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome_of(open_source(COMPRESSED_DOCUMENT[: len(COMPRESSED_DOCUMENT) // 2], tmp_path, monkeypatch))
    assert len(found.values) == 1
    assert 1000 < len(found.values[0]) < len(ROWS)
    assert is_prefix(found.values[0], ROWS)
    assert found.damage


@every_opener
def test_gz_lines_cut_in_the_middle_give_the_first_half(open_source: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome_of(open_source(COMPRESSED_LINES[: len(COMPRESSED_LINES) // 2], tmp_path, monkeypatch))
    assert 1000 < len(found.values) < len(ROWS)
    assert found.values[:-1] == ROWS[: len(found.values) - 1]
    assert is_prefix(found.values[-1], ROWS[len(found.values) - 1])
    assert found.damage


@every_opener
@pytest.mark.parametrize("data", [COMPRESSED_DOCUMENT, COMPRESSED_LINES], ids=["document", "lines"])
def test_a_gz_file_without_its_checksum_is_read_whole_and_noted(
    open_source: Opener, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = outcome_of(open_source(data[:-4], tmp_path, monkeypatch))
    assert (found.values[0] if data is COMPRESSED_DOCUMENT else found.values) == ROWS
    assert found.damage


@every_opener
@pytest.mark.parametrize("data", [COMPRESSED_DOCUMENT, COMPRESSED_LINES], ids=["document", "lines"])
def test_a_whole_gz_file_is_read_without_a_note(open_source: Opener, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome_of(open_source(data, tmp_path, monkeypatch))
    assert (found.values[0] if data is COMPRESSED_DOCUMENT else found.values) == ROWS
    assert found.notes == []


@every_opener
def test_zst_lines_cut_in_the_middle_give_the_first_half(open_source: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = zstandard.compress(gzip.decompress(COMPRESSED_LINES))
    found = outcome_of(open_source(data[: len(data) // 2], tmp_path, monkeypatch))
    assert 1000 < len(found.values) < len(ROWS)
    assert found.values[:-1] == ROWS[: len(found.values) - 1]
    assert found.damage


@every_opener
@pytest.mark.parametrize("data", [COMPRESSED_LINES[:15], zstandard.compress(b'{"a": 1}')[:8]], ids=["gz", "zst"])
def test_compressed_data_of_which_nothing_can_be_expanded_is_an_error(
    open_source: Opener, data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ReadError) as caught:
        look(open_source(data, tmp_path, monkeypatch))
    assert caught.value.code == "compressed"


# -- anything ---------------------------------------------------------------------------------------------------

TOKENS = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"a"',
    b'"',
    b"\\",
    b"1",
    b"-",
    b"e5",
    b".5",
    b"NaN",
    b"Infinity",
    b"null",
    b"tru",
    b" ",
    b"\n",
]
ODD_BYTES = [
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"\\ud800",
    b"\xc4\xe3\xba\xc3",
    b"'",
    b"(",
    b"T(",
]


def spliced(data: bytes, at: int, insert: bytes, skip: int) -> bytes:
    at %= len(data) + 1
    return data[:at] + insert + data[at + skip :]


def any_bytes() -> st.SearchStrategy[bytes]:
    """Bytes of all kinds: random, soups of tokens, JSON with something inserted or cut out, compressed ones."""
    tokens = st.lists(st.sampled_from(TOKENS + ODD_BYTES), max_size=12).map(b"".join)
    documents = st.lists(json_values(), min_size=1, max_size=3).map(
        lambda values: b"\n".join(json.dumps(value).encode() for value in values)
    )
    broken = st.builds(spliced, documents, st.integers(0, 500), tokens | st.just(b""), st.integers(0, 30))
    plain = st.binary(max_size=60) | tokens | broken
    return plain | st.builds(spliced, plain.map(gzip.compress), st.integers(0, 90), st.binary(max_size=2), st.integers(0, 20))


def assert_harmless(source: Source) -> None:
    try:
        found = outcome_of(source)
    except ReadError as error:
        assert error.path == source.label
        return
    assert is_json_safe(found.values)
    for note in found.notes:
        assert "\n" not in note.detail.encode().decode()


@settings(max_examples=400, deadline=None)
@given(any_bytes())
def test_any_bytes_raise_nothing_but_read_errors(data: bytes) -> None:
    assert_harmless(Source("log", data=data))


def test_any_file_that_is_streamed_raises_nothing_but_read_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salvage, "_SMALL", 0)
    path = tmp_path / "log"

    @EXAMPLES
    @given(any_bytes())
    def harmless(data: bytes) -> None:
        path.write_bytes(data)
        assert_harmless(Source.open(path))

    harmless()


@EXAMPLES
@given(st.text(max_size=300) | st.text(alphabet="\x00\x07\x1b\x7f\x85\x9b\n\r\u2028", max_size=8), st.integers(10, 80))
def test_excerpts_are_short_and_safe_to_show(text: str, length: int) -> None:
    shown = excerpt(text, length)
    assert "\n" not in shown
    assert [character for character in shown if unicodedata.category(character) == "Cc"] == []
    assert len(json.loads(shown)) <= length
