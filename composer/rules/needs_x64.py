"""needs-x64 (CMP224)

## What it does
Finds 64-bit values in a pipeline that runs with 32-bit numbers.

## Why is this bad?
Without `enable_x64` JAX makes float64 float32 and int64 int32, silently:
digits are lost, and large integers become others.

## Example
```python
def f(x):
    return x * x
```
```yaml
composer: 1
function: m:f
args: {x: "f64[2]"}
stack:
  - jit
```

## Use instead
`run: {enable_x64: true}`, or a 32-bit dtype.
```yaml
composer: 1
function: m:f
args: {x: "f64[2]"}
run: {enable_x64: true}
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from composer._change import Edit
from composer._rule import Finding, Fix, rule, warning
from composer._shapes import declared
from composer._sources import Source, Value, leaves
from composer._view import StackView


@rule("needs-x64", "CMP224", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.run.enable_x64 or stack.path:
        return
    for name, source in stack.sources.items():
        if name in stack.static:
            continue
        wide = [leaf for leaf in leaves(declared(source)) if leaf.dtype in _WIDE]
        if wide or _too_large(source):
            what = str(wide[0]) if wide else "an integer that 32 bits do not hold"
            yield warning(
                f"{name} is {what}, but the pipeline runs with 32-bit numbers",
                place=stack.places.get(name),
                cure="run: {enable_x64: true}",
                fix=Fix((Edit("set", ("run", "enable_x64"), True),)),
            )


def _too_large(source: Source) -> bool:
    return isinstance(source, Value) and any(
        type(item) is int and not -(2**31) <= item < 2**31 for item in _numbers(source.value)
    )


def _numbers(value: object) -> Iterator[object]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _numbers(item)
    else:
        yield value


_WIDE: Final = frozenset({"f64", "i64", "u64", "c128"})
