"""random-of-the-host (CMP503)

## What it does
Finds random numbers or the time of the host in a function that JAX traces.

## Why is this bad?
They are drawn once, while JAX traces, and are constants of the program: the
same number on every call, silently.

## Example
```python
import numpy as np

def f(x):
    return x + np.random.normal()
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```

## Use instead
`jax.random` with a key as an argument.
```python
import jax

def f(x, key):
    return x + jax.random.normal(key)
```
```yaml
composer: 1
function: m:f
args: {x: 1.0, key: {key: 0}}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, rule, warning
from composer._view import TRACES, StackView


@rule("random-of-the-host", "CMP503", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or not stack.whole.has(*TRACES):
        return

    for fact in stack.facts.host_random:
        clock = fact.what.startswith("time.")
        yield warning(
            f"{fact.what} runs once, while JAX traces: its value is a constant of the program",
            place=fact.place,
            cure="the time as an argument" if clock else "jax.random with a key as an argument",
        )
