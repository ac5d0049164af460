"""Every error text, whole: the diagnostic, its place, and the note with the chain of layers.

A case is a pipeline in tests/data/errors with its text beside it. After a wanted change,
`python tests/test_error_texts.py` writes the texts anew, to be read before committing.
"""

import os
import sys
from pathlib import Path

import pytest

import composer
from composer._notes import Note
from composer.errors import ComposerError

FOLDER = Path(__file__).parent / "data" / "errors"
CASES = sorted(path.stem for path in FOLDER.glob("*.yaml"))


def text_of(name):
    """What a user reads, less JAX's own wording, which changes between versions."""
    before = Path.cwd()
    os.chdir(FOLDER)
    try:
        composer.load(f"{name}.yaml").check()
    except Exception as error:
        said = str(error) if isinstance(error, ComposerError) else f"{type(error).__name__}: ..."
        notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, Note)]
        assert len(notes) <= 1
        return "\n".join([said, *notes]) + "\n"
    finally:
        os.chdir(before)
    return "nothing is wrong\n"


@pytest.mark.parametrize("name", CASES)
def test_the_whole_text_of(name):
    assert text_of(name) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", CASES)
def test_an_error_points_at_a_line_of_its_own_file(name):
    assert f"{name}.yaml:" in (FOLDER / f"{name}.txt").read_text()


def test_there_are_thirty_cases():
    assert len(CASES) >= 30


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import conftest  # noqa: F401  # four devices, as in the tests

    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(text_of(case))
