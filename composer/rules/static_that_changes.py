"""static-that-changes (CMP409)

## What it does
Warns where a static argument is a floating number or a range of values.

## Why is this bad?
Each new value of a static argument compiles the whole program anew. Numbers
that change, such as learning rates, are arguments.

## Example
```python
def f(x, lr):
    return x * lr
```
```yaml
composer: 1
function: m:f
args: {x: 2.0, lr: 0.5}
static: [lr]
stack:
  - jit
```

## Use instead
The number as an ordinary argument.
```yaml
composer: 1
function: m:f
args: {x: 2.0, lr: 0.5}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import Edit
from composer._rule import Finding, Fix, rule, warning
from composer._sources import Value
from composer._view import StackView


@rule("static-that-changes", "CMP409", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    for name in stack.static:
        source = stack.sources.get(name)
        value = source.value if isinstance(source, Value) else None
        if type(value) is not float:
            continue
        left = [other for other in stack.static if other != name]
        edit = Edit("set", ("static",), left) if left else Edit("remove", ("static",))
        yield warning(
            f"static argument {name!r} is the floating number {value}: each new value compiles"
            " anew",
            place=stack.static_place,
            cure=f"static: [{', '.join(left)}]" if left else f"no static: {name} as an argument",
            notes=["if it never changes, ignore this"],
            fix=Fix((edit,)),
        )
