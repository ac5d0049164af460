"""A rule's page taken apart: each YAML example with the Python that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(r"^```(python|yaml)\n(.*?)^```", re.S | re.M)


@dataclass(frozen=True)
class Example:
    """A pipeline, and the module `m` beside it."""

    pipeline: str
    source: str


def examples(page: str) -> list[Example]:
    """Every YAML block, with the nearest Python block before it."""
    found, source = [], ""
    for language, text in _FENCE.findall(page):
        if language == "python":
            source = text
        else:
            found.append(Example(text, source))
    return found
