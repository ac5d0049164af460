"""Every feature that pipelines do not use, with the whole text that a person sees."""

from __future__ import annotations

import pytest

from composer._yaml import parse
from composer.errors import PipelineError

REFUSALS = [
    pytest.param(
        "c: !!python/object:os.system {}\n",
        [
            "p.yaml:1:4: CMP015 a tag (!!python/object:os.system) asks for an object",
            "    1 | c: !!python/object:os.system {}",
            "      |    ^^^^^^^^^^^^^^^^^^^^^^^^^^^",
            "  write: the plain value, without the tag",
        ],
        id="a tag is refused",
    ),
    pytest.param(
        "!word d: 1\n",
        [
            "p.yaml:1:1: CMP015 a tag (!word) asks for an object",
            "    1 | !word d: 1",
            "      | ^^^^^^^",
            "  write: the plain value, without the tag",
        ],
        id="a local tag on a key is refused",
    ),
    pytest.param(
        "a: !e!x y\n",
        [
            "p.yaml:1:4: CMP015 a tag (!) asks for an object",
            "    1 | a: !e!x y",
            "      |    ^^^^",
            "  write: the plain value, without the tag",
        ],
        id="a tag with an unknown handle is refused as a tag",
    ),
    pytest.param(
        "a: &x 1\n",
        [
            "p.yaml:1:4: CMP016 an anchor (&x) names a value for use elsewhere",
            "    1 | a: &x 1",
            "      |    ^^^^",
            "  write: the value itself at each place",
        ],
        id="an anchor is refused",
    ),
    pytest.param(
        "a: [*x, 1]\n",
        [
            "p.yaml:1:5: CMP017 an alias (*x) stands for something written elsewhere",
            "    1 | a: [*x, 1]",
            "      |     ^^",
            "  write: the value itself",
        ],
        id="an alias is refused",
    ),
    pytest.param(
        "<<: {a: 1}\n",
        [
            "p.yaml:1:1: CMP018 a merge key (<<) pulls in keys from elsewhere",
            "    1 | <<: {a: 1}",
            "      | ^^",
            "  write: the keys themselves",
        ],
        id="a merge key is refused",
    ),
    pytest.param(
        'a: 1\nb: 2\n"a": 3\n',
        [
            "p.yaml:3:1: CMP003 the key a stands twice in one mapping",
            '    3 | "a": 3',
            "      | ^^^",
            "  first at p.yaml:1:1",
            "  write: each key once",
        ],
        id="a quoted duplicate key is refused with both places",
    ),
    pytest.param(
        "--- a\n--- b",
        [
            "p.yaml:2:1: CMP011 a second document starts here; a pipeline is one document",
            "    2 | --- b",
            "      | ^^^",
            "  write: each pipeline in a file of its own",
        ],
        id="a second document is refused",
    ),
    pytest.param(
        "# c\n%YAML 1.1\n---\na: 1\n",
        [
            "p.yaml:2:1: CMP002 a directive (%) changes how the rest is read; pipelines have none",
            "    2 | %YAML 1.1",
            "      | ^^^^^^^^^",
            "  write: the text without this line",
        ],
        id="a directive is refused",
    ),
    pytest.param(
        "a\n...\n%YAML 2.0\n---\nb",
        [
            "p.yaml:3:1: CMP002 a directive (%) changes how the rest is read; pipelines have none",
            "    3 | %YAML 2.0",
            "      | ^^^^^^^^^",
            "  write: the text without this line",
        ],
        id="a directive of a later document is refused",
    ),
    pytest.param(
        "1.5: a\n",
        [
            "p.yaml:1:1: CMP010 1.5 is not a word; keys are words, or positions such as 0",
            "    1 | 1.5: a",
            "      | ^^^",
            '  write: "1.5" for the word',
        ],
        id="a float as a key is refused",
    ),
    pytest.param(
        "{null: a}\n",
        [
            "p.yaml:1:2: CMP010 null is not a word; keys are words, or positions such as 0",
            "    1 | {null: a}",
            "      |  ^^^^",
            '  write: "null" for the word',
        ],
        id="null as a key is refused",
    ),
    pytest.param(
        "-1: a\n",
        [
            "p.yaml:1:1: CMP010 -1 is not a word; keys are words, or positions such as 0",
            "    1 | -1: a",
            "      | ^^",
            '  write: "-1" for the word',
        ],
        id="a negative position as a key is refused",
    ),
    pytest.param(
        "{[[a], {b: c}]: 1}\n",
        [
            "p.yaml:1:2: CMP010 a collection as a key; keys are words, or positions such as 0",
            "    1 | {[[a], {b: c}]: 1}",
            "      |  ^",
            "  write: WORD: value",
        ],
        id="a list as a key is refused once",
    ),
    pytest.param(
        "a: 1\n? \n: 2\n",
        [
            "p.yaml:2:2: CMP010 a key is missing before this colon",
            "    2 | ? ",
            "      |  ^",
            "  write: NAME: value",
        ],
        id="a missing key is refused",
    ),
    pytest.param(
        "a:\nb: 1\n",
        [
            "p.yaml:1:1: CMP023 the key a has no value",
            "    1 | a:",
            "      | ^",
            "  write: null, or the text without this key",
        ],
        id="a key without a value is refused",
    ),
    pytest.param(
        "- jit:\n",
        [
            "p.yaml:1:3: CMP023 the key jit has no value",
            "    1 | - jit:",
            "      |   ^^^",
            "  write: - jit",
        ],
        id="a list item with a colon and nothing behind it is the word alone",
    ),
    pytest.param(
        "{n: , m}\n",
        [
            "p.yaml:1:2: CMP023 the key n has no value",
            "    1 | {n: , m}",
            "      |  ^",
            "  write: null, or the text without this key",
        ],
        id="a key with only a colon in a flow mapping is refused",
    ),
    pytest.param(
        "{x:0}\n",
        [
            "p.yaml:1:2: CMP023 x:0 is one word: a space is missing after the colon",
            "    1 | {x:0}",
            "      |  ^^^",
            "  write: x: 0",
        ],
        id="a flow key with no space after its colon is refused",
    ),
    pytest.param(
        "- a\n-\n",
        [
            "p.yaml:2:2: CMP023 a list item without a value",
            "    2 | -",
            "      |  ^",
            "  write: null, or the list without this item",
        ],
        id="an empty list item is refused",
    ),
    pytest.param(
        "[" * 33 + "]" * 33,
        [
            "p.yaml:1:33: CMP008 nested deeper than 32 levels",
            "    1 | [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
            "      |                                 ^",
            "  write: fewer levels; no pipeline needs so many",
        ],
        id="nesting deeper than 32 is refused",
    ),
    pytest.param(
        'a: "\x07"\n',
        [
            "p.yaml:1:5: CMP021 the character U+0007 is a control character",
            '    1 | a: "\\x07"',
            "      |     ^",
            '  write: "\\x07" if it is meant',
        ],
        id="a control character is refused",
    ),
    pytest.param(
        "a: b\n# x\u202ey\n",
        [
            "p.yaml:2:4: CMP021 the character U+202E cannot be seen, and readers differ over it",
            "    2 | # x\\u202ey",
            "      |    ^",
            '  write: "\\u202e" if it is meant',
        ],
        id="a character that turns the text around is refused",
    ),
    pytest.param(
        "a: b\u2028c\n",
        [
            "p.yaml:1:5: CMP021 the character U+2028 cannot be seen, and readers differ over it",
            "    1 | a: b\\u2028c",
            "      |     ^",
            '  write: "\\u2028" if it is meant',
        ],
        id="a line end of YAML 1.1 is refused",
    ),
    pytest.param(
        "",
        [
            "p.yaml:1:1: CMP012 there is nothing in this file",
            "  write: function: MODULE:FUNCTION",
            "         stack: [jit]",
        ],
        id="an empty text is refused",
    ),
    pytest.param(
        "# nothing\n",
        [
            "p.yaml:1:1: CMP012 there is nothing in this file",
            "    1 | # nothing",
            "      | ^",
            "  write: function: MODULE:FUNCTION",
            "         stack: [jit]",
        ],
        id="a text of comments is refused",
    ),
    pytest.param(
        "---\n",
        [
            "p.yaml:1:1: CMP012 there is nothing in this file",
            "    1 | ---",
            "      | ^^^",
            "  write: function: MODULE:FUNCTION",
            "         stack: [jit]",
        ],
        id="an empty document is refused",
    ),
    pytest.param(
        'a: "\\ud800"\n',
        [
            "p.yaml:1:4: CMP001 this text has an escape that is half a character",
            '    1 | a: "\\ud800"',
            "      |    ^^^^^^^^",
            "  write: the character itself, or \\U and eight digits",
        ],
        id="half a character is refused",
    ),
]


@pytest.mark.parametrize(("text", "said"), REFUSALS)
def test_what_pipelines_do_not_use_is_refused_with_place_and_cure(
    text: str, said: list[str]
) -> None:
    with pytest.raises(PipelineError) as caught:
        parse(text, "p.yaml")
    assert str(caught.value).split("\n") == said
