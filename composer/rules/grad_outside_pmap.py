"""grad-outside-pmap (CMP103)

## What it does
Finds a derivative taken outside a layer over devices.

## Why is this bad?
It is right, but the backward pass keeps what every device computed until the
whole forward pass is done, and moves it between devices.

## Example
```python
def f(w, x):
    return w * x * x
```
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[4]"}
stack:
  - pmap: {in_axes: {x: 0}}
  - reduce: mean
  - grad: {argnums: w}
```

## Use instead
The derivative inside, the mean over devices outside it.
```yaml
composer: 1
function: m:f
args: {w: "f32[]", x: "f32[4]"}
stack:
  - grad: {argnums: w}
  - pmap: {in_axes: {x: 0}, sync: pmean}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, info, rule
from composer._view import REVERSE, StackView


@rule("grad-outside-pmap", "CMP103", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.layers:
        if view.word not in REVERSE:
            continue
        inner = view.inside.of("pmap", "shard_map")
        if inner:
            yield info(
                f"{view.word} outside {inner[-1].title}: right, but the values of all devices"
                " are kept"
                " for the backward pass",
                place=view.place,
                cure=f"- {view.word} inside {inner[-1].word}, and sync: pmean on it",
            )
