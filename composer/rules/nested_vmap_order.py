"""nested-vmap-order (CMP230)

## What it does
Says in which order the axes of nested vmaps come out.

## Why is this bad?
The outer vmap's axis stands first. Where the outer one maps the argument that
comes later, the result is transposed against the arguments' order.

## Example
```python
def f(a, b):
    return 10.0 * a + b
```
```yaml
composer: 1
function: m:f
args: {a: "f32[3]", b: "f32[2]"}
stack:
  - vmap: {in_axes: {a: 0}}
  - vmap: {in_axes: {b: 0}}
```

## Use instead
The other order; or `out_axes: 1` on the outer one.
```yaml
composer: 1
function: m:f
args: {a: "f32[3]", b: "f32[2]"}
stack:
  - vmap: {in_axes: {b: 0}}
  - vmap: {in_axes: {a: 0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from composer._order import split_names
from composer._rule import Finding, info, rule
from composer._view import StackView


@rule("nested-vmap-order", "CMP230", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for inner, outer in pairwise(stack.layers):
        if (inner.word, outer.word) != ("vmap", "vmap") or outer.get("out_axes") != 0:
            continue
        first, second = split_names(inner), split_names(outer)
        order = outer.signature.positional
        if not first or not second or first & second or inner.get("out_axes") != 0:
            continue
        if not {*first, *second} <= set(order):
            continue
        if min(map(order.index, second)) > max(map(order.index, first)):
            late, early = ", ".join(sorted(second)), ", ".join(sorted(first))
            yield info(
                f"the axis of {late} comes out first, then that of {early}: the outer vmap's axis"
                " stands in front",
                place=outer.place,
                cure=f"the two vmaps swapped, for {early} first; or out_axes: 1 here",
            )
