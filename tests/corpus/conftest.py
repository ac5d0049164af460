"""The modules beside these tests are imported as `corpus.NAME`."""

import sys
from pathlib import Path

import pytest

# pytest's importlib mode puts no test folder on the path; behind all others, to hide none.
sys.path.append(str(Path(__file__).parents[1]))


def pytest_collection_modifyitems(items):
    """All of the corpus takes half a minute: `make test-fast` leaves it out."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.slow)
