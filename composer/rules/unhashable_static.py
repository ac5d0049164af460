"""unhashable-static (CMP401)

## What it does
Finds a static argument whose value has no hash: a mapping.

## Why is this bad?
JAX keeps one program for each value of a static argument, and looks it up by
its hash.

## Example
```python
def f(x, sizes):
    return x * sizes['a']
```
```yaml
composer: 1
function: m:f
args: {x: 2.0, sizes: {value: {a: 3}}}
static: [sizes]
stack:
  - jit
```

## Use instead
An ordinary argument; or an object with a hash.
```yaml
composer: 1
function: m:f
args: {x: 2.0, sizes: {value: {a: 3.0}}}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from composer._rule import Finding, error, rule
from composer._shapes import layer_static
from composer._sources import Value
from composer._view import StackView


@rule("unhashable-static", "CMP401", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    marked = set(stack.static).union(*(layer_static(view) for view in stack.layers))
    for name in sorted(marked):
        source = stack.sources.get(name)
        if isinstance(source, Value) and _has_mapping(source.value):
            yield error(
                f"static argument {name!r} is a mapping, which has no hash",
                place=stack.places.get(name),
                cure=f"{name} out of static:, or {{ref: module:object}} with a hash",
            )


def _has_mapping(value: object) -> bool:
    if isinstance(value, tuple | list):
        return any(map(_has_mapping, value))
    return isinstance(value, Mapping)
