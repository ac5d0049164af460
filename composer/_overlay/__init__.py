"""Overlays: what a file inherits, its profiles, and single edits, applied to plain data.

Everything happens before a pipeline is made of the data, and every value keeps the place
where it was written, so that whatever is found later points at the right file and line.
"""

from composer._overlay.edits import Drop, Edit, InsertAfter, InsertBefore, Set
from composer._overlay.nodes import Origin
from composer._overlay.resolve import Resolved, resolve
from composer._overlay.spelled import EDITS, parse_edit

__all__ = [
    "EDITS",
    "Drop",
    "Edit",
    "InsertAfter",
    "InsertBefore",
    "Origin",
    "Resolved",
    "Set",
    "parse_edit",
    "resolve",
]
