"""keyword-only-mapped (CMP231)

## What it does
Finds a keyword-only argument that vmap or pmap maps, because in_axes has no
word for it.

## Why is this bad?
JAX maps everything that is passed by keyword on axis 0, whatever in_axes says.
Where the sizes agree, nobody notices.

## Example
```python
def f(x, *, scale):
    return x * scale
```
```yaml
composer: 1
function: m:f
args: {x: "f32[3, 3]", scale: "f32[3]"}
stack:
  - vmap
```

## Use instead
Axes by name: what is not listed is not mapped.
```yaml
composer: 1
function: m:f
args: {x: "f32[3, 3]", scale: "f32[3]"}
stack:
  - vmap: {in_axes: {x: 0}}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from composer._rule import Finding, Fix, rule, warning
from composer._view import StackView


@rule("keyword-only-mapped", "CMP231", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("vmap", "pmap"):
        axes, sig = view.get("in_axes"), view.signature
        if isinstance(axes, Mapping):
            continue
        caught = [n for n in sig.keyword_only if n not in stack.static]
        given = [n for n in caught if sig.required(n) or n in stack.sources]
        if not given:
            continue
        each = axes if isinstance(axes, tuple) else (axes,) * len(sig.positional)
        kept = {n: a for n, a in zip(sig.positional, each, strict=False) if a is not None}
        shown = ", ".join(f"{name}: {axis}" for name, axis in kept.items())
        yield warning(
            f"{view.word}: {', '.join(given)} is passed by keyword only, and JAX maps that on"
            " axis 0;"
            " in_axes as a number or a list can not say otherwise",
            place=view.place,
            cure=f"in_axes: {{{shown}}}     # or with {given[0]}: 0, if it has rows",
            fix=Fix((view.set("in_axes", kept),)),
        )
