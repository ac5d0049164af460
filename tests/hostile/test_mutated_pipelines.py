"""10,000 pipelines with a slip in them are linted: findings, never a traceback.

Slips in the text (cut off, a line twice, a character gone) and in the data (keys, values,
types, order), all by numbered seeds. A slip that leaves a right pipeline gives no error.
"""

from __future__ import annotations

import collections
import copy
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import composer
from composer._yaml import dump, parse

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "pipelines").rglob("*.yaml"))
COUNT = 10_000
LEVELS = ("none", "info", "warning", "error")
ODD: tuple[object, ...] = (
    None, True, False, 0, -1, 3, 10**6, 2**53, 1.5, -0.0, "", "jit", "vmap", "x", "a b", "é", "*",
    [], [[]], {}, {"a": {}}, [None], [0, None], "f32[3]", "f32[", {"ref": "m:f"}, {"call": "m:f"},
    {"function": "m:f", "stack": ["grad"]}, ["jit", "jit"], "devices", "m.py:f", "../m:f", "a:b:c",
)  # fmt: skip
WORDS = (
    "vmpa",
    "jit",
    "grad",
    "pmap",
    "stack",
    "args",
    "in_axes",
    "argnums",
    "sync",
    "id",
    "",
    "é",
)


def nodes(data: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Every path in plain data, the root left out."""
    items = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in items:
        yield (*path, key)
        yield from nodes(value, (*path, key))


def with_wrong_data(text: str, dice: random.Random) -> str:
    """One to three slips in the data."""
    data = copy.deepcopy(parse(text).data)
    for _ in range(dice.randint(1, 3)):
        paths = list(nodes(data))
        if not paths:
            break
        *before, last = dice.choice(paths)
        node = data
        for key in before:
            node = node[key]
        slip = dice.randrange(6)
        if slip == 0:
            node[last] = dice.choice(ODD)
        elif slip == 1:
            del node[last]
        elif slip == 2 and isinstance(node, list):
            dice.shuffle(node)
        elif slip == 3 and isinstance(node, list):
            node.insert(last, copy.deepcopy(dice.choice(node)))
        elif isinstance(node, dict):
            value = node.pop(last)
            node[dice.choice([*WORDS, str(last) + "s", str(last)[:-1]])] = value
        else:
            node[last] = [node[last]]
    return dump(data)


def with_wrong_text(text: str, dice: random.Random) -> str:
    """One slip in the text."""
    lines = text.splitlines(keepends=True)
    at = dice.randrange(len(text))
    line = dice.randrange(len(lines))
    slip = dice.randrange(7)
    if slip == 0:
        return text[:at]
    if slip == 1:
        return text[:at] + text[at + 1 :]
    if slip == 2:
        return text[:at] + dice.choice("{}[]:,-#&*!|>'\"%@`\t\n\x00é0 ") + text[at:]
    if slip == 3:
        return "".join(lines[:line] + lines[line + 1 :])
    if slip == 4:
        return "".join([*lines[: line + 1], *lines[line:]])
    if slip == 5:
        other = dice.randrange(len(lines))
        lines[line], lines[other] = lines[other], lines[line]
        return "".join(lines)
    return "".join([*lines[:line], " " + lines[line], *lines[line + 1 :]])


def mutated(seed: int) -> str:
    """The mutated text of a seed, made of a shipped pipeline."""
    dice = random.Random(seed)
    text = dice.choice(SHIPPED).read_text(encoding="utf-8")
    return (with_wrong_data if dice.random() < 0.6 else with_wrong_text)(text, dice)


@pytest.fixture
def folder(tmp_path):
    """A folder with the modules that the shipped pipelines name."""
    for module in (ROOT / "pipelines").rglob("*.py"):
        (tmp_path / module.name).write_bytes(module.read_bytes())
    return tmp_path


@pytest.mark.slow
def test_ten_thousand_slips_give_findings_and_no_traceback(folder, capsys):
    path, seen = folder / "p.yaml", collections.Counter()
    for seed in range(COUNT):
        path.write_text(mutated(seed), encoding="utf-8")
        found = composer.lint(path)
        seen[max((item.severity for item in found), default="none", key=LEVELS.index)] += 1
        for item in found:
            # What is wrong is said where, and in composer's words.
            text = item.render()
            assert text.startswith(f"{folder}"), (seed, text)
            assert "Traceback" not in text, (seed, text)
    with capsys.disabled():
        print(f"\n{COUNT} mutated pipelines: {dict(sorted(seen.items()))}")
    assert seen["error"] > COUNT / 2
