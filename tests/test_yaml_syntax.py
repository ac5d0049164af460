"""Every kind of syntax error, in composer's words: place, mistake, cure."""

from __future__ import annotations

import pytest

from composer._yaml import parse
from composer.errors import PipelineError

MISTAKES = [
    pytest.param(
        "note: loss: mean\n",
        [
            "p.yaml:1:11: CMP001 a second colon and space in one line",
            "    1 | note: loss: mean",
            "      |           ^",
            '  write: note: {loss: mean}, or "loss: mean" for the text',
        ],
        id="an unquoted colon is found with the quotes to write",
    ),
    pytest.param(
        'note: a "b": c # d\n',
        [
            "p.yaml:1:12: CMP001 a second colon and space in one line",
            '    1 | note: a "b": c # d',
            "      |            ^",
            "  write: note: 'a \"b\": c'",
        ],
        id="an unquoted colon beside quotes gets the other quotes",
    ),
    pytest.param(
        "a: 1\nb:2\nc: 3\n",
        [
            "p.yaml:2:1: CMP001 a space is missing after the colon",
            "    2 | b:2",
            "      | ^^^",
            "  write: b: 2",
        ],
        id="a missing space after a colon in a block",
    ),
    pytest.param(
        "a:1\nb: 2\n",
        [
            "p.yaml:1:1: CMP001 a space is missing after the colon",
            "    1 | a:1",
            "      | ^^^",
            "  write: a: 1",
        ],
        id="a missing space after the first colon",
    ),
    pytest.param(
        "a:1\nb:2\n",
        [
            "p.yaml:2:1: CMP001 this line continues the unquoted text above it",
            "    2 | b:2",
            "      | ^^^",
            "  write: b: 2",
        ],
        id="a missing space after every colon",
    ),
    pytest.param(
        "a: [1, 2\nb: 3\n",
        [
            "p.yaml:1:4: CMP001 this [ is not closed",
            "    1 | a: [1, 2",
            "      |    ^",
            "  read up to line 2, column 2",
            "  write: ] at its end",
        ],
        id="an unclosed bracket is found where it opens",
    ),
    pytest.param(
        "a: {x: 1\nb: 3\n",
        [
            "p.yaml:1:4: CMP001 this { is not closed",
            "    1 | a: {x: 1",
            "      |    ^",
            "  read up to line 2, column 2",
            "  write: } at its end",
        ],
        id="an unclosed brace is found where it opens",
    ),
    pytest.param(
        "a: [1,\n\n",
        [
            "p.yaml:1:4: CMP001 this [ is not closed",
            "    1 | a: [1,",
            "      |    ^",
            "  read up to line 1, column 7",
            "  write: ] at its end",
        ],
        id="a bracket that is open at the end of the text",
    ),
    pytest.param(
        'a: "abc\nb: 1\n',
        [
            'p.yaml:1:4: CMP001 this " is not closed',
            '    1 | a: "abc',
            "      |    ^",
            "  read up to line 2, column 5",
            '  write: " at the end of the text',
        ],
        id="an unclosed quote is found where it opens",
    ),
    pytest.param(
        "a:\n\tb: 1\n",
        [
            "p.yaml:2:1: CMP022 a tab stands where YAML wants spaces",
            "    2 | \\tb: 1",
            "      | ^",
            "  write: spaces, two for each level",
        ],
        id="a tab as indentation",
    ),
    pytest.param(
        "a:\tb\n",
        [
            "p.yaml:1:3: CMP022 a tab stands where YAML wants spaces",
            "    1 | a:\\tb",
            "      |   ^",
            "  write: spaces, two for each level",
        ],
        id="a tab after a colon",
    ),
    pytest.param(
        "a: 1\n\t\nb: 2\n",
        [
            "p.yaml:2:1: CMP022 a tab stands where YAML wants spaces",
            "    2 | \\t",
            "      | ^",
            "  write: spaces, two for each level",
        ],
        id="a tab on an empty line",
    ),
    pytest.param(
        "a:\n  b: 1\n c: 2\n",
        [
            "p.yaml:3:2: CMP001 the indentation of this line fits none of the lines above",
            "    3 |  c: 2",
            "      |  ^^^^",
            "  the block it would continue starts at column 1",
            "  write: the same indentation as its siblings",
        ],
        id="a line with less indentation than its siblings",
    ),
    pytest.param(
        "name: x\n  function: y:z\n",
        [
            "p.yaml:2:3: CMP001 this line is indented below a key that has its value already",
            "    2 |   function: y:z",
            "      |   ^^^^^^^^",
            "  write: both lines with the same indentation",
        ],
        id="a key indented below a value",
    ),
    pytest.param(
        "- jit\n  - vmap\n",
        [
            "p.yaml:2:3: CMP001 this line continues the unquoted text above it",
            "    2 |   - vmap",
            "      |   ^^^^^^",
            "  write: the line at the indentation of its siblings, or quotes around the whole text",
        ],
        id="a list item indented below a list item",
    ),
    pytest.param(
        "stack:\n- vmap: {x: 0}\n  - jit\n",
        [
            "p.yaml:3:3: CMP001 a list item among keys",
            "    3 |   - jit",
            "      |   ^^^^^",
            "  write: the item where its list starts, or KEY: value",
        ],
        id="a list item among keys",
    ),
    pytest.param(
        "- a\nb: 1\n",
        [
            "p.yaml:2:1: CMP001 a key among the items of a list",
            "    2 | b: 1",
            "      | ^^^^",
            "  write: - b: 1",
        ],
        id="a key among list items",
    ),
    pytest.param(
        "a: 1\nvmap\nb: 1\n",
        [
            "p.yaml:2:1: CMP001 a key without a colon and a value",
            "    2 | vmap",
            "      | ^^^^",
            "  write: KEY: value",
        ],
        id="a line without a colon",
    ),
    pytest.param(
        "a pipeline\nb: 1\n",
        [
            "p.yaml:1:1: CMP001 a key without a colon and a value",
            "    1 | a pipeline",
            "      | ^^^^^^^^^^",
            "  write: KEY: value",
        ],
        id="a first line without a colon",
    ),
    pytest.param(
        "a: @x\n",
        [
            "p.yaml:1:4: CMP001 a text may not start with @",
            "    1 | a: @x",
            "      |    ^^",
            '  write: "@x"',
        ],
        id="a text that starts with an at sign",
    ),
    pytest.param(
        "a: [*.npz]\n",
        [
            "p.yaml:1:5: CMP001 a text may not start with *",
            "    1 | a: [*.npz]",
            "      |     ^^^^^",
            '  write: "*.npz"',
        ],
        id="a text that starts with a star",
    ),
    pytest.param(
        "a: & b\n",
        [
            "p.yaml:1:4: CMP001 a text may not start with &",
            "    1 | a: & b",
            "      |    ^",
            '  write: "&"',
        ],
        id="a text that starts with an ampersand",
    ),
    pytest.param(
        "a: [1, 2]]\n",
        [
            "p.yaml:1:10: CMP001 this ] closes nothing",
            "    1 | a: [1, 2]]",
            "      |          ^",
            "  write: the text without it",
        ],
        id="a bracket too many",
    ),
    pytest.param(
        "a: }\n",
        [
            "p.yaml:1:4: CMP001 this } closes nothing",
            "    1 | a: }",
            "      |    ^",
            "  write: the text without it, or '}' for the text",
        ],
        id="a closing brace as a value",
    ),
    pytest.param(
        "b: {x: 1 y: 2}\n",
        [
            "p.yaml:1:11: CMP001 a colon where a comma or } should stand",
            "    1 | b: {x: 1 y: 2}",
            "      |           ^",
            '  write: commas between the items, or "..." around a text that has a colon',
        ],
        id="a colon where a comma should stand",
    ),
    pytest.param(
        "- vmap: in_axes: {x: 0}\n",
        [
            "p.yaml:1:16: CMP001 a second colon and space in one line",
            "    1 | - vmap: in_axes: {x: 0}",
            "      |                ^",
            '  write: vmap: {in_axes: {x: 0}}, or "in_axes: {x: 0}" for the text',
        ],
        id="parameters without braces get them",
    ),
    pytest.param(
        "x: {random: normal, shape: f32[8, 3], seed: 0}\n",
        [
            "p.yaml:1:28: CMP001 an unquoted text with brackets inside brackets",
            "    1 | x: {random: normal, shape: f32[8, 3], seed: 0}",
            "      |                            ^^^^^^^^^",
            '  write: "f32[8, 3]"',
        ],
        id="a shape inside braces needs quotes",
    ),
    pytest.param(
        'b: ["x" "y"]\n',
        [
            "p.yaml:1:9: CMP001 a comma or ] is missing before this",
            '    1 | b: ["x" "y"]',
            "      |         ^",
            "  write: , or ]",
        ],
        id="a quoted text where a comma should stand",
    ),
    pytest.param(
        "[a, , b]\n",
        [
            "p.yaml:1:5: CMP001 a value is missing before this comma",
            "    1 | [a, , b]",
            "      |     ^",
            "  write: null, or no comma",
        ],
        id="two commas",
    ),
    pytest.param(
        "a: 'it's'\n",
        [
            "p.yaml:1:8: CMP001 something stands after the end of a value",
            "    1 | a: 'it's'",
            "      |        ^",
            "  write: one value, in quotes if it is a text with quotes or brackets",
        ],
        id="text after a quoted text",
    ),
    pytest.param(
        "{a: 1}}\n",
        [
            "p.yaml:1:7: CMP001 something stands after the end of the pipeline",
            "    1 | {a: 1}}",
            "      |       ^",
            "  write: the text without it",
        ],
        id="a brace too many",
    ),
    pytest.param(
        "a: - b\n",
        [
            "p.yaml:1:4: CMP001 a list item where a value or a key should stand",
            "    1 | a: - b",
            "      |    ^",
            "  write: [item, item], or each item on a line of its own",
        ],
        id="a list in the line of its key",
    ),
    pytest.param(
        'a: "C:\\data"\n',
        [
            "p.yaml:1:7: CMP001 YAML has no such escape in a text in double quotes",
            '    1 | a: "C:\\data"',
            "      |       ^^",
            "  write: \\\\ for a backslash, or single quotes around the text",
        ],
        id="an unknown escape",
    ),
    pytest.param(
        'a: "\\UFFFFFFFF"\n',
        [
            "p.yaml:1:5: CMP001 YAML has no such escape in a text in double quotes",
            '    1 | a: "\\UFFFFFFFF"',
            "      |     ^^^",
            "  write: \\\\ for a backslash, or single quotes around the text",
        ],
        id="an escape beyond Unicode",
    ),
    pytest.param(
        "a: |x\n  b\n",
        [
            "p.yaml:1:5: CMP001 only the text's lines may follow | or >, from the next line on",
            "    1 | a: |x",
            "      |     ^",
            "  write: a text in quotes if it starts with | or >",
        ],
        id="text behind a bar",
    ),
    pytest.param(
        "a: b\n: c\n",
        [
            "p.yaml:2:1: CMP001 a key is missing before this colon",
            "    2 | : c",
            "      | ^",
            "  write: KEY: value",
        ],
        id="a colon without a key",
    ),
    pytest.param(
        "a: ? b\n",
        [
            "p.yaml:1:4: CMP001 a ? that opens a key where no key can stand",
            "    1 | a: ? b",
            "      |    ^",
            "  write: KEY: value",
        ],
        id="an open question mark in a value",
    ),
    pytest.param(
        "a: [- b]\n",
        [
            "p.yaml:1:5: CMP001 a value is missing here",
            "    1 | a: [- b]",
            "      |     ^",
            "  write: null, or the value",
        ],
        id="a list item in brackets",
    ),
    pytest.param(
        "a: b\n...\nc: d\n",
        [
            "p.yaml:3:1: CMP001 something stands after the end of the pipeline",
            "    3 | c: d",
            "      | ^",
            "  write: the text without it",
        ],
        id="text after the end of the document",
    ),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES)
def test_a_syntax_error_names_the_mistake_that_leads_there_most_often(
    text: str, said: list[str]
) -> None:
    with pytest.raises(PipelineError) as caught:
        parse(text, "p.yaml")
    assert str(caught.value).split("\n") == said
