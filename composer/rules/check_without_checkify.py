"""check-without-checkify (CMP105)

## What it does
Finds `checkify.check` in a function whose stack has no checkify.

## Why is this bad?
A check is an effect that only checkify turns into a value. Traced without it,
JAX raises a ValueError.

## Example
```python
import jax.numpy as jnp
from jax.experimental import checkify

def f(x):
    checkify.check(x > 0, "x must be positive")
    return jnp.log(x)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - jit
```

## Use instead
checkify inside the jit; outside it a vmap keeps each row's error.
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - checkify
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import Edit
from composer._rule import Finding, Fix, error, rule
from composer._view import TRACES, StackView


@rule("check-without-checkify", "CMP105", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None or stack.whole.has("checkify", "apply") or stack.path:
        return
    traced = [view for view in stack.layers if view.word in TRACES]
    if not traced:
        return
    outermost = len(stack.layers)
    number = outermost - 1 if stack.layers[-1].word == "jit" else outermost
    for fact in stack.facts.checks:
        yield error(
            "checkify.check is called, but no checkify layer stands around the function",
            place=fact.place,
            cure="- checkify     # inside jit",
            fix=Fix((Edit("insert", ("stack", number), "checkify"),)),
        )
