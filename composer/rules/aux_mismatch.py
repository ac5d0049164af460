"""aux-mismatch (CMP234)

## What it does
Finds `has_aux` that does not fit what the function returns.

## Why is this bad?
With has_aux a function returns (value, aux); without it, one value. JAX raises
a TypeError about outputs.

## Example
```python
def f(x):
    return x * x, {'n': x}
```
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - grad
```

## Use instead
has_aux: true where the function returns a pair.
```yaml
composer: 1
function: m:f
args: {x: "f32[]"}
stack:
  - grad: {has_aux: true}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._view import DERIVATIVES, SCALAR_ONLY, StackView


@rule("aux-mismatch", "CMP234", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    count = stack.facts.returns if stack.facts is not None else None
    if count is None or stack.facts is None or stack.facts.parameters is None:
        return
    for view in stack.layers:
        if view.word in ("select", "then", "apply", "map", "scan", "checkify", "repeat"):
            return
        if view.word not in SCALAR_ONLY:
            if view.word in DERIVATIVES:
                return
            continue
        if count == 2 and not view.get("has_aux"):
            yield error(
                f"{view.word} needs one number, but {stack.facts.name} returns a pair",
                place=view.place,
                cure="has_aux: true     # the second is kept, not differentiated",
                fix=Fix((view.set("has_aux", True),)),
            )
        elif count == 1 and view.get("has_aux"):
            yield error(
                f"{view.word}: has_aux is true, but {stack.facts.name} returns one value, no pair",
                place=view.place,
                cure="no has_aux",
                fix=Fix((view.unset("has_aux"),)),
            )
        return
