"""Text that somebody wrote to break the reader gives data or composer's own errors, and soon."""

from __future__ import annotations

import pathlib
import random
import subprocess
import sys

import pytest

from composer._yaml import dump, parse, read
from composer.errors import PipelineError

ROOT = pathlib.Path(__file__).parents[2]

PIPELINE = """\
composer: 1
function: digits:loss
args:
  x: {file: "data/d.npz", key: x, shape: 'f32[batch, 64]'}
  seed: 1e-3
stack:
  - vmap: {in_axes: [0, null], out_axes: 0}
  - pmap:
      axis_name: é𝄞
      sync: {loss: pmean, _: same}
  - jit
text: |
  two
  lines
"""


def codes(text: str) -> set[str]:
    with pytest.raises(PipelineError) as caught:
        parse(text)
    return {finding.code for finding in caught.value.diagnostics}


# ---------------------------------------------------------------- depth, size, bombs


@pytest.mark.parametrize("opening", ["[", "- ", "{a: ", "[{a: ", "- ? - "])
def test_ten_thousand_levels_are_too_deep(opening: str) -> None:
    assert codes(opening * 10_000) - {"CMP010"} == {"CMP008"}


def test_ten_thousand_braces_are_one_wrong_key_and_too_deep() -> None:
    assert codes("{" * 10_000) == {"CMP008", "CMP010"}


def test_ten_thousand_indented_levels_are_too_deep() -> None:
    text = "\n".join(" " * depth + "a:" for depth in range(300))
    assert codes(text) == {"CMP008"}


def test_a_billion_laughs_are_refused_at_the_anchors() -> None:
    laughs = ["a0: &a0 [lol, lol]"]
    laughs += [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    assert codes("\n".join(laughs)) == {"CMP016", "CMP017"}


def test_an_anchor_that_contains_itself_is_refused() -> None:
    assert codes("&a [*a, *a]") == {"CMP016", "CMP017"}


@pytest.mark.parametrize(
    ("number", "code"),
    [
        ("9" * 60_000, "CMP006"),
        ("-" + "9" * 5_000, "CMP006"),
        ("0" * 60_000, "CMP004"),
        ("0x" + "f" * 60_000, "CMP004"),
        ("1_" * 30_000, "CMP004"),
        ("1:" * 30_000 + "1", "CMP004"),
        ("9" * 60_000 + ".5", "CMP006"),
        ("1e" + "9" * 60_000, "CMP006"),
        ("1e-" + "9" * 60_000, "CMP006"),
        ("2024-01-01 " + "1" * 60_000, "CMP019"),
        ("9" * 100_000, "CMP007"),
    ],
)
def test_a_number_of_any_length_is_refused_by_its_code(number: str, code: str) -> None:
    assert codes(f"a: {number}") == {code}
    assert codes(f"[{number}]") == {code}


def test_a_float_of_sixty_thousand_digits_is_still_a_float() -> None:
    assert parse("a: 0." + "1" * 60_000).data == {"a": 1 / 9}


def test_a_version_of_five_thousand_digits_in_a_later_directive_is_a_directive() -> None:
    assert codes("a\n...\n%YAML " + "1" * 5000 + ".1\n---\nb") == {"CMP002"}


@pytest.mark.parametrize(
    "text",
    [
        "[" + "a," * 32_000 + "]",
        "{" + ", ".join(f"a{i}" for i in range(8_000)) + "}",
        "a: '" + "''" * 32_000 + "'",
        'a: "' + "\\n" * 32_000 + '"',
        "#" * 65_000 + "\na: 1",
        "\n" * 65_000 + "a: 1",
        "a: b" + "\n" * 65_000,
        "a: b" + "\n  c" * 16_000,
        "- a\n" * 16_000,
        "\r\n" * 32_000 + "a: 1",
        "# c\r\n" * 13_000 + "a: 1",
    ],
)
def test_large_text_of_one_kind_is_read(text: str) -> None:
    assert parse(text).data is not None


@pytest.mark.parametrize(
    "text",
    [
        "[" + "a," * 32_000,
        "(" * 65_000,
        "[" + "(," * 32_000 + "]",
        "{" + "? " * 32_000,
        "a: " + "!" * 65_000,
        "&" + "a" * 65_000,
        "a: " + "b: " * 21_000,
        '"' + "\\" * 65_000,
        "'" * 65_001,
        "\t" * 65_000,
        "a: b" + "\t" * 65_000,
        "a: b" + "\n\t" * 32_000,
        "a: |" + "9" * 65_000,
        " " * 65_000 + "%",
        "# c\n" * 16_000 + "%",
        "%" * 65_000,
        "\x1b" * 65_000,
        "a: b" + "\n- c" * 16_000,
        "a:b\n" * 16_000,
        "{" + "a:1," * 16_000 + "}",
        "[" + "(," * 16_000 + ")," * 16_000 + "]",
        "a: (" + " " * 60_000 + "x)",
        "a: x" + " " * 60_000 + "y#z\n  c: d",
        "a: b\n  " + "- " * 30_000 + "\n  c: d",
        "a: b\n  " + "-" * 60_000 + "\n  c: d",
        "\r\n" * 32_000 + "%",
    ],
)
def test_large_broken_text_of_one_kind_is_refused(text: str) -> None:
    assert codes(text)


def test_an_escape_sequence_cannot_reach_a_terminal() -> None:
    with pytest.raises(PipelineError) as caught:
        parse('a: no\n"\\e[31m": 1\n"\\e[31m": 2\n', "p\x1b.yaml")
    assert str(caught.value).isascii()
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp037"])
def test_other_encodings_are_refused(name: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes("é: 1\n".encode(name))
    with pytest.raises(PipelineError) as caught:
        read(path)
    assert {finding.code for finding in caught.value.diagnostics} <= {"CMP009", "CMP021"}


# ---------------------------------------------------------------- random text

TOKENS = [
    *"[]{},:-?&*!|>'\"%@`#~=<\\",
    *(
        "a",
        "é",
        "𝄞",
        " ",
        "  ",
        "\n",
        "\n  ",
        "\n    ",
        ": ",
        "- ",
        "\r\n",
        "\r",
        "\t",
        "\0",
        "\ufeff",
    ),
    *("<<", "---", "...", "%YAML 1.1\n", "!!python/object:os.system ", "&a ", "*a ", "<<: "),
    *("no", "null", "True", "017", "1e-3", "1:30", "0x1F", ".inf", "1_0", "2024-01-01", "(0, 1)"),
    *("\\x41", "\\U00110000", "\\ud800", "\u2028", "\x85", "|2-\n", ">\n", "? ", "key: value\n"),
]


def random_bytes(chance: random.Random) -> str:
    raw = chance.randbytes(chance.randrange(60))
    return raw.decode(chance.choice(["latin-1", "utf-8"]), "replace")


def token_soup(chance: random.Random) -> str:
    return "".join(chance.choices(TOKENS, k=chance.randrange(30)))


def mutation(chance: random.Random) -> str:
    text = PIPELINE
    for _ in range(chance.randrange(1, 4)):
        start = chance.randrange(len(text) + 1)
        end = start + chance.choice([0, 0, 1, 1, 2, 20])
        text = text[:start] + chance.choice(["", "", *TOKENS]) + text[end:]
    return text


def test_twenty_thousand_random_texts_give_data_or_our_own_errors() -> None:
    chance = random.Random(20_000)
    refused = 0
    for number in range(20_000):
        make = (random_bytes, token_soup, mutation)[number % 3]
        text = make(chance)
        try:
            document = parse(text, "p.yaml")
        except PipelineError as error:
            refused += 1
            check_findings(error, text)
        else:
            assert parse(dump(document.data)).data == document.data
            assert all(place.width >= 1 for place in document.places.values())
    # Both outcomes are common, so both are tested.
    assert 8_000 < refused < 18_000


def check_findings(error: PipelineError, text: str) -> None:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for finding in error.diagnostics:
        assert "CMP001" <= finding.code <= "CMP023"
        assert finding.cure
        place = finding.place
        assert place is not None
        assert place.text == lines[place.line - 1]
        assert 1 <= place.column <= len(place.text) + 1
    assert str(error).replace("\n", "").isprintable()


# ---------------------------------------------------------------- what reading may not do

HOSTILE = """\
a: !!python/object/apply:os.system ["touch hacked"]
b: !!python/name:os.system
c: !!python/module:antigravity
d: !!python/object/new:subprocess.Popen [["touch", "hacked"]]
e: &x [*x]
"""

WATCHED = """\
import sys
from composer._yaml import parse
from composer.errors import PipelineError

def refused(text):
    try:
        parse(text)
    except PipelineError as error:
        return str(error)
    raise SystemExit("accepted")

refused({text!r})
refused("a: [")
seen = []
names = ("import", "open", "exec", "compile", "subprocess.Popen", "os.system", "marshal.loads")
sys.addaudithook(lambda name, args: seen.append(name) if name in names else None)
refused({text!r})
refused("a: [")
{work}
print(seen)
"""


def watched(work: str) -> str:
    return child(WATCHED.format(text=HOSTILE, work=work))


def child(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_reading_python_tags_imports_opens_and_runs_nothing() -> None:
    assert watched("") == "[]"


@pytest.mark.parametrize(
    ("work", "event"),
    [
        ("import colorsys", "import"),
        ("open('pyproject.toml').close()", "open"),
        ("exec('1')", "exec"),
        ("compile('1', '', 'eval')", "compile"),
        (
            "__import__('yaml').unsafe_load('!!python/object/apply:os.system [\"true\"]')",
            "os.system",
        ),
    ],
)
def test_the_watch_over_reading_can_fail(work: str, event: str) -> None:
    assert repr(event) in watched(work)


READS = """\
import sys
from composer._yaml import dump, parse
{work}
dump(parse("stack: [jit]").data)
print([name for name in ("jax", "jaxlib", "numpy") if name in sys.modules])
"""


def test_reading_and_writing_import_no_jax() -> None:
    assert child(READS.format(work="")) == "[]"


def test_the_check_for_jax_can_fail() -> None:
    assert child(READS.format(work="import jax")) == "['jax', 'jaxlib', 'numpy']"
