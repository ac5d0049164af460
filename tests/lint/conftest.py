"""A small project in a temporary folder, linted, cured by its own findings, and run."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest

import composer
from composer._yaml import dump, parse

# pytest's importlib mode puts no test folder on the path; behind all others, to hide none.
sys.path.append(str(Path(__file__).parents[1]))


class Project:
    """A folder with one module `m.py` and one pipeline `p.yaml`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, pipeline: str, source: str) -> Path:
        """Write both files."""
        (self.folder / "m.py").write_text(source)
        path = self.folder / "p.yaml"
        path.write_text(pipeline)
        return path

    def lint(self, pipeline: str, source: str, **options) -> tuple[composer.Diagnostic, ...]:
        """All findings about the pipeline."""
        return composer.lint(self.write(pipeline, source), **options)

    def codes(self, pipeline: str, source: str, **options) -> list[str]:
        """Their codes."""
        return [item.code for item in self.lint(pipeline, source, **options)]

    def only(self, code: str, pipeline: str, source: str, **options) -> composer.Diagnostic:
        """The one finding with this code; the pipeline has it exactly once."""
        found = [d for d in self.lint(pipeline, source, **options) if d.code == code]
        assert len(found) == 1, [d.render() for d in self.lint(pipeline, source, **options)]
        return found[0]

    def fixed(self, pipeline: str, finding: composer.Diagnostic) -> str:
        """The pipeline's text with the finding's own fix applied."""
        assert finding.fix is not None, finding.render()
        return dump(applied(parse(pipeline).data, finding.fix))

    def run(self, pipeline: str, source: str, *args):
        """What the pipeline gives, with its own arguments or these."""
        loaded = composer.load(self.write(pipeline, source))
        return loaded.call(*args)


def applied(data, fix):
    """Plain data with the edits of a fix done, written apart from composer's own way."""
    data = copy.deepcopy(data)
    changes = sorted(fix.edits, key=lambda edit: [str(part).zfill(6) for part in edit.path])
    # From the last layer to the first, so that no edit moves what another one names.
    for edit in reversed(changes):
        _apply(data, edit)
    return data


def _apply(data, edit):
    *before, last = edit.path
    node = data
    for number, key in enumerate(before):
        if isinstance(node, list) and number < len(before) + 1:
            node = _layer(node, key)
        else:
            node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
    if edit.op == "insert":
        node.insert(last, edit.value)
    elif edit.op == "remove":
        del node[last]
    else:
        node[last] = edit.value


def _layer(stack, number):
    """The parameters of a layer, made a mapping if it was a bare word or a bare value."""
    entry = stack[number]
    if isinstance(entry, str):
        stack[number] = entry = {entry: {}}
    [word] = [key for key in entry if key != "id"]
    if entry[word] is None:
        entry[word] = {}
    return entry[word]


@pytest.fixture
def project(tmp_path):
    """An empty project."""
    return Project(tmp_path)
