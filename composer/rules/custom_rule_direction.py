"""custom-rule-direction (CMP228)

## What it does
Finds a forward derivative of a function with a custom_vjp rule.

## Why is this bad?
custom_vjp says how to go in reverse only. hessian, jacfwd and jvp go forward:
JAX raises a TypeError.

## Example
```python
import jax
import jax.numpy as jnp

@jax.custom_vjp
def f(x):
    return jnp.sin(x)

def forward(x):
    return f(x), x

def backward(x, g):
    return (g * jnp.cos(x),)

f.defvjp(forward, backward)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - hessian
```

## Use instead
Reverse over reverse.
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - jacrev
  - jacrev
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import layer_data
from composer._rule import Finding, Fix, error, rule
from composer._view import StackView


@rule("custom-rule-direction", "CMP228", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    facts = stack.facts
    if facts is None or all(fact.what != "custom_vjp" for fact in facts.custom_rules):
        return
    for view in stack.of("hessian", "jacfwd", "jvp"):
        given = {n: v for n, v in view.transform.items() if n in ("argnums", "has_aux")}
        reverse = layer_data("jacrev", **given)
        edits = [view.removed(), view.insert_outside(reverse)]
        plain = view.word != "jvp"
        if view.word == "hessian":
            edits.append(view.insert_outside(reverse))
        yield error(
            f"{view.word} goes forward through a custom_vjp rule, which is for reverse mode only",
            place=view.place,
            cure="- jacrev, twice" if view.word == "hessian" else "- jacrev     # or custom_jvp",
            notes=[f"the rule: {facts.custom_rules[0].place}"],
            fix=Fix(tuple(edits)) if plain else None,
        )
