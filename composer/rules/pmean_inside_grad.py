"""pmean-inside-grad (CMP312)

## What it does
Finds a pmean over the devices inside a derivative whose gradient nobody
averages outside.

## Why is this bad?
The value is the mean over all devices, so everything looks right. The gradient
of each device stays that of its own rows: the devices drift apart, silently.

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
  - collective: {op: pmean, axis_name: devices}
  - grad: {argnums: w}
  - pmap: {axis_name: devices, in_axes: {x: 0}, split: true}
```

## Use instead
The mean outside the derivative: `sync: pmean`, or a collective there.
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


@rule("pmean-inside-grad", "CMP312", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for problem in problems(stack):
        if problem.code == "CMP312":
            yield problem.finding
