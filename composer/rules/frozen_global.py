"""frozen-global (CMP509)

## What it does
Says that a compiled function reads a value of its module which the module
changes.

## Why is this bad?
The value is read while JAX traces and is a constant of the program: a later
change has no effect, silently.

## Example
```python
CONFIG = {"scale": 2.0}

def configure(scale):
    CONFIG["scale"] = scale

def f(x):
    return x * CONFIG["scale"]
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```

## Use instead
The value as an argument.
```python
def f(x, scale):
    return x * scale
```
```yaml
composer: 1
function: m:f
args: {x: 1.0, scale: 2.0}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, info, rule
from composer._view import StackView


@rule("frozen-global", "CMP509", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or not stack.whole.compiles:
        return
    said: set[str] = set()
    for fact in stack.facts.frozen_reads:
        if fact.what in said:
            continue
        said.add(fact.what)
        yield info(
            f"{fact.what} is read while JAX traces: the compiled program keeps its first"
            " value, whatever"
            " the module makes of it later",
            place=fact.place,
            cure="an argument of the function, in static: if it holds no arrays",
        )
