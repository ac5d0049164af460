"""jit-not-outermost (CMP107)

## What it does
Says that layers stand outside the outermost jit.

## Why is this bad?
They run in Python on every call, and what comes out has no `lower`: it cannot
be compiled ahead of time or exported.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - jit
  - vmap
```

## Use instead
jit as the last layer.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - vmap
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import Edit
from composer._rule import Finding, Fix, info, rule
from composer._view import StackView


@rule("jit-not-outermost", "CMP107", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    compiling = [view for view in stack.layers if view.transform.compiles()]
    if not compiling or stack.path:
        return
    view, last = compiling[-1], stack.layers[-1]
    if view is last or view.outside.has("apply"):
        return
    words = ", ".join(view.outside.words)
    yield info(
        f"{words} outside {view.title}: run in Python on every call, and the whole has no `lower`",
        place=view.place,
        cure="- jit     # as the last layer",
        fix=Fix((Edit("insert", ("stack", len(stack.layers)), "jit"),)),
    )
