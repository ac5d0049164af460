"""branch-on-argument (CMP405)

## What it does
Finds a Python `if`, `while`, `for range(...)` or `assert` on the value of a
traced argument.

## Why is this bad?
While JAX traces, the argument has no value. JAX raises a
TracerBoolConversionError, or an error about a concrete value.

## Example
```python
def f(x, train):
    if train:
        return x * 2.0
    return x
```
```yaml
composer: 1
function: m:f
args: {x: 2.0, train: true}
stack:
  - jit
```

## Use instead
The argument in `static:`; or `jnp.where`, `lax.cond`, `lax.fori_loop`.
```yaml
composer: 1
function: m:f
args: {x: 2.0, train: true}
static: [train]
stack:
  - jit
```
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from composer._change import Edit
from composer._rule import Finding, Fix, error, rule
from composer._shapes import traced_names
from composer._sources import Source, Value
from composer._view import StackView


@rule("branch-on-argument", "CMP405", page=__doc__)
def check(stack: StackView) -> Iterator[Finding]:
    """Each place where it happens."""
    if stack.facts is None:
        return
    traced = traced_names(stack) or set()
    said: set[str] = set()
    for fact in stack.facts.branches:
        if fact.parameter not in traced or fact.parameter in said:
            continue
        said.add(fact.parameter)
        name = fact.parameter
        plain = isinstance(stack.sources.get(name), Value) and _is_flag(stack.sources[name])
        other = _OTHERS.get(fact.kind, "jnp.where or lax.cond")
        yield error(
            f"Python's `{fact.kind}` asks for the value of {name!r}, which has none while JAX"
            " traces",
            place=fact.place,
            cure=f"static: [{', '.join([*stack.static, name])}]     # or {other}",
            fix=Fix((Edit("set", ("static",), [*stack.static, name]),)) if plain else None,
        )


_OTHERS: Final = {"while": "lax.while_loop", "for": "lax.fori_loop", "assert": "checkify.check"}


def _is_flag(source: Source) -> bool:
    value = getattr(source, "value", None)
    return isinstance(value, bool | int | str) or value is None
