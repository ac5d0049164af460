"""What this machine offers JAX, what does not fit, and what pasted error messages mean.

`inspect_machine` looks; `diagnose` and `explain` only think, over what they are given.
Nothing here needs JAX or the rest of composer: the doctor must work where they do not.
"""

from composer._doctor.diagnose import diagnose
from composer._doctor.explain import explain
from composer._doctor.facts import Command, Facts, Plugin, inspect_machine

__all__ = ["Command", "Facts", "Plugin", "diagnose", "explain", "inspect_machine"]
