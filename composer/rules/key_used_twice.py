"""key-used-twice (CMP506)

## What it does
Finds a random key that is used twice.

## Why is this bad?
One key gives the same numbers each time: draws that look independent are not,
silently.

## Example
```python
import jax

def f(key):
    return jax.random.normal(key) - jax.random.normal(key)
```
```yaml
composer: 1
function: m:f
args: {key: {key: 0}}
stack:
  - jit
```

## Use instead
Two keys, by `jax.random.split`.
```python
import jax

def f(key):
    first, second = jax.random.split(key)
    return jax.random.normal(first) - jax.random.normal(second)
```
```yaml
composer: 1
function: m:f
args: {key: {key: 0}}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, rule, warning
from composer._view import StackView


@rule("key-used-twice", "CMP506", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for fact in stack.facts.reused_keys if stack.facts is not None else ():
        yield warning(
            f"the key {fact.key!r} is used a second time: the same numbers again",
            place=fact.place,
            cure=f"{fact.key}, other = jax.random.split({fact.key})     # and draw from other",
        )
