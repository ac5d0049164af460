"""grad-of-many-values (CMP211)

## What it does
Finds a gradient of a function with more than one output number: a vmap inside
grad.

## Why is this bad?
A gradient is defined for one number. JAX raises a TypeError when it traces.

## Example
```python
def f(w, x):
    return (w * x) ** 2
```
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
stack:
  - vmap: {in_axes: {x: 0}}
  - grad: {argnums: w}
```

## Use instead
The two swapped, for a gradient of each example; or `reduce: mean` between
them, for the gradient of the batch.
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[8]"}
stack:
  - vmap: {in_axes: {x: 0}}
  - reduce: mean
  - grad: {argnums: w}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, error, rule
from composer._view import StackView


@rule("grad-of-many-values", "CMP211", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("grad", "value_and_grad"):
        if view.below.scalar is not False or not view.below.rows:
            continue
        inner = stack.layers[view.below.rows[-1]]
        yield error(
            f"{view.word} needs one number, but {inner.title} inside it gives one for each row",
            place=view.place,
            cure=f"- reduce: mean     # between {inner.word} and {view.word}, for the batch\n"
            f"- {view.word}, then {inner.word}     # for the gradient of each example",
            fix=Fix((view.insert_inside({"reduce": "mean"}),)),
        )
