"""The modules beside these tests are imported as `corpus.NAME`."""

import sys
from pathlib import Path

# pytest's importlib mode puts no test folder on the path; behind all others, to hide none.
sys.path.append(str(Path(__file__).parents[1]))
