"""same-key-for-every-row (CMP508)

## What it does
Finds a random key that a vmap hands to every row as it is.

## Why is this bad?
Every row draws the same numbers, silently.

## Example
```python
import jax

def f(x, key):
    return x + jax.random.normal(key)
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]", key: {key: 0}}
stack:
  - vmap: {in_axes: {x: 0}}
```

## Use instead
A key for each row.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]", key: {key: 0}}
stack:
  - vmap: {in_axes: {x: 0, key: 0}}
  - split_key: {key: key, like: x}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import layer_data
from composer._keys import shared_keys
from composer._rule import Finding, Fix, rule, warning
from composer._shapes import axis_of
from composer._view import LayerView, StackView


@rule("same-key-for-every-row", "CMP508", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("vmap", "map"):
        for name, split in shared_keys(view):
            mapped = ", ".join(sorted(split))
            cure, fix = _cure(view, name, split)
            yield warning(
                f"{view.word} maps {mapped}, but every row gets the same key {name!r}: all draw the"
                " same numbers",
                place=view.place,
                cure=cure,
                fix=fix,
            )


def _cure(view: LayerView, name: str, split: set[str]) -> tuple[str, Fix | None]:
    like = sorted(split)[0]
    layer = layer_data("split_key", key=name, like=like)
    text = f"- split_key: {{key: {name}, like: {like}}}     # outside, and {name} mapped on axis 0"
    if view.word == "map":
        return text, None
    axes = {n: a for n in view.signature.positional if (a := axis_of(view, n)) is not None}
    if axes.get(like) != 0:
        layer = layer_data("split_key", key=name, like=like, axis=axes.get(like))
    edits = (view.set("in_axes", {**axes, name: 0}), view.insert_outside(layer))
    return text, Fix(edits)
