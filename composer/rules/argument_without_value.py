"""argument-without-value (CMP066)

## What it does
Warns where `args:` leaves out an argument that the function needs.

## Why is this bad?
`composer run` has nothing to pass for it.

## Example
```python
def f(x, w):
    return x * w
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - jit
```

## Use instead
A source or a shape for every argument.
```yaml
composer: 1
function: m:f
args: {x: "f32[2]", w: "f32[2]"}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, rule, warning
from composer._view import StackView


@rule("argument-without-value", "CMP066", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    outer = stack.outer_signature
    if stack.path or not stack.known or not stack.sources or stack.whole.has("apply"):
        return
    missing = [n for n in outer.names if outer.required(n) and n not in stack.sources]
    if missing:
        yield warning(
            f"args: says nothing of {', '.join(missing)}, which the composed function needs",
            place=next(iter(stack.places.values()), stack.place),
            cure=f'{missing[0]}: "f32[8, 3]"     # or a source of its value',
        )
