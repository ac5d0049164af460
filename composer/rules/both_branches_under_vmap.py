"""both-branches-under-vmap (CMP106)

## What it does
Says that both branches of a `cond` run where it stands under a vmap.

## Why is this bad?
Rows may take different branches, so a batched `cond` becomes a `select`: both
branches run for every row, and a loop in the branch that is not taken may
never end.

## Example
```python
from jax import lax

def f(x):
    return lax.cond(x > 0, lambda v: 2 * v, lambda v: v, x)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - vmap
```

## Use instead
`map`, which goes row by row, where a branch is costly or may not end.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - map
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, info, rule
from composer._view import StackView


@rule("both-branches-under-vmap", "CMP106", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    views = [view for view in stack.of("vmap") if view.get("chunk") is None]
    if stack.facts is None or not views:
        return
    for fact in stack.facts.loops_of_jax:
        if fact.what in ("cond", "switch"):
            yield info(
                f"lax.{fact.what} under {views[0].title}: if its condition differs between"
                " rows, every"
                " branch runs for every row, also a loop that would not end there",
                place=fact.place,
                cure="- map     # in the place of vmap: one row after the other",
            )
