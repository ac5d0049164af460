"""Every doubtful spelling of a word or number, with the whole text that a person sees."""

from __future__ import annotations

import pytest

from composer._yaml import parse
from composer.errors import PipelineError

SPELLINGS = [
    pytest.param(
        "a: [.inf, -.INF]\n",
        [
            "p.yaml:1:5: CMP020 .inf is not a finite number",
            "    1 | a: [.inf, -.INF]",
            "      |     ^^^^",
            '  write: a number, or ".inf" for the text',
            "",
            "p.yaml:1:11: CMP020 -.INF is not a finite number",
            "    1 | a: [.inf, -.INF]",
            "      |           ^^^^^",
            '  write: a number, or "-.INF" for the text',
        ],
        id="an infinity is refused",
    ),
    pytest.param(
        "a: .NaN\n",
        [
            "p.yaml:1:4: CMP020 .NaN is not a finite number",
            "    1 | a: .NaN",
            "      |    ^^^^",
            '  write: a number, or ".NaN" for the text',
        ],
        id="a NaN is refused",
    ),
    pytest.param(
        "a: yes\n",
        [
            "p.yaml:1:4: CMP005 yes is true in YAML 1.1 and a text in YAML 1.2",
            "    1 | a: yes",
            "      |    ^^^",
            '  write: true, or "yes" for the text',
        ],
        id="yes is refused",
    ),
    pytest.param(
        "on: OFF\n",
        [
            "p.yaml:1:1: CMP005 on is true in YAML 1.1 and a text in YAML 1.2",
            "    1 | on: OFF",
            "      | ^^",
            '  write: "on" for the word',
            "",
            "p.yaml:1:5: CMP005 OFF is false in YAML 1.1 and a text in YAML 1.2",
            "    1 | on: OFF",
            "      |     ^^^",
            '  write: false, or "OFF" for the text',
        ],
        id="OFF is refused as a value and on as a key",
    ),
    pytest.param(
        "a: True\n",
        [
            "p.yaml:1:4: CMP013 True is Python's spelling, not YAML's",
            "    1 | a: True",
            "      |    ^^^^",
            '  write: true, or "True" for the text',
        ],
        id="True is refused with YAML's spelling",
    ),
    pytest.param(
        "a: TRUE\n",
        [
            "p.yaml:1:4: CMP005 TRUE is true to some YAML readers and a text to others",
            "    1 | a: TRUE",
            "      |    ^^^^",
            '  write: true, or "TRUE" for the text',
        ],
        id="TRUE is refused",
    ),
    pytest.param(
        "a: None\n",
        [
            "p.yaml:1:4: CMP013 None is Python's spelling, not YAML's",
            "    1 | a: None",
            "      |    ^^^^",
            '  write: null, or "None" for the text',
        ],
        id="None is refused with YAML's spelling",
    ),
    pytest.param(
        "a: Null\n",
        [
            "p.yaml:1:4: CMP005 Null is null to some YAML readers and a text to others",
            "    1 | a: Null",
            "      |    ^^^^",
            '  write: null, or "Null" for the text',
        ],
        id="Null is refused",
    ),
    pytest.param(
        "a: ~\n",
        [
            "p.yaml:1:4: CMP005 ~ is null to some YAML readers and a text to others",
            "    1 | a: ~",
            "      |    ^",
            '  write: null, or "~" for the text',
        ],
        id="a tilde is refused",
    ),
    pytest.param(
        "a: =\n",
        [
            "p.yaml:1:4: CMP005 = has a meaning of its own in YAML 1.1",
            "    1 | a: =",
            "      |    ^",
            '  write: "="',
        ],
        id="an equals sign alone is refused",
    ),
    pytest.param(
        "a: 017\n",
        [
            "p.yaml:1:4: CMP004 017 is octal in YAML 1.1 and decimal in YAML 1.2",
            "    1 | a: 017",
            "      |    ^^^",
            '  write: 17, or "017" for the text',
        ],
        id="an octal number of YAML 1.1 is refused",
    ),
    pytest.param(
        "a: 0o17\n",
        [
            "p.yaml:1:4: CMP004 0o17 is a number to some YAML readers and a text to others",
            "    1 | a: 0o17",
            "      |    ^^^^",
            '  write: the number in decimal digits, or "0o17" for the text',
        ],
        id="an octal number of YAML 1.2 is refused",
    ),
    pytest.param(
        "a: 0x1F\n",
        [
            "p.yaml:1:4: CMP004 0x1F is a number to some YAML readers and a text to others",
            "    1 | a: 0x1F",
            "      |    ^^^^",
            '  write: the number in decimal digits, or "0x1F" for the text',
        ],
        id="a hexadecimal number is refused",
    ),
    pytest.param(
        "a: 0b101\n",
        [
            "p.yaml:1:4: CMP004 0b101 is a number to some YAML readers and a text to others",
            "    1 | a: 0b101",
            "      |    ^^^^^",
            '  write: the number in decimal digits, or "0b101" for the text',
        ],
        id="a binary number is refused",
    ),
    pytest.param(
        "a: 1_000.5\n",
        [
            "p.yaml:1:4: CMP004 1_000.5 is a number in YAML 1.1 and a text in YAML 1.2",
            "    1 | a: 1_000.5",
            "      |    ^^^^^^^",
            '  write: 1000.5, or "1_000.5" for the text',
        ],
        id="a number with underscores is refused",
    ),
    pytest.param(
        "a: 1:30\n",
        [
            "p.yaml:1:4: CMP004 1:30 is a number in base 60 in YAML 1.1",
            "    1 | a: 1:30",
            "      |    ^^^^",
            '  write: "1:30" for the text, or the number in decimal digits',
        ],
        id="a number in base 60 is refused",
    ),
    pytest.param(
        "a: 2024-01-01\n",
        [
            "p.yaml:1:4: CMP019 2024-01-01 is a date in YAML 1.1",
            "    1 | a: 2024-01-01",
            "      |    ^^^^^^^^^^",
            '  write: "2024-01-01" for the text',
        ],
        id="a date is refused",
    ),
    pytest.param(
        "a: 2024-1-1 10:00:00Z\n",
        [
            "p.yaml:1:4: CMP019 2024-1-1 10:00:00Z is a date in YAML 1.1",
            "    1 | a: 2024-1-1 10:00:00Z",
            "      |    ^^^^^^^^^^^^^^^^^^",
            '  write: "2024-1-1 10:00:00Z" for the text',
        ],
        id="a date with a time is refused",
    ),
    pytest.param(
        "in_axes: (0, None)\n",
        [
            "p.yaml:1:10: CMP013 (0, None) is Python's spelling of a list",
            "    1 | in_axes: (0, None)",
            "      |          ^^^^^^^^^",
            "  write: [0, null]",
        ],
        id="a tuple in a block is refused with the list to write",
    ),
    pytest.param(
        "{in_axes: ((0, True), 0, 0,), x: 1}\n",
        [
            "p.yaml:1:11: CMP013 ((0, True), 0, 0,) is Python's spelling of a list",
            "    1 | {in_axes: ((0, True), 0, 0,), x: 1}",
            "      |           ^^^^^^^^^^^^^^^^^^",
            "  write: [[0, true], 0, 0]",
        ],
        id="a tuple in a flow mapping is one finding",
    ),
    pytest.param(
        "a: (0,\n  1)\n",
        [
            "p.yaml:1:4: CMP013 (0, 1) looks like a Python tuple",
            "    1 | a: (0,",
            "      |    ^^^",
            '  write: a list, or "(0, 1)" for the text',
        ],
        id="a tuple that does not close is refused",
    ),
    pytest.param(
        "a: 9223372036854775808\n",
        [
            "p.yaml:1:4: CMP006 9223372036854775808 does not fit into a 64-bit integer",
            "    1 | a: 9223372036854775808",
            "      |    ^^^^^^^^^^^^^^^^^^^",
            '  write: a smaller number, or "9223372036854775808"',
        ],
        id="an integer of 65 bits is refused",
    ),
    pytest.param(
        "a: -1e999\n",
        [
            "p.yaml:1:4: CMP006 -1e999 is too large for a 64-bit float",
            "    1 | a: -1e999",
            "      |    ^^^^^^",
            '  write: a smaller number, or "-1e999"',
        ],
        id="an overflowing float is refused",
    ),
    pytest.param(
        "a: 1e-999\n",
        [
            "p.yaml:1:4: CMP006 1e-999 is too small for a 64-bit float, which would read 0",
            "    1 | a: 1e-999",
            "      |    ^^^^^^",
            '  write: 0.0, or "1e-999"',
        ],
        id="an underflowing float is refused",
    ),
    pytest.param(
        "017: a\n",
        [
            "p.yaml:1:1: CMP004 017 is octal in YAML 1.1 and decimal in YAML 1.2",
            "    1 | 017: a",
            "      | ^^^",
            '  write: "017" for the word',
        ],
        id="a doubtful number as a key is refused",
    ),
]


@pytest.mark.parametrize(("text", "said"), SPELLINGS)
def test_a_doubtful_spelling_is_refused_with_what_to_write(text: str, said: list[str]) -> None:
    with pytest.raises(PipelineError) as caught:
        parse(text, "p.yaml")
    assert str(caught.value).split("\n") == said
