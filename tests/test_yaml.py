"""Reading pipeline text: data, places, files, limits."""

from __future__ import annotations

import pathlib
import struct

import pytest
import yaml

from composer._yaml import parse, read
from composer._yaml.document import Source
from composer._yaml.syntax import explain
from composer.errors import PipelineError, Place

PIPELINE = """\
# a comment
composer: 1
function: digits:loss
returns: [loss, {stats: {n, mean}}]
args:
  params: {call: digits:init_params, seed: 0}
  x: {file: data/digits.npz, key: x, shape: "f32[batch, 64]"}
  y: {file: data/digits.npz, key: y}
stack:
  - value_and_grad: {argnums: params}
  - pmap: {axis_name: devices, in_axes: {x: 0, y: 0}, split: true, sync: pmean}
  - optimizer: {optax: adam, learning_rate: 1e-3}
  - jit
write: null
"""


def exact(value: object) -> object:
    """The value with its types and its floats as bits, so that 1, 1.0 and true differ."""
    if isinstance(value, dict):
        return [(type(key), key, exact(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, float):
        return struct.pack("<d", value)
    return type(value), value


def error(text: str) -> str:
    with pytest.raises(PipelineError) as caught:
        parse(text, "p.yaml")
    return str(caught.value)


# ---------------------------------------------------------------- data


def test_a_pipeline_is_read_as_plain_data() -> None:
    assert parse(PIPELINE).data == {
        "composer": 1,
        "function": "digits:loss",
        "returns": ["loss", {"stats": {"n": None, "mean": None}}],
        "args": {
            "params": {"call": "digits:init_params", "seed": 0},
            "x": {"file": "data/digits.npz", "key": "x", "shape": "f32[batch, 64]"},
            "y": {"file": "data/digits.npz", "key": "y"},
        },
        "stack": [
            {"value_and_grad": {"argnums": "params"}},
            {
                "pmap": {
                    "axis_name": "devices",
                    "in_axes": {"x": 0, "y": 0},
                    "split": True,
                    "sync": "pmean",
                }
            },
            {"optimizer": {"optax": "adam", "learning_rate": 0.001}},
            "jit",
        ],
        "write": None,
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+1", 1),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("1e-3", 0.001),
        ("1.5E+3", 1500.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-.5e1", -5.0),
        ("1e5", 100000.0),
        ("-0.0", -0.0),
        ("0e999", 0.0),
        ("01.5", 1.5),
        ("true", True),
        ("false", False),
        ("null", None),
        ("digits:loss", "digits:loss"),
        ("3d:loss", "3d:loss"),
        ("1.2.3", "1.2.3"),
        ("1e", "1e"),
        ("8bit", "8bit"),
        ("0o8", "0o8"),
        ("2024-01-01x", "2024-01-01x"),
        ("...5", "...5"),
        ("-", "-"),
        ("-x", "-x"),
        ("y", "y"),
        ("N", "N"),
        ("nones", "nones"),
        ("\uff11", "\uff11"),
        ('"no"', "no"),
        ("'017'", "017"),
        ('"null"', "null"),
        ('""', ""),
        ('"(0, 1)"', "(0, 1)"),
        ('"\\e\\0"', "\x1b\0"),
    ],
)
def test_a_scalar_has_one_value_and_one_type(text: str, value: object) -> None:
    document = parse(f"[{text}]")
    assert exact(document.data) == exact([value])


def test_a_key_is_a_word_or_a_plain_position() -> None:
    assert exact(parse('{a: 1, 0: 2, "0": 3, "no": 4, 17: 5}').data) == exact(
        {"a": 1, 0: 2, "0": 3, "no": 4, 17: 5}
    )


def test_a_name_alone_in_a_flow_mapping_is_null() -> None:
    assert parse("{n, mean , c # n: 1\n}").data == {"n": None, "mean": None, "c": None}


def test_texts_over_several_lines_are_read() -> None:
    text = 'a: |\n  x\n  y\nb: one\n  two\nc: "three\n  four"\nd: >-\n  - five\n  a:six\n'
    assert parse(text).data == {
        "a": "x\ny\n",
        "b": "one two",
        "c": "three four",
        "d": "- five a:six",
    }


def test_a_byte_order_mark_and_crlf_are_accepted_and_do_not_move_columns() -> None:
    document = parse("\ufeffa: 1\r\nb: {c: 2}\r\n", "p.yaml")
    assert document.data == {"a": 1, "b": {"c": 2}}
    assert document.text == "a: 1\r\nb: {c: 2}\r\n"
    assert document.place("b", "c") == Place("p.yaml", 2, 8, "b: {c: 2}", 1)
    assert document.key_place("a") == Place("p.yaml", 1, 1, "a: 1", 1)


def test_an_explicit_document_start_and_end_are_accepted() -> None:
    assert parse("---\na: 1\n...\n").data == {"a": 1}


# ---------------------------------------------------------------- places


def test_every_value_and_key_has_its_place() -> None:
    document = parse("a: [1, {b: two}]\nc:\n  - d: 3\n", "p.yaml")
    first, third = "a: [1, {b: two}]", "  - d: 3"
    assert dict(document.places) == {
        (): Place("p.yaml", 1, 1, first, 1),
        ("a",): Place("p.yaml", 1, 4, first, 13),
        ("a", 0): Place("p.yaml", 1, 5, first, 1),
        ("a", 1): Place("p.yaml", 1, 8, first, 8),
        ("a", 1, "b"): Place("p.yaml", 1, 12, first, 3),
        ("c",): Place("p.yaml", 3, 3, third, 1),
        ("c", 0): Place("p.yaml", 3, 5, third, 1),
        ("c", 0, "d"): Place("p.yaml", 3, 8, third, 1),
    }
    assert dict(document.keys) == {
        ("a",): Place("p.yaml", 1, 1, first, 1),
        ("a", 1, "b"): Place("p.yaml", 1, 9, first, 1),
        ("c",): Place("p.yaml", 2, 1, "c:", 1),
        ("c", 0, "d"): Place("p.yaml", 3, 5, third, 1),
    }


def test_a_layer_is_underlined_at_its_word_and_a_long_value_to_the_end_of_its_line() -> None:
    document = parse('- vmap: {in_axes: [0,\n    1]}\n- "a\n  b"\n')
    assert document.place(0) == Place(None, 1, 3, "- vmap: {in_axes: [0,", 4)
    assert document.place(0, "vmap", "in_axes") == Place(None, 1, 19, "- vmap: {in_axes: [0,", 3)
    assert document.place(1) == Place(None, 3, 3, '- "a', 2)


def test_columns_are_characters_where_the_text_is_not_ascii() -> None:
    document = parse("é: {𝄞𝄞: ü, ab: 1}")
    assert document.place("é", "𝄞𝄞").column == 9
    assert document.key_place("é", "ab") == Place(None, 1, 12, "é: {𝄞𝄞: ü, ab: 1}", 2)
    assert "p.yaml:1:9: CMP005" in error("é: {𝄞𝄞: no, ab: 1}")


def test_a_path_that_was_not_written_has_the_place_of_its_nearest_ancestor() -> None:
    document = parse("a: {b: 1}")
    assert document.place("a", "x", 3) == document.places[("a",)]
    assert document.key_place("a", "x") == document.places[("a",)]
    assert document.key_place("a", "b").column == 5


def test_a_name_alone_is_its_own_place() -> None:
    document = parse("{n, mean}")
    assert document.place("mean") == document.key_place("mean") == Place(None, 1, 5, "{n, mean}", 4)


# ---------------------------------------------------------------- refusals


def test_all_findings_are_raised_together_in_the_order_of_the_text() -> None:
    said = error("a: no\nb: &x 017\na: 1\nc: [1, 2\n")
    heads = [line[:16] for line in said.split("\n") if line.startswith("p.yaml")]
    assert heads == [
        "p.yaml:1:4: CMP0",
        "p.yaml:2:4: CMP0",
        "p.yaml:3:1: CMP0",
        "p.yaml:4:4: CMP0",
    ]
    assert [code for code in ("CMP005", "CMP016", "CMP003", "CMP001") if code in said] == [
        "CMP005",
        "CMP016",
        "CMP003",
        "CMP001",
    ]


def test_reading_stops_after_fifty_findings_and_says_so() -> None:
    with pytest.raises(PipelineError) as caught:
        parse("[" + "no, " * 1000 + "]")
    assert len(caught.value.diagnostics) == 50
    assert caught.value.diagnostics[-1].notes == ("reading stopped after 50 findings",)
    assert caught.value.diagnostics[-2].notes == ()


def test_thirty_two_levels_are_read() -> None:
    data = parse("[" * 32 + "]" * 32).data
    for _ in range(31):
        assert isinstance(data, list)
        (data,) = data
    assert data == []


def test_sixty_four_kibibytes_are_read_and_one_more_is_refused() -> None:
    room = 64 * 1024 - len("a: ")
    assert parse("a: " + "x" * room).data == {"a": "x" * room}
    assert parse("\ufeffa: " + "x" * room).data == {"a": "x" * room}
    said = (
        "CMP007 p.yaml is larger than 64 KiB, the most that a pipeline may have\n"
        "  write: large values into a data file, and {file: PATH, key: NAME} here"
    )
    assert error("a: " + "x" * (room + 1)) == said
    assert error("a: " + "é" * (room // 2 + 1)) == said


def test_what_the_parser_has_no_words_for_yet_is_said_in_its_own() -> None:
    problem = yaml.MarkedYAMLError("while thinking", None, "found a surprise", None)
    assert explain(problem, Source("a: 1", "p.yaml"), None).render() == (
        "p.yaml:1:1: CMP001 the text is not YAML from here on\n"
        "    1 | a: 1\n"
        "      | ^\n"
        "  the parser says: while thinking found a surprise\n"
        "  write: KEY: value on each line, and texts with special characters in quotes"
    )


def test_the_words_are_the_same_without_libyaml(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PIPELINE + "é: [no, 017]\nx: {n: , m}\nx: &a 1\ny: (0, 1)\n"
    fast, fast_places = error(text), dict(parse(PIPELINE).places)
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert error(text) == fast
    assert dict(parse(PIPELINE).places) == fast_places


@pytest.mark.parametrize("text", ["{a?: 1}", "{a:\tb}", "[a: b?]", "!=' a", "{n:, m}", "a: |# b"])
def test_what_the_two_parsers_read_differently_is_read_one_way(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_libyaml = error(text)
    monkeypatch.delattr(yaml, "CSafeLoader")
    assert error(text) == with_libyaml


# ---------------------------------------------------------------- files


def test_a_file_is_read_and_called_what_the_caller_says(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xa9\r\n")
    document = read(path, "shown.yaml")
    assert (document.data, document.file) == ({"a": "é"}, "shown.yaml")
    assert read(path).file == str(path)


def unreadable(path: pathlib.Path, shown_as: str = "d/pipe.yaml") -> str:
    with pytest.raises(PipelineError) as caught:
        read(path, shown_as)
    return str(caught.value)


def test_a_missing_file_is_refused_with_the_name_most_like_it(tmp_path: pathlib.Path) -> None:
    assert unreadable(tmp_path / "pipe.yaml") == "CMP014 no file d/pipe.yaml"
    assert unreadable(tmp_path / "none" / "pipe.yaml") == "CMP014 no file d/pipe.yaml"
    (tmp_path / "pipes.yaml").touch()
    said = "CMP014 no file d/pipe.yaml\n  write: d/pipes.yaml"
    assert unreadable(tmp_path / "pipe.yaml").replace("\\", "/") == said


def test_what_is_not_a_readable_file_is_refused(tmp_path: pathlib.Path) -> None:
    assert unreadable(tmp_path) == "CMP014 d/pipe.yaml is not a file"
    assert unreadable(pathlib.Path("/dev/zero")) == "CMP014 d/pipe.yaml is not a file"
    said = "CMP014 d/pipe.yaml cannot be read: embedded null byte"
    assert unreadable(tmp_path / "a\0b") == said
    long = "CMP014 d/pipe.yaml cannot be read: File name too long"
    assert unreadable(tmp_path / ("a" * 300)) == long


def test_a_file_that_is_not_utf8_is_refused_at_the_byte(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("a: 1\r\né: caf".encode() + b"\xe9\r\nb: 2")
    assert unreadable(path) == (
        "d/pipe.yaml:2:7: CMP009 byte 0xE9 is not UTF-8 text\n"
        "    2 | é: caf\ufffd\n"
        "      |       ^\n"
        "  write: the file in UTF-8"
    )


def test_a_file_over_64_kib_is_refused_also_where_the_cut_splits_a_character(
    tmp_path: pathlib.Path,
) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("é".encode() * 100_000)
    assert unreadable(path).startswith("CMP007 d/pipe.yaml is larger than 64 KiB")
