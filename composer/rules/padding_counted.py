"""padding-counted (CMP321)

## What it does
Finds padding rows that are counted: `remainder: pad` with a sum, or without a
sync.

## Why is this bad?
Padding repeats the last row with weight 0. A psum of outputs that do not use
the weights counts it again, and unsynced outputs have rows that nobody gave.

## Example
```python
def f(x, w):
    return x * w
```
```yaml
composer: 1
function: m:f
args: {x: "f32[30]", w: "f32[30]"}
stack:
  - pmap: {split: true, remainder: pad, weights: w, sync: psum}
```

## Use instead
`sync: pmean`, which weighs; or a psum of outputs that are multiplied by the
weights.
```yaml
composer: 1
function: m:f
args: {x: "f32[30]", w: "f32[30]"}
stack:
  - pmap: {split: true, remainder: pad, weights: w, sync: pmean}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, rule, warning
from composer._view import StackView


@rule("padding-counted", "CMP321", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("pmap"):
        if view.get("remainder") != "pad":
            continue
        if view.get("sync") == "psum":
            yield warning(
                "pmap: padding rows are summed too, unless the function multiplies by"
                f" {view.get('weights')!r}",
                place=view.place,
                cure="sync: pmean     # weighs each row",
                fix=Fix((view.set("sync", "pmean"),)),
            )
        elif view.get("sync") is None:
            yield warning(
                "pmap: padding rows stand in the outputs, which are not synced",
                place=view.place,
                cure="sync: pmean     # or remainder: drop",
            )
