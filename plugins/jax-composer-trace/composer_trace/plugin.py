"""What the entry point names: composer imports this module when a pipeline names `trace`."""

from __future__ import annotations

import atexit
import os
from typing import Final

from composer_trace._recorder import Recorder
from composer_trace._report import finish

recorder: Final = Recorder()
"""The recorder of this process: all pipelines that name `trace` share it."""

# Here, not when the process ends: by then its working directory may be another one.
_FILE: Final = os.environ.get("JAX_COMPOSER_TRACE")

atexit.register(finish, recorder, os.path.abspath(_FILE) if _FILE else None)
