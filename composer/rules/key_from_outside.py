"""key-from-outside (CMP507)

## What it does
Finds a random key that is no argument: a global one, or one made of a number
in the function.

## Why is this bad?
The key is a constant of the program: every call draws the same numbers,
silently.

## Example
```python
import jax

KEY = jax.random.key(0)

def f(x):
    return x + jax.random.normal(KEY)
```
```yaml
composer: 1
function: m:f
args: {x: 1.0}
stack:
  - jit
```

## Use instead
The key as an argument.
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
from composer._view import StackView


@rule("key-from-outside", "CMP507", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for fact in stack.facts.global_keys if stack.facts is not None else ():
        yield warning(
            f"the key {fact.what!r} is no argument: every call draws the same numbers",
            place=fact.place,
            cure="key: {key: 0}     # under args:, and a parameter `key` of the function",
        )
