"""argument-not-taken (CMP067)

## What it does
Finds an argument in `args:` that the composed function does not take.

## Why is this bad?
Its value would go nowhere: a slip of the pen, or an argument that a layer has
bound.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[2]", xx: "f32[2]"}
stack:
  - jit
```

## Use instead
The name that the function has.
```yaml
composer: 1
function: m:f
args: {x: "f32[2]"}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._rule import Finding, error, rule
from composer._view import StackView
from composer.errors import nearest


@rule("argument-not-taken", "CMP067", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    outer = stack.outer_signature
    if stack.path or not stack.known or outer.parameters is None:
        return
    if outer.open_ended or outer.takes_any_keyword or stack.whole.has("apply"):
        return
    for name in stack.sources:
        if name not in outer.names:
            close = nearest(name, [n for n in outer.names if n not in stack.sources])
            yield error(
                f"the composed function takes no argument {name!r}",
                place=stack.places.get(name),
                notes=[f"arguments: {', '.join(outer.names) or 'none'}"],
                cure=f"{close}: ..." if close else f"nothing: remove {name}",
            )
