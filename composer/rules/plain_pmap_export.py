"""plain-pmap-export (CMP320)

## What it does
Says that a plain pmap stands in the stack.

## Why is this bad?
`jax.pmap` is in maintenance mode: it cannot be exported, and compiling it
ahead of time fails over several processes.

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
  - pmap
```

## Use instead
`split: true`, which builds on jit and shard_map.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]"}
stack:
  - pmap: {split: true, merge: true}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, info, rule
from composer._view import StackView


@rule("plain-pmap-export", "CMP320", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("pmap"):
        if not view.get("split"):
            yield info(
                "a plain pmap cannot be exported, nor compiled ahead of time over several"
                " processes",
                place=view.place,
                cure="split: true, merge: true     # built on jit and shard_map; takes the"
                " whole batch",
            )
