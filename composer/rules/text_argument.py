"""text-argument (CMP217)

## What it does
Finds text as the value of an argument that is not static.

## Why is this bad?
JAX takes arrays and numbers. jit and pmap raise a TypeError.

## Example
```python
def f(x, mode):
    return x * 2.0 if mode == 'double' else x
```
```yaml
composer: 1
function: m:f
args: {x: "f32[4]", mode: double}
stack:
  - jit
```

## Use instead
The argument in `static:`.
```yaml
composer: 1
function: m:f
args: {x: "f32[4]", mode: double}
static: [mode]
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator

from composer._change import Edit
from composer._rule import Finding, Fix, error, rule
from composer._sources import Value
from composer._view import StackView


@rule("text-argument", "CMP217", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    outer = stack.outer_signature.names
    for name, source in stack.sources.items():
        text = source.value if isinstance(source, Value) else None
        if isinstance(text, str) and name not in stack.static and name in outer:
            marked = [*stack.static, name]
            yield error(
                f"{name} is the text {text!r}, and JAX takes arrays and numbers only",
                place=stack.places.get(name),
                cure=f"static: [{', '.join(marked)}]",
                fix=Fix((Edit("set", ("static",), marked),)),
            )
