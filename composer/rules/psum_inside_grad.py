"""psum-inside-grad (CMP313)

## What it does
Finds a psum over the devices inside a derivative, without check_vma.

## Why is this bad?
The derivative of psum is a psum: each device gets its own gradient, as many
times too large as there are devices.

## Example
```python
import jax.numpy as jnp

def f(w, x):
    return jnp.mean((w * x) ** 2)
```
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
stack:
  - collective: {op: psum, axis_name: devices}
  - grad: {argnums: w}
  - pmap: {axis_name: devices, in_axes: {x: 0}, split: true}
```

## Use instead
The collective outside the derivative.
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
stack:
  - grad: {argnums: w}
  - pmap: {in_axes: {x: 0}, split: true, sync: pmean}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._order import problems
from composer._rule import Finding, rule
from composer._view import StackView


@rule("psum-inside-grad", "CMP313", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for problem in problems(stack):
        if problem.code == "CMP313":
            yield problem.finding
