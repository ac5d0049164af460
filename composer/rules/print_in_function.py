"""print-in-function (CMP501)

## What it does
Finds `print` in a function that JAX traces.

## Why is this bad?
It runs while JAX traces, once for each program, and shows tracers instead of
numbers.

## Example
```python
def f(x):
    print(x)
    return x * 2.0
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```

## Use instead
`jax.debug.print`.
```python
import jax

def f(x):
    jax.debug.print("{}", x)
    return x * 2.0
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, info, rule
from composer._view import TRACES, StackView


@rule("print-in-function", "CMP501", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or not stack.whole.has(*TRACES):
        return

    for fact in stack.facts.prints:
        yield info(
            "print runs while JAX traces only, and shows tracers instead of numbers",
            place=fact.place,
            cure='jax.debug.print("{}", x)',
        )
