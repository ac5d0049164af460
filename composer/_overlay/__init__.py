"""Overlays: what a file inherits, its profiles, and single edits, applied to plain data.

Everything happens before a pipeline is made of the data, and every value keeps the place
where it was written, so that whatever is found later points at the right file and line.

Nothing is imported here: a file without overlays does not pay for them.
"""

from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["set", "drop", "insert_before", "insert_after"]

EDIT_KEYS: Final[tuple[Kind, ...]] = ("set", "drop", "insert_before", "insert_after")
"""The keys that edit: of a profile, and of a file that extends another."""

KEYS: Final = ("extends", "profiles", *EDIT_KEYS)
"""The keys of a file that are applied before it is read as a pipeline."""
