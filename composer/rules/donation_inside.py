"""donation-inside (CMP406)

## What it does
Finds donation on a jit that other layers stand around.

## Why is this bad?
Inside another jit it is ignored; under vmap or grad it takes the caller's own
array, or is lost. Only the outermost layer's donation does what it says.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - jit: {donate_argnums: x}
  - vmap
```

## Use instead
Donation on the outermost jit.
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - vmap
  - jit: {donate_argnums: x}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, Fix, rule, warning
from composer._view import StackView


@rule("donation-inside", "CMP406", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for view in stack.of("jit", "pmap"):
        fields = [f for f in ("donate_argnums", "donate_argnames") if view.get(f) not in (None, ())]
        if not fields or not view.outside:
            continue
        outer = view.outside[-1]
        inner_jit = view.outside.has("jit")
        effect = "ignored inside another jit" if inner_jit else "not what the whole's caller sees"
        moved = outer.word == "jit" and outer.get(fields[0]) in (None, ())
        edits = [view.unset(field) for field in fields]
        if moved:
            edits.append(outer.set(fields[0], view.get(fields[0])))
        yield warning(
            f"{view.word}: donation inside {view.outside[0].title} is {effect}",
            place=view.place,
            cure=f"- {outer.word if moved else 'jit'}: {{{fields[0]}: ...}}     # on the"
            " outermost layer",
            fix=Fix(tuple(edits)),
        )
